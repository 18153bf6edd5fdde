/*
 * why: one job's whole story, as the structures that decide tell it.
 */
#include "base/clock.h"
#include "base/json.h"
#include "command.h"
#include "job_ref.h"
#include "sheet.h"

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
	if (reason && reason[0])
		buf_addf(out, "WHY    %s%s%s\n", reason, message && message[0] ? ": " : "",
			 message ? message : "");
	buf_addf(out, "POLICY %s\n", json_str(tree, "policy"));
	if (json_get(tree, "gates") && (!cluster || !cluster[0]))
		print_gates(json_get(tree, "gates"), out);
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
