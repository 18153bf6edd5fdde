/*
 * why: one job's whole story, as the structures that decide tell it.
 */
#include "base/clock.h"
#include "base/json.h"
#include "command.h"
#include "job_ref.h"
#include "sheet.h"
#include "why_next.h"
#include "why_waits.h"

#include <inttypes.h>

static void print_gates(const struct cJSON *gates, struct buf *out)
{
	buf_add_str(out, "GATES ");
	json_foreach (gates, g)
		buf_addf(out, " %s %s", json_value_bool(g, false) ? "ok" : "NO", json_key(g));
	buf_add_char(out, '\n');
}

static void print_quota_path(const struct cJSON *path, struct buf *out)
{
	static const char *const heads[] = {"QUOTA",   "RESOURCE", "FITS",
					    "REQUEST", "USED",	   "LIMIT"};
	struct sheet *s = sheet_create(heads, ARRAY_LEN(heads));

	json_foreach (path, v) {
		sheet_cell(s, json_str(v, "node"));
		sheet_cell(s, json_str(v, "resource"));
		sheet_cell(s, json_bool(v, "fits", false)    ? "yes"
			      : json_bool(v, "never", false) ? "never"
							     : "no");
		sheet_cell(s, json_str(v, "request"));
		sheet_cell(s, json_str(v, "used"));
		sheet_cell(s, json_str(v, "limit"));
	}
	sheet_print(s, true, out);
	sheet_destroy(s);
}

static void print_verdicts(const struct cJSON *clusters, struct buf *out)
{
	static const char *const heads[] = {"CLUSTER", "VERDICT", "NUMBERS", "WHAT WOULD CHANGE IT",
					    "WHO"};
	struct sheet *s = sheet_create(heads, ARRAY_LEN(heads));

	json_foreach (clusters, v) {
		sheet_cell(s, json_str(v, "cluster"));
		sheet_cell(s, json_str(v, "verdict"));
		sheet_cell(s, json_str(v, "message"));
		sheet_cell(s, json_str(v, "remedy"));
		sheet_cell(s, json_str(v, "decider"));
	}
	sheet_print(s, true, out);
	sheet_destroy(s);
}

/* ---- Kueue's queues ---- */

static void cell_joined(struct sheet *s, const struct cJSON *list, const char *otherwise)
{
	auto_buf text = BUF_INIT;

	json_foreach (list, it)
		buf_addf(&text, "%s%s", text.len ? "; " : "", json_value_str(it));
	sheet_cell(s, text.len ? text.ptr : otherwise);
}

static void print_flavors(const struct cJSON *flavors, struct buf *out)
{
	static const char *const heads[] = {"POD SET", "FLAVOR", "VERDICT", "WHY", "CLUSTERS"};
	struct sheet *s = sheet_create(heads, ARRAY_LEN(heads));

	json_foreach (flavors, f) {
		const char *reason = json_str(f, "clusterReason");
		bool borrows = json_bool(f, "borrows", false);
		sheet_cell(s, json_str(f, "podSet"));
		sheet_cell(s, json_str(f, "name"));
		sheet_cellf(s, "%s%s", json_str(f, "verdict"), borrows ? ", borrowing" : "");
		cell_joined(s, json_get(f, "reasons"), "quota fits");
		if (json_get(f, "clusters"))
			sheet_cellf(s, "%" PRId64 " of %" PRId64 " have room%s%s%s",
				    command_number(f, "clustersThatFit"),
				    command_number(f, "clusters"), reason ? " (" : "",
				    reason ? reason : "", reason ? ")" : "");
		else
			sheet_cell(s, NULL);
	}
	sheet_print(s, true, out);
	sheet_destroy(s);
}

static void print_preemption(const struct cJSON *p, struct buf *out)
{
	size_t shown = 0;

	buf_addf(out,
		 "PREEMPTION %s (withinClusterQueue: %s, reclaimWithinCohort: %s, "
		 "borrowWithinCohort: %s)\n",
		 json_str(p, "message"), json_str(p, "withinClusterQueue"),
		 json_str(p, "reclaimWithinCohort"), json_str(p, "borrowWithinCohort"));
	json_foreach (json_get(p, "victims"), v) {
		buf_addf(out, "  %s in %s, priority %" PRId64 ", %s\n", json_str(v, "workload"),
			 json_str(v, "clusterQueue"), command_number(v, "priority"),
			 json_str(v, "reason"));
		shown++;
	}
	if ((int64_t)shown < command_number(p, "victimCount"))
		buf_addf(out, "  and %" PRId64 " more\n",
			 command_number(p, "victimCount") - (int64_t)shown);
}

