#ifndef ACCESS_RBAC_INDEX_H
#define ACCESS_RBAC_INDEX_H
/*
 * What the files of rbac.h share; private to them: roles, bindings, and the bindings of each
 * subject by namespace. rbac.c fills them, rbac_ask.c reads.
 */
#include "access/rbac.h"
#include "base/map.h"
#include "kube/selector.h"

#define RBAC_KEY_MAX 1024

struct role {
	struct span ns, name; /* in key */
	char *key;
	bool exists;   /* else only bindings name it */
	size_t n_refs; /* bindings that name it */
	struct arena mem;
	struct rbac_rule *rules;
	size_t n_rules;
	struct info_pair *labels; /* of cluster roles */
	size_t n_labels;
	struct selector *selectors; /* of an aggregating one */
	size_t n_selectors;
};

struct grants { /* the bindings of one subject in one namespace */
	struct binding **items;
	size_t n, cap;
};

struct binding {
	struct arena mem;
	struct span ns, name;
	struct role *role;
	struct span *subjects; /* keys of `grants` */
	size_t n_subjects;
};

struct rbac {
	struct map roles;    /* "ns/name" -> struct role */
	struct map bindings; /* "ns/name" -> struct binding */
	struct map grants;   /* subject key -> struct grants */
};

/* "ns/name". */
struct span rbac_object_key(char out[RBAC_KEY_MAX], struct span ns, struct span name);
/* "ns\0U<user>" or "ns\0G<group>"; absent when too long for a key, then nobody is meant. */
struct span rbac_subject_key(char out[RBAC_KEY_MAX], struct span ns, char kind, struct span name);

#endif
