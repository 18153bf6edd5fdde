/*
 * Entries are recycled with their slot buffers, so that assuming and dropping allocate nothing once
 * warm. Jobs are found by open addressing; deadlines are a binary heap of entry numbers.
 */
#include "policies/ledger.h"

#include "base/num.h"
#include "policies/cluster_nodes.h"
#include "policies/fleet.h"
#include "policies/ledger_private.h"

struct ledger *ledger_create(struct fleet *f)
{
	struct ledger *l = xcalloc(1, sizeof(*l));

	l->f = f;
	l->free_entry = ENTRY_NONE;
	f->ledger = l;
	return l;
}

struct ledger *ledger_destroy(struct ledger *l)
{
	if (!l)
		return NULL;
	for (uint32_t i = 0; i < l->entries.len; i++) {
		if (l->entries.items[i].job)
			ledger_drop(l, l->entries.items[i].job);
		free(l->entries.items[i].slots);
	}
	vec_done(&l->entries);
	vec_done(&l->heap);
	vec_done(&l->crowded);
	l->f->ledger = NULL;
	free(l->slots);
	free(l);
	return NULL;
}

/* ---- jobs ---- */

static uint32_t home_of(const struct ledger *l, uint64_t job)
{
	job ^= job >> 32;
	job *= 0x9fb21c651e98df25ULL;
	return (uint32_t)(job >> 32) & (l->n_slots - 1);
}

static uint32_t find_slot(const struct ledger *l, uint64_t job)
{
	uint32_t i = home_of(l, job);

	while (l->slots[i] && l->entries.items[l->slots[i] - 1].job != job)
		i = (i + 1) & (l->n_slots - 1);
	return i;
}

static struct entry *find(const struct ledger *l, uint64_t job)
{
	if (!l->n_slots || !job)
		return NULL;
	uint32_t at = l->slots[find_slot(l, job)];
	return at ? &l->entries.items[at - 1] : NULL;
}

static void grow(struct ledger *l)
{
	l->n_slots = l->n_slots ? l->n_slots * 2 : 64;
	free(l->slots);
	l->slots = xcalloc(l->n_slots, sizeof(*l->slots));
	for (uint32_t i = 0; i < l->entries.len; i++)
		if (l->entries.items[i].job)
			l->slots[find_slot(l, l->entries.items[i].job)] = i + 1;
}

static void unlink_slot(struct ledger *l, uint32_t i)
{
	uint32_t mask = l->n_slots - 1;

	for (uint32_t j = (i + 1) & mask; l->slots[j]; j = (j + 1) & mask) {
		uint32_t home = home_of(l, l->entries.items[l->slots[j] - 1].job);
		if (((j - home) & mask) >= ((j - i) & mask)) {
			l->slots[i] = l->slots[j];
			i = j;
		}
	}
	l->slots[i] = 0;
}

/* ---- deadlines ---- */

static void heap_set(struct ledger *l, uint32_t at, uint32_t entry)
{
	l->heap.items[at] = entry;
	l->entries.items[entry].heap_at = at;
}

/* Earlier deadline first, then the smaller job number. */
static bool is_sooner(const struct ledger *l, uint32_t a, uint32_t b)
{
	const struct entry *x = &l->entries.items[a], *y = &l->entries.items[b];
	if (x->deadline_us != y->deadline_us)
		return x->deadline_us < y->deadline_us;
	return x->job < y->job;
}

static void heap_up(struct ledger *l, uint32_t at)
{
	uint32_t e = l->heap.items[at];

	for (; at > 0 && is_sooner(l, e, l->heap.items[(at - 1) / 2]); at = (at - 1) / 2)
		heap_set(l, at, l->heap.items[(at - 1) / 2]);
	heap_set(l, at, e);
}

static void heap_down(struct ledger *l, uint32_t at)
{
	uint32_t e = l->heap.items[at];

	for (;;) {
		uint32_t child = 2 * at + 1;
		if (child >= l->heap.len)
			break;
		if (child + 1 < l->heap.len &&
		    is_sooner(l, l->heap.items[child + 1], l->heap.items[child]))
			child++;
		if (!is_sooner(l, l->heap.items[child], e))
			break;
		heap_set(l, at, l->heap.items[child]);
		at = child;
	}
	heap_set(l, at, e);
}

