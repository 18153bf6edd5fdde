#include "core/retention.h"

#include "base/num.h"
#include "core/dispatch/courier.h"
#include "core/job.h"
#include "core/restore.h"

/* Row key: 'k' (keep) or 't' (ttl), deadline big-endian, then type/ns/name of the job; value: its
 * uid. */
static void put(struct core *c, const struct job *j, char what, usec deadline)
{
	auto_buf key = BUF_INIT;
	uint64_t be = __builtin_bswap64((uint64_t)deadline);

	buf_add_char(&key, 'r');
	buf_add(&key, &be, sizeof(be));
	buf_addf(&key, "%c/%u/%s/%s", what, j->kind->type, j->ns, j->name);
	registry_put_aux(c->batch, false, STORE_AUX_HISTORY, buf_span(&key),
			 span_make((const char *)j->uid, STORE_UID_LEN));
	if (deadline < c->retention_next)
		c->retention_next = deadline;
}

void retention_keep(struct core *c, struct job *j)
{
	j->retention_dirty = true;
	core_job_dirty(c, j);
}

void retention_write(struct core *c, struct job *j)
{
	put(c, j, 'k', c->now + c->settings.keep_finished);
	if (j->digest.ttl_seconds >= 0 && j->digest.ttl_seconds < 10 * 365 * 86400LL)
		put(c, j, 't', c->now + j->digest.ttl_seconds * USEC_PER_SEC);
	j->retention_dirty = false;
}

struct due_row {
	char what;
	uint16_t type;
	char *ns, *name;
	uint8_t uid[STORE_UID_LEN];
	char *key;
	size_t key_len;
};

struct due_scan {
	usec now, next;
	struct VEC(struct due_row) rows;
};

static int collect(void *arg, struct span key, struct span value)
{
	struct due_scan *s = arg;
	uint64_t be;
	struct due_row row = {0};

	if (key.len < 12 || value.len != STORE_UID_LEN)
		return 0;
	memcpy(&be, key.ptr + 1, sizeof(be));
	usec deadline = (usec)__builtin_bswap64(be);
	if (deadline > s->now || s->rows.len >= 16) {
		s->next = deadline;
		return 1;
	}
	struct span rest = span_make(key.ptr + 11, key.len - 11);
	uint64_t type;
	row.what = key.ptr[9];
	if (num_parse_u64(span_split(&rest, '/'), UINT16_MAX, &type) < 0)
		return 0;
	struct span ns = span_split(&rest, '/');
	row.type = (uint16_t)type;
	row.ns = xstrndup(ns.ptr, ns.len);
	row.name = xstrndup(rest.ptr ? rest.ptr : "", rest.len);
	memcpy(row.uid, value.ptr, STORE_UID_LEN);
	row.key = xstrndup(key.ptr, key.len);
	row.key_len = key.len;
	vec_push(&s->rows, row);
	return 0;
}

static void act(struct core *c, const struct due_row *row)
{
	const struct kind *kind = kind_by_type(c->kinds, row->type);
	struct store_object o;

	if (!kind || registry_get(c->batch, kind, span_of(row->ns), span_of(row->name), &o) < 0 ||
	    memcmp(o.uid, row->uid, STORE_UID_LEN) != 0)
		return;
	if (row->what == 't') {
		if (registry_remove(c->batch, kind, span_of(row->ns), span_of(row->name),
				    PROPAGATE_BACKGROUND) < 0)
			log_error(c->log, "finished job not removed at its ttl", "job=%s/%s",
				  row->ns, row->name);
		return;
	}
	struct job *j = restore_job(c, kind, &o);
	if (j)
		courier_feed(c, j, &(struct dispatch_event){EVENT_WITHDRAW});
}

void retention_run(struct core *c)
{
	struct due_scan s = {.now = c->now, .next = INT64_MAX};
	struct store_reader *reader;

	if (c->retention_next > c->now || registry_batch_full(c->batch) ||
	    registry_reader(c->batch, kind_by_type(c->kinds, TYPE_NAMESPACE), &reader, NULL) < 0)
		return;
	(void)store_scan_aux(reader, STORE_AUX_HISTORY, SPAN("r"), collect, &s);
	c->retention_next = s.next;
	vec_foreach (&s.rows, row) {
		if (registry_batch_full(c->batch)) {
			c->retention_next = c->now;
		} else {
			act(c, row);
			registry_delete_aux(c->batch, false, STORE_AUX_HISTORY,
					    span_make(row->key, row->key_len));
		}
		free(row->ns);
		free(row->name);
		free(row->key);
	}
	vec_done(&s.rows);
}

usec retention_due(const struct core *c)
{
	return c->retention_next;
}
