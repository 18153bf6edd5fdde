#include "core/observe.h"

#include "base/json.h"
#include "base/num.h"
#include "core/admission/settle.h"
#include "core/assignment.h"
#include "core/binding.h"
#include "core/capacity.h"
#include "core/dispatch/courier.h"
#include "core/job.h"
#include "core/member.h"
#include "core/policy_spec.h"
#include "core/queue_unit.h"
#include "core/quota.h"

#include <errno.h>

/* ---- jobs ---- */

static void restore_unit(struct core *c, struct job *j)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_QUEUE_UNIT);
	struct store_object o;

	free(j->unit_name);
	j->unit_name = queue_unit_name(j);
	if (registry_get(c->batch, kind, span_of(j->ns), span_of(j->unit_name), &o) == 0)
		memcpy(j->unit_uid, o.uid, STORE_UID_LEN);
	else
		registry_new_uid(c->registry, j->unit_uid);
	j->unit_created = j->first_attempt;
}

static void restore_charges(struct core *c, struct job *j, const struct member *m)
{
	auto_arena mem = ARENA_INIT;
	struct fit_slot *slots;
	struct err err;

	size_t n = assignment_unpack(c->fleet, m->view, span_make(j->assignment, j->assignment_len),
				     &mem, &slots);
	j->holds = true;
	if (ledger_assume(c->ledger, j->number, j->shape, m->view, slots, n, 0, &err) < 0)
		log_warn(c->log, "placement not in the ledger", "job=%s/%s error=\"%s\"", j->ns,
			 j->name, err.text);
	if (j->must_queue && quota_enqueue(c, j, true, &err) < 0)
		log_warn(c->log, "running job outside the quota tree", "job=%s/%s error=\"%s\"",
			 j->ns, j->name, err.text);
}

/* Ties a placement that is durable to the memory: member, ledger, pods, quota. */
static void restore_placement(struct core *c, struct job *j)
{
	struct member *m = member_by_number(c, j->dispatch.member);
	const struct propagation_policy *p;

	if (j->dispatch.step == DISPATCH_IDLE || !m)
		return;
	settle_enter_member(m, j);
	p = propagation_index_get(c->policies, j->policy_ns ? span_of(j->policy_ns) : SPAN_NONE,
				  j->policy_name ? span_of(j->policy_name) : SPAN("-"));
	if (!p)
		p = propagation_builtin();
	if (!j->elastic_name) {
		auto_buf name = BUF_INIT;
		buf_addf(&name, "%s/%s/%s", j->ns, j->name, j->kind->kind);
		j->elastic_name = buf_steal(&name, NULL);
	}
	if (!j->finished && job_ask(c, j, p, NULL) == 0 && m->view != CLUSTER_NONE)
		restore_charges(c, j, m);
}

struct job *observe_revive(struct core *c, const struct kind *kind, const struct store_object *o)
{
	char name[BINDING_NAME_MAX];
	struct store_object binding;
	struct err err;
	struct job *j;

	j = job_by_key(c, kind->type, o->key.ns, o->key.name);
	if (j && memcmp(j->uid, o->uid, STORE_UID_LEN) == 0)
		return j;
	if (job_create(c, kind, o, &j, &err) < 0) {
		log_error(c->log, "job cannot be read", "error=\"%s\"", err.text);
		return NULL;
	}
	int r = registry_get(c->batch, kind_by_type(c->kinds, TYPE_RESOURCE_BINDING), o->key.ns,
			     span_of(binding_name(kind, j->name, name)), &binding);
	if (r == 0 && binding_restore(j, &binding) < 0) {
		/* It may run somewhere: it is left alone rather than run twice. */
		log_error(c->log, "binding cannot be read", "job=%s/%s", j->ns, j->name);
		job_destroy(c, j);
		return NULL;
	}
	if (r < 0) {
		registry_new_uid(c->registry, j->binding_uid);
		j->dispatch = (struct dispatch_state){0};
	}
	j->binding_created = j->created;
	restore_unit(c, j);
	restore_placement(c, j);
	/* What an earlier process had under way is lost. */
	if (j->dispatch.step != DISPATCH_IDLE)
		courier_feed(c, j, &(struct dispatch_event){EVENT_RESTARTED});
	return j;
}

