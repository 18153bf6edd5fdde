#ifndef MEMBER_SYNC_SIM_CONDITIONS_H
#define MEMBER_SYNC_SIM_CONDITIONS_H
/*
 * Status conditions of job kinds, with the two ways in which real controllers set them.
 *
 * A list is a plain value of fixed size: controllers copy it, change the copy and compare. Texts
 * that are too long are cut; a condition over the maximum is dropped (no kind has that many).
 */
#include "base/buf.h"
#include "base/clock.h"
#include "base/span.h"
#include <stdbool.h>

#define CONDITIONS_MAX 8

struct condition {
	char type[32];
	char reason[56];
	char message[184];
	bool status;
	usec updated, changed; /* lastUpdateTime or lastProbeTime; lastTransitionTime */
};

struct conditions {
	struct condition items[CONDITIONS_MAX];
	size_t n;
};

enum conditions_style {
	CONDITIONS_TRAINING, /* type status reason message lastUpdateTime lastTransitionTime */
	CONDITIONS_BATCH,    /* type status lastProbeTime lastTransitionTime reason message */
	CONDITIONS_META,     /* metav1.Condition: lastTransitionTime message reason status type */
};

const struct condition *conditions_get(const struct conditions *c, const char *type);
bool conditions_true(const struct conditions *c, const char *type);

/* Flips the condition where it stands, or appends it. Nothing changes when status and reason are
 * the same. True when something changed. */
bool conditions_set(struct conditions *c, const char *type, bool status, const char *reason,
		    const char *message, usec now);

/* As training-operator does (kubernetes-api.md 4.2): nothing after Failed; the entry is removed
 * and appended, so that the last one is the job's state; Running and Restarting exclude each
 * other; Succeeded and Failed flip Running to False in its place. */
bool conditions_set_last(struct conditions *c, const char *type, bool status, const char *reason,
			 const char *message, usec now);

bool conditions_equal(const struct conditions *a, const struct conditions *b);
/* The JSON array. */
void conditions_print(const struct conditions *c, enum conditions_style style, struct buf *out);
/* From the text of an array of any style; an absent span gives an empty list. */
void conditions_parse(struct span array, struct conditions *ret);

#endif
