#include "base/map.h"

#include <sys/random.h>

/* FNV-1a over the key, started from the map's secret seed and finished with a mixer. */
static uint64_t hash_of(const struct map *m, struct span key)
{
	uint64_t h = m->seed ^ 0xcbf29ce484222325ULL;
	for (size_t i = 0; i < key.len; i++)
		h = (h ^ (unsigned char)key.ptr[i]) * 0x100000001b3ULL;
	h ^= h >> 32;
	h *= 0x9fb21c651e98df25ULL;
	return h ^ (h >> 28);
}

static bool entry_is(const struct map_entry *e, uint64_t hash, struct span key)
{
	return e->key && e->hash == hash && e->key_len == key.len &&
	       memcmp(e->key, key.ptr, key.len) == 0;
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

void *map_put(struct map *m, struct span key, void *value)
{
	struct map_entry *e = find(m, key);
	if (e) {
		void *old = e->value;
		e->value = value;
		return old;
	}
	if (!m->n_slots && getrandom(&m->seed, sizeof(m->seed), GRND_NONBLOCK) < 0)
		m->seed = (uint64_t)(uintptr_t)m;
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
