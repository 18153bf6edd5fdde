#ifndef MEMBER_SYNC_STREAM_KIND_H
#define MEMBER_SYNC_STREAM_KIND_H
/*
 * What each enum member_stream is on a member: its collection, and how its objects become facts.
 * A constant table and pure functions.
 */
#include "base/buf.h"
#include "base/err.h"
#include "wire/fact.h"
#include <stdbool.h>
#include <stdint.h>

struct stream_kind {
	const char *root;     /* "/api/v1", "/apis/batch/v1" */
	const char *resource; /* "jobs" */
	uint16_t type;	      /* hub type number */
	enum fact_op op;
	bool own;      /* only objects that carry our hub uid: selected by label */
	bool optional; /* the member may not serve it (a CRD that is not installed) */
};

const struct stream_kind *stream_kind_of(enum member_stream s);

/* Appends the collection's path and the first part of its query, so that more can follow with
 * '&': "/apis/batch/v1/jobs?labelSelector=muster.dev%2Fhub-uid%3DX&", "/api/v1/nodes?". */
void stream_kind_path(enum member_stream s, const char *hub_uid, struct buf *out);

/* A fact from one checked object of the stream; fact.member and incarnation are the caller's to
 * fill. The pods of the hub's own jobs, and events, carry their JSON along. ERR_INVALID for an
 * object that cannot be used: name or uid missing. */
int stream_kind_decode(enum member_stream s, struct span object, uint64_t revision, bool deleted,
		       const char *hub_uid, struct fact **ret, struct err *reterr) MUST_CHECK;

/* Appends `text` with everything but RFC 3986 unreserved characters percent-encoded. */
void stream_kind_escape(struct span text, struct buf *out);

#endif
