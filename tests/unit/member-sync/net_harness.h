#ifndef TESTS_MEMBER_SYNC_NET_HARNESS_H
#define TESTS_MEMBER_SYNC_NET_HARNESS_H
/*
 * A net thread with a recording sink in the core's place, and one fake member to talk to.
 * Tests await facts with a deadline; nothing sleeps.
 */
#include "base/vec.h"
#include "fake_member.h"
#include "member-sync/net.h"

#include <pthread.h>

#define HUB_UID	   "99999999-8888-4777-8666-555555555555"
#define AWAIT_USEC (20 * USEC_PER_SEC)

struct harness {
	struct fact_sink sink; /* first */
	struct net *net;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct VEC(struct fact *) facts; /* all that came, in order */
	bool hold;			 /* the core takes nothing from its queue */
	size_t held_bytes;
	struct test_authority ca, other_ca;
	struct test_certificate server_cert, client_cert, old_cert;
	struct fake_member *member;
	uint64_t next_id;
};

/* Fast intervals: 100 ms backoff, 1 s probes. The member is not started. */
struct harness *harness_create(void);
void harness_destroy(struct harness *h);

/* Starts the fake member with the harness's certificates; o may be NULL. */
void harness_start_member(struct harness *h, const struct fake_member_options *o);

/* ORDER_JOIN of member 1 named "m1"; kubeconfig NULL: a good one for the fake member. */
void harness_join(struct harness *h, uint32_t number, const char *name, const char *kubeconfig,
		  const uint64_t cursors[STREAM_MAX]);
/* Another JOIN option: the identity it must have. */
void harness_join_as(struct harness *h, uint32_t number, const char *uid);
/* ORDER_CALL; returns its id. incarnation as FAKE_UID. */
uint64_t harness_call(struct harness *h, uint32_t number, const char *method, const char *path,
		      const char *body, usec timeout);

/* Index of the first fact at or after `from` that matches; fails the test after AWAIT_USEC. */
size_t harness_await(struct harness *h, size_t from,
		     bool (*match)(const struct fact *f, const void *arg), const void *arg,
		     const char *what);
const struct fact *harness_fact(struct harness *h, size_t index);
size_t harness_count(struct harness *h); /* facts so far */

/* Ready-made waits; each returns the index of the fact. */
size_t await_condition(struct harness *h, size_t from, enum member_condition condition);
size_t await_op(struct harness *h, size_t from, enum fact_op op, enum member_stream stream);
size_t await_node(struct harness *h, size_t from, const char *name, uint64_t revision);
const struct fact *await_result(struct harness *h, uint64_t id);
/* Waits until the fake member saw `n` requests with both texts. */
void await_requests(struct harness *h, const char *a, const char *b, size_t n);
/* Takes everything that is held, and lets the core take facts again. */
void harness_release(struct harness *h);

/* {"type":T,"object":<node>}; static buffer of the calling thread. */
const char *node_event(const char *type, const char *name, unsigned revision);
const char *node_json(const char *name, unsigned revision);

#endif
