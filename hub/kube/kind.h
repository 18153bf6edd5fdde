#ifndef KUBE_KIND_H
#define KUBE_KIND_H
/*
 * What the hub knows of a served kind: its names, its persistent type number, its schema and the
 * small C hooks of the kinds that need more than a schema.
 *
 * A kind_set is read-only and shared by all threads: the compiled one (kinds/kinds.h: the hub's
 * set, or the simulator's), or one with the users' CustomResourceDefinitions added at run time
 * (kube/kind_set.h), which lives as long as somebody holds it. Type numbers are persistent (they
 * are in store keys) and never reused: hub/kinds/types.h lists the compiled ones, users' kinds
 * get theirs from KIND_FIRST_USER_TYPE on.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/span.h"
#include <stdbool.h>
#include <stdint.h>

struct cJSON;
struct buf;
struct schema;	     /* kube/schema.h */
struct field_errors; /* kube/field_errors.h */
struct object_draft; /* kube/object.h */
struct selector_field;
struct kind_set_owner;

enum kind_scope { KIND_NAMESPACED, KIND_CLUSTER };

/* Which verbs discovery offers. */
enum kind_verbs {
	KIND_VERBS_ALL,	   /* create delete deletecollection get list patch update watch */
	KIND_VERBS_READ,   /* get list watch: views of members */
	KIND_VERBS_CREATE, /* create only: reviews */
	KIND_VERBS_NONE,   /* not run here: known by name, so that it is refused in words */
};

struct kind_column { /* additionalPrinterColumns; Name comes first by itself */
	const char *name, *type, *format, *json_path, *description;
	int priority; /* above 0: only with -o wide */
};

/* A subresource beyond /status, for discovery. */
struct kind_subresource {
	const char *name;		    /* "log" */
	const char *group, *version, *kind; /* of what it speaks: "", "v1", "Pod" */
	const char *const *verbs;	    /* NULL-terminated */
};

enum kind_conversion { KIND_TO_STORED, KIND_FROM_STORED };

/* Context of a write, for hooks. All borrowed. */
struct kind_write {
	const struct cJSON *old;      /* NULL on create */
	const struct kind_set *kinds; /* that are served, or NULL */
	const char *subresource;      /* "" for the main resource, "status", ... */
	usec now;
	struct buf *warnings; /* texts, each ended by '\n'; become Warning headers */
};

/* The scale subresource: simple JSON paths, ".spec.replicas". */
struct kind_scale {
	const char *spec_replicas, *status_replicas;
	const char *label_selector; /* or NULL */
};

#define KIND_FIRST_USER_TYPE 0x1000

struct kind {
	uint16_t type;
	const char *group, *version, *kind, *plural, *singular; /* group "" for core */
	const char *const *short_names;				/* NULL-terminated, or NULL */
	const char *const *categories;				/* NULL-terminated, or NULL */
	enum kind_scope scope;
	enum kind_verbs verbs;
	bool has_status; /* status subresource */
	bool mirrored;	 /* lives in the mirror store: Event, Pod, Node */
	bool strategic; /* Kubernetes' own (compiled into kubectl): accepts strategic merge patches,
			   and has the native defaults of its schema (kube/schema.h) */
	bool unconditional_update; /* PUT without resourceVersion: built-ins yes, CRs no */
	bool is_job;		   /* the hub dispatches it */
	bool singly;		   /* of the verbs it lacks deletecollection */
	bool definable; /* known by name only, until a definition of users' takes its place */
	const struct schema *schema;
	const struct kind_column *columns; /* none: Age alone */
	size_t n_columns;
	const struct kind_subresource *subresources;
	size_t n_subresources;
	/* Hooks; each may be NULL. They run on worker threads, are pure, and see the whole tree. */
	void (*default_object)(const struct kind *k, struct cJSON *object,
			       const struct kind_write *w);
	void (*validate)(const struct kind *k, const struct cJSON *object,
			 const struct kind_write *w, struct field_errors *errors);
	/* The binary digest that the core indexes, appended to out (kinds/job_digest.h). */
	int (*digest)(const struct kind *k, const struct cJSON *object, struct buf *out,
		      struct err *reterr);
	/* Computed table cells (batch/v1 Job, Pod): appends one JSON value to the array for every
	 * column whose json_path is NULL, in their order. */
	void (*cells)(const struct kind *k, const struct cJSON *object, usec now,
		      struct cJSON *cells);
	/* Rewrites a tree of this kind's shape to the stored one, which is that of the first kind
	 * of the same type (kind_by_type), or back; apiVersion and kind included. NULL on kinds
	 * that are the stored form. Where only apiVersion differs it is fine to splice instead:
	 * same_shape says so. */
	void (*convert)(const struct kind *k, struct cJSON *object, enum kind_conversion way);
	bool same_shape;
	/* Of users' kinds. */
	const struct kind_scale *scale; /* or NULL */
	const struct selector_field *selectable;
	size_t n_selectable;
	const char *deprecation; /* Warning of every request, or NULL */
	bool terminating;	 /* its definition is being deleted: no new objects */
	/* Objects that were written before this revision may lack defaults that the schema has now;
	 * who reads them gets these (apiextensions' defaulting on reads). 0: there are none. */
	uint64_t defaults_since;
};

struct kind_set {
	const struct kind *const
	    *kinds; /* in discovery order: groups together, best version first */
	size_t n_kinds;
	/* Users' kinds in the version in which their rows are written, by type; it need not be
	 * served any more. */
	const struct kind *const *stored;
	size_t n_stored;
	struct kind_set_owner *owner; /* kube/kind_set.h; NULL: lives for ever */
};

/* NULL when not served. A kind may be served in several groups or versions over one type. */
const struct kind *kind_by_resource(const struct kind_set *set, struct span group,
				    struct span version, struct span plural);
const struct kind *kind_by_gvk(const struct kind_set *set, struct span group, struct span version,
			       struct span kind);
const struct kind *kind_by_type(const struct kind_set *set, uint16_t type); /* first one */
/* "v1" or "kubeflow.org/v1" into out. */
#define KIND_API_VERSION_MAX 160
const char *kind_api_version(const struct kind *k, char out[KIND_API_VERSION_MAX]);
/* "pytorchjobs.kubeflow.org", or "pods": the form of error messages. */
const char *kind_resource_name(const struct kind *k, char out[KIND_API_VERSION_MAX]);
/* "kubeflow.org/v1" -> group and version; "v1" -> "" and "v1". Borrowed parts of the input. */
void kind_split_api_version(struct span api_version, struct span *ret_group,
			    struct span *ret_version);

#endif
