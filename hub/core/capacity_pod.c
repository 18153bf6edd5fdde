#include "core/capacity.h"

#include "core/capacity_row.h"
#include "core/dispatch/courier.h"
#include "core/dispatch/ungater.h"
#include "core/job.h"
#include "core/kueue/pods_ready.h"
#include "core/member.h"
#include "core/pod_object.h"
#include "core/swap/node_jobs.h"
#include "core/swap/swap.h"
#include "kube/pod_info.h"

#define REAP_FROM 64  /* records of pods that are over */
#define REAP_STEP 256 /* records looked at in a turn */

static struct span pod_key(const struct pod_info *p, struct buf *out)
{
	buf_clear(out);
	buf_add_span(out, p->ns);
	buf_add_char(out, '/');
	buf_add_span(out, p->name);
	return buf_span(out);
}

static bool pod_is_live(const struct pod_info *p)
{
	return p->phase != POD_SUCCEEDED && p->phase != POD_FAILED;
}

static bool is_exclusive(const struct core *c, const struct member_pod *p, struct span pod_set)
{
	const struct job *j = p->job ? job_by_number(c, p->job) : NULL;
	uint32_t set = j ? job_pod_set_index(j, pod_set) : 0;

	return j && set < j->digest.n_pod_sets && j->digest.pod_sets[set].exclusive_topology.len;
}

void capacity_pod_release(struct core *c, struct member *m, struct member_pod *p)
{
	if (p->node == NODE_NONE)
		return;
	cluster_view_pod_release(c->fleet, m->view, p->node,
				 &(struct pod_usage){p->amounts, p->n_amounts, p->exclusive});
	p->node = NODE_NONE;
	free(p->amounts);
	p->amounts = NULL;
	p->n_amounts = 0;
}

static void pod_charge(struct core *c, struct member *m, struct member_pod *p,
		       const struct pod_info *info)
{
	uint32_t node;
	size_t n;

	if (!pod_is_live(info) || info->node.len == 0 ||
	    cluster_view_node_ref(c->fleet, m->view, info->node, &node, NULL) < 0)
		return;
	p->amounts = capacity_amounts(c, info->requests, info->n_requests, &n);
	p->n_amounts = (uint32_t)n;
	p->exclusive = is_exclusive(c, p, info->pod_set);
	p->node = node;
	cluster_view_pod_charge(c->fleet, m->view, node,
				&(struct pod_usage){p->amounts, p->n_amounts, p->exclusive});
	ledger_crowded(c->ledger, m->view, node);
}

/* The job in whose present placement the pod takes part: pods of an earlier one on the same member
 * may be told of late. */
static struct job *placed_job(const struct core *c, const struct member *m,
			      const struct member_pod *p)
{
	struct job *j = p->job ? job_by_number(c, p->job) : NULL;

	if (!j || member_of(c, j) != m || (p->epoch && p->epoch != (uint32_t)j->dispatch.epoch))
		return NULL;
	return j;
}

/* A pod that is bound, or over, is no assumption any more. */
static void observe(struct core *c, struct member *m, struct member_pod *p,
		    const struct pod_info *info)
{
	struct job *j = p->observed ? NULL : placed_job(c, m, p);
	uint32_t node = p->node;

	if (!j || (info->node.len == 0 && pod_is_live(info)))
		return;
	if (node == NODE_NONE && info->node.len)
		node = cluster_view_node_find(c->fleet, m->view, info->node);
	p->set = (uint16_t)job_pod_set_index(j, info->pod_set);
	p->observed = true;
	p->out = !swap_counts(j, m, p->set, node, c);
	if (!p->out)
		ledger_observe(c->ledger, j->number, p->set, node);
}

/* p->live says that the pod is one of its job's live_pods. */
static void count_live(struct core *c, struct member *m, struct member_pod *p, bool live)
{
	struct job *j = placed_job(c, m, p);

	live = live && j;
	if (p->live == live)
		return;
	p->live = live;
	if (live)
		j->live_pods++;
	else if (j && j->live_pods > 0 && --j->live_pods == 0)
		courier_feed(c, j, &(struct dispatch_event){EVENT_PODS_GONE});
}

