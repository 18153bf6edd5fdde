#include "core/retention.h"

#include "base/num.h"
#include "core/binding.h"
#include "core/dispatch/courier.h"
#include "core/job.h"
#include "core/kueue/workload.h"
#include "core/kueue/workload_status.h"
#include "core/recorder.h"
#include "core/restore.h"

#define TTL_MAX (10 * 365 * 86400LL)

struct owner {
	const struct kind *kind;
	struct span ns, name;
	const uint8_t *uid;
};

/* Row key: 'r', deadline big-endian, 'k' (keep), 't' (ttl) or 'd' (deactivated), then type/ns/name
 * of the job, or 'w' and those of a finished Workload; value: its uid. */
static void put(struct core *c, const struct owner *of, char what, usec deadline)
{
	auto_buf key = BUF_INIT;
	uint64_t be = __builtin_bswap64((uint64_t)deadline);
	struct span known;

	buf_add_char(&key, 'r');
	buf_add(&key, &be, sizeof(be));
	buf_addf(&key, "%c/%u/%.*s/%.*s", what, of->kind->type, SPAN_ARGS(of->ns),
		 SPAN_ARGS(of->name));
	if (deadline < c->retention_next)
		c->retention_next = deadline;
	if (registry_get_aux(c->batch, false, STORE_AUX_HISTORY, buf_span(&key), &known) == 0 &&
	    known.len == STORE_UID_LEN && memcmp(known.ptr, of->uid, STORE_UID_LEN) == 0)
		return;
	c->retention_put = c->counters.batches;
	registry_put_aux(c->batch, false, STORE_AUX_HISTORY, buf_span(&key),
			 span_make((const char *)of->uid, STORE_UID_LEN));
}

void retention_keep(struct core *c, struct job *j)
{
	j->finished_at = c->now;
	j->retention_dirty = true;
	core_job_dirty(c, j);
}

void retention_write(struct core *c, struct job *j)
{
	struct owner of = {j->kind, span_of(j->ns), span_of(j->name), j->uid};

	put(c, &of, 'k', j->finished_at + c->settings.keep_finished);
	if (j->digest.ttl_seconds >= 0 && j->digest.ttl_seconds < TTL_MAX)
		put(c, &of, 't', j->finished_at + j->digest.ttl_seconds * USEC_PER_SEC);
	if (j->workload)
		retention_workload(c, j->workload->ns, j->workload->name, j->workload->uid);
	j->retention_dirty = false;
}

void retention_workload_at(struct core *c, struct span ns, struct span name, const uint8_t *uid,
			   usec deadline)
{
	put(c, &(struct owner){kind_by_type(c->kinds, TYPE_WORKLOAD), ns, name, uid}, 'w',
	    deadline);
}

void retention_workload(struct core *c, struct span ns, struct span name, const uint8_t *uid)
{
	usec kept = c->kueue->settings.retain_finished;

	if (kept >= 0)
		retention_workload_at(c, ns, name, uid, c->now + kept);
}

void retention_deactivated_at(struct core *c, const struct job *j, usec deadline)
{
	put(c, &(struct owner){j->kind, span_of(j->ns), span_of(j->name), j->uid}, 'd', deadline);
}

void retention_deactivated(struct core *c, const struct job *j)
{
	usec kept = c->kueue->settings.retain_deactivated;

	if (kept >= 0)
		retention_deactivated_at(c, j, c->now + kept);
}

/* When the object's time to live is over; INT64_MAX: never. otherwise: when it finished, if nothing
 * says so. */
static usec end_of(struct core *c, const struct kind *kind, const struct store_object *o,
		   usec otherwise)
{
	auto_arena mem = ARENA_INIT;
	char name[BINDING_NAME_MAX];
	struct store_object binding;
	struct job_digest d;
	usec finished = 0;

	if (!(o->flags & OBJECT_FINISHED) || job_digest_unpack(o->digest, &mem, &d) < 0 ||
	    d.ttl_seconds < 0 || d.ttl_seconds >= TTL_MAX)
		return INT64_MAX;
	auto_free char *job = xstrndup(o->key.name.ptr, o->key.name.len);
	if (registry_get(c->batch, kind_by_type(c->kinds, TYPE_RESOURCE_BINDING), o->key.ns,
			 span_of(binding_name(kind, job, name)), &binding) == 0)
		finished = binding_finished_at(&binding);
	return (finished ? finished : otherwise) + d.ttl_seconds * USEC_PER_SEC;
}

