#include "core/dispatch/dependency.h"

#include "core/admission/settle.h"
#include "core/dispatch/courier.h"
#include "core/dispatch/dependency_call.h"
#include "core/dispatch/prepare.h"
#include "core/job.h"
#include "core/member.h"

#define LOOK_AGAIN   (30 * USEC_PER_SEC) /* at a conflict */
#define IN_USE_AGAIN (5 * USEC_PER_SEC)	 /* gone at the hub, used by copies */
#define CLEAN_CALLS  64			 /* of one unjoin at a time */

struct waiter {
	uint64_t job, epoch;
};

struct dependency {
	const struct kind *kind;
	char *path, *ns, *name;	 /* ns "" for cluster scope */
	bool made;		 /* it is ours: a row says so */
	bool foreign;		 /* it is not, and may be used as it is */
	bool stale;		 /* the hub's object changed since it was sent */
	bool absent;		 /* the last answer said so */
	bool refused;		 /* a patch was: the read that follows says why */
	char *trouble;		 /* the words of that refusal */
	char *conflict;		 /* or NULL */
	uint64_t synced, sent;	 /* revisions at the hub */
	uint32_t needed;	 /* placements */
	enum dependency_ask ask; /* under way */
	uint32_t failures;
	usec retry_at; /* 0: nothing to do */
	struct VEC(struct waiter) waiting;
};

/* ---- records ---- */

static struct dependency *find(const struct member *m, const struct kind *kind, const char *ns,
			       const char *name)
{
	auto_buf path = BUF_INIT;

	member_path(kind, ns, name, &path);
	return map_get(&m->dependencies, buf_span(&path));
}

static struct dependency *add(struct member *m, const struct kind *kind, struct span ns,
			      struct span name, const char *path)
{
	struct dependency *d = xcalloc(1, sizeof(*d));

	d->kind = kind;
	d->path = xstrdup(path);
	d->ns = xstrndup(ns.ptr ? ns.ptr : "", ns.len);
	d->name = xstrndup(name.ptr, name.len);
	map_put(&m->dependencies, span_of(path), d);
	return d;
}

/* By its path on the member; made when it is new. NULL for a path that is none of ours. */
static struct dependency *of_path(const struct core *c, struct member *m, struct span path)
{
	struct dependency *d = map_get(&m->dependencies, path);
	struct span ns, name;

	if (d)
		return d;
	const struct kind *kind = dependency_call_kind(c->kinds, path, &ns, &name);
	auto_free char *text = xstrndup(path.ptr, path.len);
	return kind ? add(m, kind, ns, name, text) : NULL;
}

static void dependency_free(struct dependency *d)
{
	vec_done(&d->waiting);
	free(d->path);
	free(d->ns);
	free(d->name);
	free(d->trouble);
	free(d->conflict);
	free(d);
}

void dependency_free_all(struct member *m)
{
	map_foreach (&m->dependencies, e)
		dependency_free(e->value);
	map_done(&m->dependencies);
}

/* A look at one may add others to the map, and removes none but itself. */
struct dependencies VEC(struct dependency *);

static struct dependencies all_of(const struct member *m)
{
	struct dependencies all = {0};

	map_foreach (&m->dependencies, e)
		vec_push(&all, e->value);
	return all;
}

static void due(struct member *m, struct dependency *d, usec when)
{
	d->retry_at = when;
	if (!m->dependencies_due || when < m->dependencies_due)
		m->dependencies_due = when;
}

/* ---- rows ---- */

static void row_key(const struct member *m, const char *path, struct buf *out)
{
	buf_addf(out, "made/%u%s", m->number, path);
}

static void put_made(struct core *c, const struct member *m, struct dependency *d)
{
	auto_buf key = BUF_INIT;

	d->made = true;
	d->foreign = false;
	row_key(m, d->path, &key);
	registry_put_aux(c->batch, false, STORE_AUX_SETTING, buf_span(&key),
			 span_make((const char *)&d->synced, sizeof(d->synced)));
}

static void drop_made(struct core *c, const struct member *m, struct dependency *d)
{
	auto_buf key = BUF_INIT;

	if (!d->made)
		return;
	d->made = false;
	d->synced = 0;
	row_key(m, d->path, &key);
	registry_delete_aux(c->batch, false, STORE_AUX_SETTING, buf_span(&key));
}

