#include "core/quota.h"

#include "base/json.h"
#include "core/admission/elastic_wait.h"
#include "core/admission/reclaim.h"
#include "core/admission/settle.h"
#include "core/job.h"
#include "core/queue_unit.h"
#include "core/quota_preview.h"
#include "core/quota_spec.h"
#include "quota-tree/quota_message.h"

#define STATUS_INTERVAL (100 * USEC_PER_MS)

int quota_unit_spec(const struct elastic_tree *tree, struct job *j, uint32_t node,
		    struct quota_amount amounts[ELASTIC_REQUEST_AMOUNTS],
		    struct elastic_unit_spec *ret, struct err *reterr)
{
	struct elastic_quantity sums[JOB_MAX_RESOURCES];
	size_t n;

	job_total(j, sums, &n);
	int r = elastic_tree_request(tree, sums, n, amounts, &n, reterr);
	if (r < 0)
		return r;
	*ret = (struct elastic_unit_spec){
	    .node = node,
	    .shape = ask_id(j->ask),
	    .priority = j->priority,
	    .nonpreemptible = !j->digest.preemptible,
	    .first_attempt = j->first_attempt,
	    .name = span_of(j->elastic_name),
	    .amounts = amounts,
	    .n_amounts = n,
	    .owner = j,
	};
	return 0;
}

int quota_enqueue(struct core *c, struct job *j, bool admitted, struct err *reterr)
{
	struct quota_amount amounts[ELASTIC_REQUEST_AMOUNTS];
	struct elastic_unit_spec spec;
	uint32_t node;

	if (!c->quota.tree)
		return err_set(reterr, ERR_NOT_FOUND, "%s", QUOTA_NOT_IN_TREE);
	/* The digest holds one name: the alibabacloud label, else the koordinator one. */
	int r = elastic_tree_resolve(c->quota.tree, j->digest.quota_name, SPAN_NONE, span_of(j->ns),
				     &node, reterr);
	if (r < 0)
		return r;
	r = quota_unit_spec(c->quota.tree, j, node, amounts, &spec, reterr);
	if (r < 0)
		return r;
	if (!admitted) {
		j->unit = elastic_queue_add(c->quota.queues, &spec);
		elastic_wait_added(c, j);
	} else if (elastic_queue_restore(c->quota.queues, &spec, &j->unit) < 0) {
		return err_set(reterr, ERR_INVALID, "the sums of the quota tree overflow");
	}
	c->quota.status_dirty = c->quota.reclaim_wanted = true;
	return 0;
}

void quota_dequeue(struct core *c, struct job *j)
{
	elastic_wait_forget(c, j);
	if (j->unit && c->quota.queues)
		elastic_queue_remove(c->quota.queues, j->unit);
	j->unit = NULL;
	c->quota.status_dirty = true;
}

static void drop_tree(struct core *c)
{
	reclaim_drop(c);
	elastic_wait_drop(c);
	map_foreach (&c->jobs_by_number, e)
		((struct job *)e->value)->unit = NULL;
	c->quota.queues = elastic_queue_destroy(c->quota.queues);
	c->quota.tree = elastic_tree_destroy(c->quota.tree);
}

/* Files every job that must queue with the tree as it is now. */
static void refile(struct core *c)
{
	map_foreach (&c->jobs_by_number, e) {
		struct job *j = e->value;
		struct err err;
		if (!j->must_queue)
			continue;
		/* What holds its quota keeps it until its pods are gone, whatever becomes of it. */
		if (j->holds) {
			if (quota_enqueue(c, j, true, &err) < 0)
				log_warn(c->log, "running job outside the quota tree",
					 "job=%s/%s reason=\"%s\"", j->ns, j->name, err.text);
		} else if (dispatch_is_free(&j->dispatch) && !j->finished && !j->deleting) {
			settle_offer(c, j);
		} else {
			continue;
		}
		j->unit_dirty = true;
		core_job_dirty(c, j);
	}
}

