#include "policies/cluster_nodes.h"
#include "policies/cluster_view.h"
#include "policies/fleet.h"
#include "policies/node_class.h"
#include "policies/node_state.h"

static int cmp_label(const void *a, const void *b)
{
	const struct node_label *x = a, *y = b;
	return (x->key > y->key) - (x->key < y->key);
}

static void set_labels(struct fleet *f, struct node *n, const struct node_spec *spec)
{
	struct node_label *labels = xcalloc(spec->n_labels, sizeof(*labels));

	for (size_t i = 0; i < spec->n_labels; i++)
		labels[i] = (struct node_label){
		    intern_ref(&f->names, spec->labels[i].key),
		    intern_ref(&f->names, spec->labels[i].value),
		};
	qsort(labels, spec->n_labels, sizeof(*labels), cmp_label);
	for (uint32_t i = 0; i < n->n_labels; i++) {
		intern_unref(&f->names, n->labels[i].key);
		intern_unref(&f->names, n->labels[i].value);
	}
	free(n->labels);
	n->labels = labels;
	n->n_labels = (uint32_t)spec->n_labels;
}

/* PreferNoSchedule keeps nobody away, so it is not kept. */
static void set_taints(struct fleet *f, struct node *n, const struct node_spec *spec)
{
	struct node_taint *taints = xcalloc(spec->n_taints, sizeof(*taints));
	uint32_t kept = 0;

	for (size_t i = 0; i < spec->n_taints; i++) {
		const struct taint *t = &spec->taints[i];
		if (!taint_effect_keeps_away(t->effect))
			continue;
		taints[kept++] = (struct node_taint){
		    intern_ref(&f->names, t->key),
		    intern_ref(&f->names, t->value),
		    t->effect,
		};
	}
	for (uint32_t i = 0; i < n->n_taints; i++) {
		intern_unref(&f->names, n->taints[i].key);
		intern_unref(&f->names, n->taints[i].value);
	}
	free(n->taints);
	n->taints = taints;
	n->n_taints = kept;
}

static uint32_t take_slot(struct fleet *f, struct cluster *k)
{
	uint32_t id = k->free_node;

	if (id != NODE_NONE) {
		k->free_node = k->spots[id].next;
		return id;
	}
	if (k->n_nodes == k->cap_nodes) {
		k->cap_nodes = k->cap_nodes ? k->cap_nodes * 2 : 8;
		k->nodes = xrealloc(k->nodes, k->cap_nodes * sizeof(*k->nodes));
		k->spots = xrealloc(k->spots, k->cap_nodes * sizeof(*k->spots));
		k->allocatable = xrealloc(k->allocatable, (size_t)k->cap_nodes * f->stride *
							      sizeof(*k->allocatable));
	}
	return k->n_nodes++;
}

/* A placeholder: nothing is known but the name, so it has nothing. */
static uint32_t add_node(struct fleet *f, uint32_t cluster, struct span name)
{
	struct cluster *k = &f->clusters[cluster];
	uint32_t id = take_slot(f, k);

	k->nodes[id] = (struct node){.name = intern_ref(&f->names, name)};
	k->spots[id] = (struct node_spot){.state = STATE_NONE};
	map_put(&k->by_name, name, (void *)(uintptr_t)(id + 1));
	memset(k->allocatable + (size_t)id * f->stride, 0, f->stride * sizeof(*k->allocatable));
	memset(f->vector, 0, f->stride * sizeof(*f->vector));
	uint32_t class_id = node_class_of(f, &k->nodes[id]);
	/* Moving in needs allocatable apart from the scratch vector that the state is made of. */
	uint32_t state = node_state_ref(f, class_id, f->vector);
	cluster_nodes_replace(f, cluster, id, state, f->vector);
	return id;
}

uint32_t cluster_view_node_find(const struct fleet *f, uint32_t cluster, struct span name)
{
	uintptr_t at = (uintptr_t)map_get(&f->clusters[cluster].by_name, name);
	return at ? (uint32_t)at - 1 : NODE_NONE;
}

