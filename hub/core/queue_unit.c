#include "core/queue_unit.h"

#include "core/binding.h"
#include "core/job.h"
#include "core/object_writer.h"
#include "quota-tree/quota_message.h"

#include <inttypes.h>

#define UNIT_NAMESPACE "kube-queue"

char *queue_unit_name(const struct job *j)
{
	char binding[BINDING_NAME_MAX], name[BINDING_NAME_MAX + 8];

	(void)snprintf(name, sizeof(name), "%s-rb-qu", binding_name(j->kind, j->name, binding));
	return xstrdup(name);
}

const char *queue_unit_phase(const struct job *j)
{
	if (j->finished)
		return j->phase == COPY_FAILED ? UNIT_FAILED : UNIT_SUCCEED;
	if (!j->holds)
		return UNIT_ENQUEUED;
	return j->dispatch.step == DISPATCH_STARTED && j->phase == COPY_RUNNING ? UNIT_RUNNING
										: UNIT_DEQUEUED;
}

size_t queue_unit_message(const struct core *c, const struct job *j, char *out, size_t max)
{
	struct elastic_standing standing;

	out[0] = '\0';
	if (!j->unit || !c->quota.queues || j->holds)
		return 0;
	elastic_queue_standing(c->quota.queues, j->unit, &standing);
	return quota_message_standing(c->quota.tree, &standing, out, max);
}

static void add_pod_sets(struct buf *b, const struct job *j, const char *count_key)
{
	buf_add_char(b, '[');
	for (size_t i = 0; i < j->digest.n_pod_sets; i++) {
		buf_add_str(b, i ? ",{\"name\":" : "{\"name\":");
		buf_add_json_str(b, j->digest.pod_sets[i].name);
		buf_addf(b, ",\"%s\":%" PRId64 "}", count_key, j->digest.pod_sets[i].count);
	}
	buf_add_char(b, ']');
}

static void add_spec(const struct core *c, const struct job *j, struct buf *b)
{
	char binding[BINDING_NAME_MAX];
	const struct queue_object *queue = NULL;

	if (j->unit && c->quota.tree)
		queue = map_get(&c->quota.queue_by_path,
				elastic_tree_path(c->quota.tree, elastic_unit_node(j->unit)));
	buf_add_str(b, "{\"consumerRef\":{\"apiVersion\":\"work.karmada.io/v1alpha2\","
		       "\"kind\":\"ResourceBinding\",\"namespace\":");
	buf_add_json_str(b, span_of(j->ns));
	buf_add_str(b, ",\"name\":");
	buf_add_json_str(b, span_of(binding_name(j->kind, j->name, binding)));
	buf_addf(b, "},\"priority\":%d", j->priority);
	if (j->digest.priority_class.len) {
		buf_add_str(b, ",\"priorityClassName\":");
		buf_add_json_str(b, j->digest.priority_class);
	}
	if (queue) {
		buf_add_str(b, ",\"queue\":");
		buf_add_json_str(b, span_of(queue->name));
	}
	buf_add_str(b, ",\"resource\":");
	job_add_totals(j, b);
	buf_add_str(b, ",\"request\":");
	job_add_totals(j, b);
	buf_add_str(b, ",\"podSet\":");
	add_pod_sets(b, j, "count");
	buf_add_char(b, '}');
}

static void add_status(const struct core *c, const struct job *j, struct buf *b)
{
	char when[CLOCK_TEXT_MAX], message[512];

	buf_addf(b, "{\"phase\":\"%s\",\"attempts\":%u,\"lastUpdateTime\":\"%s\"",
		 queue_unit_phase(j), j->replacements + (j->holds ? 0 : 1),
		 clock_format(c->now, when));
	if (j->dequeued_at)
		buf_addf(b, ",\"lastAllocateTime\":\"%s\"", clock_format(j->dequeued_at, when));
	if (queue_unit_message(c, j, message, sizeof(message)) == 0)
		(void)snprintf(message, sizeof(message), "%s",
			       j->holds || j->finished ? "Dequeued because schedule successfully"
			       : j->hold_detail	       ? j->hold_detail
						: "Waiting scheduler to schedule this queueUnit");
	buf_add_str(b, ",\"message\":");
	buf_add_json_str(b, span_of(message));
	if (j->holds) {
		buf_add_str(b, ",\"admissions\":");
		add_pod_sets(b, j, "replicas");
	}
	buf_add_char(b, '}');
}

static void add_labels(struct buf *b, const struct job *j)
{
	buf_add_char(b, '{');
	for (size_t i = 0; i < j->digest.n_labels; i++) {
		if (i)
			buf_add_char(b, ',');
		buf_add_json_str(b, j->digest.labels[i].key);
		buf_add_char(b, ':');
		buf_add_json_str(b, j->digest.labels[i].value);
	}
	buf_add_char(b, '}');
}

int queue_unit_draft(const struct core *c, const struct job *j, struct object_draft *ret,
		     struct err *reterr)
{
	auto_buf labels = BUF_INIT;
	char binding[BINDING_NAME_MAX];
	const struct kind *kind = kind_by_type(c->kinds, TYPE_QUEUE_UNIT);
	struct managed_write by = core_manager(c, kind);
	struct object_writer w;

