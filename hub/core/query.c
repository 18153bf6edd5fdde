#include "core/query.h"

#include "base/json.h"
#include "core/binding.h"
#include "core/job.h"
#include "core/kueue/query_kueue.h"
#include "core/kueue/query_quota.h"
#include "core/member.h"
#include "core/member_view.h"
#include "core/restore.h"
#include "quota-tree/quota_message.h"

#include <errno.h>
#include <inttypes.h>
#include <strings.h>

#define MAX_QUEUE_ITEMS 100

static void add_member(struct core *c, const struct member *m, struct buf *b)
{
	const struct resource_table *t = fleet_resource_names(c->fleet);
	uint32_t total = 0, usable = 0;
	char free_text[QUOTA_QUANTITY_MAX], all_text[QUOTA_QUANTITY_MAX];
	char since[CLOCK_TEXT_MAX];
	bool first = true;

	buf_add_str(b, "{\"name\":");
	buf_add_json_str(b, span_of(m->name));
	buf_addf(b, ",\"ready\":%s,\"reason\":\"%s\",\"message\":",
		 m->condition == MEMBER_READY ? "true" : "false", member_view_reason(m->condition));
	buf_add_json_str(b, span_of(m->message));
	buf_addf(b,
		 ",\"since\":\"%s\",\"version\":\"%s\",\"synced\":%s,\"cordoned\":%s,\"jobs\":%zu",
		 clock_format(m->condition_since, since),
		 m->kubernetes_version ? m->kubernetes_version : "",
		 m->nodes_listed && m->pods_listed ? "true" : "false",
		 m->cordoned ? "true" : "false", m->jobs.len);
	if (m->view != CLUSTER_NONE)
		cluster_view_node_counts(c->fleet, m->view, &total, &usable);
	buf_addf(b, ",\"nodes\":%u,\"nodesUsable\":%u,\"resources\":{", total, usable);
	for (uint32_t r = 0; m->view != CLUSTER_NONE && r < t->n; r++) {
		struct cluster_totals sums;
		cluster_view_totals(c->fleet, m->view, r, &sums);
		if (sums.allocatable == 0)
			continue;
		quota_message_quantity(span_of(t->names[r]), sums.free, free_text,
				       sizeof(free_text));
		quota_message_quantity(span_of(t->names[r]), sums.allocatable, all_text,
				       sizeof(all_text));
		buf_addf(b,
			 "%s\"%s\":{\"free\":\"%s\",\"allocatable\":\"%s\",\"assumed\":%" PRId64
			 ",\"largest\":%" PRId64 "}",
			 first ? "" : ",", t->names[r], free_text, all_text, sums.assumed,
			 sums.largest);
		first = false;
	}
	buf_add_str(b, "}}");
}

static void answer_clusters(struct core *c, struct buf *b)
{
	bool first = true;

	buf_add_str(b, "{\"items\":[");
	vec_foreach (&c->members, p) {
		if (!*p)
			continue;
		if (!first)
			buf_add_char(b, ',');
		first = false;
		add_member(c, *p, b);
	}
	buf_add_str(b, "]}");
}

/* ns: of one namespace; absent: of all. */
static void answer_jobs(struct core *c, struct span ns, struct buf *b)
{
	bool first = true;

	buf_add_str(b, "{\"items\":[");
	map_foreach (&c->jobs_by_number, e) {
		const struct job *j = e->value;
		if (ns.ptr && !span_is(ns, j->ns))
			continue;
		if (!first)
			buf_add_char(b, ',');
		first = false;
		query_job_line(c, e->value, b);
	}
	buf_add_str(b, "]}");
}

static void add_queue(struct core *c, uint32_t node, struct buf *b)
{
	struct elastic_queues *q = c->quota.queues;
	struct span path = elastic_tree_path(c->quota.tree, node);
	const struct queue_object *object = map_get(&c->quota.queue_by_path, path);
	struct elastic_queue_config config = elastic_queue_config_of(q, node);
	size_t pending = elastic_queue_pending(q, node);

	buf_add_str(b, "{\"name\":");
	buf_add_json_str(b, object ? span_of(object->name) : path);
	buf_add_str(b, ",\"quota\":");
	buf_add_json_str(b, path);
	buf_addf(b, ",\"policy\":\"%s\",\"priority\":%d,\"pending\":%zu,\"items\":[",
		 elastic_policy_to_string(config.policy), config.priority, pending);
	for (size_t i = 1; i <= pending && i <= MAX_QUEUE_ITEMS; i++) {
		struct job *j = elastic_unit_owner(elastic_queue_at(q, node, i));
		if (i > 1)
			buf_add_char(b, ',');
		query_job_line(c, j, b);
	}
	buf_add_str(b, "]}");
}

static void answer_queues(struct core *c, struct buf *b)
{
	uint32_t n =
	    c->quota.tree ? quota_tree_n_nodes(elastic_tree_quota_const(c->quota.tree)) : 0;

	buf_add_str(b, "{\"items\":[");
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			buf_add_char(b, ',');
		add_queue(c, i, b);
	}
	bool first = n == 0;
	query_kueue_queues(c, &first, b);
	buf_add_str(b, "]}");
}

void query_add_quantity(struct buf *b, const char *key, struct span resource, int64_t v)
{
	char text[QUOTA_QUANTITY_MAX];

	if (v == QUOTA_UNLIMITED)
		return;
	quota_message_quantity(resource, v, text, sizeof(text));
	buf_addf(b, ",\"%s\":\"%s\"", key, text);
}

