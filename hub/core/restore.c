#include "core/restore.h"

#include "base/num.h"
#include "core/admission/failover.h"
#include "core/admission/reclaim.h"
#include "core/admission/settle.h"
#include "core/assignment.h"
#include "core/binding.h"
#include "core/capacity.h"
#include "core/dispatch/amend.h"
#include "core/dispatch/courier.h"
#include "core/dispatch/prepare.h"
#include "core/job.h"
#include "core/kueue/admission_ask.h"
#include "core/kueue/local_queue.h"
#include "core/kueue/prebuilt.h"
#include "core/member.h"
#include "core/observe.h"
#include "core/provisioning/provisioning.h"
#include "core/queue_unit.h"
#include "core/quota.h"
#include "core/swap/swap.h"
#include "core/swap/swap_hold.h"
#include "kube/copy_info.h"

/* ---- jobs ---- */

static void restore_unit(struct core *c, struct job *j)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_QUEUE_UNIT);
	struct store_object o;

	free(j->unit_name);
	j->unit_name = queue_unit_name(j);
	j->unit_exists =
	    registry_get(c->batch, kind, span_of(j->ns), span_of(j->unit_name), &o) == 0;
	if (j->unit_exists)
		memcpy(j->unit_uid, o.uid, STORE_UID_LEN);
	else
		registry_new_uid(c->registry, j->unit_uid);
	j->unit_created = j->first_attempt;
}

static void restore_charges(struct core *c, struct job *j, struct member *m)
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
	/* Others may stand there that were placed when this one had moved on (ledger_rehome). */
	for (size_t i = 0; i < n; i++) {
		ledger_crowded(c->ledger, m->view, slots[i].node);
		swap_check_node(c, m, j, slots[i].node);
	}
	if (j->must_queue && quota_enqueue(c, j, true, &err) < 0)
		log_warn(c->log, "running job outside the quota tree", "job=%s/%s error=\"%s\"",
			 j->ns, j->name, err.text);
}

/* Ties a placement that is durable to the memory: member, ledger, pods, quota. */
static void restore_placement(struct core *c, struct job *j)
{
	struct member *m = member_of(c, j), *placed;
	const struct propagation_policy *p;
	uint32_t where;

	if (!m)
		return;
	settle_enter_member(m, j);
	bool holds = dispatch_holds(&j->dispatch, &where);
	placed = member_by_number(c, where);
	if (j->dispatch.step == DISPATCH_LEAVING && placed)
		placed->incoming++;
	if (!holds || !placed)
		return;
	p = propagation_index_get(c->policies, j->policy_ns ? span_of(j->policy_ns) : SPAN_NONE,
				  j->policy_name ? span_of(j->policy_name) : SPAN("-"));
	if (!p)
		p = propagation_builtin();
	if (!j->elastic_name) {
		auto_buf name = BUF_INIT;
		buf_addf(&name, "%s/%s/%s", j->ns, j->name, j->kind->kind);
		j->elastic_name = buf_steal(&name, NULL);
	}
	bool admitted = j->workload && workload_holds_quota(j->workload);
	if (j->finished)
		return;
	int r = admitted ? admission_ask(c, j->workload, NULL) : job_ask(c, j, p, NULL);
	/* Its Topology may be another one by now: what it holds, it holds. */
	if (r < 0)
		r = job_ask_anywhere(c, j, p, NULL);
	if (r == 0 && placed->view != CLUSTER_NONE)
		restore_charges(c, j, placed);
}

struct job *restore_job(struct core *c, const struct kind *kind, const struct store_object *o)
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
	if (j->finished)
		j->phase = copy_info_phase(kind->type, store_object_part(o, o->extents.status));
	prepare_revive(c, j);
	amend_revive(c, j);
	workload_restore_job(c, j);
	restore_unit(c, j);
	restore_placement(c, j);
	failover_restore(c, j);
	if (r == 0 && j->holds)
		swap_restore(c, j, binding_swap(&binding));
	/* What an earlier process had under way is lost. */
	if (j->dispatch.step != DISPATCH_IDLE)
		courier_feed(c, j, &(struct dispatch_event){EVENT_RESTARTED});
	return j;
}

/* ---- changes that were not looked at ---- */

