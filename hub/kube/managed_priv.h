#ifndef KUBE_MANAGED_PRIV_H
#define KUBE_MANAGED_PRIV_H
/*
 * What the files of managed fields share. Internal to managed_*.c.
 */
#include "base/json.h"
#include "kube/managed_fields.h"
#include "kube/typed.h"

/* One state of the object becoming another, as each version of its kind sees it. */
struct managed_versions {
	struct managed *m;
	const struct managed_write *w;
	const struct cJSON *before, *now; /* as w->kind; before may be NULL */
	struct VEC(struct managed_version) list;
};

struct managed_version {
	const struct kind *kind;
	struct typed_change change; /* what the write's door lets through */
	struct cJSON *before, *now; /* owned; NULL for the shape of w->kind */
};

/* The kind that an entry's apiVersion names; NULL when it is not served any more. */
const struct kind *managed_kind(const struct managed_write *w, const char *api_version);
/* A copy of the tree as another version of its kind has it. Owned. */
struct cJSON *managed_convert(const struct cJSON *tree, const struct kind *from,
			      const struct kind *to);
/* The difference in the words of a version; NULL when it is not served. Computed once. */
const struct typed_change *managed_change(struct managed_versions *v, const char *api_version);
void managed_versions_done(struct managed_versions *v);

static inline bool managed_is_status(const char *subresource)
{
	return strcmp(subresource, "status") == 0;
}

/* What may be owned through the write's subresource; what nobody owns (identity). */
struct field_set managed_door(struct arena *mem, const struct managed_write *w,
			      const struct field_set *set);
struct field_set managed_strip(struct arena *mem, const struct field_set *set);

/* The writer's own entry; NULL when there is none. */
struct managed_entry *managed_own(struct managed *m, const struct managed_write *w, bool applied);
struct managed_entry *managed_add(struct managed *m, const struct managed_write *w, bool applied);
/* Gives an entry another set; empty ones are dropped by managed_drop_empty(). */
void managed_set(struct managed_entry *e, struct field_set set);
void managed_drop_empty(struct managed *m);
const char *managed_time(struct managed *m, usec now);

/* Spells out from `object` what a write through w's door may change. `by_update`: an entry stays
 * whole that may be so beside updates: the writer's own when nobody else owns anything behind that
 * door, and that of a status when all who own a part of it are updaters in w's version. */
void managed_open(struct managed *m, const struct managed_write *w, const struct cJSON *object,
		  bool by_update);
/* After an update: who owned the whole status owns nothing once there is none. While there is one
 * the `status` itself is not taken by anybody who changes what is in it. */
void managed_close(struct managed *m, const struct managed_write *w, const struct cJSON *now);

/* The changes of `v` against all entries but `except`: what is modified, added or removed is not
 * theirs any more. Entries of versions that are not served are dropped. */
void managed_take(struct managed_versions *v, const struct managed_entry *except);

#endif
