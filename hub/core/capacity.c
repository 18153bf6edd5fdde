#include "core/capacity.h"

#include "core/cursors.h"
#include "core/dispatch/courier.h"
#include "core/job.h"
#include "core/member.h"
#include "core/member_view.h"
#include "core/pod_object.h"
#include "kube/node_info.h"
#include "kube/pod_info.h"

/* Digest rows: member number big-endian, 'n' or 'p', then the name. */
static struct span row_key(const struct member *m, char what, struct span name, struct buf *out)
{
	uint32_t number = __builtin_bswap32(m->number);

	buf_clear(out);
	buf_add(out, &number, sizeof(number));
	buf_add_char(out, what);
	buf_add_span(out, name);
	return buf_span(out);
}

static struct span pod_key(const struct pod_info *p, struct buf *out)
{
	buf_clear(out);
	buf_add_span(out, p->ns);
	buf_add_char(out, '/');
	buf_add_span(out, p->name);
	return buf_span(out);
}

static struct amount *amounts_of(struct core *c, const struct info_amount *in, size_t n,
				 size_t *ret_n)
{
	struct amount *out = xcalloc(n, sizeof(*out));
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		/* A name beyond the table's room counts as zero on nodes and pods alike. */
		if (resource_table_index(fleet_resources(c->fleet), in[i].resource,
					 &out[k].resource, NULL) == 0)
			out[k++].value = in[i].value;
	}
	*ret_n = k;
	return out;
}

/* ---- nodes ---- */

static void node_apply(struct core *c, struct member *m, const struct node_info *n)
{
	auto_arena mem = ARENA_INIT;
	struct member_node *known = map_get(&m->nodes, n->name);
	struct label *labels = arena_array(&mem, struct label, n->n_labels);
	struct taint *taints = arena_array(&mem, struct taint, n->n_taints);
	size_t n_amounts;
	auto_free struct amount *amounts =
	    amounts_of(c, n->allocatable, n->n_allocatable, &n_amounts);
	struct err err;

	if (m->view == CLUSTER_NONE)
		return;
	for (size_t i = 0; i < n->n_labels; i++)
		labels[i] = (struct label){n->labels[i].key, n->labels[i].value};
	for (size_t i = 0; i < n->n_taints; i++)
		taints[i] = (struct taint){n->taints[i].key, n->taints[i].value,
					   core_taint_effect(n->taints[i].effect)};
	if (!known) {
		known = xcalloc(1, sizeof(*known));
		map_put(&m->nodes, n->name, known);
	}
	known->revision = n->revision;
	known->seen = true;
	int r = cluster_view_node_upsert(c->fleet, m->view,
					 &(struct node_spec){
					     .name = n->name,
					     .labels = labels,
					     .n_labels = n->n_labels,
					     .taints = taints,
					     .n_taints = n->n_taints,
					     .allocatable = amounts,
					     .n_allocatable = n_amounts,
					     .unschedulable = n->unschedulable,
					     .ready = n->ready,
					 },
					 &known->node, &err);
	if (r < 0)
		log_warn(c->log, "node refused by the view", "cluster=%s node=%.*s error=\"%s\"",
			 m->name, SPAN_ARGS(n->name), err.text);
	else
		ledger_crowded(c->ledger, m->view, known->node);
}

static void node_remove(struct core *c, struct member *m, struct span name)
{
	struct member_node *known = map_remove(&m->nodes, name);
	auto_buf key = BUF_INIT;

	if (!known)
		return;
	cluster_view_node_remove(c->fleet, m->view, known->node);
	ledger_crowded(c->ledger, m->view, known->node);
	free(known);
	node_object_delete(c, m, name);
	registry_delete_aux(c->batch, true, STORE_AUX_DIGEST, row_key(m, 'n', name, &key));
}

/* FNV-1a: tells whether what is shown changed; a chance that it did not tell is 2^-64. */
static uint64_t hash_view(struct span s)
{
	uint64_t h = 14695981039346656037u;

	for (size_t i = 0; i < s.len; i++)
		h = (h ^ (unsigned char)s.ptr[i]) * 1099511628211u;
	return h ? h : 1;
}

