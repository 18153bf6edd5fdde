#include "quota-tree/kueue_holders.h"

#include "quota-tree/kueue_node.h"
#include <assert.h>

static bool before(const struct rank_node *a, const struct rank_node *b)
{
	const struct kueue_workload *x = rank_entry_const(a, struct kueue_workload, by_victim),
				    *y = rank_entry_const(b, struct kueue_workload, by_victim);
	return kueue_holders_cmp(x, y) < 0;
}

static const struct rank_order victim_order = {.before = before};

int kueue_holders_cmp(const struct kueue_workload *a, const struct kueue_workload *b)
{
	bool a_evicted = a->state == KUEUE_EVICTED, b_evicted = b->state == KUEUE_EVICTED;
	int c;

	if (a_evicted != b_evicted)
		return a_evicted ? -1 : 1;
	if (a->priority != b->priority)
		return a->priority < b->priority ? -1 : 1;
	if (a->reserved_at != b->reserved_at)
		return a->reserved_at > b->reserved_at ? -1 : 1;
	c = span_cmp(a->uid, b->uid);
	return c ? c : span_cmp(a->name, b->name);
}

void kueue_holders_file(struct kueue_forest *f, struct kueue_workload *w)
{
	struct kueue_node *n = kueue_node(f, w->queue);

	assert(n->queue && w->state >= KUEUE_RESERVING);
	if (!n->holders.order)
		rank_init(&n->holders, &victim_order);
	rank_insert(&n->holders, &w->by_victim);
}

void kueue_holders_unfile(struct kueue_forest *f, struct kueue_workload *w)
{
	struct kueue_node *n = kueue_node(f, w->queue);

	rank_remove(&n->holders, &w->by_victim);
	if (!n->declared) /* perhaps the last that kept it */
		kueue_tree_spoil(f, n);
}

void kueue_holders_add(struct kueue_forest *f, struct kueue_workload *w)
{
	kueue_forest_charge(f, w->queue, w->uses, w->n_uses);
	kueue_holders_file(f, w);
}

void kueue_holders_remove(struct kueue_forest *f, struct kueue_workload *w)
{
	kueue_forest_release(f, w->queue, w->uses, w->n_uses);
	kueue_holders_unfile(f, w);
}

size_t kueue_holders_count(const struct kueue_forest *f, uint32_t queue)
{
	const struct kueue_node *n = kueue_node(f, queue);

	return n ? rank_len(&n->holders) : 0;
}

struct kueue_workload *kueue_holders_at(const struct kueue_forest *f, uint32_t queue, size_t place)
{
	struct rank_node *n = rank_at(&kueue_node(f, queue)->holders, place);
	return n ? rank_entry(n, struct kueue_workload, by_victim) : NULL;
}
