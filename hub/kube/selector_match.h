#ifndef KUBE_SELECTOR_MATCH_H
#define KUBE_SELECTOR_MATCH_H
/*
 * What the parsers and the matcher of selectors share: the table of selectable fields. Internal to
 * hub/kube.
 */
#include "base/span.h"
#include <stdint.h>

#define SELECTOR_FIELD_DEPTH 8

struct kind;
struct selector;
struct selector_requirement;

struct selector_field {
	uint16_t type;				/* 0: every kind */
	const char *label;			/* as in the parameter */
	const char *path[SELECTOR_FIELD_DEPTH]; /* in the object, ended by NULL */
	const char *absent;			/* value when the object does not say */
};

/* NULL when this kind cannot be selected by it. */
const struct selector_field *selector_field_find(const struct kind *kind, struct span label);

/* A place for one more requirement, or NULL when there are too many. */
struct selector_requirement *selector_add(struct selector *s);

#endif
