#ifndef KUBE_DECIMAL_H
#define KUBE_DECIMAL_H
/*
 * JSON numbers as exact decimals: what minimum, maximum and multipleOf of a schema compare.
 *
 * No floating point, so 0.3 is a multiple of 0.1 and 9007199254740993 is not 9007199254740992.
 * Digits after the 30th are dropped. Pure.
 */
#include "base/span.h"
#include <stdbool.h>

struct decimal {
	__int128 digits; /* without trailing zeros; 0 for zero */
	int exponent;	 /* value = digits * 10^exponent */
};

#define DECIMAL_MAX_DIGITS   30
#define DECIMAL_MAX_EXPONENT 4096 /* greater ones count as this */

/* Of a checked JSON number. */
struct decimal decimal_parse(struct span number);
/* Negative, 0 or positive, as memcmp. */
int decimal_cmp(struct decimal a, struct decimal b);
/* Whether a = n * of for an integer n. False when `of` is 0. */
bool decimal_is_multiple(struct decimal a, struct decimal of);

#endif
