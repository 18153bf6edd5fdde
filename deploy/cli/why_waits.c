#include "why_waits.h"

#include "base/json.h"
#include "command.h"

#include <inttypes.h>

/* " for 40s", or nothing where the time is not known. */
static void add_age(const char *since, struct buf *out)
{
	char text[CLOCK_TEXT_MAX];

	if (since)
		buf_addf(out, " for %s", command_age(since, text));
}

static void print_pods(const struct cJSON *job, const char *indent, struct buf *out)
{
	int64_t shown = 0;

	json_foreach (json_get(job, "pods"), p) {
		const char *node = json_str(p, "node");
		bool bound = node && node[0];
		buf_addf(out, "%spod %s%s%s is %s", indent, json_str(p, "name"),
			 bound ? " on node " : "", bound ? node : "", json_str(p, "state"));
		add_age(json_str(p, "since"), out);
		if (json_bool(p, "nodeLost", false))
			buf_add_str(out, "; nothing is heard of its node, so nobody ends it there");
		buf_add_char(out, '\n');
		shown++;
	}
	if (shown < command_number(job, "podsLeft"))
		buf_addf(out, "%sand %" PRId64 " more\n", indent,
			 command_number(job, "podsLeft") - shown);
}

/* "Job default/low on gpu-a, told to stop 45s ago: 3 pods left". */
static void print_job(const struct cJSON *job, struct buf *out)
{
	const char *cluster = json_str(job, "cluster"), *since = json_str(job, "since");
	int64_t n = command_number(job, "podsLeft");
	char text[CLOCK_TEXT_MAX];

	buf_addf(out, "%s %s/%s", json_str(job, "kind"), json_str(job, "namespace"),
		 json_str(job, "name"));
	if (cluster && cluster[0])
		buf_addf(out, " on %s", cluster);
	if (since)
		buf_addf(out, ", told to stop %s ago", command_age(since, text));
	if (json_get(job, "podsLeft"))
		buf_addf(out, ": %" PRId64 " pod%s left", n, n == 1 ? "" : "s");
	if (!json_bool(job, "clusterAnswers", true))
		buf_add_str(out, "; the cluster does not answer");
	buf_add_char(out, '\n');
}

static void print_waits(const struct cJSON *waits, struct buf *out)
{
	int64_t n = command_number(waits, "count"), shown = 0;

	if (!waits)
		return;
	buf_addf(out, "WAITS  for %" PRId64 " preempted job%s to stop:\n", n, n == 1 ? "" : "s");
	json_foreach (json_get(waits, "jobs"), job) {
		buf_add_str(out, "       ");
		print_job(job, out);
		print_pods(job, "         ", out);
		shown++;
	}
	if (shown < n)
		buf_addf(out, "       and %" PRId64 " more\n", n - shown);
}

static void print_preempted(const struct cJSON *by, struct buf *out)
{
	const char *at = json_str(by, "at"), *name = json_str(by, "name");
	const char *message = json_str(by, "message");
	char text[CLOCK_TEXT_MAX];

	if (!by)
		return;
	buf_add_str(out, "GAVE WAY");
	if (name)
		buf_addf(out, " to %s %s/%s", json_str(by, "kind"), json_str(by, "namespace"),
			 name);
	if (at)
		buf_addf(out, " %s ago", command_age(at, text));
	buf_addf(out, ", %s%s%s\n", json_str(by, "reason"), message && message[0] ? ": " : "",
		 message ? message : "");
}

void why_waits_print(const struct cJSON *answer, struct buf *out)
{
	const struct cJSON *stops = json_get(answer, "stops");

	print_preempted(json_get(answer, "preemptedBy"), out);
	print_waits(json_get(answer, "waitsFor"), out);
	if (!stops)
		return;
	buf_add_str(out, "STOPS  ");
	print_job(stops, out);
	print_pods(stops, "         ", out);
}

static bool is_stuck(const struct cJSON *job)
{
	json_foreach (json_get(job, "pods"), p)
		if (json_bool(p, "nodeLost", false))
			return true;
	return false;
}

bool why_waits_is_stuck(const struct cJSON *answer)
{
	json_foreach (json_get(json_get(answer, "waitsFor"), "jobs"), job)
		if (is_stuck(job))
			return true;
	return is_stuck(json_get(answer, "stops"));
}
