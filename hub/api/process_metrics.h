#ifndef API_PROCESS_METRICS_H
#define API_PROCESS_METRICS_H
/*
 * The process_* metrics of Prometheus' client libraries, read from /proc/self. Takes longer the
 * more files are open: not for a loop.
 */
#include "base/buf.h"

void process_metrics_print(struct buf *out);

#endif
