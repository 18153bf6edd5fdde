/*
 * States are found by a hash that is linear in the amounts: a charge moves a node from one state to
 * another, and the hash of the second is that of the first minus a constant of the row, times the
 * pods. Slots are open addressing with backward shift on removal; the order of slots is never
 * looked at, so the hash decides nothing but speed.
 */
#include "policies/node_state.h"

#include "policies/node_class.h"

/* Odd multipliers, one per resource: powers of the golden ratio. */
static uint64_t weight(uint32_t resource)
{
	uint64_t w = 0x9e3779b97f4a7c15ULL;
	return (w * (2 * resource + 3)) | 1;
}

uint64_t node_state_hash(const struct fleet *f, uint32_t class_id, const int64_t *free)
{
	uint64_t h = (uint64_t)class_id * 0xd1342543de82ef95ULL;

	for (uint32_t i = 0; i < f->stride; i++)
		h += weight(i) * (uint64_t)free[i];
	return h;
}

uint64_t node_state_hash_step(const struct row *r)
{
	uint64_t h = 0;

	for (uint32_t i = 0; i < r->n_requests; i++)
		h += weight(r->resource[i]) * (uint64_t)r->amount[i];
	return h;
}

static uint32_t slot_of(const struct fleet *f, uint64_t hash)
{
	hash ^= hash >> 32;
	hash *= 0x9fb21c651e98df25ULL;
	return (uint32_t)(hash >> 32) & (f->n_state_slots - 1);
}

static void link_slot(struct fleet *f, uint32_t id)
{
	uint32_t i = slot_of(f, f->states[id].hash);

	while (f->state_slots[i])
		i = (i + 1) & (f->n_state_slots - 1);
	f->state_slots[i] = id + 1;
}

static void unlink_slot(struct fleet *f, uint32_t id)
{
	uint32_t mask = f->n_state_slots - 1;
	uint32_t i = slot_of(f, f->states[id].hash);

	while (f->state_slots[i] != id + 1)
		i = (i + 1) & mask;
	for (uint32_t j = (i + 1) & mask; f->state_slots[j]; j = (j + 1) & mask) {
		uint32_t home = slot_of(f, f->states[f->state_slots[j] - 1].hash);
		if (((j - home) & mask) >= ((j - i) & mask)) {
			f->state_slots[i] = f->state_slots[j];
			i = j;
		}
	}
	f->state_slots[i] = 0;
}

static void grow_slots(struct fleet *f)
{
	f->n_state_slots = f->n_state_slots ? f->n_state_slots * 2 : 256;
	free(f->state_slots);
	f->state_slots = xcalloc(f->n_state_slots, sizeof(*f->state_slots));
	for (uint32_t i = 0; i < f->n_states; i++)
		if (f->states[i].refs || f->states[i].cached)
			link_slot(f, i);
}

/* ---- the list of cached states without nodes, oldest first ---- */

static void cache_push(struct fleet *f, uint32_t id)
{
	struct node_state *s = &f->states[id];

	s->cached = true;
	s->prev = f->cached_tail;
	s->next = STATE_NONE;
	if (f->cached_tail != STATE_NONE)
		f->states[f->cached_tail].next = id;
	else
		f->cached_head = id;
	f->cached_tail = id;
	f->n_cached++;
}

static void cache_remove(struct fleet *f, uint32_t id)
{
	struct node_state *s = &f->states[id];

	if (s->prev != STATE_NONE)
		f->states[s->prev].next = s->next;
	else
		f->cached_head = s->next;
	if (s->next != STATE_NONE)
		f->states[s->next].prev = s->prev;
	else
		f->cached_tail = s->prev;
	s->cached = false;
	f->n_cached--;
}

static void forget(struct fleet *f, uint32_t id)
{
	cache_remove(f, id);
	unlink_slot(f, id);
	node_class_unref(f, f->states[id].node_class);
	f->states[id] = (struct node_state){.next = f->free_state};
	f->free_state = id;
	f->n_live_states--;
}

static void resize(struct fleet *f, uint32_t cap)
{
	f->states = xrealloc(f->states, cap * sizeof(*f->states));
	f->state_free = xrealloc(f->state_free, (size_t)cap * f->stride * sizeof(*f->state_free));
	f->state_fill =
	    xrealloc(f->state_fill, (size_t)cap * f->cap_lanes * sizeof(*f->state_fill));
	f->cap_states = cap;
}

static uint32_t take_slot(struct fleet *f)
{
	uint32_t id = f->free_state;

	if (id != STATE_NONE) {
		f->free_state = f->states[id].next;
		return id;
	}
	if (f->n_states >= f->cap_states)
		resize(f, f->cap_states ? f->cap_states * 2 : 64);
	return f->n_states++;
}

uint64_t node_state_devices(const struct fleet *f, const int64_t *free)
{
	uint64_t devices = 0;

	for (uint32_t i = RESOURCE_FIRST_OTHER; i < f->resources.n; i++)
		if (free[i] > 0)
			devices |= (uint64_t)1 << i;
	return devices & f->extended;
}

static uint16_t fill_for(const struct fleet *f, uint32_t id, uint32_t lane)
{
	const struct node_state *s = &f->states[id];

	if (!f->lanes[lane] || !node_class_accepts(&f->classes[s->node_class], lane))
		return 0;
	return row_fill(f->lanes[lane], node_state_free(f, id), s->devices);
}