static void add_quota_node(struct core *c, uint32_t node, struct buf *b)
{
	const struct elastic_tree *tree = c->quota.tree;
	const struct quota_tree *q = elastic_tree_quota_const(tree);
	bool first = true;

	buf_add_str(b, "{\"name\":");
	buf_add_json_str(b, elastic_tree_name(tree, node));
	buf_add_str(b, ",\"path\":");
	buf_add_json_str(b, elastic_tree_path(tree, node));
	buf_addf(b, ",\"depth\":%u,\"pending\":%zu,\"namespaces\":[", quota_tree_depth(q, node),
		 elastic_queue_pending(c->quota.queues, node));
	for (size_t i = 0; i < elastic_tree_n_namespaces(tree, node); i++) {
		if (i)
			buf_add_char(b, ',');
		buf_add_json_str(b, elastic_tree_namespace(tree, node, i));
	}
	buf_add_str(b, "],\"resources\":{");
	for (uint32_t r = 0; r < quota_tree_n_resources(q); r++) {
		struct span name = quota_tree_resource_name(q, r);
		struct quota_state s;
		quota_tree_get(q, node, r, &s);
		if (!s.stated && s.used == 0)
			continue;
		if (!first)
			buf_add_char(b, ',');
		first = false;
		buf_add_json_str(b, name);
		buf_addf(b, ":{\"unit\":\"%s\"", span_is(name, "cpu") ? "milli" : "one");
		query_add_quantity(b, "min", name, s.nominal);
		query_add_quantity(b, "max", name, s.max);
		query_add_quantity(b, "used", name, s.used);
		query_add_quantity(b, "borrowed", name,
				   s.used > s.nominal ? s.used - s.nominal : 0);
		buf_add_char(b, '}');
	}
	buf_add_str(b, "}}");
}

static void answer_quota(struct core *c, struct buf *b)
{
	uint32_t n =
	    c->quota.tree ? quota_tree_n_nodes(elastic_tree_quota_const(c->quota.tree)) : 0;

	buf_add_str(b, "{\"tree\":");
	buf_add_json_str(b, span_of(c->quota.name ? c->quota.name : ""));
	buf_add_str(b, ",\"nodes\":[");
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			buf_add_char(b, ',');
		add_quota_node(c, i, b);
	}
	bool first = n == 0;
	query_quota_nodes(c, &first, b);
	buf_add_str(b, "]}");
}

const struct kind *query_job_kind(const struct core *c, struct span word)
{
	for (size_t i = 0; i < c->kinds->n_kinds; i++) {
		const struct kind *k = c->kinds->kinds[i];
		const char *names[] = {k->plural, k->singular, k->kind};
		for (size_t n = 0; k->is_job && n < ARRAY_LEN(names); n++)
			if (names[n] && strlen(names[n]) == word.len &&
			    strncasecmp(names[n], word.ptr, word.len) == 0)
				return k;
	}
	return NULL;
}

/* A finished job has no record; what is known is in its objects. */
static int answer_finished(struct core *c, const struct kind *kind, const struct store_object *o,
			   struct buf *b)
{
	struct job *j = restore_job(c, kind, o);

	if (!j)
		return -EIO;
	query_why(c, j, b);
	if (j->finished && !j->dirty)
		job_destroy(c, j);
	return 0;
}

/* NS/jobs, or NS/KIND/NAME/why. */
static int answer_namespace(struct core *c, struct span path, struct buf *b, struct err *reterr)
{
	struct span ns = span_split(&path, '/'), word = span_split(&path, '/');
	struct span name = span_split(&path, '/');
	const struct kind *kind = query_job_kind(c, word);
	struct store_object o;
	struct job *j;

	if (span_is(word, "jobs") && !name.len) {
		answer_jobs(c, ns, b);
		return 0;
	}
	if (!kind || !span_is(path, "why"))
		return err_set(reterr, ERR_NOT_FOUND,
			       "the server could not find the requested resource");
	j = job_by_key(c, kind->type, ns, name);
	if (j) {
		query_why(c, j, b);
		return 0;
	}
	if (registry_get(c->batch, kind, ns, name, &o) < 0)
		return err_set(reterr, ERR_NOT_FOUND, "%s \"%.*s\" not found", kind->plural,
			       SPAN_ARGS(name));
	return answer_finished(c, kind, &o, b);
}

void query_answer(struct core *c, struct command *cmd)
{
	struct span path = span_of(cmd->query ? cmd->query : "");
	struct span args = path, head;
	struct buf b = BUF_MAX((size_t)256 << 20);
	int r = 0;

	path = span_split(&args, '?');
	while (path.len && path.ptr[0] == '/')
		path = span_make(path.ptr + 1, path.len - 1);
	struct span rest = path;
	head = span_split(&rest, '/');
	if (span_is(path, COMMAND_QUERY_METRICS))
		query_metrics(c, &b);
	else if (span_is(path, COMMAND_QUERY_COLUMNS))
		query_columns(c, span_of(cmd->query_body ? cmd->query_body : ""), &b);
	else if (span_is(path, "clusters"))
		answer_clusters(c, &b);
	else if (span_is(path, "jobs"))
		answer_jobs(c, SPAN_NONE, &b);
	else if (span_is(path, "queues"))
		answer_queues(c, &b);
	else if (span_is(path, "quota"))
		answer_quota(c, &b);
	else if (span_is(head, "kueue"))
		r = query_kueue_pending(c, rest, args, &b, &cmd->err);
	else if (span_is(head, "namespaces"))
		r = answer_namespace(c, rest, &b, &cmd->err);
	else
		r = err_set(&cmd->err, ERR_NOT_FOUND,
			    "the server could not find the requested resource");
	if (r == 0)
		cmd->result = buf_steal(&b, &cmd->result_len);
	buf_done(&b);
}
