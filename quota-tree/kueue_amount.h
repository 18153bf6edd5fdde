#ifndef QUOTA_TREE_KUEUE_AMOUNT_H
#define QUOTA_TREE_KUEUE_AMOUNT_H
/*
 * Arithmetic on amounts of quota as Kueue does it (pkg/resources/amount.go): INT64_MAX stands for
 * unlimited and stays so, bounded sums stop one below it. Comparison is that of int64.
 */
#include "base/num.h"
#include "quota-tree/quota_tree.h"

static inline int64_t kueue_amount_add(int64_t a, int64_t b)
{
	if (a == QUOTA_UNLIMITED || b == QUOTA_UNLIMITED)
		return QUOTA_UNLIMITED;
	return num_min(num_add_sat(a, b), QUOTA_UNLIMITED - 1);
}

/* Unlimited less unlimited is 0; bounded less unlimited is as negative as can be. */
static inline int64_t kueue_amount_sub(int64_t a, int64_t b)
{
	if (a == QUOTA_UNLIMITED)
		return b == QUOTA_UNLIMITED ? 0 : QUOTA_UNLIMITED;
	return b == QUOTA_UNLIMITED ? INT64_MIN : num_sub_sat(a, b);
}

/* What a exceeds b by, at least 0. */
static inline int64_t kueue_amount_above(int64_t a, int64_t b)
{
	return num_max(0, kueue_amount_sub(a, b));
}

#endif