/* p->ready says that the pod is one of its job's ready_pods. */
static void count_ready(struct core *c, struct member *m, struct member_pod *p, bool ready)
{
	struct job *j = placed_job(c, m, p);
	bool beside = j && p->observed && job_is_submitter(j, p->set);

	ready = ready && j;
	if (p->ready == ready)
		return;
	p->ready = ready;
	if (ready) {
		j->ready_pods++;
		j->ready_beside += beside;
	} else if (j && j->ready_pods > 0) {
		j->ready_pods--;
		j->ready_beside -= beside && j->ready_beside > 0;
	}
	if (j && j->workload)
		pods_ready_count(c, j->workload);
}

void capacity_pod_untie(const struct core *c, struct member_pod *p)
{
	struct job *j = p->job_at ? job_by_number(c, p->job) : NULL;

	if (!j)
		return;
	struct member_pod *last = j->pods.items[--j->pods.len];
	j->pods.items[p->job_at - 1] = last;
	last->job_at = p->job_at;
	p->job_at = 0;
}

/* The job may have another record than when the pod came: a finished one has none for a while. */
static void tie(const struct core *c, struct member_pod *p, struct job *j, uint64_t epoch)
{
	p->epoch = (uint32_t)epoch;
	if (!j || p->job == j->number)
		return;
	capacity_pod_untie(c, p);
	p->job = j->number;
	vec_push(&j->pods, p);
	p->job_at = (uint32_t)j->pods.len;
	p->live = p->ready = p->observed = p->out = false;
}

/* The pod stood on `was`, for a job of that number, and is now where its record says. */
static void stand(struct core *c, struct member *m, const struct member_pod *p, uint64_t was_job,
		  uint32_t was, bool failed)
{
	struct job *j = placed_job(c, m, p);

	if (was_job == p->job && was == p->node)
		return;
	if (was_job && was != NODE_NONE)
		node_jobs_remove(m, was, was_job,
				 failed && j && j->dispatch.step == DISPATCH_STARTED, c->now);
	if (!p->job || p->node == NODE_NONE)
		return;
	node_jobs_add(m, p->node, p->job, c->now);
	if (j)
		swap_check_node(c, m, j, p->node);
}

/* A node that is lost takes no deletion to its end; and one that is back ends the pod, not the
 * other way round. */
static void doom(const struct core *c, struct member *m, struct member_pod *p, bool deleting)
{
	const struct job *j = deleting && !p->over ? placed_job(c, m, p) : NULL;

	p->doomed = deleting && !p->over &&
		    (p->doomed || (j && p->node != NODE_NONE && swap_is_lost(c, m, j, p->node)));
}

/* One that was counted on is no more: while its job recovers its room is kept for the next. */
static void lose(struct core *c, struct member *m, struct member_pod *p, uint32_t node)
{
	struct job *j = p->observed && !p->out ? placed_job(c, m, p) : NULL;

	if (j && node != NODE_NONE)
		p->out = swap_pod_lost(c, m, j, p->set, node);
}

static void set_over(struct member *m, struct member_pod *p, bool over)
{
	m->n_over += over && !p->over;
	m->n_over -= !over && p->over;
	p->over = over;
}

static void forget(const struct core *c, struct member *m, struct member_pod *p, struct span key)
{
	set_over(m, p, false);
	capacity_pod_untie(c, p);
	map_remove(&m->pods, key);
	free(p);
}

static struct member_pod *make(struct member *m, struct span key)
{
	struct member_pod *p = xcalloc(1, sizeof(*p));

	p->node = NODE_NONE;
	p->member = m->number;
	map_put(&m->pods, key, p);
	p->key = map_key(&m->pods, key);
	return p;
}

