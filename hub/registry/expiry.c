#include "registry/expiry.h"
#include "base/buf.h"
#include "base/num.h"
#include "registry/registry_priv.h"
#include <errno.h>

#define CURSOR_KEY SPAN("registry.expiry")
/* Log rows or Events looked at per step. */
#define STEP_ROWS 512
/* Rows of an expired Event: itself. One more for the cursor. */
#define ROWS_EACH 2

static void expiry_set(struct expiry *to, const struct expiry *from)
{
	*to = *from;
	to->sweep_ns = xstrdup(from->sweep_ns);
	to->sweep_name = xstrdup(from->sweep_name);
}

void expiry_done(struct expiry *e)
{
	free(e->sweep_ns);
	free(e->sweep_name);
	*e = (struct expiry){0};
}

void expiry_batch_clear(struct expiry_batch *eb)
{
	expiry_done(&eb->to);
	eb->moved = false;
}

int expiry_load(struct registry *r, struct err *reterr)
{
	struct span value;
	auto_reader *reader = NULL;
	r->expiry.next = INT64_MAX;
	if (!r->event_kind)
		return 0;
	int rc = store_read_begin(registry_store(r, r->event_kind), &reader, reterr);
	if (rc)
		return rc;
	if (store_get_aux(reader, STORE_AUX_SETTING, CURSOR_KEY, &value) == 0 &&
	    num_parse_u64(value, UINT64_MAX, &r->expiry.cursor))
		return err_set(reterr, ERR_INTERNAL, "the expiry cursor is not a number");
	r->expiry.next = 0;
	return 0;
}

usec expiry_due(const struct expiry *e)
{
	return e->sweeping ? 0 : e->next;
}

struct scan {
	struct registry_batch *b;
	struct expiry *to;
	size_t looked, *rows;
	bool stopped, deleted;
};

static int look_at_row(void *arg, const struct store_log_row *row)
{
	struct scan *s = arg;
	struct registry_batch *b = s->b;
	const struct kind *k = b->reg->event_kind;
	usec old_at = row->time + b->reg->options.event_ttl;
	if (old_at > b->now) {
		s->to->next = old_at;
		return 1;
	}
	if (s->looked++ == STEP_ROWS || *s->rows <= ROWS_EACH) {
		s->to->next = 0;
		s->stopped = true;
		return 1;
	}
	const struct store_key *key = &row->object.key;
	struct store_object now;
	if (key->type == k->type && row->op != STORE_LOG_DELETED &&
	    registry_get(b, k, key->ns, key->name, &now) == 0 && now.revision == row->revision) {
		if (registry_delete(b, k, key->ns, key->name, PROPAGATE_BACKGROUND))
			return -EIO;
		*s->rows -= ROWS_EACH;
		s->deleted = true;
	}
	s->to->cursor = row->revision;
	return 0;
}

static void start_sweep(struct registry_batch *b, struct expiry *to)
{
	struct store *st = registry_store(b->reg, b->reg->event_kind);
	to->sweeping = true;
	to->sweep_floor = store_floor(st);
	if (to->cursor < to->sweep_floor)
		to->cursor = to->sweep_floor;
}

/* Deletes Events whose newest log row is already trimmed. True when the walk has ended. */
static bool sweep(struct registry_batch *b, struct expiry *to, struct scan *s)
{
	const struct kind *k = b->reg->event_kind;
	struct store_key after = {k->type, span_of(to->sweep_ns), span_of(to->sweep_name)};
	struct store_range range = {.type = k->type, .after = to->sweep_name ? &after : NULL};
	struct store_reader *reader;
	struct store_iter *it;
	struct store_object o;
	int failed = 0;
	if (registry_reader(b, k, &reader, NULL) || store_iter_begin(reader, &range, &it, NULL))
		return false;
	bool stopped = false;
	while (store_iter_next(it, &o, &failed)) {
		if (s->looked++ == STEP_ROWS || *s->rows <= ROWS_EACH) {
			stopped = true;
			break;
		}
		struct span ns = arena_span(&b->mem, o.key.ns);
		struct span name = arena_span(&b->mem, o.key.name);
		if (o.revision < to->sweep_floor &&
		    registry_delete(b, k, ns, name, PROPAGATE_BACKGROUND) == 0) {
			*s->rows -= ROWS_EACH;
			s->deleted = true;
		}
		free(to->sweep_ns);
		free(to->sweep_name);
		to->sweep_ns = xstrndup(ns.ptr ? ns.ptr : "", ns.len);
		to->sweep_name = xstrndup(name.ptr, name.len);
	}
	store_iter_end(it);
	return !stopped && !failed;
}

static void save_cursor(struct registry_batch *b, uint64_t cursor)
{
	auto_buf text = BUF_INIT;
	buf_add_u64(&text, cursor);
	registry_put_aux(b, b->reg->event_kind->mirrored, STORE_AUX_SETTING, CURSOR_KEY,
			 buf_span(&text));
}

bool expiry_work(struct registry_batch *b, size_t *rows)
{
	struct expiry *e = &b->reg->expiry;
	if (!b->reg->event_kind || (!e->sweeping && e->next > b->now) || *rows <= 2 * ROWS_EACH)
		return false;
	expiry_batch_clear(&b->expiry);
	struct expiry *to = &b->expiry.to;
	expiry_set(to, e);
	b->expiry.moved = true;
	*rows -= 1; /* the cursor's */
	struct scan s = {.b = b, .to = to, .rows = rows};
	struct store_reader *reader;
	if (to->sweeping) {
		if (sweep(b, to, &s))
			to->sweeping = false;
	} else if (registry_reader(b, b->reg->event_kind, &reader, NULL) == 0) {
		to->next = INT64_MAX; /* unless a younger row says when */
		if (store_log_scan(reader, to->cursor, look_at_row, &s) == -ETIME)
			start_sweep(b, to);
	}
	if (s.deleted)
		save_cursor(b, to->cursor);
	return to->sweeping || s.stopped;
}

void expiry_committed(struct registry_batch *b)
{
	struct expiry *e = &b->reg->expiry;
	if (b->expiry.moved) {
		expiry_done(e);
		*e = b->expiry.to;
		b->expiry = (struct expiry_batch){0};
	}
	if (e->next != INT64_MAX || !b->reg->event_kind)
		return;
	vec_foreach (&b->changes, c)
		if (c->kind->type == b->reg->event_kind->type && c->op == STORE_PUT)
			e->next = b->now + b->reg->options.event_ttl;
}
