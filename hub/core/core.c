#include "core/core.h"

#include "base/json.h"
#include "base/num.h"
#include "core/admission/pump.h"
#include "core/capacity.h"
#include "core/cursors.h"
#include "core/dispatch/courier.h"
#include "core/fact_queue.h"
#include "core/flush.h"
#include "core/intake.h"
#include "core/job.h"
#include "core/member.h"
#include "core/observe.h"
#include "core/quota.h"
#include "core/retention.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

/* The public handle: what other threads may touch, and the core thread's own state. */
struct core_thread {
	struct core core; /* first */
	pthread_t thread;
	bool running;
	atomic_bool stop, failed;
	_Atomic usec keep_finished;
	pthread_t main_thread;
	int (*proxy)(void *arg, struct proxy_request *p, struct err *reterr);
	void *proxy_arg;
	const char *version;
	usec (*clock)(void *arg);
	void *clock_arg;
};

static struct core_thread *thread_of(const struct core *c)
{
	return (struct core_thread *)(uintptr_t)c;
}

static usec time_now(const struct core *c)
{
	const struct core_thread *t = thread_of(c);
	return t->clock ? t->clock(t->clock_arg) : clock_now();
}

/* ---- small services to the other files ---- */

void core_job_dirty(struct core *c, struct job *j)
{
	if (j->dirty)
		return;
	j->dirty = true;
	vec_push(&c->dirty, j);
}

void core_job_freed(struct core *c, struct job *j)
{
	core_job_dirty(c, j);
	size_t at = c->dirty.len - 1; /* where it is if it was not dirty before */
	while (c->dirty.items[at] != j)
		at--;
	if (at < c->n_freed)
		return;
	memmove(c->dirty.items + c->n_freed + 1, c->dirty.items + c->n_freed,
		(at - c->n_freed) * sizeof(*c->dirty.items));
	c->dirty.items[c->n_freed++] = j;
}

static void timer_set(struct core *c, size_t at, struct job *j)
{
	c->timers.items[at] = j;
	j->timer_at = at + 1;
}

