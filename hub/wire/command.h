#ifndef WIRE_COMMAND_H
#define WIRE_COMMAND_H
/*
 * Commands: what an API front asks of the core thread, and the answer.
 *
 * A worker has already parsed, defaulted, validated and patched on a read snapshot; a command is
 * {key, expected revision or "absent", new bytes, digest}. The core compares the revision and
 * decides what spans objects (namespaces, finalizers, quota, admission). On a mismatch it answers
 * ERR_CONFLICT and the worker starts again, five times for a request without resourceVersion.
 *
 * Ownership: a command moves to the core with backend->submit() and comes back through
 * command->done(), called once, on the core thread, after the commit of its effects (or after a
 * refusal). done() must only hand it to its own thread. Nobody else touches it in between.
 */
#include "base/err.h"
#include "kube/field_errors.h"
#include "kube/kind.h"
#include "kube/object.h"
#include "store/store.h"
#include <stdbool.h>
#include <stdint.h>

enum command_verb {
	COMMAND_CREATE,
	COMMAND_UPDATE, /* any write to an existing object: PUT, PATCH, status, finalize, and the
			 * deletionTimestamp write of a DELETE on an object with finalizers */
	COMMAND_DELETE, /* remove the row: no finalizers left */
	COMMAND_QUERY,	/* ask the structures that decide: why, queue, quota, plan */
	COMMAND_VERB_MAX,
};

/* The query of /metrics. With a space, it is no path that a client could send. */
#define COMMAND_QUERY_METRICS "hub metrics"
/* The query of tables of jobs. Body: a line "TYPE/NAMESPACE/NAME" for each, TYPE a type number. The
 * answer has as many lines: ",QUEUE,CLUSTER,POS,REASON" as JSON strings, or nothing for a job that
 * is over or not known. */
#define COMMAND_QUERY_COLUMNS "hub columns"

enum command_propagation {
	PROPAGATE_DEFAULT,
	PROPAGATE_BACKGROUND,
	PROPAGATE_FOREGROUND,
	PROPAGATE_ORPHAN
};

struct command {
	struct command *next; /* for queues; NULL otherwise */
	enum command_verb verb;
	const struct kind *kind;
	char *ns, *name;	    /* owned; ns "" for cluster scope */
	const char *subresource;    /* static text, "" for main */
	uint64_t expected_revision; /* UPDATE, DELETE: must be the object's; CREATE: ignored */
	struct object_draft draft;  /* CREATE, UPDATE: owned */
	enum command_propagation propagation; /* DELETE and deleting UPDATE */
	bool admitted;			      /* the core's own: its additions are in the draft */
	bool force;   /* DELETE: with gracePeriodSeconds 0, also what is in use */
	bool dry_run; /* everything but the commit; warnings name the consequences */
	char *user;   /* owned; who asks */
	char *query;  /* owned; COMMAND_QUERY: path below /apis/muster.dev/v1alpha1, see query.h */
	char *query_body; /* owned or NULL: for plan */
	/* set by the sender */
	void (*done)(struct command *self);
	void *origin;
	/* the answer */
	struct err err;		     /* kind ERR_NONE: success */
	struct field_errors *causes; /* owned or NULL */
	uint64_t revision;	     /* of the object after the write; unchanged for no-ops */
	char *warnings;		     /* owned or NULL: texts, each ended by '\n' */
	char *result;		     /* owned or NULL: QUERY's JSON */
	size_t result_len;
	size_t bytes; /* counted against the queue's 64 MiB; set by command_create */
};

struct command *command_create(enum command_verb verb, const struct kind *kind, struct span ns,
			       struct span name);
struct command *command_destroy(struct command *c); /* NULL is fine; returns NULL */

#endif