void quota_observe(struct core *c, const struct store_object *o)
{
	auto_json *tree = NULL;
	auto_arena mem = ARENA_INIT;
	struct elastic_node_spec root;
	struct field_errors errors = {0};
	struct elastic_tree *built = NULL;
	struct err err = ERR_INIT;

	if (!span_is(o->key.ns, QUOTA_TREE_NAMESPACE) || (o->flags & OBJECT_DELETING) ||
	    (c->quota.tree && !span_is(o->key.name, c->quota.name)))
		return;
	if (c->quota.tree && c->quota.spec_text &&
	    span_eq(span_of(c->quota.spec_text),
		    span_make(o->json.ptr + o->extents.spec.at, o->extents.spec.len)))
		return; /* only its status changed */
	if (object_tree(o, &tree, &err) < 0 || quota_spec_decode(tree, &mem, &root, &errors) < 0 ||
	    elastic_tree_create(&root, NULL, NULL, &built, &err) < 0) {
		log_error(c->log, "stored quota tree is unusable", "error=\"%s\"", err.text);
		field_errors_done(&errors);
		return;
	}
	field_errors_done(&errors);
	drop_tree(c);
	c->quota.tree = built;
	c->quota.queues = elastic_queue_create(built, NULL);
	free(c->quota.name);
	c->quota.name = xstrndup(o->key.name.ptr, o->key.name.len);
	memcpy(c->quota.uid, o->uid, STORE_UID_LEN);
	free(c->quota.spec_text);
	c->quota.spec_text = xstrndup(o->json.ptr + o->extents.spec.at, o->extents.spec.len);
	c->quota.queues_dirty = true;
	refile(c);
	c->quota.status_dirty = true;
}

void quota_forget(struct core *c, struct span ns, struct span name)
{
	if (!c->quota.tree || !span_is(ns, QUOTA_TREE_NAMESPACE) || !span_is(name, c->quota.name))
		return;
	drop_tree(c);
	free(c->quota.name);
	free(c->quota.spec_text);
	c->quota.name = c->quota.spec_text = NULL;
	c->quota.queues_dirty = true;
	refile(c);
}

void quota_observe_queue(struct core *c, const struct store_object *o)
{
	auto_json *tree = NULL;
	struct elastic_queue_config config = {.threshold = ELASTIC_PRIORITY_THRESHOLD};
	int64_t priority = 0;
	uint32_t node;

	if (object_tree(o, &tree, NULL) < 0)
		return;
	const struct cJSON *annotations = json_path(tree, "metadata", "annotations", NULL);
	const char *path = json_str(annotations, "kube-queue/quota-fullname");
	if (path && !map_get_str(&c->quota.queue_by_path, path)) {
		struct queue_object *q = xcalloc(1, sizeof(*q));
		q->name = xstrndup(o->key.name.ptr, o->key.name.len);
		memcpy(q->uid, o->uid, STORE_UID_LEN);
		q->exists = true;
		map_put(&c->quota.queue_by_path, span_of(path), q);
	}
	if (!path || !c->quota.tree || elastic_tree_find(c->quota.tree, span_of(path), &node) < 0)
		return;
	const struct cJSON *spec = json_get(tree, "spec");
	const char *policy = json_str(spec, "queuePolicy");
	if (elastic_policy_from_string(span_of(policy ? policy : ""), &config.policy) < 0)
		return;
	if (json_int64(spec, "priority", &priority) == 0 && priority <= INT32_MAX &&
	    priority >= INT32_MIN)
		config.priority = (int32_t)priority;
	const char *threshold = json_str(annotations, "priority-threshold");
	int64_t value;
	if (threshold && json_text_int64(span_of(threshold), &value) == 0 && value <= INT32_MAX &&
	    value >= INT32_MIN)
		config.threshold = (int32_t)value;
	elastic_queue_configure(c->quota.queues, node, &config);
}

/* ---- writes by users ---- */

static int refuse(struct command *cmd, struct field_errors *errors)
{
	auto_buf text = BUF_MAX(16384);

	field_errors_message(errors, cmd->kind->kind, cmd->kind->group, cmd->name, &text);
	cmd->causes = errors;
	return err_set(&cmd->err, ERR_INVALID, "%s", text.ptr ? text.ptr : "");
}

