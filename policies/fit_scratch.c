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
