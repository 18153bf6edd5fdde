/*
 * clusters, jobs, queue, quota: what is where, and why things wait.
 */
#include "base/clock.h"
#include "base/json.h"
#include "command.h"
#include "sheet.h"

#include <inttypes.h>

#define QUERY "/apis/muster.dev/v1alpha1"

static const char *age_of(const char *created, char out[CLOCK_TEXT_MAX])
{
	usec t;

	if (!created || clock_parse(span_of(created), &t) < 0)
		return "";
	return clock_human(clock_now() - t, out);
}

static int64_t number(const struct cJSON *o, const char *key)
{
	int64_t v = 0;
	(void)json_int64(o, key, &v);
	return v;
}

/* With -o json or yaml the answer as it is; true when that was asked for. */
static bool printed_raw(const struct command_line *line, const struct cJSON *tree, struct buf *out)
{
	if (line->output == OUTPUT_JSON) {
		json_print_pretty(tree, out);
		buf_add_char(out, '\n');
		return true;
	}
	if (line->output == OUTPUT_YAML) {
		command_print_tree(tree, OUTPUT_YAML);
		return true;
	}
	return false;
}

/* "8/16" of a resource, free of all. */
static void cell_resource(struct sheet *s, const struct cJSON *resources, const char *name)
{
	const struct cJSON *r = json_get(resources, name);

	if (r)
		sheet_cellf(s, "%s/%s", json_str(r, "free"), json_str(r, "allocatable"));
	else
		sheet_cell(s, NULL);
}

/* Every resource but the usual ones: accelerators. */
static void cell_devices(struct sheet *s, const struct cJSON *resources)
{
	auto_buf text = BUF_INIT;

	json_foreach (resources, r) {
		const char *name = json_key(r);
		if (strcmp(name, "cpu") == 0 || strcmp(name, "memory") == 0 ||
		    strcmp(name, "pods") == 0 || strcmp(name, "ephemeral-storage") == 0)
			continue;
		buf_addf(&text, "%s%s %s/%s", text.len ? ", " : "", name, json_str(r, "free"),
			 json_str(r, "allocatable"));
	}
	sheet_cell(s, text.ptr);
}

static int render_clusters(const struct command_line *line, struct client *c, struct buf *out,
			   struct err *reterr)
{
	static const char *const heads[] = {"NAME",	"READY",    "VERSION",	    "NODES", "JOBS",
					    "CPU FREE", "MEM FREE", "DEVICES FREE", "REASON"};
	auto_json *tree = NULL;

	int r = client_get(c, QUERY "/clusters", &tree, reterr);
	if (r < 0 || printed_raw(line, tree, out))
		return r;
	struct sheet *s = sheet_create(heads, ARRAY_LEN(heads));
	json_foreach (json_get(tree, "items"), m) {
		const struct cJSON *resources = json_get(m, "resources");
		bool ready = json_bool(m, "ready", false);
		sheet_cell(s, json_str(m, "name"));
		sheet_cell(s,
			   ready ? (json_bool(m, "synced", false) ? "True" : "Syncing") : "False");
		sheet_cell(s, json_str(m, "version"));
		sheet_cellf(s, "%" PRId64 "/%" PRId64, number(m, "nodesUsable"),
			    number(m, "nodes"));
		sheet_cellf(s, "%" PRId64, number(m, "jobs"));
		cell_resource(s, resources, "cpu");
		cell_resource(s, resources, "memory");
		cell_devices(s, resources);
		sheet_cell(
		    s, json_bool(m, "cordoned", false) ? "Cordoned"
		       : ready			       ? NULL
			       : json_str(m, line->output == OUTPUT_WIDE ? "message" : "reason"));
	}
	sheet_print(s, !line->no_headers, out);
	sheet_destroy(s);
	return 0;
}

static const char *const job_heads[] = {"NAMESPACE", "NAME", "KIND",   "QUEUE",
					"PRIO",	     "PODS", "STATUS", "CLUSTER",
					"POS",	     "WAIT", "REASON", "MESSAGE"};

