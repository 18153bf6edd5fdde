/*
 * pods and logs: what a job runs, by the job's name; the hub knows where.
 */
#include "base/json.h"
#include "command.h"
#include "job_ref.h"
#include "sheet.h"

#include <inttypes.h>
#include <string.h>

static const char *label(const struct cJSON *pod, const char *key)
{
	return json_str(json_path(pod, "metadata", "labels", NULL), key);
}

static void pod_row(struct sheet *s, const struct cJSON *pod)
{
	const struct cJSON *status = json_get(pod, "status");
	const struct cJSON *containers = json_get(status, "containerStatuses");
	char age[CLOCK_TEXT_MAX];
	int64_t restarts = 0, ready = 0;

	json_foreach (containers, c) {
		restarts += command_number(c, "restartCount");
		ready += json_bool(c, "ready", false);
	}
	sheet_cell(s, json_str(json_get(pod, "metadata"), "name"));
	sheet_cell(s, label(pod, "muster.dev/pod-set"));
	sheet_cellf(s, "%" PRId64 "/%zu", ready,
		    json_len(json_path(pod, "spec", "containers", NULL)));
	sheet_state(s, json_str(status, "phase"));
	sheet_cellf(s, "%" PRId64, restarts);
	sheet_cell(s, label(pod, "muster.dev/cluster"));
	sheet_cell(s, json_str(json_get(pod, "spec"), "nodeName"));
	sheet_cell(s, command_age(json_str(json_get(pod, "metadata"), "creationTimestamp"), age));
}

static int render_pods(const struct command_line *line, struct client *c, struct buf *out,
		       struct err *reterr)
{
	static const char *const heads[] = {"NAME",	"SET",	   "READY", "STATUS",
					    "RESTARTS", "CLUSTER", "NODE",  "AGE"};
	auto_json *tree = NULL;
	struct job_ref job;

	int r = job_ref_find(c, command_namespace(line, c), line->args[0], &job, reterr);
	if (r == 0)
		r = job_ref_pods(c, &job, &tree, reterr);
	if (r < 0 || command_printed_raw(line, tree, out))
		return r;
	struct sheet *s = command_sheet(line, heads, ARRAY_LEN(heads));
	json_foreach (json_get(tree, "items"), pod)
		pod_row(s, pod);
	sheet_print(s, !line->no_headers, out);
	sheet_destroy(s);
	return 0;
}

static int run_pods(const struct command_line *line)
{
	static const struct view view = {
	    .render = render_pods, .group = "/api/v1", .resource = "pods", .namespaced = true};

	return line->n_args == 1 ? command_view(line, &view) : command_usage(&verb_pods);
}

const struct verb verb_pods = {"pods", "[KIND/]NAME", "the pods of a job, where they run",
			       run_pods};

/* ---- logs ---- */

struct printing {
	const char *prefix; /* NULL: none */
};

static bool print_line(void *arg, struct span line)
{
	const struct printing *p = arg;

	if (!line.ptr)
		return true;
	if (p->prefix)
		printf("[%s] ", p->prefix);
	printf("%.*s\n", SPAN_ARGS(line));
	fflush(stdout);
	return true;
}

/* "worker-0" names JOB-worker-0; a pod's whole name does too. */
static bool is_chosen(const struct command_line *line, const struct job_ref *job, const char *pod)
{
	size_t n = strlen(job->name);

	if (!line->replica)
		return true;
	return strcmp(pod, line->replica) == 0 ||
	       (strncmp(pod, job->name, n) == 0 && pod[n] == '-' &&
		strcmp(pod + n + 1, line->replica) == 0);
}

static int print_log(const struct command_line *line, struct client *c, const struct job_ref *job,
		     const char *pod, struct err *reterr)
{
	struct printing p = {.prefix = line->all ? pod : NULL};
	auto_buf path = BUF_INIT;

	buf_addf(&path, "/api/v1/namespaces/%s/pods/%s/log%s", job->ns, pod,
		 line->follow ? "?follow=true" : "");
	return client_stream(c, path.ptr, print_line, &p, reterr);
}

/* The first of its pods, as the hub lists them: the master of a PyTorchJob. */
static int print_logs(const struct command_line *line, struct client *c, const struct job_ref *job,
		      struct err *reterr)
{
	auto_json *tree = NULL;
	size_t n = 0;
	int r = job_ref_pods(c, job, &tree, reterr);

	json_foreach (json_get(tree, "items"), pod) {
		const char *name = json_str(json_get(pod, "metadata"), "name");
		if (r < 0 || !name || !is_chosen(line, job, name) || (n > 0 && !line->all))
			continue;
		n++;
		r = print_log(line, c, job, name, reterr);
	}
	if (r == 0 && n == 0)
		r = err_set(reterr, ERR_NOT_FOUND, "%s/%s has no pod%s%s", job->kind, job->name,
			    line->replica ? " " : "", line->replica ? line->replica : "");
	return r;
}

static int run_logs(const struct command_line *line)
{
	struct client *c = NULL;
	struct err err = ERR_INIT;
	struct job_ref job;

	if (line->n_args != 1 || (line->all && (line->follow || line->replica)))
		return command_usage(&verb_logs);
	int r = client_open(&line->client, &c, &err);
	if (r == 0)
		r = job_ref_find(c, command_namespace(line, c), line->args[0], &job, &err);
	if (r == 0)
		r = print_logs(line, c, &job, &err);
	client_close(c);
	return r < 0 ? command_fail(&err) : EXIT_OK;
}

const struct verb verb_logs = {"logs", "[KIND/]NAME [-f] [--replica R|--all]",
			       "the log of a job's first pod, of one, or of all", run_logs};
