#ifndef WIRE_BACKEND_H
#define WIRE_BACKEND_H
/*
 * What stands behind an API front: stores to read from and a core to write through.
 *
 * The hub has one backend, the simulator one per simulated cluster; the api room knows no other
 * difference. All functions may be called from any thread.
 */
#include "kube/kind_set.h"
#include "store/store.h"
#include "wire/command.h"
#include "wire/relay.h"

struct backend;

/* A watcher of commits: called on the core thread after a commit is durable, with the store it
 * happened in and its last revision. It must only wake its own loop. */
struct backend_listener {
	struct backend_listener *next;
	void (*committed)(void *arg, struct store *store, uint64_t revision);
	void *arg;
};

struct backend_ops {
	/* Takes the command. -EBUSY (ERR_TOO_MANY) when the queue is full: then it is NOT taken. */
	int (*submit)(struct backend *b, struct command *c, struct err *reterr);
	/* Takes one more reference to the relay, the answerer's; on an error it takes none. NULL
	 * when the backend has neither members nor pods. */
	int (*proxy)(struct backend *b, struct relay *r, struct err *reterr);
	/* Registers for commits. Before the first commit only, or under the core's own lock. */
	void (*listen)(struct backend *b, struct backend_listener *l);
};

struct backend {
	const struct backend_ops *ops;
	const struct kind_set *kinds; /* compiled in */
	struct kind_source *source;   /* all that are served; NULL: the compiled ones */
	struct store *truth;
	struct store *mirror; /* NULL: mirrored kinds live in truth too (the simulator) */
	bool runs_pods;	      /* pods run here: their logs come from `proxy` without a cluster */
	const char *version;  /* "v1.34.0-muster0.1.0": /version gitVersion */
};

static inline struct store *backend_store(const struct backend *b, const struct kind *k)
{
	return k->mirrored && b->mirror ? b->mirror : b->truth;
}

#endif
