#ifndef CORE_KUEUE_USAGE_H
#define CORE_KUEUE_USAGE_H
/* Sums by (flavor, resource): what a queue's status shows. */
#include "core/kueue/kueue.h"

void usage_add(struct usage *u, const struct kueue_use *uses, size_t n);
void usage_subtract(struct usage *u, const struct kueue_use *uses, size_t n);
int64_t usage_of(const struct usage *u, uint32_t flavor, uint32_t resource); /* 0 when absent */
void usage_done(struct usage *u);

#endif
