#ifndef API_APPLY_H
#define API_APPLY_H
/*
 * PATCH with application/apply-patch+yaml: server-side apply (kubernetes-api.md section 5).
 *
 * The configuration is merged into the stored object on a worker, and what comes of it goes the
 * way of an update, or of a create when there is no such object. A conflict with another manager
 * is answered 409 with one cause per field.
 */
#include "api/call.h"

struct cJSON;

void call_apply(struct call *c);

/* An apply of a subresource that is an object of its own (Scale) and writes a part of this one. On
 * workers. */
struct apply_part {
	const char *name; /* the subresource that managedFields name */
	/* Turns the request's configuration into one of the stored object, or refuses it. */
	int (*configure)(struct call *c, struct cJSON *live, struct cJSON **config,
			 struct err *reterr);
	/* What else becomes of the object once it is merged. */
	int (*settle)(struct call *c, struct cJSON *live, struct cJSON *object, struct err *reterr);
	void (*view)(struct call *c); /* write.h */
};

/* An attempt of write_begin(). c->info.subresource is none: what is written is the object. It is
 * never created. */
void apply_part(struct call *c, const struct apply_part *part);

/* ERR_BAD_REQUEST: the configuration is of another kind. */
int apply_check_version(const struct cJSON *config, const char *group, const char *version,
			const char *kind, struct err *reterr) MUST_CHECK;

#endif
