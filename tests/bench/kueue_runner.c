#include "kueue_runner.h"

#include "base/vec.h"
#include "bench.h"
#include "http_load.h"
#include "http_watch.h"
#include "kueue_objects.h"
#include "kueue_row.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define CONNECTIONS 256

enum action { CREATE, FINISH, RELEASE };

struct job {
	double created, admitted; /* s; when the create was sent, when the admission was seen */
	uint64_t revision;
	char *conditions; /* as last seen while it holds quota */
	bool to_finish;	  /* its time is over */
	bool sent;	  /* a patch of this revision is under way */
};

struct due {
	double at;
	uint32_t number;
	size_t admission; /* which of the job's */
};

struct fifo {
	struct VEC(struct due) items;
	size_t first;
};

struct sent {
	uint32_t number;
	enum action action;
};

struct runner {
	const struct kueue_scenario *s;
	struct fleet *fleet;
	struct kueue_runner_result *result;
	struct kueue_creation *creations;
	struct job *jobs;
	uint32_t *admissions; /* by number: how often it was admitted */
	size_t n_jobs;
	double started;

	pthread_mutex_t lock; /* of all below, and of jobs */
	struct kueue_ledger ledger;
	size_t next_creation, finished;
	struct fifo runs[KUEUE_CLASSES]; /* by the end of their time */
	struct fifo patches;		 /* due now */
	struct VEC(struct sent) sent;	 /* by the request's number */
	struct VEC(double) waits[KUEUE_CLASSES];
	double finished_at;
	bool over;
};

static double now_s(void)
{
	return (double)bench_now_ns() / 1e9;
}

static void push(struct fifo *f, struct due d)
{
	vec_push(&f->items, d);
}

/* ---- what the watch says ---- */

static void keep(struct job *j, const struct kueue_row *row)
{
	free(j->conditions);
	j->conditions = xstrndup(row->conditions.ptr, row->conditions.len);
	j->revision = row->revision;
	j->sent = false;
}

static void note_admitted(struct runner *r, uint32_t number, double now)
{
	struct job *j = &r->jobs[number];
	uint8_t k = r->ledger.entries[number].class;

	j->admitted = now;
	j->to_finish = false;
	r->result->admissions[k]++;
	vec_push(&r->waits[k], now - j->created);
	push(&r->runs[k], (struct due){now + (double)r->s->classes[k].runs / 1e6, number,
				       ++r->admissions[number]});
}

static void note_evicted(struct runner *r, uint32_t number, enum ledger_state was, double now)
{
	struct job *j = &r->jobs[number];
	const struct kueue_class *k = &r->s->classes[r->ledger.entries[number].class];

	r->result->evictions++;
	if (was == LEDGER_HOLDS) /* else admission and eviction came in one row */
		r->result->lost += (now - j->admitted) * (double)k->cpu / 1e3;
	j->to_finish = false;
	r->admissions[number]++; /* the run that waits for its end is over */
	push(&r->patches, (struct due){now, number, 0});
}

static bool note_row(void *arg, char *line, size_t len)
{
	struct runner *r = arg;
	struct kueue_row row;
	double now = now_s();

	if (!kueue_row_read(span_make(line, len), &row) || row.number >= r->n_jobs)
		return true;
	pthread_mutex_lock(&r->lock);
	struct job *j = &r->jobs[row.number];
	enum ledger_state was =
	    kueue_ledger_take(&r->ledger, row.number, row.state, row.revision, row.created);
	if (row.state == LEDGER_HOLDS || row.state == LEDGER_EVICTED)
		keep(j, &row);
	if (row.state == LEDGER_HOLDS && was != LEDGER_HOLDS)
		note_admitted(r, row.number, now);
	else if (row.state == LEDGER_EVICTED && was != LEDGER_EVICTED)
		note_evicted(r, row.number, was, now);
	else if ((row.state == LEDGER_HOLDS && j->to_finish) || row.state == LEDGER_EVICTED)
		push(&r->patches, (struct due){now, row.number, 0}); /* by a newer revision */
	if (row.state == LEDGER_FINISHED && was != LEDGER_FINISHED) {
		free(j->conditions);
		j->conditions = NULL;
		r->finished++;
		r->finished_at = now;
	}
	pthread_mutex_unlock(&r->lock);
	return true;
}

