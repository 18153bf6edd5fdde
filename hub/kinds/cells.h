#ifndef KINDS_CELLS_H
#define KINDS_CELLS_H
/* Pieces that the cells hooks share (core_cells.c). Each appends to the row. */
#include "base/clock.h"

struct cJSON;

void cells_add_text(struct cJSON *cells, const char *text, const char *otherwise);
/* "5m" since an RFC 3339 time; "<unknown>" without one. */
void cells_add_since(struct cJSON *cells, const char *time, usec now);
/* "a=b,c=d", or "<none>". */
void cells_add_selector(struct cJSON *cells, const struct cJSON *labels);
/* Two cells: names and images of a pod spec's containers. */
void cells_add_containers(struct cJSON *cells, const struct cJSON *pod_spec);

#endif