static void timer_up(struct core *c, size_t at)
{
	struct job *j = c->timers.items[at];
	while (at > 0 && j->timer < c->timers.items[(at - 1) / 2]->timer) {
		timer_set(c, at, c->timers.items[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	timer_set(c, at, j);
}

static void timer_down(struct core *c, size_t at)
{
	struct job *j = c->timers.items[at];
	for (;;) {
		size_t child = at * 2 + 1;
		if (child >= c->timers.len)
			break;
		if (child + 1 < c->timers.len &&
		    c->timers.items[child + 1]->timer < c->timers.items[child]->timer)
			child++;
		if (j->timer <= c->timers.items[child]->timer)
			break;
		timer_set(c, at, c->timers.items[child]);
		at = child;
	}
	timer_set(c, at, j);
}

void core_job_timer(struct core *c, struct job *j, usec when)
{
	if (j->timer_at && j->timer <= when)
		return;
	j->timer = when;
	if (!j->timer_at) {
		vec_push(&c->timers, j);
		j->timer_at = c->timers.len;
	}
	timer_up(c, j->timer_at - 1);
}

void core_job_timer_remove(struct core *c, struct job *j)
{
	if (!j->timer_at)
		return;
	size_t at = j->timer_at - 1;
	struct job *last = c->timers.items[--c->timers.len];

	j->timer_at = 0;
	if (last != j) {
		timer_set(c, at, last);
		timer_up(c, at);
		timer_down(c, last->timer_at - 1);
	}
}

enum member_stream core_stream_of(uint16_t type)
{
	switch (type) {
	case TYPE_JOB:
		return STREAM_JOBS;
	case TYPE_PYTORCH_JOB:
		return STREAM_PYTORCHJOBS;
	case TYPE_TF_JOB:
		return STREAM_TFJOBS;
	case TYPE_MPI_JOB:
		return STREAM_MPIJOBS;
	case TYPE_JOB_SET:
		return STREAM_JOBSETS;
	case TYPE_RAY_JOB:
		return STREAM_RAYJOBS;
	default:
		return STREAM_MAX;
	}
}

int core_put(struct core *c, const struct kind *kind, struct span ns, struct span name,
	     struct object_draft *take_draft)
{
	int r = registry_put(c->batch, kind, ns, name, take_draft);

	if (r < 0 && r != -EINPROGRESS)
		log_error(c->log, "object not written", "kind=%s name=%.*s/%.*s errno=%d",
			  kind->kind, SPAN_ARGS(ns), SPAN_ARGS(name), -r);
	return r;
}

void core_delete(struct core *c, const struct kind *kind, struct span ns, struct span name)
{
	int r = registry_delete(c->batch, kind, ns, name, PROPAGATE_BACKGROUND);

	if (r < 0 && r != -ENOENT)
		log_error(c->log, "object not deleted", "kind=%s name=%.*s/%.*s errno=%d",
			  kind->kind, SPAN_ARGS(ns), SPAN_ARGS(name), -r);
}

bool core_has_hub_finalizer(const struct store_object *o)
{
	struct span list, value;

	if (json_text_path(o->json, &list, "metadata", "finalizers", NULL) < 0 ||
	    json_text_type(list) != JSON_ARRAY)
		return false;
	for (size_t pos = 0; json_text_next(list, &pos, NULL, &value);)
		if (span_is(json_text_plain(value), OBJECT_HUB_FINALIZER))
			return true;
	return false;
}

void core_remove_hub_finalizer(struct core *c, const struct kind *kind,
			       const struct store_object *o)
{
	auto_json *tree = NULL;
	struct object_draft draft;

	if (!(o->flags & OBJECT_FOREIGN_FINALIZERS)) {
		core_delete(c, kind, o->key.ns, o->key.name);
		return;
	}
	if (object_tree(o, &tree, NULL) < 0)
		return;
	struct cJSON *list = json_path(tree, "metadata", "finalizers", NULL);
	json_foreach (list, f) {
		if (json_value_str(f) && strcmp(json_value_str(f), OBJECT_HUB_FINALIZER) == 0) {
			json_remove_child(list, f);
			break;
		}
	}
	if (object_draft_from_tree(kind, tree, &draft, NULL) == 0)
		(void)core_put(c, kind, o->key.ns, o->key.name, &draft);
}

/* ---- facts ---- */

static void list_begin(struct core *c, struct member *m, enum member_stream s)
{
	cursors_reset(c, m, s);
	if (s == STREAM_NODES || s == STREAM_PODS)
		capacity_list_begin(c, m, s);
	else
		courier_list_begin(c, m, s);
}

static void list_end(struct core *c, struct member *m, enum member_stream s, uint64_t revision)
{
	m->listing[s] = false;
	if (s == STREAM_NODES || s == STREAM_PODS)
		capacity_list_end(c, m, s);
	else
		courier_list_end(c, m, s);
	cursors_advance(c, m, s, revision);
}

static void take_fact(struct core *c, const struct fact *f)
{
	static const uint8_t none[STORE_UID_LEN];
	struct member *m = member_by_number(c, f->member);

	if (f->op == FACT_RESULT) {
		courier_outcome(c, f);
		return;
	}
	if (!m)
		return;
	if (f->op == FACT_MEMBER) {
		member_state(c, m, f);
		return;
	}
	if (memcmp(f->incarnation, none, STORE_UID_LEN) != 0 &&
	    memcmp(f->incarnation, m->incarnation, STORE_UID_LEN) != 0)
		return;
	switch (f->op) {
	case FACT_NODE:
		capacity_node(c, m, f);
		break;
	case FACT_POD:
		capacity_pod(c, m, f);
		break;
	case FACT_COPY:
		courier_copy(c, m, f);
		break;
	case FACT_LIST_BEGIN:
		list_begin(c, m, f->stream);
		return;
	case FACT_LIST_END:
		list_end(c, m, f->stream, f->revision);
		return;
	case FACT_CURSOR:
	case FACT_EVENT:
	case FACT_MEMBER:
	case FACT_RESULT:
	case FACT_OP_MAX:
	default:
		break;
	}
	cursors_advance(c, m, f->stream, f->revision);
}

/* Facts that were taken from the queue and wait for room in a batch. */
static bool run_facts(struct core *c)
{
	if (!c->facts_head) {
		c->facts_head = fact_queue_take(c->facts);
	}
	while (c->facts_head && !registry_batch_full(c->batch)) {
		struct fact *f = c->facts_head;
		c->facts_head = f->next;
		c->counters.facts++;
		take_fact(c, f);
		if (c->net)
			c->net->ops->taken(c->net, f->member, f->bytes);
		fact_destroy(f);
	}
	return c->facts_head || !fact_queue_is_empty(c->facts);
}

/* ---- time ---- */

static void run_timers(struct core *c)
{
	while (c->timers.len && c->timers.items[0]->timer <= c->now) {
		struct job *j = c->timers.items[0];
		core_job_timer_remove(c, j);
		if (j->status && j->status_due <= c->now)
			core_job_dirty(c, j);
		else if (j->status)
			core_job_timer(c, j, j->status_due);
		courier_feed(c, j, &(struct dispatch_event){EVENT_TIMER});
		if (j->dispatch.retry_at > c->now)
			core_job_timer(c, j, j->dispatch.retry_at);
	}
	vec_foreach (&c->members, p) {
		struct member *m = *p;
		if (!m)
			continue;
		if (m->unjoin_at && m->unjoin_at <= c->now && registry_batch_room(c->batch) > 80) {
			m->unjoin_at = 0;
			member_unjoin_step(c, m);
		}
		courier_orphans(c, m);
	}
}

usec core_next_time(const struct core *c)
{
	if (c->starved_since)
		return c->starved_until;
	usec t = registry_due(c->registry);

	t = num_min(t, c->timers.len ? c->timers.items[0]->timer : INT64_MAX);
	t = num_min(t, member_due(c));
	t = num_min(t, quota_due(c));
	t = num_min(t, retention_due(c));
	vec_foreach (&c->members, p) {
		const struct member *m = *p;
		if (m && m->unjoin_at)
			t = num_min(t, m->unjoin_at);
		for (size_t i = 0; m && i < m->orphans.len; i++)
			t = num_min(t, m->orphans.items[i].retry_at);
	}
	return t;
}

/* ---- a turn ---- */

static void send_orders(struct core *c)
{
	vec_foreach (&c->orders, o) {
		if (c->net)
			c->net->ops->submit(c->net, *o);
		else
			order_destroy(*o);
	}
	vec_clear(&c->orders);
}

/* Everything that is to be done now, into the batch. True when some of it found no room. */
static bool plan(struct core *c)
{
	bool more = observe_run(c);

	more |= run_facts(c);
	run_timers(c);
	capacity_sweep(c);
	more |= intake_run(c);
	if (!registry_batch_full(c->batch))
		more |= pump_run(c);
	more |= flush_jobs(c);
	member_flush(c);
	quota_flush(c);
	retention_run(c);
	cursors_flush(c);
	observe_save(c);
	if (!registry_batch_full(c->batch))
		more |= registry_work(c->batch, 32);
	return more;
}

/* One batch. True when there is more to do at once. */
static bool turn(struct core *c, struct err *reterr)
{
	if (registry_begin(c->registry, time_now(c), &c->batch, reterr) < 0) {
		c->failed = true;
		return false;
	}
	c->now = registry_now(c->batch);
	c->settings.keep_finished = atomic_load(&thread_of(c)->keep_finished);
	bool more = plan(c);
	c->counters.batches++;
	int r = registry_commit(c->batch, reterr);
	if (r == 0) {
		observe_collect(c);
		inbox_release(c->inbox, c->batch);
		flush_committed(c);
		send_orders(c);
		more |= c->observed.len > 0 || c->dirty.len > 0;
	} else {
		registry_reply(c->batch);
		c->failed = reterr->kind != ERR_NO_SPACE;
		c->rebuild = true;
	}
	c->batch = registry_end(c->batch);
	return more;
}

/* After a commit that found no space nothing is planned: writes are refused, questions answered,
 * deletes tried (the store keeps room for them), facts wait. Every RETRY_ROOM a batch is tried all
 * the same: a refused one trims the log. */
#define STARVED_WAIT USEC_PER_SEC
#define RETRY_ROOM   (10 * USEC_PER_SEC)

/* True when commands are left that found no room in the batch. */
static bool starve(struct core *c)
{
	struct err err = ERR_INIT;

	if (registry_begin(c->registry, time_now(c), &c->batch, &err) < 0)
		return false;
	c->now = registry_now(c->batch);
	bool deletes = intake_starved(c);
	if (registry_commit(c->batch, &err) == 0) {
		observe_collect(c);
		inbox_release(c->inbox, c->batch);
	} else {
		registry_reply(c->batch);
		c->failed = c->failed || err.kind != ERR_NO_SPACE;
		c->rebuild = c->rebuild || deletes;
	}
	c->batch = registry_end(c->batch);
	return !inbox_is_empty(c->inbox);
}

static bool has_room(const struct core *c)
{
	return store_has_room(c->truth) && (!c->mirror || store_has_room(c->mirror));
}

/* Reads memory anew. False when the store cannot be read or written even for that. */
static bool rebuilt(struct core *c, struct err *reterr)
{
	log_error(c->log, "commit failed, memory is rebuilt", "error=\"%s\"", reterr->text);
	core_rebuild(c, reterr);
	if (c->rebuild && reterr->kind != ERR_NO_SPACE)
		c->failed = true;
	return !c->rebuild;
}

static bool is_starved(struct core *c)
{
	usec now = time_now(c);

	if (!c->starved_since || now < c->starved_until)
		return c->starved_since;
	if (has_room(c) || now >= c->starved_since + RETRY_ROOM)
		return false;
	c->starved_until = now + STARVED_WAIT;
	return true;
}

static bool guarded_turn(struct core *c, struct err *reterr)
{
	if (is_starved(c))
		return starve(c);
	if (c->rebuild && !rebuilt(c, reterr)) {
		c->starved_until = time_now(c) + STARVED_WAIT;
		return !c->failed && starve(c);
	}
	c->starved_since = 0;
	c->has_room = has_room(c);
	bool more = turn(c, reterr);
	if (!c->rebuild || c->failed)
		return more;
	c->starved_since = time_now(c);
	c->starved_until = c->starved_since + STARVED_WAIT;
	(void)rebuilt(c, reterr);
	return starve(c);
}

bool core_turn(struct core *c, struct err *reterr)
{
	bool more = guarded_turn(c, reterr);

	if (c->failed)
		atomic_store(&thread_of(c)->failed, true);
	return more && !c->failed;
}

static void *run(void *arg)
{
	struct core_thread *t = arg;
	struct core *c = &t->core;
	struct err err = ERR_INIT;
	bool more = true;

	while (!c->failed) {
		if (!more) {
			if (atomic_load(&t->stop))
				break;
			usec due = core_next_time(c);
			usec wait = due == INT64_MAX
					? INT64_MAX
					: clock_monotonic() + num_max(0, due - time_now(c));
			wakeup_wait(c->wakeup, wait);
		}
		more = core_turn(c, &err);
	}
	if (c->failed) {
		log_error(c->log, "the core ends", "error=\"%s\"", err.text);
		pthread_kill(t->main_thread, SIGTERM);
	}
	return NULL;
}

/* ---- life ---- */

static int memory_open(struct core *c, struct err *reterr)
{
	c->policies = propagation_index_create();
	c->fleet = fleet_create();
	c->placer = placer_create(c->fleet);
	c->ledger = ledger_create(c->fleet);
	c->waiting = waiting_create(c->placer);
	c->retention_next = 0;
	int r = registry_begin(c->registry, time_now(c), &c->batch, reterr);
	if (r < 0)
		return r;
	c->now = registry_now(c->batch);
	c->restoring = true;
	r = observe_restore(c, reterr);
	c->restoring = false;
	if (r == 0)
		r = registry_commit(c->batch, reterr);
	c->batch = registry_end(c->batch);
	return r;
}

/* The queues go before the jobs: they compare by names that the jobs own. */
static void quota_close(struct core *c)
{
	c->quota.queues = elastic_queue_destroy(c->quota.queues);
	c->quota.tree = elastic_tree_destroy(c->quota.tree);
	map_foreach (&c->quota.queue_by_path, e) {
		struct queue_object *q = e->value;
		free(q->name);
		free(q);
	}
	map_done(&c->quota.queue_by_path);
	free(c->quota.name);
	free(c->quota.spec_text);
	memset(&c->quota, 0, sizeof(c->quota));
}

static void jobs_close(struct core *c)
{
	struct VEC(struct job *) all = {0};

	vec_foreach (&c->dirty, j)
		(*j)->dirty = false;
	c->n_freed = 0;
	vec_foreach (&c->flushed, j)
		(*j)->flushed = false;
	vec_reserve(&all, c->jobs_by_number.len + 1);
	map_foreach (&c->jobs_by_number, e)
		vec_push(&all, e->value);
	vec_foreach (&all, j)
		job_destroy(c, *j);
	vec_done(&all);
	vec_done(&c->dirty);
	vec_done(&c->flushed);
	vec_done(&c->timers);
	map_done(&c->jobs_by_key);
	map_done(&c->jobs_by_uid);
	map_done(&c->jobs_by_number);
}

static void asks_close(struct core *c)
{
	c->waiting = waiting_destroy(c->waiting); /* it refers to asks without holding them */
	vec_foreach (&c->asks, w) {
		placer_ask_unref(c->placer, w->parked);
		free(w->reason);
		free(w->summary);
		vec_done(&w->newcomers);
		vec_done(&w->heap);
	}
	vec_done(&c->asks);
	vec_done(&c->ready_asks);
}

static void messages_close(struct core *c)
{
	map_foreach (&c->calls, e) {
		struct call *call = e->value;
		free(call->thing);
		free(call->uid);
		free(call);
	}
	map_done(&c->calls);
	vec_foreach (&c->orders, o)
		order_destroy(*o);
	vec_done(&c->orders);
	vec_foreach (&c->observed, o) {
		free(o->ns);
		free(o->name);
	}
	vec_done(&c->observed);
	map_done(&c->observed_keys);
}

static void memory_close(struct core *c)
{
	quota_close(c);
	jobs_close(c);
	asks_close(c);
	c->ledger = ledger_destroy(c->ledger);
	vec_foreach (&c->members, p)
		if (*p)
			member_free(c, *p);
	vec_done(&c->members);
	map_done(&c->members_by_name);
	c->placer = placer_destroy(c->placer);
	c->fleet = fleet_destroy(c->fleet);
	c->policies = propagation_index_destroy(c->policies);
	map_foreach (&c->priority_classes, e)
		free(e->value);
	map_done(&c->priority_classes);
	c->has_default_priority = false;
	c->cursors_dirty = false;
	messages_close(c);
}

void core_rebuild(struct core *c, struct err *reterr)
{
	c->rebuild = false;
	memory_close(c);
	if (memory_open(c, reterr) < 0)
		c->rebuild = true;
	else
		send_orders(c);
}

static int proxy(void *arg, struct proxy_request *p, struct err *reterr)
{
	struct core_thread *t = arg;

	if (!t->proxy)
		return err_set(reterr, ERR_UNAVAILABLE, "the hub has no connection to members");
	return t->proxy(t->proxy_arg, p, reterr);
}

static int born(struct core *c, struct err *reterr)
{
	static const char *const names[] = {"default", "kube-system", "kube-public",
					    "kube-node-lease", "kube-queue"};
	int r = registry_begin(c->registry, time_now(c), &c->batch, reterr);

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(names); i++)
		r = registry_ensure_namespace(c->batch, names[i], reterr);
	if (r == 0)
		r = registry_commit(c->batch, reterr);
	c->batch = registry_end(c->batch);
	return r;
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
	atomic_store(&t->keep_finished, o->keep_finished);
	t->main_thread = o->main_thread;
	object_uid_format(store_incarnation(o->truth), c->hub_uid);
	t->version = o->version;
	memcpy(&seed, store_incarnation(o->truth), sizeof(seed));
	t->clock = o->clock;
	t->clock_arg = o->clock_arg;
	seed = o->seed ? o->seed : seed ^ (uint64_t)time_now(c);
	int r = wakeup_create(&c->wakeup, reterr);
	if (r == 0)
		r = registry_open(
		    &(struct registry_options){
			.kinds = o->kinds, .truth = o->truth, .mirror = o->mirror, .seed = seed},
		    &c->registry, reterr);
	if (r < 0) {
		core_destroy(c);
		return r;
	}
	c->inbox = inbox_create(&(struct inbox_options){.kinds = o->kinds,
							.truth = o->truth,
							.mirror = o->mirror,
							.version = o->version,
							.wakeup = c->wakeup,
							.proxy = proxy,
							.proxy_arg = t});
	c->facts = fact_queue_create(c->wakeup);
	r = born(c, reterr);
	if (r == 0)
		r = memory_open(c, reterr);
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
	free(thread_of(c));
	return NULL;
}

struct backend *core_backend(struct core *c)
{
	return inbox_backend(c->inbox);
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
		  int (*proxy_fn)(void *arg, struct proxy_request *p, struct err *reterr),
		  void *arg)
{
	c->net = net;
	thread_of(c)->proxy = proxy_fn;
	thread_of(c)->proxy_arg = arg;
	send_orders(c);
}

int core_start(struct core *c, struct err *reterr)
{
	struct core_thread *t = thread_of(c);

	if (pthread_create(&t->thread, NULL, run, t) != 0)
		return err_set(reterr, ERR_INTERNAL, "the core thread cannot be started");
	t->running = true;
	return 0;
}

void core_stop(struct core *c)
{
	struct core_thread *t = thread_of(c);

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
	atomic_store(&thread_of(c)->keep_finished, keep_finished);
}

bool core_has_failed(const struct core *c)
{
	return atomic_load(&thread_of(c)->failed);
}