static void set_deadline(struct ledger *l, uint32_t entry, int64_t deadline_us)
{
	struct entry *e = &l->entries.items[entry];

	if (e->heap_at != ENTRY_NONE) {
		uint32_t at = e->heap_at, last = l->heap.items[--l->heap.len];
		e->heap_at = ENTRY_NONE;
		if (last != entry) {
			heap_set(l, at, last);
			heap_up(l, at);
			heap_down(l, l->entries.items[last].heap_at);
		}
	}
	e->deadline_us = deadline_us;
	if (deadline_us == 0)
		return;
	vec_push(&l->heap, entry);
	heap_up(l, (uint32_t)l->heap.len - 1);
}

/* ---- charging ---- */

static const struct row *row_of(const struct shape *s, uint32_t set)
{
	return s->parts[s->part_of_set[set]].row;
}

static void add_assumed(struct ledger *l, const struct entry *e, uint32_t set, int64_t pods,
			bool placed)
{
	struct cluster *k = &l->f->clusters[e->cluster];
	const struct row *r = row_of(e->shape, set);

	for (uint32_t i = 0; i < r->n_requests; i++) {
		int64_t amount = num_mul_sat(r->amount[i], pods);
		k->assumed_sum[r->resource[i]] += amount;
		if (!placed)
			k->unplaced_sum[r->resource[i]] += amount;
	}
	if (placed)
		return;
	if (pods < 0)
		k->freed |= r->mask;
	fleet_touch(l->f, e->cluster, false);
}

void ledger_charge_slots(struct ledger *l, const struct entry *e, const struct fit_slot *slots,
			 uint32_t n, int sign)
{
	for (uint32_t i = 0; i < n;) {
		uint32_t set = slots[i].set;
		int64_t pods = 0;
		for (; i < n && slots[i].set == set; i++)
			pods += slots[i].count;
		add_assumed(l, e, set, sign * pods, true);
	}
	cluster_nodes_take(l->f, e->cluster, slots, n, e->shape, sign);
}

static int check_slots(const struct ledger *l, const struct shape *shape, uint32_t cluster,
		       const struct fit_slot *slots, size_t n, int64_t *left, struct err *reterr)
{
	if (cluster >= l->f->n_clusters || !l->f->clusters[cluster].used)
		return err_set(reterr, ERR_NOT_FOUND, "cluster %u does not exist", cluster);
	const struct cluster *k = &l->f->clusters[cluster];
	for (size_t i = 0; i < shape->spec.n_sets; i++)
		left[i] = shape->spec.sets[i].count;
	for (size_t i = 0; i < n; i++) {
		const struct fit_slot *s = &slots[i];
		if (s->node >= k->n_nodes || k->spots[s->node].state == STATE_NONE ||
		    s->set >= shape->spec.n_sets || s->count == 0 || left[s->set] < s->count)
			return err_set(reterr, ERR_BAD_REQUEST,
				       "slot %zu does not belong to this shape and cluster", i);
		left[s->set] -= s->count;
	}
	return 0;
}

static uint32_t take_entry(struct ledger *l)
{
	uint32_t id = l->free_entry;

	if (id != ENTRY_NONE) {
		l->free_entry = l->entries.items[id].next_free;
		return id;
	}
	vec_push(&l->entries, (struct entry){0});
	return (uint32_t)l->entries.len - 1;
}

static void hold_unplaced(struct ledger *l, struct entry *e, const int64_t *left)
{
	size_t n = e->shape->spec.n_sets;

	for (uint32_t set = 0; set < n; set++) {
		if (left[set] == 0)
			continue;
		if (!e->unplaced)
			e->unplaced = xcalloc(n, sizeof(*e->unplaced));
		e->unplaced[set] = left[set];
		add_assumed(l, e, set, left[set], false);
	}
}