/* ---- who needs it ---- */

static bool is_shared(const struct dependency *d)
{
	return d->kind->type == TYPE_NAMESPACE || d->kind->type == TYPE_PRIORITY_CLASS;
}

static bool is_used(const struct core *c, const struct member *m, const struct dependency *d)
{
	vec_foreach (&m->jobs, number) {
		const struct job *j = job_by_number(c, *number);
		if (j && prepare_needs(c, j, d->kind, d->ns, d->name))
			return true;
	}
	return false;
}

/* Whether a conflict matters to anybody. */
static bool is_missed(const struct core *c, const struct dependency *d)
{
	if (d->needed || d->waiting.len)
		return true;
	map_foreach (&c->jobs_by_number, e)
		if (prepare_needs(c, e->value, d->kind, d->ns, d->name))
			return true;
	return false;
}

static bool is_wanted(const struct core *c, const struct member *m, const struct dependency *d,
		      bool at_hub)
{
	if (m->deleting)
		return false;
	if (is_shared(d))
		return at_hub || is_used(c, m, d);
	if (d->kind->type == TYPE_PERSISTENT_VOLUME_CLAIM)
		return at_hub;
	return at_hub && (d->needed > 0 || d->waiting.len > 0 || (d->conflict && is_missed(c, d)));
}

/* ---- the end of a look ---- */

static void wake(struct core *c, struct member *m, struct dependency *d,
		 enum dependency_answer answer, const char *words)
{
	struct VEC(struct waiter) waiting = {d->waiting.items, d->waiting.len, d->waiting.cap};

	memset(&d->waiting, 0, sizeof(d->waiting));
	vec_foreach (&waiting, w)
		prepare_told(c, m, w->job, w->epoch, answer, words);
	vec_done(&waiting);
}

static void clear_conflict(struct core *c, struct member *m, struct dependency *d)
{
	if (!d->conflict)
		return;
	free(d->conflict);
	d->conflict = NULL;
	m->conflicts--;
	map_foreach (&c->jobs_by_number, e) {
		struct job *j = e->value;
		if (j->dispatch.step == DISPATCH_IDLE && !j->finished && !j->deleting && !j->gone &&
		    prepare_needs(c, j, d->kind, d->ns, d->name))
			settle_offer(c, j);
	}
}

static void remove_record(struct core *c, struct member *m, struct dependency *d)
{
	clear_conflict(c, m, d);
	(void)map_remove(&m->dependencies, span_of(d->path));
	dependency_free(d);
	if (m->deleting)
		m->unjoin_at = c->now;
}

static void settled(struct core *c, struct member *m, struct dependency *d)
{
	d->failures = 0;
	d->refused = false;
	free(d->trouble);
	d->trouble = NULL;
	clear_conflict(c, m, d);
	wake(c, m, d, DEPENDENCY_READY, NULL);
}

static void fail(struct core *c, struct member *m, struct dependency *d, const char *words)
{
	due(m, d, c->now + dispatch_backoff(d->failures));
	d->failures += d->failures < 32;
	d->refused = false;
	if (m->deleting)
		m->unjoin_at = c->now + USEC_PER_SEC;
	wake(c, m, d, DEPENDENCY_FAILED, words);
}

static void tell_users(struct core *c, const struct member *m, const struct dependency *d)
{
	vec_foreach (&m->jobs, number) {
		struct job *j = job_by_number(c, *number);
		if (j && !j->finished && prepare_needs(c, j, d->kind, d->ns, d->name))
			job_event_add(c, j, "Warning", "DependencyConflict", "Cluster %s: %s",
				      m->name, d->conflict);
	}
}

static void conflict(struct core *c, struct member *m, struct dependency *d, char *take_words)
{
	bool news = !d->conflict || strcmp(d->conflict, take_words) != 0;

	m->conflicts += !d->conflict;
	free(d->conflict);
	d->conflict = take_words;
	drop_made(c, m, d);
	if (news) {
		log_warn(c->log, "conflict", "cluster=%s path=%s reason=\"%s\"", m->name, d->path,
			 take_words);
		tell_users(c, m, d);
	}
	due(m, d, c->now + LOOK_AGAIN);
	wake(c, m, d, DEPENDENCY_CONFLICT, NULL);
}

