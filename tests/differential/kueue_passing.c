/*
 * Who may pass those that wait for quota until their shadow times, and who could take back what
 * they would borrow: the engine's answers beside the model's (kueue_model/shadow.py).
 */
#include "base/json.h"
#include "kueue_world.h"

#include <stdio.h>

enum { MAX_USES = 8 };

static bool is_named(struct span names, struct span name)
{
	struct span value;
	size_t pos = 0;

	while (json_text_next(names, &pos, NULL, &value))
		if (span_eq(json_text_plain(value), name))
			return true;
	return false;
}

static int compare_lender(const struct world *w, struct span names, const struct kueue_shadow *s,
			  struct err *err)
{
	bool none = s->at == KUEUE_SHADOW_NEVER || s->lender == KUEUE_NONE;
	struct span name = none ? SPAN("nobody") : kueue_forest_name(w->forest, s->lender);

	if (none ? line_count(names) == 0 : is_named(names, name))
		return 0;
	return err_set(err, ERR_INTERNAL,
		       "%.*s may take back what %.*s would borrow, not one of %.*s",
		       SPAN_ARGS(name), SPAN_ARGS(s->workload->name), SPAN_ARGS(names));
}

static size_t read_uses(const struct world *w, struct span list, struct kueue_use out[MAX_USES])
{
	struct span one, value;
	size_t n = 0, pos = 0;

	while (n < MAX_USES && json_text_next(list, &pos, NULL, &one)) {
		struct kueue_use *u = &out[n++];
		size_t in = 0;
		(void)json_text_next(one, &in, NULL, &value);
		u->flavor = kueue_forest_flavor(w->forest, json_text_plain(value));
		(void)json_text_next(one, &in, NULL, &value);
		u->resource = kueue_forest_find_resource(w->forest, json_text_plain(value));
		(void)json_text_next(one, &in, NULL, &value);
		(void)json_text_int64(value, &u->value);
	}
	return n;
}

static int compare_ask(struct world *w, struct span ask, struct kueue_shadow *const *shadows,
		       size_t n, struct err *err)
{
	uint32_t queue = kueue_forest_queue(w->forest, line_text(w, ask, "queue"));
	int64_t ends = line_number(ask, "end", KUEUE_SHADOW_NEVER);
	struct span lets = line_member(ask, "lets"), value;
	struct kueue_use uses[MAX_USES];
	size_t n_uses = read_uses(w, line_member(ask, "uses"), uses), pos = 0;

	for (size_t i = 0; i < n && json_text_next(lets, &pos, NULL, &value); i++) {
		struct span says = json_text_plain(value);
		bool passes = kueue_shadow_lets(w->forest, shadows[i], queue, uses, n_uses, ends);
		if (!span_is(says, "either") && passes != span_is(says, "yes"))
			return err_set(err, ERR_INTERNAL,
				       "may pass %.*s: the model says %.*s, the engine %s: %.*s",
				       SPAN_ARGS(shadows[i]->workload->name), SPAN_ARGS(says),
				       passes ? "yes" : "no", SPAN_ARGS(ask));
	}
	if (!line_yes(ask, "take"))
		return 0;
	for (size_t i = 0; i < n; i++)
		kueue_shadow_took(w->forest, shadows[i], queue, uses, n_uses, ends);
	kueue_forest_charge(w->forest, queue, uses, n_uses);
	return 0;
}

int passing_compare(struct world *w, struct span line, struct kueue_shadow *const *shadows,
		    size_t n, struct err *err)
{
	struct span lenders = line_member(line, "lenders"), asks = line_member(line, "asks"), value;
	size_t mark = kueue_forest_mark(w->forest), pos = 0;
	int r = 0;

	for (size_t i = 0; !r && i < n && json_text_next(lenders, &pos, NULL, &value); i++)
		r = compare_lender(w, value, shadows[i], err);
	pos = 0;
	while (!r && json_text_next(asks, &pos, NULL, &value))
		r = compare_ask(w, value, shadows, n, err);
	kueue_forest_rollback(w->forest, mark);
	return r;
}