/* ---- what is to be sent ---- */

/* Runs whose time is over become patches. Locked. */
static void end_runs(struct runner *r, double now)
{
	for (size_t k = 0; k < KUEUE_CLASSES; k++) {
		struct fifo *f = &r->runs[k];
		while (f->first < f->items.len && f->items.items[f->first].at <= now) {
			struct due d = f->items.items[f->first++];
			if (r->admissions[d.number] != d.admission)
				continue;
			r->jobs[d.number].to_finish = true;
			push(&r->patches, d);
		}
	}
}

static bool patch_is_due(struct runner *r)
{
	struct fifo *f = &r->patches;

	while (f->first < f->items.len) {
		uint32_t number = f->items.items[f->first].number;
		const struct job *j = &r->jobs[number];
		enum ledger_state state = r->ledger.entries[number].state;
		if (!j->sent &&
		    ((state == LEDGER_HOLDS && j->to_finish) || state == LEDGER_EVICTED))
			return true;
		f->first++;
	}
	f->items.len = f->first = 0;
	return false;
}

static bool creation_is_due(const struct runner *r, double now)
{
	return r->next_creation < r->n_jobs &&
	       r->started + (double)r->creations[r->next_creation].at / 1e6 <= now;
}

static uint64_t may_send(void *arg)
{
	struct runner *r = arg;
	double now = now_s();

	pthread_mutex_lock(&r->lock);
	end_runs(r, now);
	uint64_t n = r->sent.len + (patch_is_due(r) || creation_is_due(r, now));
	pthread_mutex_unlock(&r->lock);
	return n;
}

static void make_patch(struct runner *r, struct buf *out)
{
	uint32_t number = r->patches.items.items[r->patches.first++].number;
	const struct ledger_entry *e = &r->ledger.entries[number];
	struct job *j = &r->jobs[number];
	bool release = e->state == LEDGER_EVICTED;
	auto_buf body = BUF_INIT;
	char path[160], full[240];

	if (release)
		kueue_row_release(j->revision, span_of(j->conditions), &body);
	else
		kueue_row_finish(j->revision, span_of(j->conditions), &body);
	kueue_objects_workload_path(&r->s->classes[e->class], e->queue, number, path);
	snprintf(full, sizeof(full), "%s/status?fieldManager=performance-runner", path);
	kueue_objects_request(out, "PATCH", full, r->fleet->token, "application/merge-patch+json",
			      buf_span(&body));
	j->sent = true;
	vec_push(&r->sent, (struct sent){number, release ? RELEASE : FINISH});
}

static void make_creation(struct runner *r, struct buf *out)
{
	const struct kueue_creation *c = &r->creations[r->next_creation++];
	double now = now_s(), due = r->started + (double)c->at / 1e6;

	r->jobs[c->number].created = now;
	if (now - due > r->result->lag)
		r->result->lag = now - due;
	kueue_objects_workload(r->fleet->token, &r->s->classes[c->class], c->queue, c->number,
			       r->s->classes[c->class].cpu, out);
	vec_push(&r->sent, (struct sent){c->number, CREATE});
}

static void make(void *arg, uint64_t n, struct buf *out)
{
	struct runner *r = arg;

	(void)n;
	pthread_mutex_lock(&r->lock);
	if (patch_is_due(r))
		make_patch(r, out);
	else
		make_creation(r, out);
	pthread_mutex_unlock(&r->lock);
}

/* A conflict means that a newer row is there, or on its way: the patch is made from that one. */
static void answered(void *arg, uint64_t n, int status)
{
	struct runner *r = arg;

	if (status / 100 == 2)
		return;
	pthread_mutex_lock(&r->lock);
	if (status == 409 && r->sent.items[n].action != CREATE)
		r->result->conflicts++;
	else
		r->result->failures++;
	pthread_mutex_unlock(&r->lock);
}

static bool ended(void *arg)
{
	struct runner *r = arg;

	pthread_mutex_lock(&r->lock);
	bool over = r->finished == r->n_jobs || r->result->failures;
	pthread_mutex_unlock(&r->lock);
	return over;
}

struct sender {
	struct runner *r;
	double seconds;
	struct err err;
};

