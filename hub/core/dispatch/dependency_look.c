#include "core/dispatch/dependency_look.h"

#include "core/admission/settle.h"
#include "core/dispatch/courier.h"
#include "core/dispatch/dependency.h"
#include "core/dispatch/prepare.h"
#include "core/job.h"
#include "core/member.h"

#define LOOK_AGAIN   (30 * USEC_PER_SEC) /* at a conflict */
#define IN_USE_AGAIN (5 * USEC_PER_SEC)	 /* gone at the hub, used by copies */

/* ---- who needs it ---- */

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
	if (dependency_record_is_shared(d))
		return at_hub || is_used(c, m, d);
	if (d->kind->type == TYPE_PERSISTENT_VOLUME_CLAIM)
		return at_hub;
	return at_hub && (d->needed > 0 || d->waiting.len > 0 || (d->conflict && is_missed(c, d)));
}

/* ---- the end of a look ---- */

static void wake(struct core *c, struct member *m, struct dependency *d,
		 enum dependency_answer answer, const char *words)
{
	struct VEC(struct dependency_waiter)
	    waiting = {d->waiting.items, d->waiting.len, d->waiting.cap};

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
		if (dispatch_is_free(&j->dispatch) && !j->finished && !j->deleting && !j->gone &&
		    prepare_needs(c, j, d->kind, d->ns, d->name))
			settle_offer(c, j);
	}
}

static void remove_record(struct core *c, struct member *m, struct dependency *d)
{
	clear_conflict(c, m, d);
	dependency_record_remove(m, d);
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
	dependency_record_due(m, d, c->now + dispatch_backoff(d->failures));
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
	dependency_record_drop_made(c, m, d);
	if (news) {
		log_warn(c->log, "conflict", "cluster=%s path=%s reason=\"%s\"", m->name, d->path,
			 take_words);
		tell_users(c, m, d);
	}
	dependency_record_due(m, d, c->now + LOOK_AGAIN);
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
		dependency_record_drop_made(c, m, d);
	}
	if (d->made) {
		ask(c, m, d, ASK_READ, NULL);
	} else if (d->waiting.len) {
		settled(c, m, d);
	} else if (d->needed == 0 || m->deleting) {
		remove_record(c, m, d);
	}
}

void dependency_look_once(struct core *c, struct member *m, struct dependency *d, bool verify)
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
			dependency_record_due(m, d, c->now + IN_USE_AGAIN);
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
	dependency_record_put_made(c, m, d);
	if (d->stale || m->deleting)
		dependency_look_once(c, m, d, false);
	else
		settled(c, m, d);
}

static void on_foreign(struct core *c, struct member *m, struct dependency *d, bool same_value)
{
	dependency_record_drop_made(c, m, d);
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
		dependency_record_put_made(c, m, d);
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
	dependency_record_drop_made(c, m, d);
	d->foreign = false;
	d->absent = true;
	dependency_look_once(c, m, d, false);
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

void dependency_look_outcome(struct core *c, struct member *m, const char *path,
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
