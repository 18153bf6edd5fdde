#include "registry/expiry.h"
#include "base/json.h"
#include "registry/registry_priv.h"
#include <errno.h>

/* Events looked at per step: well under a millisecond. */
#define STEP_EVENTS 512
/* Rows of an expired Event: itself, and what it might leave. */
#define ROWS_EACH 2
/* Walks in one time to live. */
#define WALKS 20

static void expiry_set(struct expiry *to, const struct expiry *from)
{
	*to = *from;
	to->ns = xstrdup(from->ns);
	to->name = xstrdup(from->name);
}

static void forget_place(struct expiry *e)
{
	free(e->ns);
	free(e->name);
	e->ns = e->name = NULL;
}

void expiry_done(struct expiry *e)
{
	forget_place(e);
	*e = (struct expiry){0};
}

void expiry_batch_clear(struct expiry_batch *eb)
{
	expiry_done(&eb->to);
	eb->moved = false;
}

void expiry_load(struct registry *r)
{
	r->expiry.next = r->event_kind ? 0 : INT64_MAX;
}

usec expiry_due(const struct expiry *e)
{
	return e->walking ? 0 : e->next;
}

static void take_later(struct span object, const char *key, usec now, usec *latest)
{
	struct span v;
	usec t;
	/* What lies ahead is a clock that is wrong: it must not keep an Event for ever. */
	if (json_text_member(object, key, &v) == 0 && clock_parse(json_text_plain(v), &t) == 0 &&
	    t > *latest && t <= now)
		*latest = t;
}

static usec last_seen(const struct store_object *o, usec now)
{
	usec latest = 0;
	struct store_extent m = o->extents.metadata;
	struct span series;
	take_later(span_make(o->json.ptr + m.at, m.len), "creationTimestamp", now, &latest);
	take_later(o->json, "lastTimestamp", now, &latest);
	take_later(o->json, "deprecatedLastTimestamp", now, &latest);
	if (json_text_member(o->json, "series", &series) == 0 &&
	    json_text_type(series) == JSON_OBJECT)
		take_later(series, "lastObservedTime", now, &latest);
	return latest;
}

static void look_at(struct registry_batch *b, struct expiry *to, const struct store_object *o,
		    size_t *rows)
{
	const struct kind *k = b->reg->event_kind;
	struct span ns = arena_span(&b->mem, o->key.ns), name = arena_span(&b->mem, o->key.name);
	usec end = last_seen(o, b->now) + b->reg->options.event_ttl;
	if (end <= b->now) {
		if (registry_delete(b, k, ns, name, PROPAGATE_BACKGROUND) == 0)
			*rows -= ROWS_EACH;
	} else if (end < to->oldest) {
		to->oldest = end;
	}
	forget_place(to);
	to->ns = xstrndup(ns.ptr ? ns.ptr : "", ns.len);
	to->name = xstrndup(name.ptr, name.len);
}

/* True when the walk has come to its end. */
static bool walk(struct registry_batch *b, struct expiry *to, size_t *rows)
{
	const struct kind *k = b->reg->event_kind;
	struct store_key after = {k->type, span_of(to->ns), span_of(to->name)};
	struct store_range range = {.type = k->type, .after = to->name ? &after : NULL};
	struct store_reader *reader;
	struct store_iter *it;
	struct store_object o;
	size_t looked = 0;
	int failed = 0;
	if (registry_reader(b, k, &reader, NULL) || store_iter_begin(reader, &range, &it, NULL))
		return false;
	/* The key of `after` is read by begin alone: its strings may go while the walk goes on. */
	bool stopped = false;
	while (!stopped && store_iter_next(it, &o, &failed)) {
		look_at(b, to, &o, rows);
		stopped = ++looked == STEP_EVENTS || *rows <= ROWS_EACH;
	}
	store_iter_end(it);
	return !stopped && !failed;
}

bool expiry_work(struct registry_batch *b, size_t *rows)
{
	struct expiry *e = &b->reg->expiry;
	if (expiry_due(e) > b->now || *rows <= ROWS_EACH)
		return false;
	expiry_batch_clear(&b->expiry);
	struct expiry *to = &b->expiry.to;
	expiry_set(to, e);
	b->expiry.moved = true;
	if (!to->walking) {
		to->walking = true;
		to->oldest = INT64_MAX;
		forget_place(to);
	}
	if (walk(b, to, rows)) {
		usec soonest = b->now + b->reg->options.event_ttl / WALKS;
		to->walking = false;
		to->next = to->oldest < soonest ? soonest : to->oldest;
	}
	return to->walking;
}

void expiry_committed(struct registry_batch *b)
{
	struct expiry *e = &b->reg->expiry;
	if (b->expiry.moved) {
		expiry_done(e);
		*e = b->expiry.to;
		b->expiry = (struct expiry_batch){0};
	}
	if (e->walking || e->next != INT64_MAX || !b->reg->event_kind)
		return;
	vec_foreach (&b->changes, c)
		if (c->kind->type == b->reg->event_kind->type && c->op == STORE_PUT)
			e->next = b->now + b->reg->options.event_ttl;
}
