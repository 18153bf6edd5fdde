#include "policies/fit_scratch.h"

struct fit_scratch *fit_scratch_of(struct fleet *f)
{
	if (!f->scratch)
		f->scratch = xcalloc(1, sizeof(*f->scratch));
	return f->scratch;
}

void fit_scratch_destroy(struct fit_scratch *s)
{
	if (!s)
		return;
	vec_done(&s->slots);
	vec_done(&s->choices);
	vec_done(&s->bins);
	vec_done(&s->uses);
	vec_done(&s->amounts);
	vec_done(&s->cursors);
	vec_done(&s->left);
	vec_done(&s->order);
	free(s);
}

void fit_scratch_begin(struct fit_scratch *s, const struct shape *shape)
{
	vec_clear(&s->slots);
	vec_clear(&s->left);
	for (size_t i = 0; i < shape->spec.n_sets; i++)
		vec_push(&s->left, shape->spec.sets[i].count);
}

void fit_scratch_give(struct fit_scratch *s, const struct shape *shape, uint32_t part,
		      uint32_t node, uint32_t pods)
{
	for (uint32_t set = 0; pods > 0 && set < shape->spec.n_sets; set++) {
		if (shape->part_of_set[set] != part || s->left.items[set] == 0)
			continue;
		uint32_t n = s->left.items[set] < pods ? (uint32_t)s->left.items[set] : pods;
		vec_push(&s->slots, (struct fit_slot){node, set, n});
		s->left.items[set] -= n;
		pods -= n;
	}
}

void fit_scratch_add(struct fit_scratch *s, uint32_t fill, uint32_t index, bool fewest)
{
	uint32_t spared = (uint32_t)(fill_level(fill) / 8) << FILL_BITS;
	uint32_t rank = fewest ? spared | (FILL_MAX - fill_pods(fill)) : fill;

	if (fill_pods(fill))
		vec_push(&s->choices, (struct fit_choice){rank, index, fill});
}

static inline bool comes_before(const struct fit_choice *a, const struct fit_choice *b)
{
	return a->rank != b->rank ? a->rank < b->rank : a->index < b->index;
}

static void sift_down(struct fit_choice *c, size_t at, size_t n)
{
	struct fit_choice x = c[at];

	for (size_t child; (child = 2 * at + 1) < n; at = child) {
		if (child + 1 < n && comes_before(&c[child], &c[child + 1]))
			child++;
		if (!comes_before(&x, &c[child]))
			break;
		c[at] = c[child];
	}
	c[at] = x;
}

/* Few as a rule, the kinds of nodes in one cluster: insertion. Else a heap, in place (qsort would
 * allocate). */
void fit_scratch_sort(struct fit_scratch *s)
{
	struct fit_choice *c = s->choices.items;
	size_t n = s->choices.len;

	if (n > 32) {
		for (size_t i = n / 2; i-- > 0;)
			sift_down(c, i, n);
		for (size_t i = n; i-- > 1;) {
			struct fit_choice x = c[0];
			c[0] = c[i];
			c[i] = x;
			sift_down(c, 0, i);
		}
		return;
	}
	for (size_t i = 1; i < n; i++) {
		struct fit_choice x = c[i];
		size_t at = i;
		for (; at > 0 && comes_before(&x, &c[at - 1]); at--)
			c[at] = c[at - 1];
		c[at] = x;
	}
}