/* An entry that holds nothing yet; not one that exists. */
static struct entry *new_entry(struct ledger *l, uint64_t job, struct shape *shape,
			       uint32_t cluster)
{
	uint32_t id = take_entry(l);
	struct entry *e = &l->entries.items[id];

	e->job = job;
	e->shape = shape_dup_ref(shape);
	e->cluster = cluster;
	e->n_slots = 0;
	e->held = 0;
	e->heap_at = ENTRY_NONE;
	e->deadline_us = 0;
	e->claim = false;
	l->n_live++;
	if (l->n_live * 2 > l->n_slots)
		grow(l);
	else
		l->slots[find_slot(l, job)] = id + 1;
	return e;
}

int ledger_assume(struct ledger *l, uint64_t job, struct shape *shape, uint32_t cluster,
		  const struct fit_slot *slots, size_t n_slots, int64_t deadline_us,
		  struct err *reterr)
{
	int64_t left[POD_SET_MAX_SETS];

	if (job == 0)
		return err_set(reterr, ERR_BAD_REQUEST, "job 0 is none");
	if (find(l, job))
		return err_set(reterr, ERR_ALREADY_EXISTS, "the job is assumed already");
	int r = check_slots(l, shape, cluster, slots, n_slots, left, reterr);
	if (r < 0)
		return r;
	struct entry *e = new_entry(l, job, shape, cluster);
	if (e->cap_slots < n_slots) {
		e->cap_slots = (uint32_t)n_slots;
		e->slots = xrealloc(e->slots, n_slots * sizeof(*slots));
	}
	if (n_slots)
		memcpy(e->slots, slots, n_slots * sizeof(*slots));
	e->n_slots = (uint32_t)n_slots;
	e->held = job_shape_pods(&shape->spec);
	ledger_charge_slots(l, e, e->slots, e->n_slots, 1);
	hold_unplaced(l, e, left);
	set_deadline(l, (uint32_t)(e - l->entries.items), deadline_us);
	return 0;
}

int ledger_await(struct ledger *l, uint64_t job, struct shape *shape, uint32_t cluster,
		 uint32_t set, uint32_t node, struct err *reterr)
{
	struct fit_slot one = {node, set, 1};
	int64_t left[POD_SET_MAX_SETS];
	struct entry *e = find(l, job);

	if (job == 0 || (e && e->cluster != cluster))
		return err_set(reterr, ERR_BAD_REQUEST, "the job is assumed elsewhere");
	int r = check_slots(l, e ? e->shape : shape, cluster, &one, 1, left, reterr);
	if (r < 0)
		return r;
	if (!e)
		e = new_entry(l, job, shape, cluster);
	ledger_charge_slots(l, e, &one, 1, 1);
	ledger_add_slot(e, node, set);
	e->held++;
	ledger_crowded(l, cluster, node);
	return 0;
}

/* Most likely it is the `near`-th. */
static bool has_slot(const struct entry *e, const struct fit_slot *slot, size_t near)
{
	for (size_t i = 0; i < e->n_slots; i++) {
		const struct fit_slot *own = &e->slots[(near + i) % e->n_slots];
		if (own->node == slot->node && own->set == slot->set && own->count == slot->count)
			return true;
	}
	return false;
}

/* In any order: nodes that are alike come now in one, now in another. Each comes once in a set. */
static bool is_same(const struct entry *e, const struct shape *shape, uint32_t cluster,
		    const struct fit_slot *slots, size_t n_slots)
{
	if (e->shape != shape || e->cluster != cluster || e->n_slots != n_slots)
		return false;
	for (size_t i = 0; i < n_slots; i++)
		if (!has_slot(e, &slots[i], i))
			return false;
	return true;
}

int ledger_claim(struct ledger *l, uint64_t job, struct shape *shape, uint32_t cluster,
		 const struct fit_slot *slots, size_t n_slots, struct err *reterr)
{
	const struct entry *e = find(l, job);

	if (e && !e->claim)
		return err_set(reterr, ERR_ALREADY_EXISTS, "the job is assumed already");
	if (e && is_same(e, shape, cluster, slots, n_slots))
		return 0;
	ledger_drop(l, job);
	int r = ledger_assume(l, job, shape, cluster, slots, n_slots, 0, reterr);
	if (r < 0)
		return r;
	find(l, job)->claim = true;
	l->n_claims++;
	return 0;
}

