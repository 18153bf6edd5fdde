#include "core/core.h"

#include "base/heap.h"
#include "base/num.h"
#include "core/core_thread.h"
#include "core/fact_queue.h"
#include "core/memory.h"
#include "core/turn.h"

#include <signal.h>

#define TURN_HEAP (256 << 10) /* the memory of 128 new jobs */

static void *run(void *arg)
{
	struct core_thread *t = arg;
	struct core *c = &t->core;
	struct err err = ERR_INIT;
	bool more = true;

	pthread_setname_np(pthread_self(), "core");
	while (!c->failed) {
		if (!more) {
			if (atomic_load(&t->stop))
				break;
			usec due = core_next_time(c);
			usec wait = due == INT64_MAX
					? INT64_MAX
					: clock_monotonic() + num_max(0, due - core_thread_now(c));
			wakeup_wait(c->wakeup, wait);
		}
		heap_ahead(TURN_HEAP);
		more = core_turn(c, &err);
	}
	inbox_end(c->inbox);
	if (c->failed) {
		log_error(c->log, "the core ends", "error=\"%s\"", err.text);
		pthread_kill(t->main_thread, SIGTERM);
	}
	return NULL;
}

static int proxy(void *arg, struct relay *r, struct err *reterr)
{
	struct core_thread *t = arg;

	if (!t->proxy)
		return err_set(reterr, ERR_UNAVAILABLE, "the hub has no connection to members");
	return t->proxy(t->proxy_arg, r, reterr);
}

/* A store that has no room at start is served all the same: reads, deletes, 507 for writes; turns
 * go on from here as after any commit that found no space. */
static int open_memory(struct core *c, struct err *reterr)
{
	int r = memory_open(c, reterr);

	if (r >= 0 || reterr->kind != ERR_NO_SPACE)
		return r;
	log_error(c->log, "the hub starts without room", "error=\"%s\"", reterr->text);
	c->rebuild = true;
	c->starved_since = core_thread_now(c);
	return 0;
}

int core_create(const struct core_options *o, struct core **ret, struct err *reterr)
{
	struct core_thread *t = xcalloc(1, sizeof(*t));
	struct core *c = &t->core;
	uint64_t seed = 0;

	c->kinds = o->kinds;
	c->truth = o->truth;
	c->mirror = o->mirror;
	c->log = o->log;
	c->settings.require_policy = o->require_policy;
	c->settings.starve_after = o->starve_after;
	c->settings.provision_parallel = o->provision_parallel ? o->provision_parallel : 1;
	c->settings.provision_patience = o->provision_patience;
	c->settings.provision_discovery = o->provision_discovery;
	c->settings.hot_swap = o->hot_swap;
	c->settings.not_ready_for = o->not_ready_for;
	c->settings.kueue = o->kueue ? *o->kueue : kueue_settings_default();
	atomic_store(&t->keep_finished, o->keep_finished);
	t->main_thread = o->main_thread;
	object_uid_format(store_incarnation(o->truth), c->hub_uid);
	t->version = o->version;
	memcpy(&seed, store_incarnation(o->truth), sizeof(seed));
	t->clock = o->clock;
	t->clock_arg = o->clock_arg;
	seed = o->seed ? o->seed : seed ^ (uint64_t)core_thread_now(c);
	int r = wakeup_create(&c->wakeup, reterr);
	if (r == 0)
		r = registry_open(&(struct registry_options){.kinds = o->kinds,
							     .truth = o->truth,
							     .mirror = o->mirror,
							     .seed = seed,
							     .job_records = true},
				  &c->registry, reterr);
	if (r < 0) {
		core_destroy(c);
		return r;
	}
	c->inbox = inbox_create(&(struct inbox_options){.kinds = o->kinds,
							.source = registry_kind_source(c->registry),
							.truth = o->truth,
							.mirror = o->mirror,
							.version = o->version,
							.wakeup = c->wakeup,
							.proxy = proxy,
							.proxy_arg = t});
	c->facts = fact_queue_create(c->wakeup);
	r = open_memory(c, reterr);
	if (r < 0) {
		core_destroy(c);
		return r;
	}
	*ret = c;
	return 0;
}

struct core *core_destroy(struct core *c)
{
	if (!c)
		return NULL;
	if (c->fleet)
		memory_close(c);
	for (struct fact *f = c->facts_head; f;) {
		struct fact *next = f->next;
		fact_destroy(f);
		f = next;
	}
	fact_queue_destroy(c->facts);
	inbox_destroy(c->inbox);
	registry_close(c->registry);
	wakeup_destroy(c->wakeup);
	free(core_thread_of(c));
	return NULL;
}

struct backend *core_backend(struct core *c)
{
	return inbox_backend(c->inbox);
}

void core_set_root_ca(struct core *c, struct span pem)
{
	registry_set_root_ca(c->registry, pem);
}

void core_set_token_maker(struct core *c, const struct token_maker *m)
{
	registry_set_token_maker(c->registry, m);
}

struct fact_sink *core_fact_sink(struct core *c)
{
	return fact_queue_sink(c->facts);
}

const char *core_hub_uid(const struct core *c)
{
	return c->hub_uid;
}

void core_set_net(struct core *c, struct net *net,
		  int (*proxy_fn)(void *arg, struct relay *r, struct err *reterr), void *arg)
{
	c->net = net;
	core_thread_of(c)->proxy = proxy_fn;
	core_thread_of(c)->proxy_arg = arg;
	if (!c->rebuild)
		turn_send_orders(c);
}

int core_start(struct core *c, struct err *reterr)
{
	struct core_thread *t = core_thread_of(c);

	if (pthread_create(&t->thread, NULL, run, t) != 0)
		return err_set(reterr, ERR_INTERNAL, "the core thread cannot be started");
	t->running = true;
	return 0;
}

void core_stop(struct core *c)
{
	struct core_thread *t = core_thread_of(c);

	if (!t->running)
		return;
	inbox_shut(c->inbox);
	atomic_store(&t->stop, true);
	wakeup_ring(c->wakeup);
	pthread_join(t->thread, NULL);
	t->running = false;
}

void core_set_keep_finished(struct core *c, usec keep_finished)
{
	atomic_store(&core_thread_of(c)->keep_finished, keep_finished);
}

bool core_has_failed(const struct core *c)
{
	return atomic_load(&core_thread_of(c)->failed);
}