	add_labels(&labels, j);
	object_writer_begin(&w, &(struct object_head){
				    .kind = kind,
				    .by = &by,
				    .ns = span_of(j->ns),
				    .name = span_of(j->unit_name),
				    .uid = j->unit_uid,
				    .created = j->unit_created,
				    .generation = 1,
				    .labels = labels.len > 2 ? labels.ptr : NULL,
				    .owner_kind = kind_by_type(c->kinds, TYPE_RESOURCE_BINDING),
				    .owner_name = binding_name(j->kind, j->name, binding),
				    .owner_uid = j->binding_uid,
				    .owner_controller = true,
				});
	object_writer_spec(&w);
	add_spec(c, j, &w.text);
	object_writer_status(&w);
	add_status(c, j, &w.text);
	return object_writer_end(&w, ret, reterr);
}

/* ---- Queue objects ---- */

static const char *policy_name(const struct core *c, uint32_t node)
{
	return elastic_policy_to_string(elastic_queue_config_of(c->quota.queues, node).policy);
}

static int queue_draft(const struct core *c, const struct queue_object *q, uint32_t node,
		       struct object_draft *ret)
{
	const struct elastic_tree *tree = c->quota.tree;
	const struct kind *kind = kind_by_type(c->kinds, TYPE_QUEUE);
	struct managed_write by = core_manager(c, kind);
	auto_buf annotations = BUF_INIT;
	struct object_writer w;
	struct err err;
	uint32_t parent = quota_tree_parent(elastic_tree_quota_const(tree), node);

	buf_add_str(&annotations, "{\"kube-queue/quota-fullname\":");
	buf_add_json_str(&annotations, elastic_tree_path(tree, node));
	if (parent != QUOTA_NO_NODE) {
		buf_add_str(&annotations, ",\"kube-queue/parent-quota-fullname\":");
		buf_add_json_str(&annotations, elastic_tree_path(tree, parent));
	}
	buf_add_char(&annotations, '}');
	object_writer_begin(&w, &(struct object_head){
				    .kind = kind,
				    .by = &by,
				    .ns = SPAN(UNIT_NAMESPACE),
				    .name = span_of(q->name),
				    .uid = q->uid,
				    .created = c->now,
				    .generation = 1,
				    .labels = "{\"create-by-kubequeue\":\"true\"}",
				    .annotations = annotations.ptr,
				});
	object_writer_spec(&w);
	buf_addf(&w.text, "{\"queuePolicy\":\"%s\",\"priority\":%d}", policy_name(c, node),
		 elastic_queue_config_of(c->quota.queues, node).priority);
	object_writer_status(&w);
	buf_add_str(&w.text, "{\"queueItemDetails\":{\"active\":[]}}");
	return object_writer_end(&w, ret, &err);
}

static struct queue_object *queue_object_new(struct core *c, struct span path)
{
	static const char alphabet[] = "bcdfghjklmnpqrstvwxz2456789";
	struct queue_object *q = xcalloc(1, sizeof(*q));
	char suffix[QUOTA_QUEUE_NAME_SUFFIX], name[QUOTA_QUEUE_NAME_MAX];

	registry_new_uid(c->registry, q->uid);
	for (size_t i = 0; i < sizeof(suffix); i++)
		suffix[i] = alphabet[q->uid[i] % (sizeof(alphabet) - 1)];
	quota_message_queue_name(path, span_make(suffix, sizeof(suffix)), name, sizeof(name));
	q->name = xstrdup(name);
	map_put(&c->quota.queue_by_path, path, q);
	return q;
}

bool queue_objects_sync(struct core *c)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_QUEUE);
	uint32_t n =
	    c->quota.tree ? quota_tree_n_nodes(elastic_tree_quota_const(c->quota.tree)) : 0;

	map_foreach (&c->quota.queue_by_path, e)
		((struct queue_object *)e->value)->wanted = false;
	for (uint32_t i = 0; i < n; i++) {
		struct span path = elastic_tree_path(c->quota.tree, i);
		struct queue_object *q = map_get(&c->quota.queue_by_path, path);
		if (!q)
			q = queue_object_new(c, path);
		q->wanted = true;
		if (q->exists)
			continue;
		if (registry_batch_full(c->batch))
			return false;
		struct object_draft draft;
		if (queue_draft(c, q, i, &draft) < 0 ||
		    registry_put(c->batch, kind, SPAN(UNIT_NAMESPACE), span_of(q->name), &draft) <
			0)
			continue;
		q->exists = true;
	}
	map_foreach (&c->quota.queue_by_path, e) {
		struct queue_object *q = e->value;
		if (q->wanted)
			continue;
		if (registry_batch_full(c->batch))
			return false;
		core_delete(c, kind, SPAN(UNIT_NAMESPACE), span_of(q->name));
		map_remove(&c->quota.queue_by_path, span_make(e->key, e->key_len));
		free(q->name);
		free(q);
	}
	return true;
}
