#include "policies/intern.h"

#include <sys/random.h>

struct intern_entry {
	char *text; /* owned; NULL marks a recycled id */
	uint32_t len;
	uint32_t refs;
	uint64_t hash;
	uint32_t next; /* in the chain, or in the free list */
};

void intern_init(struct intern *in)
{
	*in = (struct intern){.n_entries = 1};
	if (getentropy(&in->seed, sizeof(in->seed)) < 0)
		in->seed = (uint64_t)(uintptr_t)in;
}

void intern_done(struct intern *in)
{
	for (uint32_t i = 1; i < in->n_entries; i++)
		free(in->entries[i].text);
	free(in->entries);
	free(in->slots);
	*in = (struct intern){0};
}

static uint64_t hash_of(const struct intern *in, struct span s)
{
	uint64_t h = in->seed ^ 0xcbf29ce484222325ULL;

	for (size_t i = 0; i < s.len; i++)
		h = (h ^ (unsigned char)s.ptr[i]) * 0x100000001b3ULL;
	h ^= h >> 32;
	h *= 0x9fb21c651e98df25ULL;
	return h ^ (h >> 28);
}

static uint32_t find(const struct intern *in, struct span s, uint64_t hash)
{
	if (!in->n_slots)
		return 0;
	uint32_t id = in->slots[hash & (in->n_slots - 1)];
	while (id) {
		const struct intern_entry *e = &in->entries[id];
		if (e->hash == hash && e->len == s.len && memcmp(e->text, s.ptr, s.len) == 0)
			break;
		id = e->next;
	}
	return id;
}

static void link_entry(struct intern *in, uint32_t id)
{
	uint32_t *head = &in->slots[in->entries[id].hash & (in->n_slots - 1)];
	in->entries[id].next = *head;
	*head = id;
}

static void grow_slots(struct intern *in)
{
	in->n_slots = in->n_slots ? in->n_slots * 2 : 64;
	in->slots = xrealloc(in->slots, in->n_slots * sizeof(*in->slots));
	memset(in->slots, 0, in->n_slots * sizeof(*in->slots));
	for (uint32_t i = 1; i < in->n_entries; i++)
		if (in->entries[i].text)
			link_entry(in, i);
}

static uint32_t take_id(struct intern *in)
{
	uint32_t id = in->free_head;

	if (id) {
		in->free_head = in->entries[id].next;
		return id;
	}
	if (in->n_entries >= in->cap_entries) {
		in->cap_entries = in->cap_entries ? in->cap_entries * 2 : 64;
		in->entries = xrealloc(in->entries, in->cap_entries * sizeof(*in->entries));
	}
	return in->n_entries++;
}

uint32_t intern_ref(struct intern *in, struct span text)
{
	if (!text.ptr)
		return 0;
	uint64_t hash = hash_of(in, text);
	uint32_t id = find(in, text, hash);
	if (id) {
		in->entries[id].refs++;
		return id;
	}
	id = take_id(in);
	in->entries[id] = (struct intern_entry){
	    .text = xstrndup(text.ptr, text.len),
	    .len = (uint32_t)text.len,
	    .refs = 1,
	    .hash = hash,
	};
	in->live++;
	in->bytes += text.len + 1;
	if (in->live > in->n_slots)
		grow_slots(in);
	else
		link_entry(in, id);
	return id;
}

uint32_t intern_dup(struct intern *in, uint32_t id)
{
	if (id)
		in->entries[id].refs++;
	return id;
}

void intern_unref(struct intern *in, uint32_t id)
{
	if (!id || --in->entries[id].refs > 0)
		return;
	struct intern_entry *e = &in->entries[id];
	uint32_t *at = &in->slots[e->hash & (in->n_slots - 1)];
	while (*at != id)
		at = &in->entries[*at].next;
	*at = e->next;
	in->bytes -= e->len + 1;
	in->live--;
	free(e->text);
	*e = (struct intern_entry){.next = in->free_head};
	in->free_head = id;
}

uint32_t intern_find(const struct intern *in, struct span text)
{
	return text.ptr ? find(in, text, hash_of(in, text)) : 0;
}

struct span intern_text(const struct intern *in, uint32_t id)
{
	return id ? span_make(in->entries[id].text, in->entries[id].len) : SPAN_NONE;
}
