#include "core/capacity.h"

#include "core/admission/settle.h"
#include "core/assignment.h"
#include "core/capacity_row.h"
#include "core/job.h"
#include "core/member.h"
#include "core/member_view.h"
#include "core/swap/node_jobs.h"
#include "kube/node_info.h"
#include "kube/pod_info.h"

struct span capacity_row_key(const struct member *m, char what, struct span name, struct buf *out)
{
	uint32_t number = __builtin_bswap32(m->number);

	buf_clear(out);
	buf_add(out, &number, sizeof(number));
	buf_add_char(out, what);
	buf_add_span(out, name);
	return buf_span(out);
}

struct amount *capacity_amounts(struct core *c, const struct info_amount *in, size_t n,
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

/* ---- lists ---- */

void capacity_list_begin(struct core *c, struct member *m, enum member_stream s)
{
	/* A sweep that is not through must not take what this list has yet to name. */
	if (s == STREAM_NODES) {
		m->sweep_nodes = false;
		map_foreach (&m->nodes, e)
			((struct member_node *)e->value)->seen = false;
	} else {
		m->sweep_pods = false;
		map_foreach (&m->pods, e)
			((struct member_pod *)e->value)->seen = false;
		capacity_pod_revive(c, m);
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
			capacity_node_remove(c, m, span_make(name, e->key_len));
		else
			capacity_pod_remove(c, m, span_make(name, e->key_len));
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
		if (m)
			capacity_pod_reap(c, m);
	}
}

/* ---- an edit of a job that is placed ---- */

static void tell_ledger(struct core *c, const struct member *m, const struct job *j)
{
	vec_foreach (&j->pods, it) {
		const struct member_pod *p = *it;
		if (p->observed && !p->out && p->member == m->number)
			(void)ledger_observe(c->ledger, j->number, p->set, p->node);
	}
	for (uint32_t set = 0; j->spent && set < job_n_placed(j); set++)
		for (uint32_t n = 0; n < j->spent[set]; n++)
			(void)ledger_observe(c->ledger, j->number, set, NODE_NONE);
}

void capacity_reshape(struct core *c, struct job *j)
{
	const struct propagation_policy *p = settle_policy(c, j);
	const struct member *m = member_placed(c, j);
	auto_arena mem = ARENA_INIT;
	struct fit_slot *slots;
	struct err err = ERR_INIT;

	if (!j->holds || !m || m->view == CLUSTER_NONE ||
	    (job_ask(c, j, p, &err) < 0 && job_ask_anywhere(c, j, p, &err) < 0))
		return;
	size_t n = assignment_unpack(c->fleet, m->view, span_make(j->assignment, j->assignment_len),
				     &mem, &slots);
	(void)ledger_drop(c->ledger, j->number);
	if (ledger_assume(c->ledger, j->number, j->shape, m->view, slots, n, 0, &err) < 0)
		log_warn(c->log, "an edited job is not in the ledger", "job=%s/%s error=\"%s\"",
			 j->ns, j->name, err.text);
	tell_ledger(c, m, j);
}

/* ---- restart ---- */

struct restore {
	struct core *c;
	struct member *m;
	struct arena mem;
};

static int restore_row(void *arg, struct span key, struct span value)
{
	struct restore *r = arg;
	struct node_info node;
	struct pod_info pod;

	arena_reset(&r->mem);
	if (key.ptr[4] == 'n' && node_info_unpack(value, &r->mem, &node) == 0)
		capacity_node_apply(r->c, r->m, &node);
	else if (key.ptr[4] == 'p' && pod_info_unpack(value, &r->mem, &pod) == 0)
		capacity_pod_restore(r->c, r->m, &pod);
	else if (key.ptr[4] == 'u')
		capacity_node_restore_unready(r->m, span_make(key.ptr + 5, key.len - 5), value);
	else if (key.ptr[4] == 'o')
		capacity_pod_restore_spent(r->c, r->m, span_make(key.ptr + 5, key.len - 5), value);
	return 0;
}

static void restore(struct core *c, struct member *m, char what)
{
	struct restore r = {.c = c, .m = m};
	struct store *s = c->mirror ? c->mirror : c->truth;
	auto_reader *reader = NULL;
	auto_buf prefix = BUF_INIT;

	(void)capacity_row_key(m, what, SPAN(""), &prefix);
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
		capacity_node_remove(c, m, name);
	else if (key.ptr[4] == 'p')
		capacity_pod_remove(c, m, name);
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
	restore(c, m, 'u');
}

void capacity_restore_pods(struct core *c, struct member *m)
{
	restore(c, m, 'o');
	restore(c, m, 'p');
}

void capacity_forget(struct core *c, struct member *m)
{
	m->sweep_nodes = m->sweep_pods = false;
	m->n_over = m->n_unforgotten = m->reap_at = 0;
	map_foreach (&m->pods, e) {
		struct member_pod *p = e->value;
		capacity_pod_release(c, m, p);
		capacity_pod_untie(c, p);
		free(p);
	}
	map_foreach (&m->nodes, e)
		free(e->value);
	map_done(&m->pods);
	map_done(&m->nodes);
	node_jobs_done(m);
}