static void job_row(struct sheet *s, const struct cJSON *j, bool wide)
{
	char text[CLOCK_TEXT_MAX];
	int64_t pos = number(j, "position");
	const struct cJSON *wait = json_get(j, "waitSeconds");

	sheet_cell(s, json_str(j, "namespace"));
	sheet_cell(s, json_str(j, "name"));
	sheet_cell(s, json_str(j, "kind"));
	sheet_cell(s, json_str(j, "queue"));
	sheet_cellf(s, "%" PRId64, number(j, "priority"));
	sheet_cellf(s, "%" PRId64 "/%" PRId64, number(j, "livePods"), number(j, "pods"));
	sheet_cell(s, json_str(j, "status"));
	sheet_cell(s, json_str(j, "cluster"));
	if (pos)
		sheet_cellf(s, "%" PRId64, pos);
	else
		sheet_cell(s, NULL);
	sheet_cell(s, wait ? clock_human(number(j, "waitSeconds") * USEC_PER_SEC, text) : NULL);
	sheet_cell(s, json_str(j, "reason"));
	if (wide)
		sheet_cell(s, json_str(j, "message"));
}

static void copy_str(struct cJSON *to, const char *key, const struct cJSON *from, const char *name)
{
	if (json_str(from, name))
		json_set_str(to, key, json_str(from, name));
}

/* Finished jobs are no longer in the core's memory; their bindings tell the end of the story. In
 * the shape of the core's own answer. */
static struct cJSON *finished_job(const struct cJSON *binding)
{
	const struct cJSON *spec = json_get(binding, "spec"),
			   *resource = json_get(spec, "resource");
	const struct cJSON *status =
	    json_first(json_path(binding, "status", "aggregatedStatus", NULL));
	const char *health = json_str(status, "health");
	bool failed = health && strcmp(health, "Unhealthy") == 0;
	int64_t pods = number(spec, "replicas");
	struct cJSON *j = json_object();

	json_foreach (json_get(spec, "components"), component)
		pods += number(component, "replicas");
	copy_str(j, "namespace", resource, "namespace");
	copy_str(j, "name", resource, "name");
	copy_str(j, "kind", resource, "kind");
	copy_str(j, "uid", resource, "uid");
	json_add(j, "priority",
		 json_new_int(number(json_get(spec, "schedulePriority"), "priority")));
	json_add(j, "pods", json_new_int(pods));
	json_add(j, "livePods", json_new_int(0));
	json_set_str(j, "status", failed ? "Failed" : "Succeeded");
	copy_str(j, "cluster", status, "clusterName");
	return j;
}

static int add_finished(const struct command_line *line, struct client *c, struct cJSON *items,
			struct err *reterr)
{
	auto_buf path = BUF_INIT;
	auto_json *tree = NULL;

	buf_add_str(&path, "/apis/work.karmada.io/v1alpha2");
	if (!line->all_namespaces)
		buf_addf(&path, "/namespaces/%s", command_namespace(line, c));
	buf_add_str(&path, "/resourcebindings?limit=1000");
	int r = client_get(c, path.ptr, &tree, reterr);
	if (r < 0)
		return r;
	json_foreach (json_get(tree, "items"), b) {
		const char *step =
		    json_str(json_path(b, "metadata", "annotations", NULL), "muster.dev/dispatch");
		if (step && strcmp(step, "Finished") == 0)
			json_append(items, finished_job(b));
	}
	return 0;
}

static int render_jobs(const struct command_line *line, struct client *c, struct buf *out,
		       struct err *reterr)
{
	bool wide = line->output == OUTPUT_WIDE;
	auto_buf path = BUF_INIT;
	auto_json *tree = NULL;

	buf_add_str(&path, QUERY);
	if (!line->all_namespaces)
		buf_addf(&path, "/namespaces/%s", command_namespace(line, c));
	buf_add_str(&path, "/jobs");
	int r = client_get(c, path.ptr, &tree, reterr);
	if (r == 0)
		r = add_finished(line, c, json_get(tree, "items"), reterr);
	if (r < 0 || printed_raw(line, tree, out))
		return r;
	struct sheet *s = sheet_create(job_heads, ARRAY_LEN(job_heads) - !wide);
	json_foreach (json_get(tree, "items"), j)
		job_row(s, j, wide);
	sheet_print(s, !line->no_headers, out);
	sheet_destroy(s);
	return 0;
}