static void pod_apply(struct core *c, struct member *m, const struct pod_info *info)
{
	auto_buf key = BUF_INIT;
	struct member_pod *p = map_get(&m->pods, pod_key(info, &key));
	struct job *j = job_by_uid(c, info->job_uid);

	if (m->view == CLUSTER_NONE)
		return;
	if (!p)
		p = make(m, buf_span(&key));
	uint64_t was_job = p->job;
	uint32_t was = p->node;
	tie(c, p, j, info->epoch);
	p->revision = info->revision;
	p->seen = true;
	set_over(m, p, !pod_is_live(info));
	capacity_pod_release(c, m, p);
	pod_charge(c, m, p, info);
	stand(c, m, p, was_job, was, info->phase == POD_FAILED);
	doom(c, m, p, info->deleting);
	observe(c, m, p, info);
	if (p->node == NODE_NONE && info->phase == POD_FAILED)
		lose(c, m, p, was);
	count_live(c, m, p, pod_is_live(info));
	count_ready(c, m, p, pod_is_live(info) ? info->ready : info->phase == POD_SUCCEEDED);
}

/* Pods that are gone are no assumption either, though nothing of them is left to see: that is
 * kept in one row per job, for restarts. */
static struct span spent_key(const struct member *m, const struct job *j, struct buf *out)
{
	return capacity_row_key(m, 'o', span_make((const char *)j->uid, STORE_UID_LEN), out);
}

static void spend(struct core *c, struct member *m, const struct member_pod *p)
{
	struct job *j = p->observed && !p->out ? placed_job(c, m, p) : NULL;
	auto_buf key = BUF_INIT, row = BUF_INIT;

	if (!j || !j->holds || p->set >= job_n_placed(j))
		return;
	if (!j->spent)
		j->spent = xcalloc(job_n_placed(j), sizeof(*j->spent));
	j->spent[p->set]++;
	j->spent_row = true;
	j->spent_member = m->number;
	buf_add(&row, &j->dispatch.epoch, sizeof(j->dispatch.epoch));
	buf_add(&row, j->spent, job_n_placed(j) * sizeof(*j->spent));
	registry_put_aux(c->batch, true, STORE_AUX_DIGEST, spent_key(m, j, &key), buf_span(&row));
}

void capacity_settle(struct core *c, struct job *j)
{
	auto_buf key = BUF_INIT;

	if (j->spent || !j->spent_row)
		return;
	j->spent_row = false;
	struct member *m = member_by_number(c, j->spent_member);
	if (m)
		registry_delete_aux(c->batch, true, STORE_AUX_DIGEST, spent_key(m, j, &key));
}

void capacity_pod_restore_spent(struct core *c, struct member *m, struct span uid, struct span row)
{
	char text[OBJECT_UID_TEXT];
	struct job *j = NULL;
	uint64_t epoch;

	if (uid.len == STORE_UID_LEN)
		j = job_by_uid(c, span_of(object_uid_format((const uint8_t *)uid.ptr, text)));
	if (!j || !j->holds || member_of(c, j) != m ||
	    row.len != sizeof(epoch) + job_n_placed(j) * sizeof(*j->spent))
		return;
	j->spent_row = true;
	j->spent_member = m->number;
	memcpy(&epoch, row.ptr, sizeof(epoch));
	if (epoch != j->dispatch.epoch)
		return;
	j->spent = xcalloc(job_n_placed(j), sizeof(*j->spent));
	memcpy(j->spent, row.ptr + sizeof(epoch), row.len - sizeof(epoch));
	for (uint32_t set = 0; set < job_n_placed(j); set++)
		for (uint32_t n = 0; n < j->spent[set]; n++)
			if (!ledger_observe(c->ledger, j->number, set, NODE_NONE))
				break;
}

static void drop(struct core *c, struct member *m, struct span key, bool object)
{
	auto_buf row = BUF_INIT;

	if (object)
		pod_object_delete(c, m, key);
	registry_delete_aux(c->batch, true, STORE_AUX_DIGEST, capacity_row_key(m, 'p', key, &row));
}

void capacity_pod_remove(struct core *c, struct member *m, struct span key)
{
	struct member_pod *p = map_get(&m->pods, key);

	if (!p) {
		if (capacity_pod_is_known(c, m, key))
			drop(c, m, key, true);
		return;
	}
	uint32_t was = p->node;
	lose(c, m, p, was);
	spend(c, m, p);
	capacity_pod_release(c, m, p);
	stand(c, m, p, p->job, was, true);
	count_live(c, m, p, false);
	if (!p->over) /* one that succeeded still counts when it is cleaned up */
		count_ready(c, m, p, false);
	drop(c, m, key, p->object);
	forget(c, m, p, key);
}

