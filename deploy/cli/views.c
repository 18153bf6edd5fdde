/*
 * clusters, jobs, queue, quota: what is where, and why things wait.
 */
#include "base/clock.h"
#include "base/json.h"
#include "base/num.h"
#include "command.h"
#include "listing.h"
#include "sheet.h"

#include <inttypes.h>

#define QUERY COMMAND_QUERY_PATH

/* With -o json or yaml a List of them; true when that was asked for. */
static bool printed_list(const struct command_line *line, const char *kind,
			 const struct cJSON *items, struct buf *out)
{
	if (line->output != OUTPUT_JSON && line->output != OUTPUT_YAML)
		return false;
	auto_json *list = listing_make(kind, items);
	return command_printed_raw(line, list, out);
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
	if (r < 0 || printed_list(line, "ClusterSummary", json_get(tree, "items"), out))
		return r;
	struct sheet *s = command_sheet(line, heads, ARRAY_LEN(heads));
	json_foreach (json_get(tree, "items"), m) {
		const struct cJSON *resources = json_get(m, "resources");
		bool ready = json_bool(m, "ready", false);
		sheet_cell(s, json_str(m, "name"));
		sheet_state(s,
			    ready ? (json_bool(m, "synced", false) ? "True" : "Syncing") : "False");
		sheet_cell(s, json_str(m, "version"));
		sheet_cellf(s, "%" PRId64 "/%" PRId64, command_number(m, "nodesUsable"),
			    command_number(m, "nodes"));
		sheet_cellf(s, "%" PRId64, command_number(m, "jobs"));
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

static const char *const job_heads[] = {"NAMESPACE", "NAME",   "KIND",	 "QUEUE",   "PRIO",
					"PODS",	     "GPU",    "STATUS", "CLUSTER", "POS",
					"WAIT",	     "REASON", "MESSAGE"};

/* Accelerators of all its pods: those it holds, of those it asks for. */
static void cell_devices_held(struct sheet *s, const struct cJSON *j)
{
	const char *cluster = json_str(j, "cluster"), *status = json_str(j, "status");
	bool over = status && (strcmp(status, "Succeeded") == 0 || strcmp(status, "Failed") == 0);
	int64_t sum = 0;

	json_foreach (json_get(j, "resources"), r) {
		const char *name = json_key(r), *value = json_value_str(r);
		int64_t n = 0;
		if (strchr(name, '/') && strncmp(name, "kube-queue/", 11) != 0 && value &&
		    num_parse_i64(span_of(value), 0, INT64_MAX, &n) == 0)
			sum = num_add_sat(sum, n);
	}
	if (sum)
		sheet_cellf(s, "%" PRId64 "/%" PRId64, cluster && cluster[0] && !over ? sum : 0,
			    sum);
	else
		sheet_cell(s, NULL);
}

static void job_row(struct sheet *s, const struct cJSON *j, bool wide)
{
	char text[CLOCK_TEXT_MAX];
	int64_t pos = command_number(j, "position");
	const struct cJSON *wait = json_get(j, "waitSeconds");

	sheet_cell(s, json_str(j, "namespace"));
	sheet_cell(s, json_str(j, "name"));
	sheet_cell(s, json_str(j, "kind"));
	sheet_cell(s, json_str(j, "queue"));
	sheet_cellf(s, "%" PRId64, command_number(j, "priority"));
	sheet_cellf(s, "%" PRId64 "/%" PRId64, command_number(j, "livePods"),
		    command_number(j, "pods"));
	cell_devices_held(s, j);
	sheet_state(s, json_str(j, "status"));
	sheet_cell(s, json_str(j, "cluster"));
	if (pos)
		sheet_cellf(s, "%" PRId64, pos);
	else
		sheet_cell(s, NULL);
	sheet_cell(s, wait ? clock_human(command_number(j, "waitSeconds") * USEC_PER_SEC, text)
			   : NULL);
	sheet_cell(s, json_str(j, "reason"));
	if (wide)
		sheet_cell(s, json_str(j, "message"));
}

static void copy_str(struct cJSON *to, const char *key, const struct cJSON *from, const char *name)
{
	if (json_str(from, name))
		json_set_str(to, key, json_str(from, name));
}

/* Sums over the pods of each part, of whole numbers only: those are the ones that a table shows. */
static void add_requests(struct cJSON *sums, const struct cJSON *part)
{
	json_foreach (json_path(part, "replicaRequirements", "resourceRequest", NULL), r) {
		const char *value = json_value_str(r), *before = json_str(sums, json_key(r));
		char text[24];
		int64_t each, sum = 0;
		if (!value || num_parse_i64(span_of(value), 0, INT64_MAX, &each) < 0)
			continue;
		if (before && num_parse_i64(span_of(before), 0, INT64_MAX, &sum) < 0)
			sum = 0;
		sum = num_add_sat(sum, num_mul_sat(each, command_number(part, "replicas")));
		(void)snprintf(text, sizeof(text), "%" PRId64, sum);
		json_set_str(sums, json_key(r), text);
	}
}

static void add_resources(struct cJSON *j, const struct cJSON *spec)
{
	struct cJSON *sums = json_object();

	add_requests(sums, spec);
	json_foreach (json_get(spec, "components"), component)
		add_requests(sums, component);
	json_set(j, "resources", sums);
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
	int64_t pods = command_number(spec, "replicas");
	struct cJSON *j = json_object();

	json_foreach (json_get(spec, "components"), component)
		pods += command_number(component, "replicas");
	add_resources(j, spec);
	copy_str(j, "namespace", resource, "namespace");
	copy_str(j, "name", resource, "name");
	copy_str(j, "kind", resource, "kind");
	copy_str(j, "uid", resource, "uid");
	copy_str(j, "queue", json_path(binding, "metadata", "annotations", NULL),
		 "muster.dev/queue");
	json_add(j, "priority",
		 json_new_int(command_number(json_get(spec, "schedulePriority"), "priority")));
	json_add(j, "pods", json_new_int(pods));
	json_add(j, "livePods", json_new_int(0));
	json_set_str(j, "status", failed ? "Failed" : "Succeeded");
	copy_str(j, "cluster", status, "clusterName");
	return j;
}

static int add_finished(const struct command_line *line, struct client *c, struct cJSON *items,
			struct err *reterr)
{
	auto_buf more = BUF_INIT;

	do {
		auto_buf path = BUF_INIT;
		auto_json *tree = NULL;
		buf_add_str(&path, "/apis/work.karmada.io/v1alpha2");
		if (!line->all_namespaces)
			buf_addf(&path, "/namespaces/%s", command_namespace(line, c));
		buf_addf(&path, "/resourcebindings?limit=500%s", more.len ? more.ptr : "");
		int r = client_get(c, path.ptr, &tree, reterr);
		if (r < 0)
			return r;
		json_foreach (json_get(tree, "items"), b) {
			const char *step = json_str(json_path(b, "metadata", "annotations", NULL),
						    "muster.dev/dispatch");
			if (step && strcmp(step, "Finished") == 0)
				json_append(items, finished_job(b));
		}
		const char *token = json_str(json_get(tree, "metadata"), "continue");
		buf_clear(&more);
		if (token && token[0])
			buf_addf(&more, "&continue=%s", token);
	} while (more.len);
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
	if (r < 0 || printed_list(line, "JobSummary", json_get(tree, "items"), out))
		return r;
	struct sheet *s = command_sheet(line, job_heads, ARRAY_LEN(job_heads) - !wide);
	json_foreach (json_get(tree, "items"), j)
		job_row(s, j, wide);
	sheet_print(s, !line->no_headers, out);
	sheet_destroy(s);
	return 0;
}

static int render_queue(const struct command_line *line, struct client *c, struct buf *out,
			struct err *reterr)
{
	static const char *const heads[] = {"QUEUE",   "QUOTA",	   "POLICY",	  "PRIORITY",
					    "PENDING", "HEAD JOB", "OLDEST WAIT", "ADMITTED"};
	auto_json *tree = NULL;

	int r = client_get(c, QUERY "/queues", &tree, reterr);
	if (r < 0 || printed_list(line, "QueueSummary", json_get(tree, "items"), out))
		return r;
	struct sheet *s = command_sheet(line, heads, ARRAY_LEN(heads));
	json_foreach (json_get(tree, "items"), q) {
		const struct cJSON *items = json_get(q, "items"), *head = json_first(items);
		int64_t oldest = 0;
		char text[CLOCK_TEXT_MAX];
		json_foreach (items, j)
			oldest = command_number(j, "waitSeconds") > oldest
				     ? command_number(j, "waitSeconds")
				     : oldest;
		sheet_cell(s, json_str(q, "name"));
		sheet_cell(s, json_str(q, "quota"));
		sheet_cell(s, json_str(q, "policy"));
		sheet_cellf(s, "%" PRId64, command_number(q, "priority"));
		sheet_cellf(s, "%" PRId64, command_number(q, "pending"));
		if (head)
			sheet_cellf(s, "%s/%s", json_str(head, "namespace"),
				    json_str(head, "name"));
		else
			sheet_cell(s, NULL);
		sheet_cell(s, head ? clock_human(oldest * USEC_PER_SEC, text) : NULL);
		if (json_get(q, "admitted"))
			sheet_cellf(s, "%" PRId64, command_number(q, "admitted"));
		else
			sheet_cell(s, NULL);
	}
	sheet_print(s, !line->no_headers, out);
	sheet_destroy(s);
	return 0;
}

static void quota_rows(struct sheet *s, const struct cJSON *node)
{
	int64_t depth = command_number(node, "depth");

	json_foreach (json_get(node, "resources"), r) {
		sheet_cellf(s, "%*s%s", (int)(depth - 1) * 2, "", json_str(node, "name"));
		sheet_cell(s, json_key(r));
		sheet_cell(s, json_str(r, "min"));
		sheet_cell(s, json_str(r, "max") ? json_str(r, "max") : "unlimited");
		sheet_cell(s, json_str(r, "used"));
		sheet_cell(s, json_str(r, "borrowed"));
		sheet_cellf(s, "%" PRId64, command_number(node, "pending"));
		if (json_get(node, "admitted"))
			sheet_cellf(s, "%" PRId64, command_number(node, "admitted"));
		else
			sheet_cell(s, NULL);
		if (json_get(node, "weightedShare"))
			sheet_cellf(s, "%" PRId64, command_number(node, "weightedShare"));
		else
			sheet_cell(s, NULL);
	}
}

/* Leaves the one that was asked for, by its name or its path; all without a word. */
static void choose_nodes(const struct command_line *line, struct cJSON *nodes)
{
	struct cJSON *next;

	for (struct cJSON *node = json_first(nodes); line->n_args && node; node = next) {
		const char *name = json_str(node, "name"), *path = json_str(node, "path");
		next = json_next(node);
		if (!(name && strcmp(name, line->args[0]) == 0) &&
		    !(path && strcmp(path, line->args[0]) == 0))
			json_remove_child(nodes, node);
	}
}

static int render_quota(const struct command_line *line, struct client *c, struct buf *out,
			struct err *reterr)
{
	static const char *const heads[] = {"NODE",	"RESOURCE", "MIN",	"MAX",	"USED",
					    "BORROWED", "PENDING",  "ADMITTED", "SHARE"};
	auto_json *tree = NULL;

	int r = client_get(c, QUERY "/quota", &tree, reterr);
	if (r == 0)
		choose_nodes(line, json_get(tree, "nodes"));
	if (r < 0 || printed_list(line, "QuotaNodeSummary", json_get(tree, "nodes"), out))
		return r;
	struct sheet *s = command_sheet(line, heads, ARRAY_LEN(heads));
	json_foreach (json_get(tree, "nodes"), node)
		quota_rows(s, node);
	sheet_print(s, !line->no_headers, out);
	sheet_destroy(s);
	return 0;
}

/* Nothing where there is no quota, or where it is not the asker's to see. */
static int render_quota_below(const struct command_line *line, struct client *c, struct buf *out,
			      struct err *reterr)
{
	auto_json *tree = NULL;
	struct err refused = ERR_INIT;

	if (client_get(c, QUERY "/quota", &tree, &refused) < 0 ||
	    !json_len(json_get(tree, "nodes")))
		return 0;
	int r = render_quota(line, c, out, reterr);
	buf_add_char(out, '\n');
	return r;
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
	r = r < 0 ? r : render_quota_below(line, c, out, reterr);
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
const struct verb verb_top = {"top", "", "members, quota and jobs, live", run_top};
const struct verb verb_jobs = {"jobs", "", "jobs: where they run, or why they wait", run_jobs};
const struct verb verb_queue = {"queue", "", "queues: pending jobs, head, oldest wait", run_queue};
const struct verb verb_quota = {"quota", "[NODE]",
				"quota tree, Cohorts, ClusterQueues: min, max, used", run_quota};
