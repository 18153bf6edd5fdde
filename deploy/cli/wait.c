/*
 * wait: until a job is placed, runs or is over; the exit code tells how it ended.
 */
#include "base/json.h"
#include "command.h"
#include "job_ref.h"

#include <string.h>

enum goal { GOAL_PLACED, GOAL_RUNNING, GOAL_COMPLETE, GOAL_MAX };
static const char *const goals[GOAL_MAX] = {"placed", "running", "complete"};

struct waiting {
	const struct command_line *line;
	struct client *queries;
	struct job_ref job;
	enum goal goal;
	usec deadline; /* monotonic; INT64_MAX: none */
	char told[256];
	int code; /* -1: not yet */
};

/* One line for each change of where it stands, on standard error. */
static void narrate(struct waiting *w, const struct cJSON *job)
{
	const char *cluster = json_str(job, "cluster"), *reason = json_str(job, "reason");
	int64_t position = command_number(job, "position");
	char text[sizeof(w->told)], place[32] = "";

	if (position)
		(void)snprintf(place, sizeof(place), " pos %lld", (long long)position);
	(void)snprintf(text, sizeof(text), "%s: %s%s%s%s%s%s", w->job.name, json_str(job, "status"),
		       cluster && cluster[0] ? " on " : "", cluster ? cluster : "", place,
		       reason && reason[0] ? " " : "", reason ? reason : "");
	if (strcmp(text, w->told) == 0)
		return;
	(void)snprintf(w->told, sizeof(w->told), "%s", text);
	fprintf(stderr, "%s\n", text);
}

static int judge(const struct waiting *w, const struct cJSON *why)
{
	const struct cJSON *job = json_get(why, "job");
	const char *status = json_str(job, "status"), *cluster = json_str(job, "cluster");

	if (!status)
		return EXIT_ERROR;
	if (strcmp(status, "Failed") == 0)
		return EXIT_JOB_FAILED;
	if (strcmp(status, "Succeeded") == 0)
		return EXIT_OK;
	if (w->goal == GOAL_RUNNING && strcmp(status, "Running") == 0)
		return EXIT_OK;
	if (w->goal == GOAL_PLACED && cluster && cluster[0])
		return EXIT_OK;
	return json_bool(why, "neverFits", false) ? EXIT_NEVER_FITS : -1;
}

static void look(struct waiting *w)
{
	auto_json *why = NULL;
	struct err err = ERR_INIT;

	if (job_ref_why(w->queries, &w->job, &why, &err) < 0) {
		w->code = command_fail(&err);
		return;
	}
	narrate(w, json_get(why, "job"));
	w->code = judge(w, why);
	if (w->code == EXIT_NEVER_FITS)
		fprintf(stderr, "error: the job can never fit the fleet as it is\n");
	else if (w->code == EXIT_JOB_FAILED)
		fprintf(stderr, "error: the job failed\n");
}

/* With every change of a binding in the namespace, and once a second. */
static bool on_line(void *arg, struct span line)
{
	struct waiting *w = arg;

	(void)line;
	look(w);
	if (w->code < 0 && clock_monotonic() >= w->deadline) {
		fprintf(stderr, "error: timed out waiting for %s to be %s\n", w->job.name,
			goals[w->goal]);
		w->code = EXIT_TIMEOUT;
	}
	return w->code < 0;
}

/* A stream that ends, as when the hub restarts, begins anew as long as the hub is reached. */
static int follow(struct waiting *w)
{
	auto_buf path = BUF_INIT;
	struct err err = ERR_INIT;

	buf_addf(&path, "/apis/work.karmada.io/v1alpha2/namespaces/%s/resourcebindings?watch=true",
		 w->job.ns);
	(void)on_line(w, SPAN_NONE);
	while (w->code < 0) {
		struct client *stream = NULL;
		int r = client_open(&w->line->client, &stream, &err);
		if (r == 0)
			r = client_stream(stream, path.ptr, on_line, w, &err);
		client_close(stream);
		if (r < 0 && w->code < 0)
			return command_fail(&err);
	}
	return w->code;
}

static int run_wait(const struct command_line *line)
{
	struct waiting w = {.line = line, .goal = GOAL_COMPLETE, .deadline = INT64_MAX, .code = -1};
	struct err err = ERR_INIT;

	if (line->n_args != 1)
		return command_usage(&verb_wait);
	if (line->wait_for) {
		for (w.goal = 0; w.goal < GOAL_MAX; w.goal++)
			if (strcmp(goals[w.goal], line->wait_for) == 0)
				break;
		if (w.goal == GOAL_MAX)
			return command_usage(&verb_wait);
	}
	if (line->timeout)
		w.deadline = clock_monotonic() + line->timeout * USEC_PER_SEC;
	int r = client_open(&line->client, &w.queries, &err);
	if (r == 0)
		r = job_ref_find(w.queries, command_namespace(line, w.queries), line->args[0],
				 &w.job, &err);
	int code = r < 0 ? command_fail(&err) : follow(&w);
	client_close(w.queries);
	return code;
}

const struct verb verb_wait = {"wait", "[KIND/]NAME [--for=placed|running|complete]",
			       "until a job got there; 6: timeout, 7: failed, 8: never fits",
			       run_wait};
