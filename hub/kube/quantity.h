#ifndef KUBE_QUANTITY_H
#define KUBE_QUANTITY_H
/*
 * Kubernetes resource quantities ("500m", "1.5Gi", "2e3") as int64, in whole units or in
 * thousandths, and back into their canonical text.
 *
 * Grammar and rounding are those of apimachinery's resource.Quantity: what does not fit the unit
 * is rounded away from zero, so that whoever asks for a little gets some (0.1m of cpu counts as
 * 1m). Where upstream caps at 2^63-1, this refuses: a sum of capped numbers would lie. No
 * floating point; fractions are exact to 27 digits, and what is cut behind them still rounds up.
 */
#include "base/compat.h"
#include "base/span.h"
#include <stdbool.h>
#include <stdint.h>

struct cJSON;

enum quantity_flags {
	QUANTITY_WHOLE = 0,
	QUANTITY_MILLI = 1u << 0,    /* the result counts thousandths */
	QUANTITY_NEGATIVE = 1u << 1, /* values below zero are fine */
};

/* -EINVAL: not a quantity. -ERANGE: over int64 in this unit. -EDOM: negative without
 * QUANTITY_NEGATIVE. *ret is untouched then. */
int quantity_parse(struct span text, unsigned flags, int64_t *ret) MUST_CHECK;
/* The same for a JSON value, which may be a string or a number: from a tree, and from checked
 * text. Strings with escapes are not quantities. */
int quantity_from_node(const struct cJSON *node, unsigned flags, int64_t *ret) MUST_CHECK;
int quantity_from_json(struct span value, unsigned flags, int64_t *ret) MUST_CHECK;
/* The words for a negative result of the above, as the detail of a field error. */
const char *quantity_error_text(int error);

/* ---- canonical text: no fraction, the largest suffix that loses nothing ---- */

#define QUANTITY_TEXT 24 /* bytes, with NUL */

/* 1500 -> "1500", 2000 -> "2k"; in milli-units 500 -> "500m", 5000 -> "5". Returns `out`. */
const char *quantity_format_decimal(int64_t v, unsigned flags, char out[QUANTITY_TEXT]);
/* 4294967296 -> "4Gi"; below 1024 and where no power of 1024 divides as upstream: decimal below
 * 1024, plain digits else. Returns `out`. */
const char *quantity_format_binary(int64_t v, char out[QUANTITY_TEXT]);

/* A text as Kubernetes' own types print it once they have read it: "1000m" is "1", "1.5Gi" is
 * "1536Mi", "0.1m" is "1m", and a power of ten stays one ("15e2" is "1500", "2e6" is "2e6").
 * Returns `out`, or NULL where the text stays as it is: it is canonical, or near enough to it for
 * upstream's reader to keep it ("+5", "0100"), or it is no quantity, or beyond 64 bits. */
const char *quantity_canonical(struct span text, char out[QUANTITY_TEXT]);
/* The same for a JSON value: the string to put in its place, owned, or NULL where it stays. */
struct cJSON *quantity_reprint(const struct cJSON *value) MUST_CHECK;

/* ---- by resource name: cpu in thousandths, everything else in whole units ---- */

/* cpu, requests.cpu, limits.cpu: QUANTITY_MILLI, else QUANTITY_WHOLE. */
unsigned quantity_unit(struct span resource);
/* Bytes (memory, storage, hugepages) in powers of 1024, the rest decimal. Returns `out`. */
const char *quantity_format(struct span resource, int64_t v, char out[QUANTITY_TEXT]);

#endif
