#ifndef POLICIES_PLACEMENT_SCORE_H
#define POLICIES_PLACEMENT_SCORE_H
/*
 * One cluster for one ask: is it a candidate, and how good would it be. Private to this folder.
 *
 * A score is one number, smaller is better, its fields in the order of placement.h: group, level of
 * the last hole, leftover, load, rank by name. So comparing two numbers compares all of it.
 */
#include "policies/placer.h"

/* Why a cluster is refused to these jobs; empty when it is not. */
const struct placement_refusal *placement_refused(const struct placement_spec *p,
						  struct span cluster);

/* VERDICT_FITS when the cluster is a candidate, `ret_group` then being its first affinity group;
 * else why it is none. */
enum verdict_code placement_candidate(const struct fleet *f, const struct ask *a, uint32_t cluster,
				      uint32_t *ret_group);

enum fit_mode placement_mode(const struct fleet *f, const struct ask *a, uint32_t cluster);

/* The score, or SCORE_NONE when the gang certainly does not fit. A gang of several kinds of pods,
 * or with an exclusive topology, may still turn out not to fit. `counted`: from the nodes, not from
 * lanes. */
uint64_t placement_score(struct fleet *f, const struct ask *a, uint32_t cluster, uint32_t group,
			 bool counted);

/* Which field made `winner` better than `other`. */
enum verdict_better placement_score_reason(uint64_t winner, uint64_t other);

#endif
