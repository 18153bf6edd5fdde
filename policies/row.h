#ifndef POLICIES_ROW_H
#define POLICIES_ROW_H
/*
 * Rows: what one pod asks of a node, shared by all sets that ask the same; and lanes, the places in
 * the incremental counts that rows in use get. Private to this folder; see fleet.h.
 */
#include "policies/fleet.h"

/* The row of a canonical set, with one more reference. May re-class nodes when the row asks
 * for a label that nobody asked for before. */
struct row *row_ref(struct fleet *f, const struct pod_set *set);
void row_unref(struct fleet *f, struct row *r);

/* Makes sure that the row has a lane, and holds it. False when all lanes are taken. */
bool row_lane_ref(struct fleet *f, struct row *r);
void row_lane_unref(struct fleet *f, struct row *r);

/* Required labels and fields, alone. */
bool row_matches_labels(const struct row *r, const struct node_class *c);
/* The first taint that keeps the row away, NULL when none does. */
const struct taint *row_untolerated(const struct row *r, const struct node_class *c);
/* All of it: the class is usable, matches and is tolerated. */
bool row_accepts(const struct row *r, const struct node_class *c);

/* Pods of the row that fit in `free`, at most FILL_MAX, the class aside. */
uint32_t row_pods(const struct row *r, const int64_t *free);
/* The fill of a node that accepts the row, see fleet.h. */
uint16_t row_fill(const struct row *r, const int64_t *free, uint64_t devices);

#endif
