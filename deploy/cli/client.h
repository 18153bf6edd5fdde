#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H
/*
 * The command line's connection to the hub: a kubeconfig and HTTPS calls with JSON answers.
 *
 * KUBECONFIG (its first file that exists), else ~/.kube/config; --kubeconfig and --context over
 * it. One thread, blocking calls; a watch delivers lines to a callback until it says stop.
 */
#include "base/buf.h"
#include "base/err.h"
#include <stdbool.h>

struct cJSON;
struct client;

struct client_options {
	const char *kubeconfig, *context; /* NULL: as described above */
};

/* ERR_NOT_FOUND (no kubeconfig), ERR_INVALID (what is wrong with it). */
int client_open(const struct client_options *o, struct client **ret, struct err *reterr) MUST_CHECK;
struct client *client_close(struct client *c); /* NULL is fine; returns NULL */
/* The context's namespace, "default" when it has none. Borrowed. */
const char *client_namespace(const struct client *c);
const char *client_server(const struct client *c);

/* Accept header of the calls from now on; NULL: application/json. Static text. */
void client_accept(struct client *c, const char *accept);

/* One call. body may be NULL. On 2xx the parsed answer is *ret (owned; may be NULL to ignore it);
 * otherwise the Status' reason and message become the error. ERR_UNAVAILABLE: not reached. */
int client_call(struct client *c, const char *method, const char *path, const char *content_type,
		const struct buf *body, struct cJSON **ret, struct err *reterr) MUST_CHECK;
static inline int client_get(struct client *c, const char *path, struct cJSON **ret,
			     struct err *reterr)
{
	return client_call(c, "GET", path, NULL, NULL, ret, reterr);
}

/* GET of a stream; each line, also a last one without its end, goes to line(), which returns
 * false to stop. About once a second,
 * also when nothing comes, it is called with an absent line. 0 at the end of the stream or a
 * stop. */
int client_stream(struct client *c, const char *path, bool (*line)(void *arg, struct span line),
		  void *arg, struct err *reterr) MUST_CHECK;

/* Reads a whole file, at most 1 MiB. */
int client_read_file(const char *path, struct buf *out, struct err *reterr) MUST_CHECK;

#endif