bool capacity_pod_is_known(const struct core *c, const struct member *m, struct span key)
{
	auto_arena mem = ARENA_INIT;
	auto_buf row = BUF_INIT;
	struct pod_info info;
	struct span value;

	return registry_get_aux(c->batch, true, STORE_AUX_DIGEST,
				capacity_row_key(m, 'p', key, &row), &value) == 0 &&
	       pod_info_unpack(value, &mem, &info) == 0 && span_is(info.hub_uid, c->hub_uid);
}

/* ---- pods of jobs that are over ---- */

/* It takes part in nothing any more, and its rows say all that there is to say. */
static bool is_forgettable(const struct core *c, const struct member_pod *p)
{
	return p->over && p->object && p->node == NODE_NONE && !p->live &&
	       !(p->job && job_by_number(c, p->job));
}

/* A walk begins when there are twice as many pods that are over as the last one had to leave, so a
 * pod costs a few looks in all; it goes on for some turns. */
void capacity_pod_reap(struct core *c, struct member *m)
{
	size_t end = m->reap_at + REAP_STEP + m->pods.n_entries / 64;

	if (m->listing[STREAM_PODS] || m->sweep_pods ||
	    (m->reap_at == 0 && m->n_over < REAP_FROM + 2 * m->n_unforgotten))
		return;
	for (; m->reap_at < end && m->reap_at < m->pods.n_entries; m->reap_at++) {
		const struct map_entry *e = &m->pods.entries[m->reap_at];
		if (e->key && is_forgettable(c, e->value))
			forget(c, m, e->value, span_make(e->key, e->key_len));
	}
	if (m->reap_at < m->pods.n_entries)
		return;
	m->n_unforgotten = m->n_over;
	m->reap_at = 0;
}

static int revive(void *arg, struct span key, struct span value)
{
	struct member *m = arg;
	struct span name = span_make(key.ptr + 5, key.len - 5);

	(void)value;
	if (map_has(&m->pods, name))
		return 0;
	struct member_pod *p = make(m, name);
	p->object = true;
	set_over(m, p, true);
	return 0;
}

void capacity_pod_revive(struct core *c, struct member *m)
{
	struct store *s = c->mirror ? c->mirror : c->truth;
	auto_reader *reader = NULL;
	auto_buf prefix = BUF_INIT;

	(void)capacity_row_key(m, 'p', SPAN(""), &prefix);
	if (m->view != CLUSTER_NONE && store_read_begin(s, &reader, NULL) == 0)
		(void)store_scan_aux(reader, STORE_AUX_DIGEST, buf_span(&prefix), revive, m);
}

/* ---- facts and rows ---- */

void capacity_pod(struct core *c, struct member *m, const struct fact *f)
{
	auto_buf key = BUF_INIT, row_name = BUF_INIT, row = BUF_INIT;

	m->status_dirty = true;
	if (f->deleted) {
		capacity_pod_remove(c, m, pod_key(&f->pod, &key));
		return;
	}
	pod_apply(c, m, &f->pod);
	pod_info_pack(&f->pod, &row);
	(void)pod_key(&f->pod, &key);
	registry_put_aux(c->batch, true, STORE_AUX_DIGEST,
			 capacity_row_key(m, 'p', buf_span(&key), &row_name), buf_span(&row));
	struct member_pod *p = map_get(&m->pods, buf_span(&key));
	if (p && f->json.len && span_is(f->pod.hub_uid, c->hub_uid))
		p->object = pod_object_put(c, m, &f->pod, f->json) == 0;
	if (p)
		ungater_look(c, m, p, &f->pod, buf_span(&key), f->json);
}

void capacity_pod_restore(struct core *c, struct member *m, const struct pod_info *pod)
{
	auto_buf key = BUF_INIT;
	bool ours = span_is(pod->hub_uid, c->hub_uid);

	if (ours && !pod_is_live(pod) && !job_by_uid(c, pod->job_uid))
		return;
	pod_apply(c, m, pod);
	struct member_pod *p = map_get(&m->pods, pod_key(pod, &key));
	if (!p)
		return;
	p->object = ours;
	ungater_look(c, m, p, pod, buf_span(&key), SPAN_NONE);
}
