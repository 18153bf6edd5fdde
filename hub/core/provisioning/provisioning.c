#include "core/provisioning/provisioning.h"

#include "base/json.h"
#include "base/num.h"
#include "core/kueue/provisioning_check.h"
#include "core/member.h"
#include "core/provisioning/consumer.h"
#include "core/provisioning/request_round.h"
#include "core/provisioning/request_row.h"
#include "core/provisioning/request_try.h"

void provisioning_open(struct core *c)
{
	c->provisioning = xcalloc(1, sizeof(*c->provisioning));
	c->provisioning->due = INT64_MAX;
}

struct requests VEC(struct provisioning_request *);

static int by_age(const void *a, const void *b)
{
	const struct provisioning_request *const *x = a, *const *y = b;

	return ((*x)->number > (*y)->number) - ((*x)->number < (*y)->number);
}

/* The oldest first. */
static struct requests all_of(const struct core *c)
{
	struct requests all = {0};

	map_foreach (&c->provisioning->by_number, e)
		vec_push(&all, e->value);
	if (all.len)
		qsort(all.items, all.len, sizeof(*all.items), by_age);
	return all;
}

void provisioning_close(struct core *c)
{
	struct provisioning *p = c->provisioning;

	if (!p)
		return;
	struct requests all = all_of(c);
	vec_foreach (&all, r)
		request_destroy(c, *r);
	vec_done(&all);
	map_done(&p->by_number);
	map_done(&p->by_uid);
	map_done(&p->by_name);
	vec_done(&p->dirty);
	vec_done(&p->flushed);
	vec_done(&p->consumers);
	free(p);
	c->provisioning = NULL;
}

/* ---- objects ---- */

bool provisioning_is_interesting(const struct kind *kind)
{
	return kind->type == TYPE_PROVISIONING_REQUEST || kind->type == TYPE_POD_TEMPLATE;
}

static usec max_run_of(const struct cJSON *spec)
{
	const char *run = json_str(json_get(spec, "parameters"), "maxRunDurationSeconds");
	int64_t seconds;

	if (!run || num_parse_i64(span_of(run), 1, INT64_MAX, &seconds) < 0)
		return REQUEST_MAX_RUN;
	return num_min(num_mul_sat(seconds, USEC_PER_SEC), (int64_t)REQUEST_MAX_RUN);
}

/* The Workload whose check made it, or NULL; owned. */
static char *workload_of(const struct cJSON *tree)
{
	json_foreach (json_path(tree, "metadata", "ownerReferences", NULL), o) {
		const char *kind = json_str(o, "kind"), *name = json_str(o, "name");
		if (kind && name && strcmp(kind, "Workload") == 0 &&
		    json_bool(o, "controller", false))
			return xstrdup(name);
	}
	return NULL;
}

static void take_object(struct core *c, struct provisioning_request *r, const struct cJSON *tree)
{
	const struct cJSON *spec = json_get(tree, "spec");
	const char *class = json_str(spec, "provisioningClassName");

	free(r->class);
	free(r->workload);
	r->class = xstrdup(class ? class : "");
	r->workload = workload_of(tree);
	r->max_run = max_run_of(spec);
	r->exists = true;
	request_due(c, r, c->now);
}

static void lose(struct core *c, struct provisioning_request *r)
{
	if (!r->exists)
		return;
	r->exists = false;
	r->row_dirty = true;
	request_dirty(c, r);
	request_due(c, r, c->now);
	provisioning_check_lost(c, r);
	consumer_news(c, r);
}

static void request_observe(struct core *c, const struct store_object *o)
{
	struct provisioning_request *r = request_find(c, o->key.ns, o->key.name);
	auto_json *tree = NULL;

	if (r && memcmp(r->uid, o->uid, STORE_UID_LEN) != 0) {
		lose(c, r);
		r = NULL;
	}
	if (o->flags & OBJECT_DELETING) {
		if (r)
			lose(c, r);
		return;
	}
	if ((r && r->exists) || object_tree(o, &tree, NULL) < 0)
		return; /* its spec never changes */
	if (!r)
		r = request_add(c, o->key.ns, o->key.name, o->uid);
	take_object(c, r, tree);
}

/* A request may have waited for it. */
static void template_observe(struct core *c, struct span ns)
{
	map_foreach (&c->provisioning->by_number, e) {
		struct provisioning_request *r = e->value;
		if (r->exists && !r->complete && span_is(ns, r->ns))
			request_due(c, r, c->now);
	}
}

bool provisioning_observe(struct core *c, const struct kind *kind, const struct store_object *o)
{
	if (kind->type == TYPE_PROVISIONING_REQUEST)
		request_observe(c, o);
	else if (kind->type == TYPE_POD_TEMPLATE)
		template_observe(c, o->key.ns);
	else
		return false;
	return true;
}

