#include "core/capacity.h"
#include "core/capacity_row.h"
#include "core/pod_object.h"
#include "core/provisioning/request_claim.h"
#include "core/provisioning/request_nodes.h"
#include "core/swap/node_jobs.h"
#include "core/swap/swap.h"
#include "kube/node_info.h"

/* Since when a node is not ready outlives a restart: one row while it is so. */
static void note_ready(struct core *c, struct member *m, struct member_node *known,
		       const struct node_info *n)
{
	auto_buf key = BUF_INIT;

	if (n->ready == !known->not_ready || c->restoring)
		return;
	(void)capacity_row_key(m, 'u', n->name, &key);
	known->not_ready = n->ready ? 0 : c->now;
	if (n->ready)
		registry_delete_aux(c->batch, true, STORE_AUX_DIGEST, buf_span(&key));
	else
		registry_put_aux(
		    c->batch, true, STORE_AUX_DIGEST, buf_span(&key),
		    span_make((const char *)&known->not_ready, sizeof(known->not_ready)));
}

void capacity_node_restore_unready(struct member *m, struct span name, struct span row)
{
	struct member_node *known = map_get(&m->nodes, name);

	if (known && row.len == sizeof(known->not_ready))
		memcpy(&known->not_ready, row.ptr, row.len);
}

void capacity_node_apply(struct core *c, struct member *m, const struct node_info *n)
{
	auto_arena mem = ARENA_INIT;
	struct member_node *known = map_get(&m->nodes, n->name);
	struct label *labels = arena_array(&mem, struct label, n->n_labels);
	struct taint *taints = arena_array(&mem, struct taint, n->n_taints + 1);
	size_t n_taints = request_nodes_taints(n, taints);
	size_t n_amounts;
	auto_free struct amount *amounts =
	    capacity_amounts(c, n->allocatable, n->n_allocatable, &n_amounts);
	struct err err;

	if (m->view == CLUSTER_NONE)
		return;
	for (size_t i = 0; i < n->n_labels; i++)
		labels[i] = (struct label){n->labels[i].key, n->labels[i].value};
	if (!known) {
		known = xcalloc(1, sizeof(*known));
		map_put(&m->nodes, n->name, known);
	}
	known->revision = n->revision;
	known->seen = true;
	uint64_t version = fleet_version(c->fleet);
	int r = cluster_view_node_upsert(c->fleet, m->view,
					 &(struct node_spec){
					     .name = n->name,
					     .labels = labels,
					     .n_labels = n->n_labels,
					     .taints = taints,
					     .n_taints = n_taints,
					     .allocatable = amounts,
					     .n_allocatable = n_amounts,
					     .unschedulable = n->unschedulable,
					     .ready = n->ready,
					 },
					 &known->node, &err);
	if (r < 0) {
		log_warn(c->log, "node refused by the view", "cluster=%s node=%.*s error=\"%s\"",
			 m->name, SPAN_ARGS(n->name), err.text);
		return;
	}
	ledger_crowded(c->ledger, m->view, known->node);
	note_ready(c, m, known, n);
	swap_node_changed(c, m, known->node, n->name);
	if (fleet_version(c->fleet) != version)
		request_claim_nodes_changed(c, m);
}

void capacity_node_remove(struct core *c, struct member *m, struct span name)
{
	struct member_node *known = map_remove(&m->nodes, name);
	auto_buf key = BUF_INIT;

	if (!known)
		return;
	uint32_t node = known->node;
	if (known->not_ready)
		registry_delete_aux(c->batch, true, STORE_AUX_DIGEST,
				    capacity_row_key(m, 'u', name, &key));
	cluster_view_node_remove(c->fleet, m->view, node);
	ledger_crowded(c->ledger, m->view, node);
	free(known);
	swap_node_changed(c, m, node, name);
	node_jobs_reset(m, node);
	node_object_delete(c, m, name);
	registry_delete_aux(c->batch, true, STORE_AUX_DIGEST, capacity_row_key(m, 'n', name, &key));
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
		capacity_node_remove(c, m, f->node.name);
		return;
	}
	capacity_node_apply(c, m, &f->node);
	node_info_pack(&f->node, &row);
	registry_put_aux(c->batch, true, STORE_AUX_DIGEST,
			 capacity_row_key(m, 'n', f->node.name, &key), buf_span(&row));
	node_show(c, m, f);
}