int cluster_view_node_ref(struct fleet *f, uint32_t cluster, struct span name, uint32_t *ret_node,
			  struct err *reterr)
{
	uint32_t id = cluster_view_node_find(f, cluster, name);

	if (name.len == 0)
		return err_set_field(reterr, ERR_INVALID, "metadata.name", "must not be empty");
	if (id == NODE_NONE && f->clusters[cluster].by_name.len >= CLUSTER_VIEW_MAX_NODES)
		return err_set(reterr, ERR_TOO_LARGE, "node %.*s is one too many: at most %d",
			       SPAN_ARGS(name), CLUSTER_VIEW_MAX_NODES);
	*ret_node = id != NODE_NONE ? id : add_node(f, cluster, name);
	return 0;
}

/* Allocatable as a vector. What is missing is zero, what is negative too. */
static void read_allocatable(const struct fleet *f, const struct node_spec *spec, int64_t *out)
{
	memset(out, 0, f->stride * sizeof(*out));
	for (size_t i = 0; i < spec->n_allocatable; i++)
		if (spec->allocatable[i].resource < f->stride)
			out[spec->allocatable[i].resource] =
			    cluster_nodes_positive(spec->allocatable[i].value);
	if (out[RESOURCE_PODS] > FILL_MAX)
		out[RESOURCE_PODS] = FILL_MAX;
}

/* Puts the node where it belongs by what is known of it; its charges stay. */
static void refile(struct fleet *f, uint32_t cluster, uint32_t node, const int64_t *allocatable)
{
	struct cluster *k = &f->clusters[cluster];
	struct node *n = &k->nodes[node];
	const int64_t *was = k->allocatable + (size_t)node * f->stride;
	const int64_t *free = node_state_free(f, k->spots[node].state);

	for (uint32_t i = 0; i < f->stride; i++)
		f->vector[i] =
		    (int64_t)((uint64_t)free[i] + (uint64_t)allocatable[i] - (uint64_t)was[i]);
	uint32_t state = node_state_ref(f, node_class_of(f, n), f->vector);
	/* Heartbeats say the same again and again: they must not look like a change. */
	if (state == k->spots[node].state &&
	    memcmp(was, allocatable, f->stride * sizeof(*was)) == 0)
		node_state_unref(f, state);
	else
		cluster_nodes_replace(f, cluster, node, state, allocatable);
}

int cluster_view_node_upsert(struct fleet *f, uint32_t cluster, const struct node_spec *spec,
			     uint32_t *ret_node, struct err *reterr)
{
	int64_t allocatable[RESOURCE_MAX];
	uint32_t id;

	if (spec->n_labels > CLUSTER_VIEW_MAX_LABELS || spec->n_taints > CLUSTER_VIEW_MAX_TAINTS)
		return err_set(reterr, ERR_TOO_LARGE,
			       "node %.*s has %zu labels and %zu taints, at most %d and %d count",
			       SPAN_ARGS(spec->name), spec->n_labels, spec->n_taints,
			       CLUSTER_VIEW_MAX_LABELS, CLUSTER_VIEW_MAX_TAINTS);
	fleet_widen(f);
	int r = cluster_view_node_ref(f, cluster, spec->name, &id, reterr);
	if (r < 0)
		return r;
	struct cluster *k = &f->clusters[cluster];
	struct node *n = &k->nodes[id];
	k->n_known += !n->known;
	k->spots[id].charges += !n->known;
	n->known = true;
	n->ready = spec->ready;
	n->unschedulable = spec->unschedulable;
	set_labels(f, n, spec);
	set_taints(f, n, spec);
	read_allocatable(f, spec, allocatable);
	refile(f, cluster, id, allocatable);
	*ret_node = id;
	return 0;
}