/* ---- giving back ---- */

const struct entry *ledger_entry(const struct ledger *l, uint64_t job)
{
	return find(l, job);
}

void ledger_charge_all(struct ledger *l, uint64_t job, int sign)
{
	const struct entry *e = find(l, job);

	ledger_charge_slots(l, e, e->slots, e->n_slots, sign);
	for (uint32_t set = 0; e->unplaced && set < e->shape->spec.n_sets; set++)
		if (e->unplaced[set])
			add_assumed(l, e, set, sign * e->unplaced[set], false);
}

bool ledger_drop(struct ledger *l, uint64_t job)
{
	struct entry *e = find(l, job);

	if (!e)
		return false;
	uint32_t id = (uint32_t)(e - l->entries.items);
	bool held = e->held > 0;
	ledger_charge_all(l, job, -1);
	set_deadline(l, id, 0);
	unlink_slot(l, find_slot(l, job));
	l->n_claims -= e->claim;
	fleet_shape_unref(l->f, e->shape);
	free(e->unplaced);
	e->unplaced = NULL;
	e->shape = NULL;
	e->job = 0;
	e->n_slots = 0;
	e->next_free = l->free_entry;
	l->free_entry = id;
	l->n_live--;
	return held;
}

/* The slot that answers for a pod of `set` on `node`: that node's, else the last one. */
static struct fit_slot *slot_for(struct entry *e, uint32_t set, uint32_t node)
{
	struct fit_slot *last = NULL;

	for (uint32_t i = 0; i < e->n_slots; i++) {
		struct fit_slot *s = &e->slots[i];
		if (s->set != set || s->count == 0)
			continue;
		if (s->node == node)
			return s;
		last = s;
	}
	return last;
}

bool ledger_observe(struct ledger *l, uint64_t job, uint32_t set, uint32_t node)
{
	struct entry *e = find(l, job);

	if (!e || set >= e->shape->spec.n_sets)
		return false;
	struct fit_slot *s = slot_for(e, set, node);
	if (s && !(s->node != node && e->unplaced && e->unplaced[set])) {
		struct fit_slot one = {s->node, s->set, 1};
		ledger_charge_slots(l, e, &one, 1, -1);
		s->count--;
	} else if (e->unplaced && e->unplaced[set]) {
		/* A pod on a node we did not name is one of those we named no node for. */
		add_assumed(l, e, set, -1, false);
		e->unplaced[set]--;
	} else {
		return false;
	}
	if (--e->held == 0)
		ledger_drop(l, job);
	return true;
}

bool ledger_expects(const struct ledger *l, uint64_t job, uint32_t set, uint32_t node)
{
	const struct entry *e = find(l, job);

	for (uint32_t i = 0; e && i < e->n_slots; i++)
		if (e->slots[i].node == node && e->slots[i].set == set && e->slots[i].count)
			return true;
	return false;
}

void ledger_extend(struct ledger *l, uint64_t job, int64_t deadline_us)
{
	struct entry *e = find(l, job);

	if (e)
		set_deadline(l, (uint32_t)(e - l->entries.items), deadline_us);
}

uint64_t ledger_expired(const struct ledger *l, int64_t now_us)
{
	if (!l->heap.len || l->entries.items[l->heap.items[0]].deadline_us > now_us)
		return 0;
	return l->entries.items[l->heap.items[0]].job;
}

int64_t ledger_next_deadline(const struct ledger *l)
{
	return l->heap.len ? l->entries.items[l->heap.items[0]].deadline_us : INT64_MAX;
}

uint32_t ledger_cluster(const struct ledger *l, uint64_t job)
{
	const struct entry *e = find(l, job);
	return e ? e->cluster : CLUSTER_NONE;
}

int64_t ledger_pods(const struct ledger *l, uint64_t job)
{
	const struct entry *e = find(l, job);
	return e ? e->held : 0;
}

size_t ledger_count(const struct ledger *l)
{
	return l->n_live;
}