static void print_kueue(const struct cJSON *k, struct buf *out)
{
	const char *cluster_queue = json_str(k, "clusterQueue"),
		   *until = json_str(k, "backoffUntil");
	const char *class = json_str(k, "priorityClass");
	bool has = cluster_queue && cluster_queue[0];

	buf_addf(out, "QUEUE  %s, ClusterQueue %s, priority %" PRId64 "%s%s%s\n",
		 json_str(k, "localQueue"), has ? cluster_queue : "(none)",
		 command_number(k, "priority"), class[0] ? " (" : "", class, class[0] ? ")" : "");
	if (has && !json_bool(k, "active", true))
		buf_addf(out, "       inactive, %s: %s\n", json_str(k, "activeReason"),
			 json_str(k, "activeMessage"));
	if (until)
		buf_addf(out, "       backs off until %s", until);
	if (until && command_number(k, "requeues"))
		buf_addf(out, ", after %" PRId64 " time(s) of pods that were not ready",
			 command_number(k, "requeues"));
	if (until)
		buf_add_char(out, '\n');
	json_foreach (json_get(k, "checks"), check) {
		const char *message = json_str(check, "message");
		buf_addf(out, "CHECK  %s: %s%s%s\n", json_str(check, "name"),
			 json_str(check, "state"), message && message[0] ? ": " : "",
			 message ? message : "");
		if (json_str(check, "lastAttempt"))
			buf_addf(out, "       attempt %" PRId64 ": %s\n",
				 command_number(check, "attempt"), json_str(check, "lastAttempt"));
	}
	if (json_len(json_get(k, "flavors")))
		print_flavors(json_get(k, "flavors"), out);
	if (json_get(k, "preemption"))
		print_preemption(json_get(k, "preemption"), out);
}

/* Today's numbers, where quota is what the job waits for. */
static const char *fresh_message(const struct cJSON *kueue, const char *reason, const char *stored)
{
	const char *now = json_str(kueue, "reason"), *message = json_str(kueue, "message");

	return now && reason && strcmp(now, reason) == 0 && message && message[0] ? message
										  : stored;
}

/* A RayJob's, which has a pod of its own: no row of the job shows it, and a cluster without room
 * for it is no place for the job. */
static void print_submitter(const struct cJSON *asks, struct buf *out)
{
	const char *sep = "";

	buf_add_str(out, "BESIDE the submitter's pod needs room on the same cluster");
	json_foreach (asks, r) {
		buf_addf(out, "%s %s %s", *sep ? sep : ":", json_key(r), json_value_str(r));
		sep = ",";
	}
	buf_add_char(out, '\n');
}

/* Where it failed before; failover.application sent it on. */
static void print_failover(const struct cJSON *failover, struct buf *out)
{
	json_foreach (json_get(failover, "clusters"), k)
		buf_addf(out, "FAILED on %s at %s: it goes elsewhere, until its spec is edited\n",
			 json_str(k, "cluster"), json_str(k, "failedAt"));
}

static void print_why(const struct cJSON *tree, struct buf *out)
{
	const struct cJSON *job = json_get(tree, "job");
	const char *message = json_str(job, "message"), *cluster = json_str(job, "cluster");
	const char *reason = json_str(job, "reason");
	char text[CLOCK_TEXT_MAX];

	buf_addf(out, "%s %s/%s: %s", json_str(job, "kind"), json_str(job, "namespace"),
		 json_str(job, "name"), json_str(job, "status"));
	if (cluster && cluster[0])
		buf_addf(out, " on %s", cluster);
	if (command_number(job, "position"))
		buf_addf(out, ", position %" PRId64 " of %" PRId64 " in %s",
			 command_number(job, "position"), command_number(tree, "pending"),
			 json_str(job, "queue"));
	buf_addf(out, ", submitted %s ago\n", command_age(json_str(job, "created"), text));
	message = fresh_message(json_get(tree, "kueue"), reason, message);
	if (reason && reason[0])
		buf_addf(out, "WHY    %s%s%s\n", reason, message && message[0] ? ": " : "",
			 message ? message : "");
	why_next_print(tree, out);
	why_waits_print(tree, out);
	print_failover(json_get(tree, "failover"), out);
	buf_addf(out, "POLICY %s\n", json_str(tree, "policy"));
	if (json_get(tree, "submitter") && (!cluster || !cluster[0]))
		print_submitter(json_get(tree, "submitter"), out);
	if (json_get(tree, "gates") && (!cluster || !cluster[0]))
		print_gates(json_get(tree, "gates"), out);
	if (json_get(tree, "kueue") && (!cluster || !cluster[0]))
		print_kueue(json_get(tree, "kueue"), out);
	if (json_len(json_get(tree, "quota")))
		print_quota_path(json_get(tree, "quota"), out);
	if (json_len(json_get(tree, "clusters")))
		print_verdicts(json_get(tree, "clusters"), out);
	if (json_bool(tree, "neverFits", false))
		buf_add_str(out, "The job can never fit the fleet as it is.\n");
}

static int run_why(const struct command_line *line)
{
	auto_json *tree = NULL;
	auto_buf out = BUF_INIT;
	struct client *c = NULL;
	struct err err = ERR_INIT;
	struct job_ref job;

	if (line->n_args != 1)
		return command_usage(&verb_why);
	int r = client_open(&line->client, &c, &err);
	if (r == 0)
		r = job_ref_find(c, command_namespace(line, c), line->args[0], &job, &err);
	if (r == 0)
		r = job_ref_why(c, &job, &tree, &err);
	if (r == 0 && !command_printed_raw(line, tree, &out))
		print_why(tree, &out);
	command_write(&out);
	client_close(c);
	return r < 0 ? command_fail(&err) : EXIT_OK;
}

const struct verb verb_why = {"why", "[KIND/]NAME", "why a job waits, cluster by cluster", run_why};