void cluster_view_node_remove(struct fleet *f, uint32_t cluster, uint32_t node)
{
	static const struct node_spec nothing = {0};
	int64_t allocatable[RESOURCE_MAX] = {0};
	struct cluster *k = &f->clusters[cluster];
	struct node *n = &k->nodes[node];

	if (k->spots[node].state == STATE_NONE || !n->known)
		return;
	k->n_known--;
	k->spots[node].charges--;
	n->known = n->ready = n->unschedulable = false;
	set_labels(f, n, &nothing);
	set_taints(f, n, &nothing);
	refile(f, cluster, node, allocatable);
	cluster_nodes_release_slot(f, cluster, node);
}

struct span cluster_view_node_name(const struct fleet *f, uint32_t cluster, uint32_t node)
{
	const struct cluster *k = &f->clusters[cluster];

	if (node >= k->n_nodes || k->spots[node].state == STATE_NONE)
		return SPAN_NONE;
	return intern_text(&f->names, k->nodes[node].name);
}

struct span cluster_view_node_label(const struct fleet *f, uint32_t cluster, uint32_t node,
				    struct span key)
{
	const struct cluster *k = &f->clusters[cluster];
	uint32_t number = intern_find(&f->names, key);

	if (!number || node >= k->n_nodes || k->spots[node].state == STATE_NONE)
		return SPAN_NONE;
	for (uint32_t i = 0; i < k->nodes[node].n_labels; i++)
		if (k->nodes[node].labels[i].key == number)
			return intern_text(&f->names, k->nodes[node].labels[i].value);
	return SPAN_NONE;
}

int64_t cluster_view_node_free(const struct fleet *f, uint32_t cluster, uint32_t node,
			       uint32_t resource)
{
	const struct cluster *k = &f->clusters[cluster];

	if (node >= k->n_nodes || k->spots[node].state == STATE_NONE || resource >= f->stride)
		return 0;
	return node_state_free(f, k->spots[node].state)[resource];
}

int64_t cluster_view_node_allocatable(const struct fleet *f, uint32_t cluster, uint32_t node,
				      uint32_t resource)
{
	const struct cluster *k = &f->clusters[cluster];

	if (node >= k->n_nodes || k->spots[node].state == STATE_NONE || resource >= f->stride)
		return 0;
	return k->allocatable[(size_t)node * f->stride + resource];
}

/* ---- pods ---- */

static void charge(struct fleet *f, uint32_t cluster, uint32_t node, const struct pod_usage *usage,
		   int64_t sign)
{
	struct cluster *k = &f->clusters[cluster];

	fleet_widen(f);
	memcpy(f->vector, node_state_free(f, k->spots[node].state), f->stride * sizeof(*f->vector));
	for (size_t i = 0; i < usage->n_requests; i++) {
		uint32_t at = usage->requests[i].resource;
		uint64_t amount = (uint64_t)cluster_nodes_positive(usage->requests[i].value);
		if (at < f->stride && at != RESOURCE_PODS)
			f->vector[at] =
			    (int64_t)((uint64_t)f->vector[at] - (uint64_t)sign * amount);
	}
	f->vector[RESOURCE_PODS] -= sign;
	k->spots[node].charges += (uint32_t)sign;
	if (usage->exclusive)
		k->nodes[node].exclusive += (uint32_t)sign;
	uint32_t class_id = node_class_dup(f, f->states[k->spots[node].state].node_class);
	cluster_nodes_move(f, cluster, node, node_state_ref(f, class_id, f->vector));
	if (usage->exclusive)
		fleet_touch(f, cluster, false); /* domains are no part of a state */
}

void cluster_view_pod_charge(struct fleet *f, uint32_t cluster, uint32_t node,
			     const struct pod_usage *usage)
{
	charge(f, cluster, node, usage, 1);
}

void cluster_view_pod_release(struct fleet *f, uint32_t cluster, uint32_t node,
			      const struct pod_usage *usage)
{
	const struct cluster *k = &f->clusters[cluster];

	if (k->spots[node].charges == (k->nodes[node].known ? 1u : 0u))
		return;
	charge(f, cluster, node, usage, -1);
	cluster_nodes_release_slot(f, cluster, node);
}
