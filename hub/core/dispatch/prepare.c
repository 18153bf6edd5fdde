#include "core/dispatch/prepare.h"

#include "core/dispatch/courier.h"
#include "core/job.h"
#include "core/member.h"
#include "core/provisioning/request_try.h"

/* One entry of a job's list. */
struct thing {
	const struct kind *kind;
	char *ns, *name; /* ns "" for cluster scope */
	bool optional;	 /* nothing to be done when the hub has none */
};

static void thing_done(struct thing *t)
{
	free(t->ns);
	free(t->name);
}

static bool is_new_class(const struct job *j, size_t set)
{
	struct span name = j->digest.pod_sets[set].pod.priority_class;

	if (!name.len || span_starts(name, SPAN("system-")))
		return false;
	for (size_t i = 0; i < set; i++)
		if (span_eq(j->digest.pod_sets[i].pod.priority_class, name))
			return false;
	return true;
}

static uint16_t dependency_type(const struct job_dependency *d)
{
	switch (d->kind) {
	case DEPENDENCY_CONFIG_MAP:
		return TYPE_CONFIG_MAP;
	case DEPENDENCY_SECRET:
		return TYPE_SECRET;
	case DEPENDENCY_PVC:
		return TYPE_PERSISTENT_VOLUME_CLAIM;
	case DEPENDENCY_SERVICE_ACCOUNT:
	default:
		return TYPE_SERVICE_ACCOUNT;
	}
}

/* The at-th thing of the job, or false behind the last. */
static bool thing_at(const struct core *c, const struct job *j, size_t at, struct thing *ret)
{
	*ret = (struct thing){.optional = true};
	if (at == 0) {
		ret->kind = kind_by_type(c->kinds, TYPE_NAMESPACE);
		ret->ns = xstrdup("");
		ret->name = xstrdup(j->ns);
		return true;
	}
	at--;
	for (size_t i = 0; i < j->digest.n_pod_sets; i++) {
		if (!is_new_class(j, i) || at-- > 0)
			continue;
		struct span name = j->digest.pod_sets[i].pod.priority_class;
		ret->kind = kind_by_type(c->kinds, TYPE_PRIORITY_CLASS);
		ret->ns = xstrdup("");
		ret->name = xstrndup(name.ptr, name.len);
		return true;
	}
	if (!j->propagate_deps || at >= j->digest.n_dependencies)
		return false;
	const struct job_dependency *d = &j->digest.dependencies[at];
	ret->kind = kind_by_type(c->kinds, dependency_type(d));
	ret->ns = xstrdup(j->ns);
	ret->name = xstrndup(d->name.ptr, d->name.len);
	ret->optional = false;
	return true;
}

/* ---- before the copy ---- */

static bool is_at_hub(struct core *c, struct job *j, const struct thing *t)
{
	struct store_object o;

	if (registry_get(c->batch, t->kind, span_of(t->ns), span_of(t->name), &o) == 0)
		return true;
	/* A dependency that is not at the hub may exist on the member; its pods will say. */
	if (!t->optional)
		job_event_add(c, j, "Warning", "GetDependenciesFailed",
			      "%s %s/%s does not exist at the hub and is not propagated",
			      t->kind->kind, t->ns, t->name);
	return false;
}

static void note(struct job *j, const char *words)
{
	free(j->dispatch_message);
	j->dispatch_message = words && words[0] ? xstrdup(words) : NULL;
}

/* The job goes elsewhere, or waits with the verdict. While a create may have landed, that is to
 * be looked at first: the step that follows a preparation does. */
static void refuse(struct core *c, struct job *j, const struct member *m, const char *words)
{
	job_event_add(c, j, "Warning", "DependencyConflict", "Not sent to cluster %s: %s", m->name,
		      words ? words : "something that it needs is in conflict there");
	note(j, words);
	courier_feed(c, j, &(struct dispatch_event){EVENT_WITHDRAW});
	if (j->dispatch.step == DISPATCH_WITHDRAWING)
		courier_feed(c, j, &(struct dispatch_event){EVENT_PREPARED});
}

void prepare_step(struct core *c, struct job *j, struct member *m)
{
	struct thing t;

	while (thing_at(c, j, j->prepare_at, &t)) {
		enum dependency_answer answer = DEPENDENCY_READY;
		if (is_at_hub(c, j, &t))
			answer = dependency_ensure(c, m, t.kind, t.ns, t.name, j);
		const char *words = dependency_conflict(m, t.kind, t.ns, t.name);
		thing_done(&t);
		if (answer == DEPENDENCY_CONFLICT)
			refuse(c, j, m, words);
		else if (answer == DEPENDENCY_FAILED)
			courier_feed(c, j, &(struct dispatch_event){EVENT_NOT_SENT});
		if (answer != DEPENDENCY_READY)
			return;
		j->prepare_at++;
	}
	courier_feed(c, j, &(struct dispatch_event){EVENT_PREPARED});
}