bool provisioning_observe_absent(struct core *c, const struct kind *kind, struct span ns,
				 struct span name)
{
	struct provisioning_request *r;

	if (!provisioning_is_interesting(kind))
		return false;
	r = kind->type == TYPE_PROVISIONING_REQUEST ? request_find(c, ns, name) : NULL;
	if (r)
		lose(c, r);
	return true;
}

int provisioning_restore(struct core *c, struct err *reterr)
{
	int rc = request_row_restore(c, reterr);

	map_foreach (&c->provisioning->by_number, e) {
		struct provisioning_request *r = e->value;
		/* Its object is read next; without it what stands on members goes. */
		request_due(c, r, c->now);
		request_dirty(c, r);
		for (size_t i = 0; rc == 0 && i < r->tries.len; i++)
			request_try_feed(c, r, r->tries.items[i],
					 &(struct dispatch_event){.kind = EVENT_RESTARTED});
	}
	return rc;
}

/* ---- what is due ---- */

static usec look(struct core *c, struct provisioning_request *r)
{
	usec due = INT64_MAX;

	for (size_t i = 0; i < r->tries.len; i++) {
		struct request_try *t = r->tries.items[i];
		if (t->dispatch.retry_at && t->dispatch.retry_at <= c->now)
			request_try_feed(c, r, t, &(struct dispatch_event){.kind = EVENT_TIMER});
	}
	if (r->again <= c->now) {
		r->again = INT64_MAX;
		request_round(c, r);
	}
	vec_foreach (&r->tries, t)
		if ((*t)->dispatch.retry_at > c->now)
			due = num_min(due, (*t)->dispatch.retry_at);
	return num_min(due, r->again);
}

void provisioning_timers(struct core *c)
{
	struct provisioning *p = c->provisioning;

	if (p->due > c->now)
		return;
	struct requests all = all_of(c);
	usec due = INT64_MAX;
	p->due = INT64_MAX;
	vec_foreach (&all, r)
		due = num_min(due, look(c, *r));
	vec_done(&all);
	p->due = num_min(p->due, due);
}

usec provisioning_due(const struct core *c)
{
	return c->provisioning->due;
}

/* ---- rows ---- */

static bool is_over(const struct provisioning_request *r)
{
	if (r->exists || r->row)
		return false;
	vec_foreach (&r->tries, t)
		if ((*t)->dispatch.step != DISPATCH_IDLE)
			return false;
	return true;
}

bool provisioning_flush(struct core *c)
{
	struct provisioning *p = c->provisioning;

	while (p->dirty.len) {
		struct provisioning_request *r = p->dirty.items[0];
		if (registry_batch_full(c->batch) || registry_batch_room(c->batch) < REQUEST_ROWS)
			return true;
		memmove(p->dirty.items, p->dirty.items + 1,
			(--p->dirty.len) * sizeof(struct provisioning_request *));
		r->dirty = false;
		r->row_dirty = r->row_dirty || !r->exists;
		request_row_flush(c, r);
		vec_push(&p->flushed, r);
	}
	return false;
}

void provisioning_committed(struct core *c)
{
	struct requests flushed = {0};

	vec_foreach (&c->provisioning->flushed, r)
		vec_push(&flushed, *r);
	vec_clear(&c->provisioning->flushed);
	vec_foreach (&flushed, r) {
		request_try_committed(c, *r);
		if (is_over(*r) && !(*r)->dirty)
			request_destroy(c, *r);
	}
	vec_done(&flushed);
}

/* ---- members ---- */

/* Whether it waits for somebody to ask, or for this one. */
static bool is_interested(const struct provisioning_request *r, const struct member *m)
{
	if (r->kept)
		return false;
	vec_foreach (&r->tries, t)
		if ((*t)->phase < PROVISION_FAILED)
			return (*t)->member == m->number;
	return true;
}

void provisioning_member_changed(struct core *c, const struct member *m)
{
	request_try_member_ready(c, m);
	map_foreach (&c->provisioning->by_number, e)
		if (is_interested(e->value, m))
			request_due(c, e->value, c->now);
}

bool provisioning_is_on(struct core *c, const struct member *m)
{
	bool any = false;

	map_foreach (&c->provisioning->by_number, e) {
		struct provisioning_request *r = e->value;
		const struct request_try *t = request_try_on(r, m->number);
		if (!t || t->dispatch.step == DISPATCH_IDLE)
			continue;
		any = true;
		if (t->dispatch.step != DISPATCH_WITHDRAWING || m->dead)
			request_due(c, r, c->now);
	}
	return any;
}
