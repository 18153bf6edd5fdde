#ifndef TESTS_MEMBER_SYNC_FAKE_MEMBER_H
#define TESTS_MEMBER_SYNC_FAKE_MEMBER_H
/*
 * A scripted Kubernetes API server over TLS for tests: HTTP/1.1, a thread per connection,
 * blocking, on a free loopback port.
 *
 * Out of the box it is a small healthy cluster: identity, version, discovery (batch/v1 jobs), a
 * LIST per resource from what fake_member_set_list() gave it, and a WATCH per resource that
 * sends the lines given to fake_member_say(). A test's hook sees every request first and may
 * answer it in any broken way instead. Every request is recorded.
 */
#include "test_pki.h"

#include <stdbool.h>
#include <stddef.h>

struct fake_member;
struct fake_connection;

struct fake_request {
	char method[16];
	char path[2048]; /* with query */
	char *body;
	size_t body_len;
};

struct fake_member_options {
	const struct test_authority *authority;
	const struct test_certificate *certificate;
	const struct test_authority *client_authority; /* NULL: no client certificate wanted */
	bool plain;				       /* HTTP without TLS (behind a proxy) */
	bool deaf;	 /* accepts connections and never says a word */
	int port;	 /* 0: a free one */
	const char *uid; /* of kube-system; NULL: FAKE_UID */
	/* True when the hook has answered. Called on the connection's thread. */
	bool (*hook)(void *arg, struct fake_connection *c, const struct fake_request *r);
	void *arg;
};

#define FAKE_UID "11111111-2222-4333-8444-555555555555"

struct fake_member *fake_member_start(const struct fake_member_options *o);
void fake_member_stop(struct fake_member *f); /* cuts all connections */
int fake_member_port(const struct fake_member *f);
const char *fake_member_url(const struct fake_member *f); /* https://127.0.0.1:PORT */

/* The list of `resource` ("nodes"): items is a JSON array's inside; a list of one page. */
void fake_member_set_list(struct fake_member *f, const char *resource, const char *revision,
			  const char *items);
/* One line of the resource's watch, sent to the next or present watcher. "END": the watch ends
 * well; "CUT": the connection is reset; "HALF": half a line, then reset. */
void fake_member_say(struct fake_member *f, const char *resource, const char *line);
/* The uid of kube-system from now on. */
void fake_member_set_uid(struct fake_member *f, const char *uid);
/* Resets every open connection. */
void fake_member_cut(struct fake_member *f);
/* How many recorded requests contain both texts ("GET", "/nodes?limit"). */
size_t fake_member_count(struct fake_member *f, const char *a, const char *b);
/* Waits for `n` of them; false when `timeout` passed. */
bool fake_member_await(struct fake_member *f, const char *a, const char *b, size_t n, usec timeout);
/* The greatest number of connections that were open at once. */
size_t fake_member_most_connections(struct fake_member *f);

/* For hooks. */
void fake_reply(struct fake_connection *c, int code, const char *body);
void fake_write(struct fake_connection *c, const char *bytes); /* raw */
void fake_reset(struct fake_connection *c);		       /* TCP RST; the connection is over */
void fake_close(struct fake_connection *c);		       /* orderly */
void fake_hang(struct fake_connection *c); /* waits until the server is stopped or cut */
struct fake_member *fake_member_of(struct fake_connection *c);

#endif