/* ---- a look ---- */

static void ask(struct core *c, struct member *m, struct dependency *d, enum dependency_ask what,
		const char *uid)
{
	struct order *o = dependency_call_make(
	    c, m, &(struct dependency_name){d->kind, d->ns, d->name, d->path}, what, uid, &d->sent);

	if (!o) {
		settled(c, m, d);
		return;
	}
	d->ask = what;
	courier_call(c, o,
		     (struct call){.purpose = CALL_DEPENDENCY,
				   .member = m->number,
				   .thing = xstrdup(d->path)});
}

/* A namespace that runs pods of others is not ours to take away. */
static bool has_foreign_pods(const struct member *m, const struct dependency *d)
{
	size_t n = strlen(d->name);

	if (d->kind->type != TYPE_NAMESPACE)
		return false;
	map_foreach (&m->pods, e) {
		const struct member_pod *p = e->value;
		if (e->key_len > n && e->key[n] == '/' && memcmp(e->key, d->name, n) == 0 &&
		    p->job == 0 && !p->object)
			return true;
	}
	return false;
}

/* Nobody wants it. */
static void leave(struct core *c, struct member *m, struct dependency *d)
{
	if (d->made && has_foreign_pods(m, d)) {
		log_warn(c->log, "namespace kept: it runs pods of others", "cluster=%s path=%s",
			 m->name, d->path);
		drop_made(c, m, d);
	}
	if (d->made) {
		ask(c, m, d, ASK_READ, NULL);
	} else if (d->waiting.len) {
		settled(c, m, d);
	} else if (d->needed == 0 || m->deleting) {
		remove_record(c, m, d);
	}
}

/* Does the next thing; `verify`: look at the member even if nothing changed at the hub. The record
 * may be gone afterwards when nobody waits for it. */
static void look(struct core *c, struct member *m, struct dependency *d, bool verify)
{
	struct store_object o;
	bool at_hub = registry_get(c->batch, d->kind, span_of(d->ns), span_of(d->name), &o) == 0;

	if (d->ask)
		return;
	d->stale = false;
	d->retry_at = 0;
	if (!is_wanted(c, m, d, at_hub)) {
		leave(c, m, d);
	} else if (!at_hub) {
		if (d->made)
			due(m, d, c->now + IN_USE_AGAIN);
		settled(c, m, d);
	} else if (d->conflict && !is_missed(c, d)) {
		remove_record(c, m, d);
	} else if (d->made && d->synced == o.revision && !verify && !d->failures) {
		settled(c, m, d);
	} else if (d->absent) {
		ask(c, m, d, ASK_CREATE, NULL);
	} else if (d->conflict || d->foreign || (d->made && d->kind->type == TYPE_PRIORITY_CLASS)) {
		ask(c, m, d, ASK_READ, NULL);
	} else {
		ask(c, m, d, d->made ? ASK_PATCH : ASK_CREATE, NULL);
	}
}

/* ---- answers ---- */

static void on_done(struct core *c, struct member *m, struct dependency *d)
{
	d->synced = d->sent;
	put_made(c, m, d);
	if (d->stale || m->deleting)
		look(c, m, d, false);
	else
		settled(c, m, d);
}

static void on_foreign(struct core *c, struct member *m, struct dependency *d, bool same_value)
{
	drop_made(c, m, d);
	if (m->deleting || !is_wanted(c, m, d, true)) {
		leave(c, m, d);
	} else if (d->kind->type == TYPE_NAMESPACE ||
		   (d->kind->type == TYPE_PRIORITY_CLASS && same_value)) {
		d->foreign = true;
		settled(c, m, d);
	} else {
		conflict(c, m, d, dependency_call_conflict(c, d->kind, d->name));
	}
}

