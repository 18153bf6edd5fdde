#ifndef CORE_KUEUE_FEATURE_GATES_H
#define CORE_KUEUE_FEATURE_GATES_H
/*
 * Kueue's feature gates by name, with the defaults of its version 0.20 (reference/kueue.md 1.8).
 *
 * Those that change what the hub decides can be switched. The others have one value here, mostly
 * their default: what a gate guards is either always so on the hub or not there, and who asks for
 * the other value is told so.
 */
#include "base/err.h"
#include <stdbool.h>

struct kueue_settings;

/* ERR_INVALID for a gate that does not exist, or for a value that it cannot have here. */
int feature_gates_set(struct kueue_settings *s, const char *name, bool on,
		      struct err *reterr) MUST_CHECK;
/* What gates ask of each other, once all are set. */
int feature_gates_check(const struct kueue_settings *s, struct err *reterr) MUST_CHECK;

#endif
