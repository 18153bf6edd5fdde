#ifndef CORE_OBJECT_WRITER_H
#define CORE_OBJECT_WRITER_H
/*
 * Writes the objects that the core itself owns (ResourceBinding, QueueUnit, Queue, Event,
 * statuses of Cluster and ElasticQuotaTree) as text with known extents, without a tree.
 *
 *	object_writer_begin(&w, &head);
 *	buf_add_str(&w.text, ",\"spec\":{...}");
 *	object_writer_status(&w);		 then the status' text
 *	object_writer_end(&w, &draft);
 */
#include "base/buf.h"
#include "base/clock.h"
#include "kube/managed_draft.h"
#include "kube/object.h"

struct object_head {
	const struct kind *kind;
	struct span ns, name;
	const uint8_t *uid; /* STORE_UID_LEN bytes */
	usec created;
	int64_t generation;
	const char *labels;	 /* JSON object text or NULL */
	const char *annotations; /* JSON object text or NULL */
	/* one owner, or none when owner_uid is NULL */
	const struct kind *owner_kind;
	const char *owner_name;
	const uint8_t *owner_uid;
	bool owner_controller;
	const char *finalizer;		/* one, or NULL */
	const struct managed_write *by; /* who managedFields say has made it; NULL: nobody */
	bool spec_only;			/* it has no status */
};

struct object_writer {
	struct buf text;
	struct object_draft draft;
	bool in_status;
};

void object_writer_begin(struct object_writer *w, const struct object_head *head);
/* What follows, up to the end, is the status object's text (a complete JSON value). */
void object_writer_status(struct object_writer *w);
/* What stands between: ,"spec":<value>. Call object_writer_spec, write the value, go on. */
void object_writer_spec(struct object_writer *w);
/* Sets the digest (copied). */
void object_writer_digest(struct object_writer *w, struct span digest);
/* Closes the text and moves everything into *ret. ERR_TOO_LARGE over the object limit. */
int object_writer_end(struct object_writer *w, struct object_draft *ret,
		      struct err *reterr) MUST_CHECK;

#endif
