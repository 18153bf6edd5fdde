#ifndef REGISTRY_REGISTRY_PRIV_H
#define REGISTRY_REGISTRY_PRIV_H
/*
 * What the files of this room share: the insides of a registry and of its batch.
 *
 * State in memory that mirrors the store (the lists of garbage and of terminating namespaces, the
 * expiry cursor) changes only in the *_committed() functions, after the stores have committed.
 */
#include "base/arena.h"
#include "base/vec.h"
#include "registry/belongings.h"
#include "registry/definitions.h"
#include "registry/expiry.h"
#include "registry/garbage.h"
#include "registry/namespaces.h"
#include "registry/registry.h"
#include "registry/token_secrets.h"

enum registry_store { REGISTRY_TRUTH, REGISTRY_MIRROR, REGISTRY_STORE_MAX };

struct registry_entry {
	uint64_t hash;
	enum registry_store store;
	enum store_op op;
	bool dropped;		 /* created and deleted again in this batch: nothing to do */
	const struct kind *kind; /* objects */
	struct store_key key;
	struct object_draft draft; /* PUT */
	bool existed;		   /* before this batch */
	uint64_t create_revision;
	struct store_object old; /* DELETE: the last state, copied into the batch's arena */
	uint8_t aux_table;
	struct span aux_key, aux_value;
	uint64_t revision; /* after the commit */
};

struct registry_order { /* a command and what it is answered with */
	struct command *command;
	struct registry_entry *entry; /* NULL: its revision is known already */
	bool settled;		      /* refused, or answered by the owner: leave it alone */
};

struct registry_batch {
	struct registry *reg;
	usec now;
	struct arena mem;
	struct VEC(struct registry_entry *) entries;
	struct VEC(struct registry_order) orders;
	struct VEC(struct registry_change) changes;
	struct store_reader *readers[REGISTRY_STORE_MAX];
	size_t rows[REGISTRY_STORE_MAX];
	size_t bytes;
	uint64_t revisions[REGISTRY_STORE_MAX];
	struct garbage_batch garbage;
	struct namespaces_batch namespaces;
	struct belongings_batch belongings;
	struct token_secrets_batch token_secrets;
	struct definitions_batch definitions;
	struct expiry_batch expiry;
	struct err broken; /* a failed read that must fail the commit */
	bool open, committed;
};

struct registry {
	struct registry_options options;
	const struct kind *namespace_kind, *service_account_kind, *config_map_kind, *event_kind,
	    *priority_class_kind, *secret_kind;
	usec last_now;
	uint64_t random;
	struct garbage garbage;
	struct namespaces namespaces;
	struct belongings belongings;
	struct token_secrets token_secrets;
	struct definitions definitions;
	struct expiry expiry;
	struct registry_batch batch;
};

/* registry.c: objects that the registry itself makes. Owned. */
struct cJSON *registry_new_tree(struct registry_batch *b, const struct kind *k, struct span ns,
				const char *name);
/* With us as the manager of all that is in it. */
int registry_put_tree(struct registry_batch *b, const struct kind *k, struct span ns,
		      const char *name, struct cJSON *tree) MUST_CHECK;
/* Records in `now` what we changed of `old` (NULL: we made it) through a door: "", "status". */
void registry_record(struct registry_batch *b, const struct kind *k, const char *subresource,
		     const struct cJSON *old, struct cJSON *now);
/* registry_options.in_use says so. */
bool registry_in_use(const struct registry *r, const struct kind *k, const struct store_object *o);

/* batch.c */
struct registry_entry *batch_find(struct registry_batch *b, const struct kind *k, struct span ns,
				  struct span name);
void batch_break(struct registry_batch *b, const struct err *why);
enum registry_store batch_store_of(const struct registry *r, const struct kind *k);
int batch_reader(struct registry_batch *b, enum registry_store s, struct store_reader **ret,
		 struct err *reterr) MUST_CHECK;

#endif