static void on_read(struct core *c, struct member *m, struct dependency *d,
		    const struct order_outcome *r)
{
	struct store_object o;
	struct dependency_seen seen;
	bool at_hub = registry_get(c->batch, d->kind, span_of(d->ns), span_of(d->name), &o) == 0;
	bool wanted = is_wanted(c, m, d, at_hub);

	if (dependency_call_read(c, r->body, at_hub ? &o : NULL, &seen) < 0) {
		fail(c, m, d, "the cluster's answer cannot be read");
		return;
	}
	if (!seen.ours) {
		on_foreign(c, m, d, seen.same_value);
		return;
	}
	if (!d->made)
		put_made(c, m, d);
	if (seen.deleting)
		fail(c, m, d, "it is still being deleted on the cluster");
	else if (!wanted || (d->kind->type == TYPE_PRIORITY_CLASS && at_hub && !seen.same_value))
		ask(c, m, d, ASK_DELETE, seen.uid);
	else if (d->refused)
		fail(c, m, d, d->trouble ? d->trouble : "the cluster refused the change");
	else
		ask(c, m, d, ASK_PATCH, NULL);
}

static void on_gone(struct core *c, struct member *m, struct dependency *d)
{
	drop_made(c, m, d);
	d->foreign = false;
	d->absent = true;
	look(c, m, d, false);
}

static void on_patch_refused(struct core *c, struct member *m, struct dependency *d,
			     const char *words)
{
	d->refused = true;
	free(d->trouble);
	d->trouble = xstrdup(words);
	ask(c, m, d, ASK_READ, NULL);
}

static void on_answer(struct core *c, struct member *m, struct dependency *d,
		      enum dependency_ask was, const struct order_outcome *r)
{
	bool ok = r->http_code / 100 == 2;

	if (was == ASK_CREATE && r->http_code == 409)
		ask(c, m, d, ASK_READ, NULL);
	else if (was == ASK_CREATE && !ok)
		fail(c, m, d, r->err.text);
	else if (was == ASK_DELETE ? ok || r->http_code == 404 : r->http_code == 404)
		on_gone(c, m, d);
	else if (was == ASK_PATCH && !ok)
		on_patch_refused(c, m, d, r->err.text);
	else if (!ok)
		fail(c, m, d, r->err.text);
	else if (was == ASK_READ)
		on_read(c, m, d, r);
	else
		on_done(c, m, d);
}

void dependency_outcome(struct core *c, struct member *m, const char *path,
			const struct order_outcome *r)
{
	struct dependency *d = map_get(&m->dependencies, span_of(path));

	if (!d || !d->ask)
		return;
	enum dependency_ask was = d->ask;
	d->ask = ASK_NOTHING;
	d->absent = false;
	if (r->outcome != OUTCOME_ANSWERED || r->http_code >= 500 || r->http_code == 429)
		fail(c, m, d, r->err.text);
	else
		on_answer(c, m, d, was, r);
}

/* ---- the interface ---- */

enum dependency_answer dependency_ensure(struct core *c, struct member *m, const struct kind *kind,
					 const char *ns, const char *name, const struct job *j)
{
	struct dependency *d = find(m, kind, ns, name);
	auto_buf path = BUF_INIT;

	if (m->deleting)
		return DEPENDENCY_FAILED;
	if (!d) {
		member_path(kind, ns, name, &path);
		d = add(m, kind, span_of(ns), span_of(name), path.ptr);
	}
	if (d->conflict && !d->ask)
		return DEPENDENCY_CONFLICT;
	if (is_shared(d) && (d->made || d->foreign) && !d->stale && !d->failures && !d->ask)
		return DEPENDENCY_READY;
	vec_push(&d->waiting, (struct waiter){j->number, j->dispatch.epoch});
	look(c, m, d, true);
	return DEPENDENCY_WAIT;
}

const char *dependency_conflict(const struct member *m, const struct kind *kind, const char *ns,
				const char *name)
{
	const struct dependency *d = m->conflicts ? find(m, kind, ns, name) : NULL;
	return d ? d->conflict : NULL;
}

void dependency_count(struct core *c, struct member *m, struct span path, int by)
{
	struct dependency *d = of_path(c, m, path);

	if (!d)
		return;
	if (by > 0)
		d->needed++;
	else if (d->needed > 0 && --d->needed == 0)
		due(m, d, c->now);
}

