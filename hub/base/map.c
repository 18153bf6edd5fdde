#include "base/map.h"

#include <sys/auxv.h>

#define ROTATE(x, n) (((x) << (n)) | ((x) >> (64 - (n))))

static void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = ROTATE(v[1], 13) ^ v[0];
	v[0] = ROTATE(v[0], 32);
	v[2] += v[3];
	v[3] = ROTATE(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = ROTATE(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = ROTATE(v[1], 17) ^ v[2];
	v[2] = ROTATE(v[2], 32);
}

static void sip_word(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	sip_round(v);
	v[0] ^= word;
}

/* SipHash-1-3 (Aumasson, Bernstein 2012): a keyed hash, so collisions need the seed. */
static uint64_t hash_of(const struct map *m, struct span key)
{
	uint64_t v[4] = {m->seed ^ 0x736f6d6570736575ULL, ~m->seed ^ 0x646f72616e646f6dULL,
			 m->seed ^ 0x6c7967656e657261ULL, ~m->seed ^ 0x7465646279746573ULL};
	uint64_t last = (uint64_t)key.len << 56, word;
	size_t i = 0;

	for (; i + 8 <= key.len; i += 8) {
		memcpy(&word, key.ptr + i, 8);
		sip_word(v, word);
	}
	for (size_t k = 0; i < key.len; i++, k++)
		last |= (uint64_t)(unsigned char)key.ptr[i] << (8 * k);
	sip_word(v, last);
	v[2] ^= 0xff;
	sip_round(v);
	sip_round(v);
	sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static bool entry_is(const struct map_entry *e, uint64_t hash, struct span key)
{
	return e->key && e->hash == hash && span_eq(span_make(e->key, e->key_len), key);
}

static struct map_entry *find(const struct map *m, struct span key)
{
	if (!m->n_slots)
		return NULL;
	uint64_t hash = hash_of(m, key);
	for (size_t i = hash & (m->n_slots - 1);; i = (i + 1) & (m->n_slots - 1)) {
		if (!m->slots[i])
			return NULL;
		if (entry_is(&m->entries[m->slots[i] - 1], hash, key))
			return &m->entries[m->slots[i] - 1];
	}
}

static void link_slot(struct map *m, size_t index)
{
	size_t i = m->entries[index].hash & (m->n_slots - 1);
	while (m->slots[i])
		i = (i + 1) & (m->n_slots - 1);
	m->slots[i] = (uint32_t)index + 1;
}

/* Closes holes and rebuilds the slots at no more than half load. */
static void rebuild(struct map *m)
{
	size_t live = 0;
	for (size_t i = 0; i < m->n_entries; i++)
		if (m->entries[i].key)
			m->entries[live++] = m->entries[i];
	m->n_entries = live;
	size_t slots = 16;
	while (slots < live * 4)
		slots *= 2;
	free(m->slots);
	m->slots = xcalloc(slots, sizeof(*m->slots));
	m->n_slots = slots;
	for (size_t i = 0; i < live; i++)
		link_slot(m, i);
	size_t cap = slots / 2;
	if (cap > m->cap_entries || cap < m->cap_entries / 4) {
		m->entries = xrealloc(m->entries, cap * sizeof(*m->entries));
		m->cap_entries = cap;
	}
}

void *map_get(const struct map *m, struct span key)
{
	struct map_entry *e = find(m, key);
	return e ? e->value : NULL;
}

bool map_has(const struct map *m, struct span key)
{
	return find(m, key) != NULL;
}

/* The kernel gives every process 16 random bytes at its start: no call for each map. The address
 * keeps two maps from sharing their order of slots. */
static uint64_t new_seed(const struct map *m)
{
	const void *random = (const void *)(uintptr_t)getauxval(AT_RANDOM);
	uint64_t words[2] = {0};

	if (random)
		memcpy(words, random, sizeof(words));
	return (words[0] ^ ROTATE(words[1], 32) ^ (uintptr_t)m) * 0x9fb21c651e98df25ULL;
}

const char *map_key(const struct map *m, struct span key)
{
	const struct map_entry *e = find(m, key);
	return e ? e->key : NULL;
}

void *map_put(struct map *m, struct span key, void *value)
{
	struct map_entry *e = find(m, key);
	if (e) {
		void *old = e->value;
		e->value = value;
		return old;
	}
	if (!m->n_slots)
		m->seed = new_seed(m);
	if (m->n_entries == m->cap_entries || m->n_entries * 2 >= m->n_slots)
		rebuild(m);
	m->entries[m->n_entries] = (struct map_entry){
	    .key = xstrndup(key.ptr ? key.ptr : "", key.len),
	    .key_len = key.len,
	    .hash = hash_of(m, key),
	    .value = value,
	};
	link_slot(m, m->n_entries++);
	m->len++;
	return NULL;
}

void *map_remove(struct map *m, struct span key)
{
	struct map_entry *e = find(m, key);
	if (!e)
		return NULL;
	void *old = e->value;
	free(e->key);
	e->key = NULL;
	e->value = NULL;
	m->len--;
	return old;
}

void map_done(struct map *m)
{
	for (size_t i = 0; i < m->n_entries; i++)
		free(m->entries[i].key);
	free(m->entries);
	free(m->slots);
	*m = (struct map){0};
}