void prepare_told(struct core *c, struct member *m, uint64_t job, uint64_t epoch,
		  enum dependency_answer answer, const char *words)
{
	struct job *j = job_by_number(c, job);

	if (job == 0)
		request_try_told(c, m);
	if (!j || member_of(c, j) != m || j->dispatch.epoch != epoch || !j->dispatch.in_flight)
		return;
	if (answer == DEPENDENCY_READY) {
		j->prepare_at++;
		prepare_step(c, j, m);
	} else if (answer == DEPENDENCY_CONFLICT) {
		prepare_step(c, j, m);
	} else {
		note(j, words);
		courier_feed(c, j, &(struct dispatch_event){EVENT_NOT_SENT});
	}
}

void prepare_forget(struct core *c, struct member *m, const struct job *j)
{
	if (m)
		dependency_doubt(m, kind_by_type(c->kinds, TYPE_NAMESPACE), "", j->ns);
}

/* ---- what it needs ---- */

bool prepare_needs(const struct core *c, const struct job *j, const struct kind *kind,
		   const char *ns, const char *name)
{
	struct thing t;
	bool found = false;

	if (ns[0] && strcmp(ns, j->ns) != 0)
		return false;
	for (size_t i = 0; !found && thing_at(c, j, i, &t); i++) {
		found = t.kind == kind && strcmp(t.name, name) == 0;
		thing_done(&t);
	}
	return found;
}

static const char *conflict_on(const struct core *c, const struct job *j, const struct member *m)
{
	const char *words = NULL;
	struct thing t;

	for (size_t i = 0; !words && thing_at(c, j, i, &t); i++) {
		words = dependency_conflict(m, t.kind, t.ns, t.name);
		thing_done(&t);
	}
	return words;
}

size_t prepare_refusals(const struct core *c, const struct job *j, struct arena *mem,
			const struct placement_refusal **ret)
{
	struct placement_refusal *out = NULL;
	size_t n = 0;

	vec_foreach (&c->members, p) {
		const char *words = *p && (*p)->conflicts ? conflict_on(c, j, *p) : NULL;
		if (!words)
			continue;
		if (!out)
			out = arena_array(mem, struct placement_refusal, c->members.len);
		out[n++] = (struct placement_refusal){arena_span(mem, span_of((*p)->name)),
						      arena_span(mem, span_of(words))};
	}
	*ret = out;
	return n;
}

/* ---- the row ---- */

static void row_key(const struct job *j, uint32_t member, struct buf *out)
{
	buf_addf(out, "need/%u/%s", member, j->uid_text);
}

static void count(struct core *c, const struct job *j, int by)
{
	struct member *m = member_by_number(c, j->needs_member);
	struct span rest = span_of(j->needs);

	while (m && rest.len)
		dependency_count(c, m, span_split(&rest, '\n'), by);
}

static void drop_needs(struct core *c, struct job *j)
{
	auto_buf key = BUF_INIT;

	row_key(j, j->needs_member, &key);
	registry_delete_aux(c->batch, false, STORE_AUX_SETTING, buf_span(&key));
	count(c, j, -1);
	free(j->needs);
	j->needs = NULL;
}

static void take_needs(struct core *c, struct job *j)
{
	auto_buf key = BUF_INIT, paths = BUF_INIT;
	struct thing t;

	for (size_t i = 0; thing_at(c, j, i, &t); i++) {
		if (!t.optional) {
			if (paths.len)
				buf_add_char(&paths, '\n');
			member_path(t.kind, t.ns, t.name, &paths);
		}
		thing_done(&t);
	}
	j->needs_member = j->dispatch.member;
	row_key(j, j->needs_member, &key);
	registry_put_aux(c->batch, false, STORE_AUX_SETTING, buf_span(&key), buf_span(&paths));
	j->needs = buf_steal(&paths, NULL);
	count(c, j, 1);
}

void prepare_flush(struct core *c, struct job *j)
{
	bool placed = j->dispatch.step != DISPATCH_IDLE;

	if (j->needs && (!placed || j->needs_member != j->dispatch.member))
		drop_needs(c, j);
	if (!j->needs && placed && j->propagate_deps && j->digest.n_dependencies)
		take_needs(c, j);
}

void prepare_revive(struct core *c, struct job *j)
{
	auto_buf key = BUF_INIT;
	struct span value;

	if (j->dispatch.step == DISPATCH_IDLE)
		return;
	row_key(j, j->dispatch.member, &key);
	if (registry_get_aux(c->batch, false, STORE_AUX_SETTING, buf_span(&key), &value) < 0)
		return;
	j->needs = xstrndup(value.ptr, value.len);
	j->needs_member = j->dispatch.member;
}
