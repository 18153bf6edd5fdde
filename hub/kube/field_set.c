/*
 * The trie and its algebra. All operations walk two sorted lists of children side by side.
 */
#include "kube/field_set.h"

#include <limits.h>

int field_key_cmp(struct field_key a, struct field_key b)
{
	if (a.step != b.step)
		return a.step < b.step ? -1 : 1;
	return span_cmp(a.text, b.text);
}

/* Where the key stands, or would. */
static uint32_t place(const struct field_set *s, struct field_key key, bool *ret_found)
{
	uint32_t low = 0, high = s->n;

	*ret_found = false;
	while (low < high) {
		uint32_t mid = (low + high) / 2;
		int c = field_key_cmp(s->children[mid].key, key);
		if (c == 0) {
			*ret_found = true;
			return mid;
		}
		if (c < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

const struct field_set *field_set_child(const struct field_set *s, struct field_key key)
{
	bool found;
	uint32_t at = place(s, key, &found);
	return found ? &s->children[at].set : NULL;
}

bool field_set_has(const struct field_set *s, const struct field_key *path, size_t n)
{
	for (size_t i = 0; s && i < n; i++)
		s = field_set_child(s, path[i]);
	return s && s->here;
}

bool field_set_equal(const struct field_set *a, const struct field_set *b)
{
	if (a->here != b->here || a->n != b->n)
		return false;
	if (a->children == b->children)
		return true;
	for (uint32_t i = 0; i < a->n; i++)
		if (field_key_cmp(a->children[i].key, b->children[i].key) != 0 ||
		    !field_set_equal(&a->children[i].set, &b->children[i].set))
			return false;
	return true;
}

static void make_room(struct arena *mem, struct field_set *s)
{
	if (s->n < s->cap)
		return;
	uint32_t cap = s->cap ? s->cap * 2 : 4;
	struct field_child *grown = arena_array(mem, struct field_child, cap);
	if (s->n)
		memcpy(grown, s->children, s->n * sizeof(*grown));
	s->children = grown;
	s->cap = cap;
}

void field_set_append(struct arena *mem, struct field_set *s, struct field_key key,
		      const struct field_set *child)
{
	if (field_set_is_empty(child))
		return;
	make_room(mem, s);
	s->children[s->n++] = (struct field_child){key, *child};
}

void field_set_insert(struct arena *mem, struct field_set *s, const struct field_key *path,
		      size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool found;
		uint32_t at = place(s, path[i], &found);
		if (!found) {
			make_room(mem, s);
			memmove(&s->children[at + 1], &s->children[at],
				(s->n - at) * sizeof(*s->children));
			s->children[at] = (struct field_child){.key = path[i]};
			s->n++;
		}
		s = &s->children[at].set;
	}
	s->here = true;
}

/* Which of two lists has the next child: below 0 a, above 0 b, 0 both. */
static int next_of(const struct field_set *a, uint32_t i, const struct field_set *b, uint32_t j)
{
	if (i >= a->n)
		return 1;
	return j >= b->n ? -1 : field_key_cmp(a->children[i].key, b->children[j].key);
}

struct field_set field_set_union(struct arena *mem, const struct field_set *a,
				 const struct field_set *b)
{
	struct field_set out = {.here = a->here || b->here};
	uint32_t i = 0, j = 0;

	if (field_set_is_empty(a))
		return *b;
	if (field_set_is_empty(b))
		return *a;
	while (i < a->n || j < b->n) {
		int c = next_of(a, i, b, j);
		const struct field_child *one = c <= 0 ? &a->children[i] : &b->children[j];
		if (c == 0) {
			struct field_set both =
			    field_set_union(mem, &one->set, &b->children[j].set);
			field_set_append(mem, &out, one->key, &both);
		} else {
			field_set_append(mem, &out, one->key, &one->set);
		}
		i += c <= 0;
		j += c >= 0;
	}
	return out;
}

struct field_set field_set_intersection(struct arena *mem, const struct field_set *a,
					const struct field_set *b)
{
	struct field_set out = {.here = a->here && b->here};
	uint32_t i = 0, j = 0;

	while (i < a->n && j < b->n) {
		int c = next_of(a, i, b, j);
		if (c == 0) {
			struct field_set both =
			    field_set_intersection(mem, &a->children[i].set, &b->children[j].set);
			field_set_append(mem, &out, a->children[i].key, &both);
		}
		i += c <= 0;
		j += c >= 0;
	}
	return out;
}

struct field_set field_set_difference(struct arena *mem, const struct field_set *a,
				      const struct field_set *b)
{
	struct field_set out = {.here = a->here && !b->here};
	uint32_t j = 0;

	if (field_set_is_empty(b))
		return *a;
	for (uint32_t i = 0; i < a->n; i++) {
		const struct field_child *one = &a->children[i];
		while (j < b->n && field_key_cmp(b->children[j].key, one->key) < 0)
			j++;
		if (j < b->n && field_key_cmp(b->children[j].key, one->key) == 0) {
			struct field_set rest =
			    field_set_difference(mem, &one->set, &b->children[j].set);
			field_set_append(mem, &out, one->key, &rest);
		} else {
			field_set_append(mem, &out, one->key, &one->set);
		}
	}
	return out;
}
