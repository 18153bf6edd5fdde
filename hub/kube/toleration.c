#include "kube/toleration.h"

static const char *const effect_names[TAINT_EFFECT_MAX] = {
    [TAINT_ANY_EFFECT] = "",
    [TAINT_NO_SCHEDULE] = "NoSchedule",
    [TAINT_PREFER_NO_SCHEDULE] = "PreferNoSchedule",
    [TAINT_NO_EXECUTE] = "NoExecute",
    [TAINT_RESERVED] = "Reserved",
};

enum taint_effect taint_effect_from_string(struct span s)
{
	for (int i = 0; i < TAINT_RESERVED; i++)
		if (span_is(s, effect_names[i]))
			return (enum taint_effect)i;
	return TAINT_EFFECT_INVALID;
}

const char *taint_effect_to_string(enum taint_effect e)
{
	return e >= 0 && e < TAINT_EFFECT_MAX ? effect_names[e] : "";
}

bool taint_effect_keeps_away(enum taint_effect e)
{
	return e == TAINT_NO_SCHEDULE || e == TAINT_NO_EXECUTE || e == TAINT_RESERVED;
}

bool toleration_tolerates(const struct toleration *t, const struct taint *taint)
{
	if (t->effect != TAINT_ANY_EFFECT && t->effect != taint->effect)
		return false;
	/* An empty key means every key, and is valid with Exists only. */
	if (t->key.len == 0)
		return t->exists && taint->effect != TAINT_RESERVED;
	if (!span_eq(t->key, taint->key))
		return false;
	return t->exists || span_eq(t->value, taint->value);
}

int64_t toleration_time(const struct toleration *tolerations, size_t n, const struct taint *taint)
{
	for (size_t i = 0; i < n; i++) {
		const struct toleration *t = &tolerations[i];
		if (toleration_tolerates(t, taint))
			return t->limited && taint->effect == TAINT_NO_EXECUTE ? t->seconds
									       : INT64_MAX;
	}
	return -1;
}

const struct taint *toleration_first_untolerated(const struct taint *taints, size_t n_taints,
						 const struct toleration *tolerations,
						 size_t n_tolerations)
{
	for (size_t i = 0; i < n_taints; i++) {
		const struct taint *taint = &taints[i];
		bool ok = !taint_effect_keeps_away(taint->effect);

		for (size_t j = 0; j < n_tolerations && !ok; j++)
			ok = toleration_tolerates(&tolerations[j], taint);
		if (!ok)
			return taint;
	}
	return NULL;
}
