#ifndef API_WRITE_H
#define API_WRITE_H
/*
 * What CREATE, UPDATE, PATCH and DELETE have in common: a worker makes a command from the request
 * on a read snapshot, the core answers it, and the loop answers the client or, when the object
 * changed in between and the request did not insist on a version, sends it round again.
 */
#include "api/call.h"
#include "kube/managed_fields.h"
#include "kube/meta.h"
#include "kube/object.h"

struct apply_part;
struct cJSON;

/* DESIGN section 2: "five times for a request without resourceVersion, else 409". */
#define WRITE_MAX_ATTEMPTS 5
/* Collisions of generated names (apiserver's registry/generic). */
#define WRITE_MAX_NAMES 8

struct write {
	int attempts;
	bool conditional;      /* the request named a resourceVersion */
	bool generated;	       /* the name is of our making */
	bool upserts;	       /* an apply: creates what is not there, changes what is */
	bool strict, ignore;   /* fieldValidation=Strict, Ignore; neither: Warn */
	int code;	       /* of success: 200 or 201 */
	struct buf warnings;   /* lines */
	struct buf duplicates; /* lines: keys that the body has twice */
	struct buf message;    /* of a failure, when it is longer than an err's text */
	bool about_body;       /* the failure is of the text or the patch, not of the object */
	struct field_errors errors;
	struct command *command; /* of the attempt under way */
	char *dry_text;		 /* a dry run's result, with empty resourceVersion */
	size_t dry_len;
	char name[STORE_MAX_NAME + 1], uid[OBJECT_UID_TEXT];
	char manager[MANAGED_MAX_NAME + 1]; /* fieldManager, or of the user agent */
	bool named_manager;		    /* the request gave it */
	const char *through; /* the subresource that managedFields name; NULL: the request's */
	const struct apply_part *part;	 /* apply.h; or NULL */
	void (*attempt)(struct call *c); /* on a worker */
	void (*view)(struct call *c);	 /* turns the answered object into another; or NULL */
	void (*finish)(struct call *c);	 /* on the loop: write_finish, or what calls it */
};

/* Checks dryRun, fieldValidation, fieldManager; sends the call to a worker. */
void write_begin(struct call *c, void (*attempt)(struct call *c));
struct write *write_of(struct call *c);

/* On a worker. */
void write_fail(struct call *c, const struct err *e); /* answers, with w->errors for a 422 */
/* Reads the current object. -ENOENT with the words of a 404. *ret_reader keeps it alive. */
int write_read(struct call *c, struct span name, struct store_reader **ret_reader,
	       struct store_object *ret, struct err *reterr) MUST_CHECK;
/* The stored object as a tree of the call's kind. */
int write_tree(struct call *c, const struct store_object *o, struct cJSON **ret,
	       struct err *reterr) MUST_CHECK;
/* Who writes, for managedFields. Lives as long as the call. */
struct managed_write write_manager(const struct call *c);
/* Records in the tree, once it is final, who owns what; old is NULL on create, `sent` what the
 * request said about it. Kinds that are only views of members have no managers, unless a client
 * that applied brought some. */
void write_record(struct call *c, const struct cJSON *old, struct cJSON *object,
		  const struct cJSON *sent);
/* Defaults, prunes, validates. Unknown and duplicate fields become warnings, an error or nothing,
 * as fieldValidation says; in a patch they are errors of the patch. */
int write_admit(struct call *c, struct cJSON *object, const struct cJSON *old,
		struct err *reterr) MUST_CHECK;
/* After meta.h refused with `r`: the 422 then names what is wrong in the rest as well, for a user
 * is to hear of everything at once. Never 0. */
int write_refuse(struct call *c, struct cJSON *object, const struct cJSON *old, int r,
		 struct err *reterr) MUST_CHECK;
/* Sends a CREATE or UPDATE of the tree to the core. */
void write_submit(struct call *c, enum command_verb verb, struct cJSON *object,
		  uint64_t expected_revision, enum command_propagation propagation);
/* Sends what the status door made of `o` (update_lends) to the core: only status and managers are
 * printed. */
void write_submit_status(struct call *c, const struct store_object *o, struct cJSON *object);
/* Answers with the stored object as it is: nothing had to be written. */
void write_unchanged(struct call *c, const struct store_object *o);
struct meta_write write_meta(const struct call *c);
const struct kind *write_stored_kind(const struct call *c);
/* A new command of this call, its origin and user set. */
struct command *write_command(struct call *c, enum command_verb verb, struct span ns,
			      struct span name);
/* Gives it to the core; `done` runs on the core's thread. Answers the call when the queue is
 * full; false then. */
bool write_send(struct call *c, struct command *take, void (*done)(struct command *self));
/* On the loop: ends the call with its answer. */
void write_finish(struct call *c);

#endif