/* A node says much that nobody sees here, at least every five minutes: only what is shown makes a
 * row. */
static void node_show(struct core *c, struct member *m, const struct fact *f)
{
	struct member_node *known = map_get(&m->nodes, f->node.name);
	uint64_t hash = hash_view(f->json);

	if (known && f->json.len && known->shown != hash &&
	    node_object_put(c, m, f->node.name, f->json) == 0)
		known->shown = hash;
}

void capacity_node(struct core *c, struct member *m, const struct fact *f)
{
	auto_buf key = BUF_INIT, row = BUF_INIT;

	m->status_dirty = true;
	if (f->deleted) {
		node_remove(c, m, f->node.name);
		return;
	}
	node_apply(c, m, &f->node);
	node_info_pack(&f->node, &row);
	registry_put_aux(c->batch, true, STORE_AUX_DIGEST, row_key(m, 'n', f->node.name, &key),
			 buf_span(&row));
	node_show(c, m, f);
}

/* ---- pods ---- */

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

static void pod_release(struct core *c, struct member *m, struct member_pod *p)
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

	if (!pod_is_live(info) || info->node.len == 0 ||
	    cluster_view_node_ref(c->fleet, m->view, info->node, &node, NULL) < 0)
		return;
	p->amounts = amounts_of(c, info->requests, info->n_requests, &p->n_amounts);
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

/* The job may have another record than when the pod came: a finished one has none for a while. */
static void tie(struct member_pod *p, const struct job *j, uint64_t epoch)
{
	p->epoch = (uint32_t)epoch;
	if (!j || p->job == j->number)
		return;
	p->job = j->number;
	p->live = p->observed = false;
}

static void pod_apply(struct core *c, struct member *m, const struct pod_info *info)
{
	auto_buf key = BUF_INIT;
	struct member_pod *p = map_get(&m->pods, pod_key(info, &key));
	struct job *j = job_by_uid(c, info->job_uid);

	if (m->view == CLUSTER_NONE)
		return;
	if (!p) {
		p = xcalloc(1, sizeof(*p));
		p->node = NODE_NONE;
		map_put(&m->pods, buf_span(&key), p);
	}
	tie(p, j, info->epoch);
	p->revision = info->revision;
	p->seen = true;
	pod_release(c, m, p);
	pod_charge(c, m, p, info);
	observe(c, m, p, info);
	count_live(c, m, p, pod_is_live(info));
}

/* Pods that are gone are no assumption either, though nothing of them is left to see: that is
 * kept in one row per job, for restarts. */
static struct span spent_key(const struct member *m, const struct job *j, struct buf *out)
{
	return row_key(m, 'o', span_make((const char *)j->uid, STORE_UID_LEN), out);
}