static void accept(struct core *c, struct job *j)
{
	auto_buf status = BUF_INIT;

	/* Its place in the queue: creationTimestamp has whole seconds only. */
	c->last_attempt = num_max(c->now, c->last_attempt + 1);
	j->first_attempt = c->last_attempt;
	job_accepted_status(j->kind, j->name, c->now, &status);
	if (status.len) {
		free(j->status);
		j->status = buf_steal(&status, &j->status_len);
		j->status_finished = false;
		j->status_due = c->now;
	}
	j->binding_dirty = true;
	core_job_dirty(c, j);
}

static void job_observe(struct core *c, const struct kind *kind, const struct store_object *o)
{
	struct job *j = job_by_key(c, kind->type, o->key.ns, o->key.name);

	if (j && memcmp(j->uid, o->uid, STORE_UID_LEN) != 0) {
		/* Another object under the old name: the record waits for its copy alone. */
		j->gone = true;
		settle_changed(c, j, true);
		j = NULL;
	}
	if (j) {
		settle_changed(c, j, job_update(c, j, o));
		return;
	}
	/* Finished, or done with and kept by the finalizers of others. */
	if (o->flags & OBJECT_DELETING ? !core_has_hub_finalizer(o) : o->flags & OBJECT_FINISHED)
		return;
	j = observe_revive(c, kind, o);
	if (!j)
		return;
	if (j->deleting) {
		settle_changed(c, j, true);
	} else if (!j->binding_exists) {
		accept(c, j);
		settle_offer(c, j);
	}
}

static void job_gone(struct core *c, const struct kind *kind, struct span ns, struct span name)
{
	struct job *j = job_by_key(c, kind->type, ns, name);

	if (!j)
		return;
	j->gone = true;
	settle_changed(c, j, true);
}

/* ---- policies and classes ---- */

static void policy_observe(struct core *c, const struct kind *kind, const struct store_object *o)
{
	auto_arena mem = ARENA_INIT;
	auto_json *tree = NULL;
	struct propagation_policy p;
	struct err err;

	if (object_tree(o, &tree, NULL) < 0)
		return;
	policy_spec_decode(tree, kind->type == TYPE_CLUSTER_PROPAGATION_POLICY, &mem, &p);
	if (propagation_index_put(c->policies, &p, &err) < 0)
		log_warn(c->log, "policy refused", "policy=%.*s error=\"%s\"",
			 SPAN_ARGS(o->key.name), err.text);
}

/* A policy came, changed or went: jobs that wait are matched anew. */
static void rematch(struct core *c)
{
	map_foreach (&c->jobs_by_number, e) {
		struct job *j = e->value;
		if (j->dispatch.step == DISPATCH_IDLE && !j->finished && !j->deleting && !j->gone)
			settle_offer(c, j);
	}
}

static void priority_observe(struct core *c, const struct store_object *o)
{
	struct span value, global;
	int64_t v;

	if (json_text_member(o->json, "value", &value) < 0 || json_text_int64(value, &v) < 0 ||
	    v < INT32_MIN || v > INT32_MAX)
		return;
	int32_t *kept = xcalloc(1, sizeof(*kept));
	*kept = (int32_t)v;
	free(map_put(&c->priority_classes, o->key.name, kept));
	if (json_text_member(o->json, "globalDefault", &global) == 0 && span_is(global, "true")) {
		c->has_default_priority = true;
		c->default_priority = (int32_t)v;
	}
}

/* ---- the queue of changes ---- */

static bool is_interesting(const struct kind *k)
{
	switch (k->type) {
	case TYPE_CLUSTER:
	case TYPE_SECRET:
	case TYPE_PROPAGATION_POLICY:
	case TYPE_CLUSTER_PROPAGATION_POLICY:
	case TYPE_ELASTIC_QUOTA_TREE:
	case TYPE_QUEUE:
	case TYPE_PRIORITY_CLASS:
		return true;
	default:
		return k->is_job;
	}
}

