#ifndef CORE_METRICS_TEXT_H
#define CORE_METRICS_TEXT_H
/*
 * Words of the Prometheus text format 0.0.4 (https://prometheus.io/docs/instrumenting/
 * exposition_formats/) that the core's metrics share. Pure text, no state.
 */
#include "base/buf.h"
#include "base/clock.h"

/* The HELP and TYPE lines of one metric; `type` is "counter", "gauge" or "histogram". */
void metrics_head(struct buf *b, const char *name, const char *type, const char *help);
/* The inside of a label's quotes: quotes, backslashes and newlines are escaped. */
void metrics_label(struct buf *b, struct span value);
/* Seconds with six decimals; `t` is not negative. */
void metrics_seconds(struct buf *b, usec t);
/* An amount of quota in the resource's base unit: cores for cpu, which is kept in thousandths. */
void metrics_amount(struct buf *b, struct span resource, int64_t v);

#endif
