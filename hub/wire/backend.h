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

struct backend;

/* A watcher of commits: called on the core thread after a commit is durable, with the store it
 * happened in and its last revision. It must only wake its own loop. */
struct backend_listener {
	struct backend_listener *next;
	void (*committed)(void *arg, struct store *store, uint64_t revision);
	void *arg;
};

/* A request to a member that goes through the hub (clusters/NAME/proxy, logs). */
struct proxy_request {
	struct proxy_request *next;
	char *cluster;	     /* owned */
	char *method, *path; /* owned; path with query, from the member's root: "/api/v1/nodes" */
	char *accept;	     /* owned or NULL */
	char *body;	     /* owned or NULL */
	size_t body_len;
	void (*done)(
	    struct proxy_request *self); /* on the net thread; hands it to its own thread */
	void *origin;
	struct err err; /* transport failure, unknown cluster; else ERR_NONE */
	int http_code;
	char *content_type; /* owned or NULL */
	char *response;	    /* owned; whole answer, at most PROXY_MAX_RESPONSE */
	size_t response_len;
};
#define PROXY_MAX_RESPONSE ((size_t)32 << 20)
struct proxy_request *proxy_request_destroy(struct proxy_request *p);

struct backend_ops {
	/* Takes the command. -EBUSY (ERR_TOO_MANY) when the queue is full: then it is NOT taken. */
	int (*submit)(struct backend *b, struct command *c, struct err *reterr);
	/* Takes the request; NULL when the backend has no members (the simulator). */
	int (*proxy)(struct backend *b, struct proxy_request *p, struct err *reterr);
	/* Registers for commits. Before the first commit only, or under the core's own lock. */
	void (*listen)(struct backend *b, struct backend_listener *l);
};

struct backend {
	const struct backend_ops *ops;
	const struct kind_set *kinds; /* compiled in */
	struct kind_source *source;   /* all that are served; NULL: the compiled ones */
	struct store *truth;
	struct store *mirror; /* NULL: mirrored kinds live in truth too (the simulator) */
	const char *version;  /* "v1.34.0-muster0.1.0": /version gitVersion */
};

static inline struct store *backend_store(const struct backend *b, const struct kind *k)
{
	return k->mirrored && b->mirror ? b->mirror : b->truth;
}

#endif
