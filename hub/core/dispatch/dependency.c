#include "core/dispatch/dependency.h"

#include "core/dispatch/dependency_look.h"
#include "core/member.h"

#define CLEAN_CALLS 64 /* of one unjoin at a time */

enum dependency_answer dependency_ensure(struct core *c, struct member *m, const struct kind *kind,
					 const char *ns, const char *name, const struct job *j)
{
	struct dependency *d = dependency_record_find(m, kind, ns, name);
	auto_buf path = BUF_INIT;

	if (m->deleting)
		return DEPENDENCY_FAILED;
	if (!d) {
		member_path(kind, ns, name, &path);
		d = dependency_record_add(m, kind, span_of(ns), span_of(name), path.ptr);
	}
	if (d->conflict && !d->ask)
		return DEPENDENCY_CONFLICT;
	if (dependency_record_is_shared(d) && (d->made || d->foreign) && !d->stale &&
	    !d->failures && !d->ask)
		return DEPENDENCY_READY;
	vec_push(&d->waiting,
		 (struct dependency_waiter){j ? j->number : 0, j ? j->dispatch.epoch : 0});
	dependency_look_once(c, m, d, true);
	return DEPENDENCY_WAIT;
}

const char *dependency_conflict(const struct member *m, const struct kind *kind, const char *ns,
				const char *name)
{
	const struct dependency *d =
	    m->conflicts ? dependency_record_find(m, kind, ns, name) : NULL;
	return d ? d->conflict : NULL;
}

void dependency_count(struct core *c, struct member *m, struct span path, int by)
{
	struct dependency *d = dependency_record_of_path(c, m, path);

	if (!d)
		return;
	if (by > 0)
		d->needed++;
	else if (d->needed > 0 && --d->needed == 0)
		dependency_record_due(m, d, c->now);
}

void dependency_doubt(struct member *m, const struct kind *kind, const char *ns, const char *name)
{
	struct dependency *d = dependency_record_find(m, kind, ns, name);

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
		dependency_record_due(*m, d, c->now);
	}
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
			dependency_record_due(m, d, d->retry_at);
		else
			dependency_look_once(c, m, d, false);
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
		dependency_look_once(c, m, d, false);
	}
	vec_done(&all);
	if (left && !m->unjoin_at)
		m->unjoin_at = c->now + USEC_PER_SEC;
	return left == 0;
}