static void *sender_main(void *arg)
{
	struct sender *s = arg;
	struct http_load l = {.port = process_port(&s->r->fleet->hub, 0),
			      .token = s->r->fleet->token,
			      .connections = CONNECTIONS,
			      .seconds = s->seconds,
			      .make = make,
			      .allowed = may_send,
			      .answered = answered,
			      .ended = ended,
			      .arg = s->r};
	struct http_load_result result;

	if (http_load_run(&l, &result, &s->err) == 0)
		snprintf(s->r->result->first_failure, sizeof(s->r->result->first_failure), "%s",
			 result.failed > s->r->result->conflicts ? result.first_failure : "");
	http_load_done(&result);
	pthread_mutex_lock(&s->r->lock);
	s->r->over = true;
	pthread_mutex_unlock(&s->r->lock);
	return NULL;
}

/* ---- a run ---- */

static bool is_over(struct runner *r)
{
	pthread_mutex_lock(&r->lock);
	bool over = r->over;
	pthread_mutex_unlock(&r->lock);
	return over;
}

static void drive(struct runner *r, double seconds, void (*tick)(void *arg), void *arg)
{
	const struct timespec pause = {.tv_nsec = 100000000};
	struct http_watch w = {.port = process_port(&r->fleet->hub, 0),
			       .path = KUEUE_OBJECTS_API "/workloads?watch=true",
			       .token = r->fleet->token,
			       .line = note_row,
			       .arg = r};
	struct sender sender = {r, seconds, ERR_INIT};
	struct err e = ERR_INIT;
	pthread_t thread;

	struct http_watch_thread *watch = http_watch_start(&w, &e);
	if (!watch)
		fleet_die("watch", &e);
	r->started = now_s();
	if (pthread_create(&thread, NULL, sender_main, &sender) != 0)
		abort();
	while (!is_over(r)) {
		nanosleep(&pause, NULL);
		tick(arg);
	}
	pthread_join(thread, NULL);
	http_watch_stop(watch);
	if (sender.err.kind != ERR_NONE)
		fleet_die("workloads", &sender.err);
}

static void take_result(struct runner *r)
{
	struct kueue_runner_result *ret = r->result;

	ret->wall = r->finished_at - r->started;
	ret->revisions = r->ledger.revisions;
	ret->violations = r->ledger.violations;
	memcpy(ret->first_violation, r->ledger.first_violation, sizeof(ret->first_violation));
	for (size_t k = 0; k < KUEUE_CLASSES; k++)
		ret->waits[k] = r->waits[k].items;
}

static void close_runner(struct runner *r)
{
	for (size_t i = 0; i < r->n_jobs; i++)
		free(r->jobs[i].conditions);
	for (size_t k = 0; k < KUEUE_CLASSES; k++)
		vec_done(&r->runs[k].items);
	vec_done(&r->patches.items);
	vec_done(&r->sent);
	free(r->jobs);
	free(r->admissions);
	free(r->creations);
	kueue_ledger_done(&r->ledger);
	pthread_mutex_destroy(&r->lock);
}

void kueue_runner_set_up(struct fleet *f, const struct kueue_scenario *s)
{
	kueue_objects_create(f, s,
			     (struct kueue_quota_pair){KUEUE_NOMINAL_MILLI, KUEUE_BORROWING_MILLI});
}

int kueue_runner_run(struct fleet *f, const struct kueue_scenario *s, double seconds,
		     void (*tick)(void *arg), void *arg, struct kueue_runner_result *ret)
{
	struct runner r = {.s = s, .fleet = f, .result = ret, .lock = PTHREAD_MUTEX_INITIALIZER};

	*ret = (struct kueue_runner_result){0};
	r.n_jobs = kueue_scenario_workloads(s);
	r.jobs = xcalloc(r.n_jobs, sizeof(*r.jobs));
	r.admissions = xcalloc(r.n_jobs, sizeof(*r.admissions));
	r.creations = kueue_scenario_creations(s);
	kueue_ledger_init(&r.ledger, s);
	drive(&r, seconds, tick, arg);
	take_result(&r);
	bool all = r.finished == r.n_jobs;
	close_runner(&r);
	return all ? 0 : -ETIMEDOUT;
}

void kueue_runner_result_done(struct kueue_runner_result *r)
{
	for (size_t k = 0; k < KUEUE_CLASSES; k++)
		free(r->waits[k]);
}