static void spend(struct core *c, struct member *m, const struct member_pod *p)
{
	struct job *j = p->observed ? placed_job(c, m, p) : NULL;
	auto_buf key = BUF_INIT, row = BUF_INIT;

	if (!j || !j->holds || p->set >= j->digest.n_pod_sets)
		return;
	if (!j->spent)
		j->spent = xcalloc(j->digest.n_pod_sets, sizeof(*j->spent));
	j->spent[p->set]++;
	j->spent_row = true;
	j->spent_member = m->number;
	buf_add(&row, &j->dispatch.epoch, sizeof(j->dispatch.epoch));
	buf_add(&row, j->spent, j->digest.n_pod_sets * sizeof(*j->spent));
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

static void restore_spent(struct core *c, struct member *m, struct span uid, struct span row)
{
	char text[OBJECT_UID_TEXT];
	struct job *j = NULL;
	uint64_t epoch;

	if (uid.len == STORE_UID_LEN)
		j = job_by_uid(c, span_of(object_uid_format((const uint8_t *)uid.ptr, text)));
	if (!j || !j->holds || member_of(c, j) != m ||
	    row.len != sizeof(epoch) + j->digest.n_pod_sets * sizeof(*j->spent))
		return;
	j->spent_row = true;
	j->spent_member = m->number;
	memcpy(&epoch, row.ptr, sizeof(epoch));
	if (epoch != j->dispatch.epoch)
		return;
	j->spent = xcalloc(j->digest.n_pod_sets, sizeof(*j->spent));
	memcpy(j->spent, row.ptr + sizeof(epoch), row.len - sizeof(epoch));
	for (uint32_t set = 0; set < j->digest.n_pod_sets; set++)
		for (uint32_t n = 0; n < j->spent[set]; n++)
			if (!ledger_observe(c->ledger, j->number, set, NODE_NONE))
				break;
}

static void pod_remove(struct core *c, struct member *m, struct span key)
{
	struct member_pod *p = map_get(&m->pods, key);
	auto_buf row = BUF_INIT;

	if (!p)
		return;
	spend(c, m, p);
	pod_release(c, m, p);
	count_live(c, m, p, false);
	if (p->object)
		pod_object_delete(c, m, key);
	registry_delete_aux(c->batch, true, STORE_AUX_DIGEST, row_key(m, 'p', key, &row));
	map_remove(&m->pods, key);
	free(p);
}

void capacity_pod(struct core *c, struct member *m, const struct fact *f)
{
	auto_buf key = BUF_INIT, row_name = BUF_INIT, row = BUF_INIT;

	m->status_dirty = true;
	if (f->deleted) {
		pod_remove(c, m, pod_key(&f->pod, &key));
		return;
	}
	pod_apply(c, m, &f->pod);
	pod_info_pack(&f->pod, &row);
	(void)pod_key(&f->pod, &key);
	registry_put_aux(c->batch, true, STORE_AUX_DIGEST,
			 row_key(m, 'p', buf_span(&key), &row_name), buf_span(&row));
	struct member_pod *p = map_get(&m->pods, buf_span(&key));
	if (p && f->json.len && span_is(f->pod.hub_uid, c->hub_uid))
		p->object = pod_object_put(c, m, &f->pod, f->json) == 0;
}

/* ---- lists ---- */

void capacity_list_begin(struct core *c, struct member *m, enum member_stream s)
{
	(void)c;
	/* A sweep that is not through must not take what this list has yet to name. */
	if (s == STREAM_NODES) {
		m->sweep_nodes = false;
		map_foreach (&m->nodes, e)
			((struct member_node *)e->value)->seen = false;
	} else {
		m->sweep_pods = false;
		map_foreach (&m->pods, e)
			((struct member_pod *)e->value)->seen = false;
	}
}

void capacity_list_end(struct core *c, struct member *m, enum member_stream s)
{
	m->sweep_nodes = m->sweep_nodes || s == STREAM_NODES;
	m->sweep_pods = m->sweep_pods || s == STREAM_PODS;
	m->nodes_listed = m->nodes_listed || s == STREAM_NODES;
	m->pods_listed = m->pods_listed || s == STREAM_PODS;
	member_view_refresh(c, m);
}

/* Removes what a relist did not name; false when the batch has no more room. */
static bool sweep(struct core *c, struct member *m, bool nodes)
{
	map_foreach (nodes ? &m->nodes : &m->pods, e) {
		bool seen = nodes ? ((struct member_node *)e->value)->seen
				  : ((struct member_pod *)e->value)->seen;
		if (seen)
			continue;
		if (registry_batch_full(c->batch))
			return false;
		auto_free char *name = xstrndup(e->key, e->key_len);
		if (nodes)
			node_remove(c, m, span_make(name, e->key_len));
		else
			pod_remove(c, m, span_make(name, e->key_len));
	}
	return true;
}

void capacity_sweep(struct core *c)
{
	vec_foreach (&c->members, p) {
		struct member *m = *p;
		if (m && m->sweep_nodes)
			m->sweep_nodes = !sweep(c, m, true);
		if (m && m->sweep_pods)
			m->sweep_pods = !sweep(c, m, false);
	}
}

/* ---- restart ---- */

struct restore {
	struct core *c;
	struct member *m;
	struct arena mem;
};

static void restore_pod(struct core *c, struct member *m, const struct pod_info *pod)
{
	auto_buf key = BUF_INIT;

	pod_apply(c, m, pod);
	struct member_pod *p = map_get(&m->pods, pod_key(pod, &key));
	if (p)
		p->object = span_is(pod->hub_uid, c->hub_uid);
}

static int restore_row(void *arg, struct span key, struct span value)
{
	struct restore *r = arg;
	struct node_info node;
	struct pod_info pod;

	arena_reset(&r->mem);
	if (key.ptr[4] == 'n' && node_info_unpack(value, &r->mem, &node) == 0)
		node_apply(r->c, r->m, &node);
	else if (key.ptr[4] == 'p' && pod_info_unpack(value, &r->mem, &pod) == 0)
		restore_pod(r->c, r->m, &pod);
	else if (key.ptr[4] == 'o')
		restore_spent(r->c, r->m, span_make(key.ptr + 5, key.len - 5), value);
	return 0;
}

static void restore(struct core *c, struct member *m, char what)
{
	struct restore r = {.c = c, .m = m};
	struct store *s = c->mirror ? c->mirror : c->truth;
	auto_reader *reader = NULL;
	auto_buf prefix = BUF_INIT;

	(void)row_key(m, what, SPAN(""), &prefix);
	if (store_read_begin(s, &reader, NULL) == 0)
		(void)store_scan_aux(reader, STORE_AUX_DIGEST, buf_span(&prefix), restore_row, &r);
	arena_done(&r.mem);
}

#define CLEAR_ROWS 32 /* a batch; a pod is three */

struct clear {
	char *keys[CLEAR_ROWS];
	size_t lens[CLEAR_ROWS], n;
};

static int clear_collect(void *arg, struct span key, struct span value)
{
	struct clear *all = arg;

	(void)value;
	all->lens[all->n] = key.len;
	all->keys[all->n++] = xstrndup(key.ptr, key.len);
	return all->n == CLEAR_ROWS;
}

static void clear_row(struct core *c, struct member *m, struct span key)
{
	struct span name = span_make(key.ptr + 5, key.len - 5);

	if (registry_batch_room(c->batch) < REGISTRY_RESERVE)
		return;
	if (key.ptr[4] == 'n')
		node_remove(c, m, name);
	else if (key.ptr[4] == 'p')
		pod_remove(c, m, name);
	registry_delete_aux(c->batch, true, STORE_AUX_DIGEST, key);
}

bool capacity_clear(struct core *c, struct member *m)
{
	struct clear all = {.n = 0};
	struct store *s = c->mirror ? c->mirror : c->truth;
	auto_reader *reader = NULL;
	uint32_t number = __builtin_bswap32(m->number);

	if (store_read_begin(s, &reader, NULL) < 0)
		return false;
	(void)store_scan_aux(reader, STORE_AUX_DIGEST,
			     span_make((const char *)&number, sizeof(number)), clear_collect, &all);
	for (size_t i = 0; i < all.n; i++) {
		clear_row(c, m, span_make(all.keys[i], all.lens[i]));
		free(all.keys[i]);
	}
	return all.n == 0;
}

void capacity_restore_nodes(struct core *c, struct member *m)
{
	restore(c, m, 'n');
}

void capacity_restore_pods(struct core *c, struct member *m)
{
	restore(c, m, 'o');
	restore(c, m, 'p');
}

void capacity_forget(struct core *c, struct member *m)
{
	capacity_list_begin(c, m, STREAM_NODES);
	capacity_list_begin(c, m, STREAM_PODS);
	map_foreach (&m->pods, e) {
		struct member_pod *p = e->value;
		pod_release(c, m, p);
		free(p);
	}
	map_foreach (&m->nodes, e)
		free(e->value);
	map_done(&m->pods);
	map_done(&m->nodes);
}