/* The tree in force, or one that was created since and is not looked at yet; NULL when there is
 * none besides the one of the command. */
static const char *other_tree(struct core *c, const struct command *cmd)
{
	struct store_object o;

	if (c->quota.tree && strcmp(c->quota.name, cmd->name) != 0)
		return c->quota.name;
	if (c->quota.created && strcmp(c->quota.created, cmd->name) != 0 &&
	    registry_get(c->batch, cmd->kind, SPAN(QUOTA_TREE_NAMESPACE), span_of(c->quota.created),
			 &o) == 0)
		return c->quota.created;
	return NULL;
}

static void preview(struct core *c, const struct cJSON *tree, struct buf *warnings)
{
	struct field_errors errors = {0};
	auto_arena mem = ARENA_INIT;
	struct elastic_node_spec root;

	if (quota_spec_decode(tree, &mem, &root, &errors) == 0)
		quota_preview(c, &root, warnings);
	field_errors_done(&errors);
}

void quota_preview_delete(struct core *c, struct command *cmd)
{
	auto_buf warnings = BUF_MAX(16384);

	if (!c->quota.tree || strcmp(cmd->ns, QUOTA_TREE_NAMESPACE) != 0 ||
	    strcmp(cmd->name, c->quota.name) != 0)
		return;
	quota_preview(c, NULL, &warnings);
	if (warnings.len && !cmd->warnings)
		cmd->warnings = buf_steal(&warnings, NULL);
}

int quota_admit_command(struct core *c, struct command *cmd)
{
	struct field_errors *errors = xcalloc(1, sizeof(*errors));
	auto_buf warnings = BUF_MAX(65536);
	auto_json *tree = NULL;

	if (json_parse(span_make(cmd->draft.json, cmd->draft.len), NULL, &tree, &cmd->err) < 0) {
		free(errors);
		return err_errno(cmd->err.kind);
	}
	if (strcmp(cmd->ns, QUOTA_TREE_NAMESPACE) != 0)
		buf_addf(&warnings, "an ElasticQuotaTree takes effect in namespace %s only\n",
			 QUOTA_TREE_NAMESPACE);
	else if (cmd->verb == COMMAND_CREATE && other_tree(c, cmd))
		field_errors_add(errors, FIELD_FORBIDDEN, "metadata.name", NULL,
				 "there is an ElasticQuotaTree %s/%s already; only one may exist",
				 QUOTA_TREE_NAMESPACE, other_tree(c, cmd));
	int r = quota_spec_check(tree, errors, &warnings);
	if (r < 0 || field_errors_any(errors))
		return refuse(cmd, errors);
	free(errors);
	if (cmd->dry_run && strcmp(cmd->ns, QUOTA_TREE_NAMESPACE) == 0)
		preview(c, tree, &warnings);
	if (cmd->verb == COMMAND_CREATE && !cmd->dry_run &&
	    strcmp(cmd->ns, QUOTA_TREE_NAMESPACE) == 0) {
		free(c->quota.created);
		c->quota.created = xstrdup(cmd->name);
	}
	if (warnings.len && !cmd->warnings)
		cmd->warnings = buf_steal(&warnings, NULL);
	return 0;
}

/* ---- status ---- */

static void add_numbers(const struct elastic_tree *tree, uint32_t node, bool request, struct buf *b)
{
	const struct quota_tree *q = elastic_tree_quota_const(tree);
	char text[QUOTA_QUANTITY_MAX];
	bool first = true;

	buf_add_char(b, '{');
	for (uint32_t r = 0; r < quota_tree_n_resources(q); r++) {
		struct quota_state s;
		quota_tree_get(q, node, r, &s);
		if (!s.stated && s.used == 0)
			continue;
		struct span name = quota_tree_resource_name(q, r);
		quota_message_quantity(name, request ? s.counted : s.used, text, sizeof(text));
		if (!first)
			buf_add_char(b, ',');
		first = false;
		buf_add_json_str(b, name);
		buf_addf(b, ":\"%s\"", text);
	}
	buf_add_char(b, '}');
}

