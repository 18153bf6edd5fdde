#ifndef MEMBER_SYNC_SIM_WRITER_H
#define MEMBER_SYNC_SIM_WRITER_H
/*
 * Drafts of new objects written straight as text, for what controllers make by the thousand
 * (pods, services, events): no tree is built.
 *
 * Order of calls: begin, then text members of metadata ("," first), writer_owner, end_metadata,
 * writer_part for spec and status (or plain members, "," first), finish.
 */
#include "base/buf.h"
#include "base/clock.h"
#include "kube/object.h"

struct writer {
	struct buf text;
	struct store_extents extents;
	uint8_t uid[STORE_UID_LEN], owner[STORE_UID_LEN];
	bool has_owner;
};

void writer_begin(struct writer *w, const struct kind *k, struct span ns, const char *name,
		  const uint8_t uid[STORE_UID_LEN], usec now);
/* ownerReferences with one controller that blocks. */
void writer_owner(struct writer *w, const struct kind *k, const char *name,
		  const uint8_t uid[STORE_UID_LEN]);
void writer_end_metadata(struct writer *w);
/* A member whose extent is kept: "spec" or "status". */
void writer_part(struct writer *w, const char *key, struct span json);
/* Moves the text into the draft. ERR_TOO_LARGE. */
int writer_finish(struct writer *w, struct object_draft *ret, struct err *reterr) MUST_CHECK;

/* `text` (such as "\"nodeName\":\"n1\",") put right after the opening brace of a draft's spec. */
int writer_insert_in_spec(struct object_draft *d, const char *text, struct err *reterr) MUST_CHECK;

#endif
