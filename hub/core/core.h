#ifndef CORE_CORE_H
#define CORE_CORE_H
/*
 * The core: the one thread that owns truth.
 *
 * Each turn: facts and commands in, timers, plan (policies, quota-tree), ONE store transaction
 * for the batch, and only when it is durable: replies, watch events, orders (DESIGN section 2).
 * A commit without space releases nothing; memory is rebuilt once from the store and writes wait
 * for room. An I/O error ends the process: core_wait() returns it, and a restart replays.
 */
#include "base/err.h"
#include "base/log.h"
#include "kube/kind.h"
#include "wire/backend.h"
#include "wire/order.h"
#include "wire/token_maker.h"
#include <pthread.h>

struct core;
struct kueue_settings;

struct core_options {
	const struct kind_set *kinds;
	struct store *truth, *mirror; /* borrowed */
	const struct log *log;
	const char *version;	     /* for /version */
	bool require_policy;	     /* leave jobs alone that no policy selects */
	usec keep_finished;	     /* copies of finished jobs stay this long */
	usec starve_after;	     /* gangs that wait longer get a reservation; 0: none does */
	uint32_t provision_parallel; /* members asked for nodes at a time; 0: one */
	usec provision_patience;     /* then the next is asked; 0: without end */
	usec provision_discovery;    /* the same until one has accepted it; 0: as patience */
	bool hot_swap;		     /* gangs that lost nodes get room at once */
	usec not_ready_for;	     /* a node that is not ready for longer is lost */
	const struct kueue_settings *kueue; /* NULL: Kueue's defaults */
	pthread_t main_thread;		    /* gets SIGTERM when the core ends by itself */
	usec (*clock)(void *arg);	    /* UTC; NULL: clock_now() */
	void *clock_arg;
	uint64_t seed; /* of the uids that the core gives; 0: from incarnation and clock */
};

/* Reads the store and rebuilds memory. No thread yet. A store without room is no failure: writes
 * are refused until there is some. */
int core_create(const struct core_options *o, struct core **ret, struct err *reterr) MUST_CHECK;
struct core *core_destroy(struct core *c); /* after core_stop(); NULL is fine; returns NULL */

/* What API fronts stand before. */
struct backend *core_backend(struct core *c);
/* The certificate (PEM) by which clients verify the hub, for the ConfigMaps kube-root-ca.crt.
 * Before core_start(). */
void core_set_root_ca(struct core *c, struct span pem);
/* Who makes the tokens of Secrets of ServiceAccounts; until core_stop(). Before core_start(). */
void core_set_token_maker(struct core *c, const struct token_maker *m);
/* Where the net thread puts facts. */
struct fact_sink *core_fact_sink(struct core *c);
/* The hub's own uid (the store's incarnation), text; what its copies carry. */
const char *core_hub_uid(const struct core *c);
/* The net thread, before core_start(). Its orders go there. */
void core_set_net(struct core *c, struct net *net,
		  int (*proxy)(void *arg, struct relay *r, struct err *reterr), void *arg);

/* One turn of the loop, for tests without the thread: one batch, or what stands in for it while
 * the store has no room. True when there is more to do at once. *reterr is set when a commit
 * failed; core_has_failed() then says whether for good. */
bool core_turn(struct core *c, struct err *reterr);
/* When the next turn has something to do if nothing rings; INT64_MAX never. */
usec core_next_time(const struct core *c);

int core_start(struct core *c, struct err *reterr) MUST_CHECK;
/* Takes no new commands, finishes what is inside, commits, joins the thread. */
void core_stop(struct core *c);
/* For jobs that finish from now on. Any thread. */
void core_set_keep_finished(struct core *c, usec keep_finished);
/* Whether the thread ended by itself because of an I/O error. Any thread. */
bool core_has_failed(const struct core *c);

#endif