static void add_node(const struct elastic_tree *tree, uint32_t node, struct buf *b)
{
	uint32_t end = elastic_tree_subtree_end(tree, node);
	bool first = true;

	buf_add_str(b, "{\"name\":");
	buf_add_json_str(b, elastic_tree_name(tree, node));
	if (elastic_tree_n_namespaces(tree, node)) {
		buf_add_str(b, ",\"namespaces\":[");
		for (size_t i = 0; i < elastic_tree_n_namespaces(tree, node); i++) {
			if (i)
				buf_add_char(b, ',');
			buf_add_json_str(b, elastic_tree_namespace(tree, node, i));
		}
		buf_add_char(b, ']');
	}
	buf_add_str(b, ",\"used\":");
	add_numbers(tree, node, false, b);
	buf_add_str(b, ",\"request\":");
	add_numbers(tree, node, true, b);
	for (uint32_t child = node + 1; child < end;
	     child = elastic_tree_subtree_end(tree, child)) {
		buf_add_str(b, first ? ",\"children\":[" : ",");
		first = false;
		add_node(tree, child, b);
	}
	buf_add_str(b, first ? "}" : "]}");
}

static bool same_totals(const struct job *a, const struct job *b)
{
	struct elastic_quantity x[JOB_MAX_RESOURCES], y[JOB_MAX_RESOURCES];
	size_t n, m;

	job_total(a, x, &n);
	job_total(b, y, &m);
	if (n != m)
		return false;
	for (size_t i = 0; i < n; i++) {
		size_t k = 0;
		while (k < m && !span_eq(x[i].resource, y[k].resource))
			k++;
		if (k == m || x[i].value != y[k].value)
			return false;
	}
	return true;
}

int quota_admit_job(struct core *c, struct command *cmd)
{
	auto_arena mem = ARENA_INIT;
	struct job edited = {.number = 0};
	const struct job *j;

	if (cmd->verb != COMMAND_UPDATE || !cmd->draft.digest)
		return 0;
	j = job_by_key(c, cmd->kind->type, span_of(cmd->ns), span_of(cmd->name));
	if (!j || !j->holds || !j->unit ||
	    job_digest_unpack(span_make(cmd->draft.digest, cmd->draft.digest_len), &mem,
			      &edited.digest) < 0 ||
	    same_totals(j, &edited))
		return 0;
	return err_set_field(&cmd->err, ERR_INVALID, "spec",
			     "what the job's pods ask for in all is immutable while it holds "
			     "elastic quota; suspend it first");
}

void quota_flush(struct core *c)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_ELASTIC_QUOTA_TREE);
	auto_buf text = BUF_MAX(STORE_MAX_OBJECT / 2);
	struct store_object o;
	struct object_draft draft;

	c->quota.edited = false;
	if (c->quota.queues_dirty)
		c->quota.queues_dirty = !queue_objects_sync(c);
	if (!c->quota.status_dirty || c->quota.status_due > c->now || !c->quota.tree ||
	    registry_batch_full(c->batch))
		return;
	c->quota.status_dirty = false;
	c->quota.status_due = c->now + STATUS_INTERVAL;
	if (registry_get(c->batch, kind, SPAN(QUOTA_TREE_NAMESPACE), span_of(c->quota.name), &o) <
	    0)
		return;
	buf_add_str(&text, "{\"root\":");
	add_node(c->quota.tree, 0, &text);
	buf_add_char(&text, '}');
	struct span old = span_make(o.json.ptr + o.extents.status.at, o.extents.status.len);
	if (!buf_ok(&text) || span_eq(old, buf_span(&text)) ||
	    core_splice_status(c, kind, &o, buf_span(&text), false, &draft, NULL) < 0)
		return;
	(void)core_put(c, kind, SPAN(QUOTA_TREE_NAMESPACE), span_of(c->quota.name), &draft);
}

usec quota_due(const struct core *c)
{
	if (c->quota.queues_dirty)
		return c->now;
	return c->quota.status_dirty && c->quota.tree ? c->quota.status_due : INT64_MAX;
}