static int render_queue(const struct command_line *line, struct client *c, struct buf *out,
			struct err *reterr)
{
	static const char *const heads[] = {"QUEUE",   "QUOTA",	   "POLICY",	 "PRIORITY",
					    "PENDING", "HEAD JOB", "OLDEST WAIT"};
	auto_json *tree = NULL;

	int r = client_get(c, QUERY "/queues", &tree, reterr);
	if (r < 0 || printed_raw(line, tree, out))
		return r;
	struct sheet *s = sheet_create(heads, ARRAY_LEN(heads));
	json_foreach (json_get(tree, "items"), q) {
		const struct cJSON *items = json_get(q, "items"), *head = json_first(items);
		int64_t oldest = 0;
		char text[CLOCK_TEXT_MAX];
		json_foreach (items, j)
			oldest =
			    number(j, "waitSeconds") > oldest ? number(j, "waitSeconds") : oldest;
		sheet_cell(s, json_str(q, "name"));
		sheet_cell(s, json_str(q, "quota"));
		sheet_cell(s, json_str(q, "policy"));
		sheet_cellf(s, "%" PRId64, number(q, "priority"));
		sheet_cellf(s, "%" PRId64, number(q, "pending"));
		if (head)
			sheet_cellf(s, "%s/%s", json_str(head, "namespace"),
				    json_str(head, "name"));
		else
			sheet_cell(s, NULL);
		sheet_cell(s, head ? clock_human(oldest * USEC_PER_SEC, text) : NULL);
	}
	sheet_print(s, !line->no_headers, out);
	sheet_destroy(s);
	return 0;
}

static void quota_rows(struct sheet *s, const struct cJSON *node)
{
	int64_t depth = number(node, "depth");

	json_foreach (json_get(node, "resources"), r) {
		sheet_cellf(s, "%*s%s", (int)(depth - 1) * 2, "", json_str(node, "name"));
		sheet_cell(s, json_key(r));
		sheet_cell(s, json_str(r, "min"));
		sheet_cell(s, json_str(r, "max") ? json_str(r, "max") : "unlimited");
		sheet_cell(s, json_str(r, "used"));
		sheet_cell(s, json_str(r, "borrowed"));
		sheet_cellf(s, "%" PRId64, number(node, "pending"));
	}
}

static int render_quota(const struct command_line *line, struct client *c, struct buf *out,
			struct err *reterr)
{
	static const char *const heads[] = {"NODE", "RESOURCE", "MIN",	  "MAX",
					    "USED", "BORROWED", "PENDING"};
	auto_json *tree = NULL;

	int r = client_get(c, QUERY "/quota", &tree, reterr);
	if (r < 0 || printed_raw(line, tree, out))
		return r;
	struct sheet *s = sheet_create(heads, ARRAY_LEN(heads));
	json_foreach (json_get(tree, "nodes"), node) {
		const char *name = json_str(node, "name"), *path = json_str(node, "path");
		if (line->n_args == 0 || (name && strcmp(name, line->args[0]) == 0) ||
		    (path && strcmp(path, line->args[0]) == 0))
			quota_rows(s, node);
	}
	sheet_print(s, !line->no_headers, out);
	sheet_destroy(s);
	return 0;
}

#define BINDINGS .group = "/apis/work.karmada.io/v1alpha2", .resource = "resourcebindings"

static int run_clusters(const struct command_line *line)
{
	static const struct view view = {.render = render_clusters,
					 .group = "/apis/cluster.karmada.io/v1alpha1",
					 .resource = "clusters"};
	return command_view(line, &view);
}

static int run_jobs(const struct command_line *line)
{
	static const struct view view = {.render = render_jobs, BINDINGS, .namespaced = true};
	return command_view(line, &view);
}