/* `free` may be f->vector, never a state's own vector: those move. */
static uint32_t create(struct fleet *f, uint32_t take_class, const int64_t *free, uint64_t hash)
{
	uint32_t id = take_slot(f);

	f->states[id] = (struct node_state){
	    .hash = hash,
	    .devices = node_state_devices(f, free),
	    .node_class = take_class,
	    .refs = 1,
	    .prev = STATE_NONE,
	    .next = STATE_NONE,
	};
	memcpy(f->state_free + (size_t)id * f->stride, free, f->stride * sizeof(*free));
	uint16_t *fills = f->state_fill + (size_t)id * f->cap_lanes;
	for (uint32_t lane = 0; lane < f->cap_lanes; lane++)
		fills[lane] = lane < f->n_lanes ? fill_for(f, id, lane) : 0;
	f->n_live_states++;
	if (f->n_live_states * 2 > f->n_state_slots)
		grow_slots(f);
	else
		link_slot(f, id);
	return id;
}

static uint32_t find(const struct fleet *f, uint32_t class_id, const int64_t *free, uint64_t hash)
{
	if (!f->n_state_slots)
		return STATE_NONE;
	for (uint32_t i = slot_of(f, hash); f->state_slots[i];
	     i = (i + 1) & (f->n_state_slots - 1)) {
		uint32_t id = f->state_slots[i] - 1;
		const struct node_state *s = &f->states[id];
		if (s->hash == hash && s->node_class == class_id &&
		    memcmp(node_state_free(f, id), free, f->stride * sizeof(*free)) == 0)
			return id;
	}
	return STATE_NONE;
}

static uint32_t reuse(struct fleet *f, uint32_t id)
{
	if (f->states[id].cached)
		cache_remove(f, id);
	f->states[id].refs++;
	return id;
}

uint32_t node_state_ref(struct fleet *f, uint32_t take_class, const int64_t *free)
{
	uint64_t hash = node_state_hash(f, take_class, free);
	uint32_t id = find(f, take_class, free, hash);

	if (id == STATE_NONE)
		return create(f, take_class, free, hash);
	node_class_unref(f, take_class);
	return reuse(f, id);
}

uint32_t node_state_step(struct fleet *f, uint32_t state, const struct row *r, int64_t times)
{
	const struct node_state *s = &f->states[state];
	uint64_t hash = s->hash - (uint64_t)times * r->hash_step;

	memcpy(f->vector, node_state_free(f, state), f->stride * sizeof(*f->vector));
	/* Wraps like the hash: a node charged beyond int64 still comes back exactly. */
	for (uint32_t i = 0; i < r->n_requests; i++) {
		int64_t *v = &f->vector[r->resource[i]];
		*v = (int64_t)((uint64_t)*v - (uint64_t)times * (uint64_t)r->amount[i]);
	}
	uint32_t id = find(f, s->node_class, f->vector, hash);
	if (id != STATE_NONE)
		return reuse(f, id);
	return create(f, node_class_dup(f, s->node_class), f->vector, hash);
}

void node_state_unref(struct fleet *f, uint32_t state)
{
	if (--f->states[state].refs > 0)
		return;
	cache_push(f, state);
	if (f->n_cached > STATES_CACHED)
		forget(f, f->cached_head);
}

void node_state_shift(struct fleet *f, uint32_t from, uint32_t to, uint32_t n)
{
	f->states[to].refs += n - 1;
	f->states[from].refs -= n - 1;
	node_state_unref(f, from);
}

uint16_t node_state_fill(const struct fleet *f, uint32_t state, const struct row *r)
{
	const struct node_state *s = &f->states[state];

	if (r->lane != LANE_NONE)
		return node_state_fills(f, state)[r->lane];
	if (!row_accepts(r, &f->classes[s->node_class]))
		return 0;
	return row_fill(r, node_state_free(f, state), s->devices);
}

void node_state_fill_lane(struct fleet *f, uint32_t lane)
{
	for (uint32_t id = 0; id < f->n_states; id++)
		if (f->states[id].refs || f->states[id].cached)
			f->state_fill[(size_t)id * f->cap_lanes + lane] = fill_for(f, id, lane);
}

void node_state_widen(struct fleet *f, uint32_t stride)
{
	int64_t *wide = xcalloc((size_t)f->cap_states * stride, sizeof(*wide));

	for (uint32_t id = 0; id < f->n_states; id++)
		memcpy(wide + (size_t)id * stride, f->state_free + (size_t)id * f->stride,
		       f->stride * sizeof(*wide));
	free(f->state_free);
	f->state_free = wide;
}

void node_state_add_lanes(struct fleet *f, uint32_t lanes)
{
	uint16_t *more = xcalloc((size_t)f->cap_states * lanes, sizeof(*more));

	for (uint32_t id = 0; id < f->n_states && f->cap_lanes; id++)
		memcpy(more + (size_t)id * lanes, f->state_fill + (size_t)id * f->cap_lanes,
		       f->cap_lanes * sizeof(*more));
	free(f->state_fill);
	f->state_fill = more;
}

void node_state_done(struct fleet *f)
{
	free(f->states);
	free(f->state_free);
	free(f->state_fill);
	free(f->state_slots);
}