void retention_changed(struct core *c, const struct kind *kind, const struct store_object *o)
{
	usec end = end_of(c, kind, o, c->now);

	if (end != INT64_MAX)
		put(c, &(struct owner){kind, o->key.ns, o->key.name, o->uid}, 't', end);
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

/* Whether its Workload is still what the hub made of it, for long enough: a user may have activated
 * it since, and the hub deactivated it again. */
static bool stays_deactivated(struct core *c, const struct job *j)
{
	auto_arena mem = ARENA_INIT;
	struct workload_status s;
	struct store_object o;

	if (!j || !j->workload || !j->workload->inactive ||
	    c->kueue->settings.retain_deactivated < 0 ||
	    registry_get(c->batch, kind_by_type(c->kinds, TYPE_WORKLOAD), j->workload->ns,
			 j->workload->name, &o) < 0)
		return false;
	workload_status_read(&o, &mem, &s);
	/* Times of conditions have whole seconds. */
	return s.evicted.is && span_starts(s.evicted.reason, SPAN("DeactivatedDueTo")) &&
	       s.evicted.since + c->kueue->settings.retain_deactivated <= c->now + USEC_PER_SEC;
}

static void drop(struct core *c, const struct kind *kind, const struct due_row *row,
		 const char *what)
{
	if (registry_remove(c->batch, kind, span_of(row->ns), span_of(row->name),
			    PROPAGATE_BACKGROUND) < 0)
		log_error(c->log, what, "object=%s/%s", row->ns, row->name);
}

/* By the setting as it is now: an older one may have given it another deadline. */
static void drop_workload(struct core *c, const struct kind *kind, const struct due_row *row,
			  const struct store_object *o)
{
	usec kept = c->kueue->settings.retain_finished;
	char uid[OBJECT_UID_TEXT];
	auto_arena mem = ARENA_INIT;
	struct workload_status s;

	if (kept < 0 || !(o->flags & OBJECT_FINISHED))
		return;
	workload_status_read(o, &mem, &s);
	/* Times of conditions have whole seconds, and may be anything that their writer says. */
	if (s.finished.since <= c->now && s.finished.since + kept > c->now + USEC_PER_SEC) {
		retention_workload_at(c, o->key.ns, o->key.name, o->uid, s.finished.since + kept);
		return;
	}
	object_uid_format(o->uid, uid);
	recorder_write_about(
	    c, &(struct recorder_event){.kind = kind,
					.ns = o->key.ns,
					.name = o->key.name,
					.uid_text = uid,
					.component = WORKLOAD_CONTROLLER,
					.type = "Normal",
					.reason = "Deleted",
					.message = "Deleted finished workload due to elapsed "
						   "retention"});
	drop(c, kind, row, "finished workload not removed");
}

static void drop_deactivated(struct core *c, const struct kind *kind, const struct due_row *row)
{
	static char words[] = "Deleted job: deactivation retention period expired";
	const struct job *j = job_by_key(c, row->type, span_of(row->ns), span_of(row->name));

	if (!stays_deactivated(c, j))
		return;
	recorder_write(c, j, &(struct job_event){"Normal", "Deleted", words, true});
	drop(c, kind, row, "deactivated job not removed");
}

static void act(struct core *c, const struct due_row *row)
{
	const struct kind *kind = kind_by_type(c->kinds, row->type);
	struct store_object o;

	if (!kind || registry_get(c->batch, kind, span_of(row->ns), span_of(row->name), &o) < 0 ||
	    memcmp(o.uid, row->uid, STORE_UID_LEN) != 0)
		return;
	if (row->what == 't') {
		if (end_of(c, kind, &o, 0) > c->now)
			return;
		drop(c, kind, row, "finished job not removed at its ttl");
		return;
	}
	if (row->what == 'w') {
		drop_workload(c, kind, row, &o);
		return;
	}
	if (row->what == 'd') {
		drop_deactivated(c, kind, row);
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

	/* Rows of this batch are not seen by a scan: the next one looks. */
	if (c->retention_next > c->now || c->retention_put == c->counters.batches ||
	    registry_batch_full(c->batch) ||
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