static int run_queue(const struct command_line *line)
{
	static const struct view view = {.render = render_queue, BINDINGS};
	return command_view(line, &view);
}

static int render_top(const struct command_line *line, struct client *c, struct buf *out,
		      struct err *reterr)
{
	int r = render_clusters(line, c, out, reterr);

	buf_add_char(out, '\n');
	return r < 0 ? r : render_jobs(line, c, out, reterr);
}

static int run_top(const struct command_line *line)
{
	static const struct view view = {.render = render_top, BINDINGS, .namespaced = true};
	struct command_line live = *line;

	live.watch = true;
	live.all_namespaces = live.all_namespaces || !live.ns;
	return command_view(&live, &view);
}

static int run_quota(const struct command_line *line)
{
	static const struct view view = {.render = render_quota, BINDINGS};
	return command_view(line, &view);
}

const struct verb verb_clusters = {"clusters", "", "members, their health and what is free",
				   run_clusters};
const struct verb verb_top = {"top", "", "members and jobs, live", run_top};
const struct verb verb_jobs = {"jobs", "", "jobs: where they run, or why they wait", run_jobs};
const struct verb verb_queue = {"queue", "", "queues: pending units, head, oldest wait", run_queue};
const struct verb verb_quota = {"quota", "[NODE]", "the quota tree: min, max, used, borrowed",
				run_quota};

/* ---- why ---- */

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
	if (number(job, "position"))
		buf_addf(out, ", position %" PRId64 " of %" PRId64 " in %s",
			 number(job, "position"), number(tree, "pending"), json_str(job, "queue"));
	buf_addf(out, ", submitted %s ago\n", age_of(json_str(job, "created"), text));
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

/* [KIND/]NAME to the path of its why; a NAME that several kinds have is an error that lists them.
 */
static int resolve(struct client *c, const char *ns, const char *word, struct buf *path,
		   struct err *reterr)
{
	static const char *const kinds[] = {"pytorchjob", "jobset", "job",
					    "rayjob",	  "tfjob",  "mpijob"};
	const char *slash = strchr(word, '/');
	auto_buf found = BUF_INIT;
	size_t n = 0;

	if (slash) {
		buf_addf(path, QUERY "/namespaces/%s/%.*s/%s/why", ns, (int)(slash - word), word,
			 slash + 1);
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		auto_buf one = BUF_INIT;
		auto_json *tree = NULL;
		buf_addf(&one, QUERY "/namespaces/%s/%s/%s/why", ns, kinds[i], word);
		int r = client_get(c, one.ptr, &tree, reterr);
		if (r < 0 && reterr->kind != ERR_NOT_FOUND)
			return r;
		if (r < 0)
			continue;
		buf_addf(&found, "%s%s/%s", n++ ? ", " : "", kinds[i], word);
		buf_clear(path);
		buf_add_span(path, buf_span(&one));
	}
	if (n == 0)
		return err_set(reterr, ERR_NOT_FOUND, "no job \"%s\" in namespace %s", word, ns);
	return n == 1 ? 0
		      : err_set(reterr, ERR_INVALID, "\"%s\" is ambiguous: %s", word, found.ptr);
}

static int run_why(const struct command_line *line)
{
	auto_buf path = BUF_INIT, out = BUF_INIT;
	auto_json *tree = NULL;
	struct client *c = NULL;
	struct err err = ERR_INIT;

	if (line->n_args != 1)
		return command_usage(&verb_why);
	int r = client_open(&line->client, &c, &err);
	if (r == 0)
		r = resolve(c, command_namespace(line, c), line->args[0], &path, &err);
	if (r == 0)
		r = client_get(c, path.ptr, &tree, &err);
	if (r == 0 && !printed_raw(line, tree, &out))
		print_why(tree, &out);
	command_write(&out);
	client_close(c);
	return r < 0 ? command_fail(&err) : EXIT_OK;
}

const struct verb verb_why = {"why", "[KIND/]NAME", "why a job waits, cluster by cluster", run_why};