static int replay_row(void *arg, const struct store_log_row *row)
{
	struct core *c = arg;
	const struct kind *kind = kind_by_type(c->kinds, row->object.key.type);

	if (kind)
		observe_enqueue(c, kind, &row->object.key);
	return 0;
}

/* Queues the changes that may not have been looked at. */
static int replay(struct core *c, struct err *reterr)
{
	struct store_reader *reader;
	struct span value;

	c->observed_saved = 0;
	if (registry_get_aux(c->batch, false, STORE_AUX_CURSOR, observe_saved_key(), &value) == 0 &&
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

/* ---- everything ---- */

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

/* It holds nothing any more, though its last copy is yet to go: it counts as pending in its queue,
 * and is offered when that is gone. */
static void restore_waiting(struct core *c, struct job *j)
{
	const struct propagation_policy *p = settle_policy(c, j);
	const struct local_queue *q = j->workload->queue;
	struct err err = ERR_INIT;

	if ((job_ask(c, j, p, &err) < 0 && job_ask_anywhere(c, j, p, &err) < 0) ||
	    (!j->workload->prebuilt && !workload_of_job(c, j, q ? q->name : SPAN_NONE, &err)))
		log_warn(c->log, "a waiting job is not in its queue", "job=%s/%s error=\"%s\"",
			 j->ns, j->name, err.text);
	else if (j->workload->prebuilt)
		prebuilt_refile(c, j);
}

static int restore_live(void *arg, struct span key, struct span value)
{
	struct core *c = arg;
	struct span rest = key;
	uint64_t type;
	struct store_object o;

	if (num_parse_u64(span_split(&rest, '/'), UINT16_MAX, &type) < 0)
		return 0;
	struct span ns = span_split(&rest, '/');
	const struct kind *kind = kind_by_type(c->kinds, (uint16_t)type);
	if (!kind || registry_get(c->batch, kind, ns, rest, &o) < 0)
		return 0;
	struct job *j = restore_job(c, kind, &o);
	if (!j)
		return 0;
	j->live_row = true;
	if (!j->binding_exists && value.len == sizeof(j->first_attempt)) {
		memcpy(&j->first_attempt, value.ptr, sizeof(j->first_attempt));
		j->unit_created = j->first_attempt;
	}
	if (dispatch_is_free(&j->dispatch) || j->deleting)
		settle_changed(c, j, true);
	else if (j->workload && !j->holds && !j->finished)
		restore_waiting(c, j);
	return 0;
}

int restore_all(struct core *c, struct err *reterr)
{
	static const uint16_t before_jobs[] = {
	    TYPE_PRIORITY_CLASS,
	    TYPE_PROPAGATION_POLICY,
	    TYPE_CLUSTER_PROPAGATION_POLICY,
	    TYPE_ELASTIC_QUOTA_TREE,
	    TYPE_QUEUE,
	    TYPE_WORKLOAD_PRIORITY_CLASS,
	    TYPE_TOPOLOGY,
	    TYPE_RESOURCE_FLAVOR,
	    TYPE_COHORT,
	    TYPE_ADMISSION_CHECK,
	    TYPE_CLUSTER_QUEUE,
	    TYPE_LOCAL_QUEUE,
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
	/* Which nodes a job's request brought is part of what the job asks. */
	if (r == 0)
		r = provisioning_restore(c, reterr);
	if (r == 0)
		r = restore_type(c, TYPE_PROVISIONING_REQUEST, reterr);
	if (r == 0)
		r = registry_reader(c->batch, kind_by_type(c->kinds, TYPE_NAMESPACE), &reader,
				    reterr);
	if (r == 0)
		r = store_scan_aux(reader, STORE_AUX_LIVE, SPAN(""), restore_live, c);
	if (r == 0)
		reclaim_restore(c);
	if (r == 0)
		swap_hold_restore(c);
	/* Those of no job. */
	if (r == 0)
		r = restore_type(c, TYPE_WORKLOAD, reterr);
	if (r == 0)
		r = replay(c, reterr);
	if (r < 0)
		return r;
	vec_foreach (&c->members, m)
		if (*m)
			capacity_restore_pods(c, *m);
	return 0;
}
