#ifndef POLICIES_FIT_SETS_H
#define POLICIES_FIT_SETS_H
/*
 * Packing several kinds of pods into one cluster, as far as they go. Private to this folder.
 */
#include "policies/fit_scratch.h"

/* Packs the whole gang. Tries up to four orders; false when none places every pod. On success the
 * scratch holds the slots. */
bool fit_sets_pack(struct fleet *f, uint32_t cluster, const struct shape *shape);
/* Packs what fits of each part, largest first, and returns the pods placed; slots in scratch. */
int64_t fit_sets_pack_some(struct fleet *f, uint32_t cluster, const struct shape *shape);
#endif