static void enqueue(struct core *c, const struct kind *kind, const struct store_key *k)
{
	auto_buf key = BUF_INIT;

	buf_addf(&key, "%u/%.*s/%.*s", kind->type, SPAN_ARGS(k->ns), SPAN_ARGS(k->name));
	if (!is_interesting(kind) || map_has(&c->observed_keys, buf_span(&key)))
		return;
	map_put(&c->observed_keys, buf_span(&key), c);
	vec_push(&c->observed, (struct observed){kind, xstrndup(k->ns.ptr, k->ns.len),
						 xstrndup(k->name.ptr, k->name.len)});
}

void observe_collect(struct core *c)
{
	size_t n;
	const struct registry_change *changes = registry_changes(c->batch, &n);

	for (size_t i = 0; i < n; i++)
		enqueue(c, changes[i].kind, &changes[i].object.key);
	c->observed_revision = num_max(c->observed_revision, registry_truth_revision(c->batch));
}

/* A row for every commit would cost more than reading a little twice after a restart. */
#define SAVE_EVERY 256 /* revisions */

static struct span saved_key(void)
{
	return SPAN("observed");
}

void observe_save(struct core *c)
{
	if (c->observed.len || c->dirty.len || registry_batch_full(c->batch) ||
	    c->observed_revision < c->observed_saved + SAVE_EVERY)
		return;
	c->observed_saved = c->observed_revision;
	registry_put_aux(c->batch, false, STORE_AUX_CURSOR, saved_key(),
			 span_make((const char *)&c->observed_saved, sizeof(c->observed_saved)));
}

static int replay_row(void *arg, const struct store_log_row *row)
{
	struct core *c = arg;
	const struct kind *kind = kind_by_type(c->kinds, row->object.key.type);

	if (kind)
		enqueue(c, kind, &row->object.key);
	return 0;
}

/* Queues the changes that may not have been looked at. */
static int replay(struct core *c, struct err *reterr)
{
	struct store_reader *reader;
	struct span value;

	c->observed_saved = 0;
	if (registry_get_aux(c->batch, false, STORE_AUX_CURSOR, saved_key(), &value) == 0 &&
	    value.len == sizeof(c->observed_saved))
		memcpy(&c->observed_saved, value.ptr, sizeof(c->observed_saved));
	int r = registry_reader(c->batch, kind_by_type(c->kinds, TYPE_NAMESPACE), &reader, reterr);
	if (r < 0)
		return r;
	c->observed_revision = store_reader_revision(reader);
	uint64_t from = num_max(c->observed_saved, store_floor(c->truth));
	r = store_log_scan(reader, num_min(from, c->observed_revision), replay_row, c);
	return r < 0 ? err_set(reterr, ERR_INTERNAL, "the watch log cannot be read") : 0;
}

static void observe_present(struct core *c, const struct kind *kind, const struct store_object *o)
{
	if (kind->is_job) {
		job_observe(c, kind, o);
		return;
	}
	switch (kind->type) {
	case TYPE_CLUSTER:
		member_observe(c, o);
		break;
	case TYPE_SECRET:
		member_observe_secret(c, o->key.ns, o->key.name);
		break;
	case TYPE_PROPAGATION_POLICY:
	case TYPE_CLUSTER_PROPAGATION_POLICY:
		policy_observe(c, kind, o);
		rematch(c);
		break;
	case TYPE_ELASTIC_QUOTA_TREE:
		quota_observe(c, o);
		break;
	case TYPE_QUEUE:
		quota_observe_queue(c, o);
		break;
	case TYPE_PRIORITY_CLASS:
		priority_observe(c, o);
		break;
	default:
		break;
	}
}

static void observe_absent(struct core *c, const struct observed *o)
{
	struct span ns = span_of(o->ns), name = span_of(o->name);

	if (o->kind->is_job) {
		job_gone(c, o->kind, ns, name);
		return;
	}
	switch (o->kind->type) {
	case TYPE_CLUSTER:
		member_forget(c, name);
		break;
	case TYPE_SECRET:
		member_observe_secret(c, ns, name);
		break;
	case TYPE_PROPAGATION_POLICY:
	case TYPE_CLUSTER_PROPAGATION_POLICY:
		propagation_index_remove(c->policies, ns.len ? ns : SPAN_NONE, name);
		rematch(c);
		break;
	case TYPE_ELASTIC_QUOTA_TREE:
		quota_forget(c, ns, name);
		break;
	case TYPE_PRIORITY_CLASS:
		free(map_remove(&c->priority_classes, name));
		break;
	default:
		break;
	}
}