void dependency_doubt(struct member *m, const struct kind *kind, const char *ns, const char *name)
{
	struct dependency *d = find(m, kind, ns, name);

	if (d)
		d->stale = true;
}

void dependency_observe(struct core *c, const struct kind *kind, struct span ns, struct span name)
{
	auto_buf path = BUF_INIT;
	switch (kind->type) {
	case TYPE_NAMESPACE:
	case TYPE_PRIORITY_CLASS:
	case TYPE_CONFIG_MAP:
	case TYPE_SECRET:
	case TYPE_PERSISTENT_VOLUME_CLAIM:
	case TYPE_SERVICE_ACCOUNT:
		break;
	default:
		return;
	}
	auto_free char *n = xstrndup(ns.ptr ? ns.ptr : "", ns.len);
	auto_free char *text = xstrndup(name.ptr, name.len);

	member_path(kind, n, text, &path);
	vec_foreach (&c->members, m) {
		struct dependency *d = *m ? map_get(&(*m)->dependencies, buf_span(&path)) : NULL;
		if (!d)
			continue;
		d->stale = true;
		due(*m, d, c->now);
	}
}

void dependency_timers(struct core *c, struct member *m)
{
	if (!m->dependencies_due || m->dependencies_due > c->now)
		return;
	if (m->condition != MEMBER_READY) {
		m->dependencies_due = c->now + USEC_PER_SEC;
		return;
	}
	m->dependencies_due = 0;
	struct dependencies all = all_of(m);
	vec_foreach (&all, p) {
		struct dependency *d = *p;
		if (!d->retry_at)
			continue;
		if (d->ask)
			d->retry_at = 0; /* its answer looks again when it is stale */
		else if (d->retry_at > c->now || registry_batch_full(c->batch))
			due(m, d, d->retry_at);
		else
			look(c, m, d, false);
	}
	vec_done(&all);
}

/* ---- unjoin ---- */

bool dependency_clean(struct core *c, struct member *m)
{
	size_t under_way = 0, left = 0;

	map_foreach (&m->dependencies, e)
		under_way += ((struct dependency *)e->value)->ask != ASK_NOTHING;
	struct dependencies all = all_of(m);
	vec_foreach (&all, p) {
		struct dependency *d = *p;
		left++;
		if (d->ask || d->retry_at > c->now || under_way >= CLEAN_CALLS ||
		    registry_batch_full(c->batch))
			continue;
		under_way += d->made;
		look(c, m, d, false);
	}
	vec_done(&all);
	if (left && !m->unjoin_at)
		m->unjoin_at = c->now + USEC_PER_SEC;
	return left == 0;
}

/* ---- restart ---- */

struct restore {
	struct core *c;
	struct member *m;
	size_t skip;
};

static int restore_made(void *arg, struct span key, struct span value)
{
	const struct restore *r = arg;
	struct span path = span_make(key.ptr + r->skip, key.len - r->skip);
	struct dependency *d = of_path(r->c, r->m, path);

	if (!d)
		return 0;
	d->made = true;
	if (value.len == sizeof(d->synced))
		memcpy(&d->synced, value.ptr, sizeof(d->synced));
	due(r->m, d, r->c->now);
	return 0;
}

static int restore_needs(void *arg, struct span key, struct span value)
{
	const struct restore *r = arg;

	(void)key;
	while (value.len)
		dependency_count(r->c, r->m, span_split(&value, '\n'), 1);
	return 0;
}

void dependency_restore(struct core *c, struct member *m)
{
	struct restore r = {.c = c, .m = m};
	struct store_reader *reader;
	auto_buf made = BUF_INIT, need = BUF_INIT;

	if (registry_reader(c->batch, kind_by_type(c->kinds, TYPE_CLUSTER), &reader, NULL) < 0)
		return;
	row_key(m, "/", &made);
	r.skip = made.len - 1;
	(void)store_scan_aux(reader, STORE_AUX_SETTING, buf_span(&made), restore_made, &r);
	buf_addf(&need, "need/%u/", m->number);
	(void)store_scan_aux(reader, STORE_AUX_SETTING, buf_span(&need), restore_needs, &r);
}