/* Rows that looking at one change may write at once: member_forget's cursors and settings. */
#define ROWS_PER_CHANGE (STREAM_MAX + 6)

bool observe_run(struct core *c)
{
	size_t done = 0;

	for (; done < c->observed.len; done++) {
		struct observed *o = &c->observed.items[done];
		auto_buf key = BUF_INIT;
		struct store_object object;
		if (registry_batch_room(c->batch) < ROWS_PER_CHANGE ||
		    registry_batch_full(c->batch))
			break;
		buf_addf(&key, "%u/%s/%s", o->kind->type, o->ns, o->name);
		map_remove(&c->observed_keys, buf_span(&key));
		int r = registry_get(c->batch, o->kind, span_of(o->ns), span_of(o->name), &object);
		if (r == 0)
			observe_present(c, o->kind, &object);
		else if (r == -ENOENT)
			observe_absent(c, o);
		free(o->ns);
		free(o->name);
	}
	if (done)
		memmove(c->observed.items, c->observed.items + done,
			(c->observed.len - done) * sizeof(*c->observed.items));
	c->observed.len -= done;
	return c->observed.len > 0;
}

/* ---- restart ---- */

static int restore_type(struct core *c, uint16_t type, struct err *reterr)
{
	const struct kind *kind = kind_by_type(c->kinds, type);
	struct store_reader *reader;
	struct store_iter *it;
	struct store_object o;
	int fail = 0;

	int r = registry_reader(c->batch, kind, &reader, reterr);
	if (r == 0)
		r = store_iter_begin(reader, &(struct store_range){.type = type}, &it, reterr);
	if (r < 0)
		return r;
	while (store_iter_next(it, &o, &fail))
		observe_present(c, kind, &o);
	store_iter_end(it);
	return fail;
}

static int restore_job(void *arg, struct span key, struct span value)
{
	struct core *c = arg;
	struct span rest = key;
	uint64_t type;
	struct store_object o;

	(void)value;
	if (num_parse_u64(span_split(&rest, '/'), UINT16_MAX, &type) < 0)
		return 0;
	struct span ns = span_split(&rest, '/');
	const struct kind *kind = kind_by_type(c->kinds, (uint16_t)type);
	if (!kind || registry_get(c->batch, kind, ns, rest, &o) < 0)
		return 0;
	struct job *j = observe_revive(c, kind, &o);
	if (!j)
		return 0;
	j->live_row = true;
	if (j->dispatch.step == DISPATCH_IDLE || j->deleting)
		settle_changed(c, j, true);
	return 0;
}

int observe_restore(struct core *c, struct err *reterr)
{
	static const uint16_t before_jobs[] = {
	    TYPE_PRIORITY_CLASS,
	    TYPE_PROPAGATION_POLICY,
	    TYPE_CLUSTER_PROPAGATION_POLICY,
	    TYPE_ELASTIC_QUOTA_TREE,
	    TYPE_QUEUE,
	};
	struct store_reader *reader;
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(before_jobs); i++)
		r = restore_type(c, before_jobs[i], reterr);
	/* Members first without pods' owners, then jobs, which tie their pods. */
	if (r == 0)
		r = restore_type(c, TYPE_CLUSTER, reterr);
	vec_foreach (&c->members, m)
		if (r == 0 && *m)
			capacity_restore_nodes(c, *m);
	if (r == 0)
		r = registry_reader(c->batch, kind_by_type(c->kinds, TYPE_NAMESPACE), &reader,
				    reterr);
	if (r == 0)
		r = store_scan_aux(reader, STORE_AUX_LIVE, SPAN(""), restore_job, c);
	if (r < 0)
		return r;
	r = replay(c, reterr);
	if (r < 0)
		return r;
	vec_foreach (&c->members, m)
		if (*m)
			capacity_restore_pods(c, *m);
	return 0;
}
