#include "core/dispatch/prepare.h"

#include "base/json.h"
#include "core/dispatch/courier.h"
#include "core/job.h"
#include "core/member.h"

#include <errno.h>

/* One entry of a job's list. */
struct thing {
	const struct kind *kind;
	char *ns, *name; /* ns "" for cluster scope */
	bool cached;	 /* remembered per member */
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
	*ret = (struct thing){.cached = true};
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
	ret->cached = false;
	return true;
}

static char *thing_key(const struct thing *t)
{
	auto_buf path = BUF_INIT;
	member_path(t->kind, t->ns, t->name, &path);
	return buf_steal(&path, NULL);
}

static struct prepared_thing *prepared(struct member *m, const char *key)
{
	struct prepared_thing *p = map_get(&m->prepared, span_of(key));
	if (!p) {
		p = xcalloc(1, sizeof(*p));
		map_put(&m->prepared, span_of(key), p);
	}
	return p;
}

/* What identifies and owns an object at the hub stays there. */
static void strip(struct cJSON *tree)
{
	static const char *const gone[] = {"uid",
					   "resourceVersion",
					   "generation",
					   "creationTimestamp",
					   "managedFields",
					   "ownerReferences",
					   "finalizers",
					   "selfLink",
					   "deletionTimestamp"};
	struct cJSON *meta = json_get(tree, "metadata");

	for (size_t i = 0; i < ARRAY_LEN(gone); i++)
		json_remove(meta, gone[i]);
	json_remove(tree, "status");
}

/* The object that goes to the member; NULL when the hub has none of that name. */
static char *thing_body(struct core *c, const struct thing *t, size_t *ret_len)
{
	struct store_object o;
	auto_json *tree = NULL;
	auto_buf out = BUF_MAX(STORE_MAX_OBJECT);

	if (registry_get(c->batch, t->kind, span_of(t->ns), span_of(t->name), &o) < 0 ||
	    object_tree(&o, &tree, NULL) < 0)
		return NULL;
	strip(tree);
	if (t->kind->type == TYPE_NAMESPACE)
		json_remove(tree, "spec");
	struct cJSON *labels = json_ensure_object(json_get(tree, "metadata"), "labels");
	if (labels)
		json_set_str(labels, COPY_LABEL_HUB_UID, c->hub_uid);
	json_print(tree, &out);
	return buf_steal(&out, ret_len);
}

static bool ask(struct core *c, struct job *j, struct member *m, const struct thing *t,
		const char *key)
{
	auto_buf path = BUF_INIT;
	size_t len = 0;
	char *body = thing_body(c, t, &len);

	if (!body) {
		/* A dependency that is not at the hub may exist on the member; its pods will say.
		 */
		if (!t->cached)
			job_event_add(c, j, "Warning", "GetDependenciesFailed",
				      "%s %s/%s does not exist at the hub and is not propagated",
				      t->kind->kind, t->ns, t->name);
		return false;
	}
	member_path(t->kind, t->ns, NULL, &path);
	struct order *o = order_create(ORDER_CALL, m->number);
	o->method = "POST";
	o->path = buf_steal(&path, NULL);
	o->content_type = "application/json";
	o->body = body;
	o->body_len = len;
	courier_call(c, o,
		     (struct call){.purpose = CALL_PREPARE,
				   .job = j->number,
				   .epoch = j->dispatch.epoch,
				   .member = m->number,
				   .thing = xstrdup(key)});
	return true;
}

void prepare_step(struct core *c, struct job *j, struct member *m)
{
	struct thing t;

	while (thing_at(c, j, j->prepare_at, &t)) {
		auto_free char *key = thing_key(&t);
		struct prepared_thing *p = t.cached ? prepared(m, key) : NULL;
		bool wait = false;
		if (p && p->state == PREPARED_ASKED) {
			vec_push(&p->waiting,
				 (struct prepared_waiter){j->number, j->dispatch.epoch});
			wait = true;
		} else if (!p || p->state == PREPARED_NO) {
			wait = ask(c, j, m, &t, key);
			if (p && wait)
				p->state = PREPARED_ASKED;
		}
		thing_done(&t);
		if (wait)
			return;
		j->prepare_at++;
	}
	courier_feed(c, j, &(struct dispatch_event){EVENT_PREPARED});
}

static void made_key(const struct member *m, const char *path, struct buf *out)
{
	buf_addf(out, "made/%u%s", m->number, path);
}

static void go_on(struct core *c, struct member *m, struct job *j, uint64_t epoch, bool ok)
{
	if (!j || member_of(c, j) != m || j->dispatch.epoch != epoch || !j->dispatch.in_flight)
		return;
	if (ok) {
		j->prepare_at++;
		prepare_step(c, j, m);
	} else {
		courier_feed(c, j, &(struct dispatch_event){EVENT_NOT_SENT});
	}
}

void prepare_outcome(struct core *c, struct member *m, struct job *j, const struct call *call,
		     const struct order_outcome *r)
{
	const char *thing = call->thing;
	struct prepared_thing *p = map_get(&m->prepared, span_of(thing));
	bool ok =
	    r->outcome == OUTCOME_ANSWERED && (r->http_code / 100 == 2 || r->http_code == 409);
	auto_buf key = BUF_INIT;

	if (r->outcome == OUTCOME_ANSWERED && r->http_code / 100 == 2) {
		made_key(m, thing, &key);
		registry_put_aux(c->batch, false, STORE_AUX_SETTING, buf_span(&key), SPAN("1"));
	}
	if (!ok && j) {
		free(j->dispatch_message);
		j->dispatch_message = xstrdup(r->err.text);
	}
	if (p) {
		struct VEC(struct prepared_waiter)
		    waiting = {p->waiting.items, p->waiting.len, p->waiting.cap};
		memset(&p->waiting, 0, sizeof(p->waiting));
		p->state = ok ? PREPARED_YES : PREPARED_NO;
		vec_foreach (&waiting, n)
			go_on(c, m, job_by_number(c, n->job), n->epoch, ok);
		vec_done(&waiting);
	}
	go_on(c, m, j, call->epoch, ok);
}

void prepare_forget(struct core *c, struct member *m, const struct job *j)
{
	struct thing t;

	if (!m)
		return;
	(void)thing_at(c, j, 0, &t);
	auto_free char *key = thing_key(&t);
	struct prepared_thing *p = map_get(&m->prepared, span_of(key));
	if (p && p->state == PREPARED_YES)
		p->state = PREPARED_NO;
	thing_done(&t);
}

/* ---- unjoin ---- */

struct clean {
	struct core *c;
	struct member *m;
	struct VEC(char *) paths;
};

static int collect(void *arg, struct span key, struct span value)
{
	struct clean *clean = arg;
	const char *slash = memchr(key.ptr + 5, '/', key.len - 5);

	(void)value;
	if (slash)
		vec_push(&clean->paths, xstrndup(slash, (size_t)(key.ptr + key.len - slash)));
	return clean->paths.len >= 64 ? 1 : 0;
}

/* A namespace that runs pods of others is not ours to take away. */
static bool has_foreign_pods(const struct member *m, const char *path)
{
	static const char prefix[] = "/api/v1/namespaces/";
	size_t n = sizeof(prefix) - 1;

	if (strncmp(path, prefix, n) != 0 || strchr(path + n, '/'))
		return false;
	map_foreach (&m->pods, e) {
		const struct member_pod *p = e->value;
		const char *slash = memchr(e->key, '/', e->key_len);
		if (slash && (size_t)(slash - e->key) == strlen(path + n) &&
		    memcmp(e->key, path + n, strlen(path + n)) == 0 && p->job == 0 && !p->object)
			return true;
	}
	return false;
}

bool prepare_clean(struct core *c, struct member *m)
{
	struct clean clean = {.c = c, .m = m};
	struct store_reader *reader;
	auto_buf prefix = BUF_INIT;

	if (m->cleaning > 0)
		return false;
	made_key(m, "/", &prefix);
	if (registry_reader(c->batch, kind_by_type(c->kinds, TYPE_CLUSTER), &reader, NULL) < 0)
		return false;
	(void)store_scan_aux(reader, STORE_AUX_SETTING, buf_span(&prefix), collect, &clean);
	bool nothing = clean.paths.len == 0;
	vec_foreach (&clean.paths, path) {
		if (has_foreign_pods(m, *path)) {
			log_warn(c->log, "namespace kept: it runs pods of others",
				 "cluster=%s path=%s", m->name, *path);
			prepare_cleaned(c, m, *path, 404);
		} else {
			struct order *o = order_create(ORDER_CALL, m->number);
			o->method = "DELETE";
			o->path = xstrdup(*path);
			m->cleaning++;
			courier_call(c, o,
				     (struct call){.purpose = CALL_CLEAN,
						   .member = m->number,
						   .thing = xstrdup(*path)});
		}
		free(*path);
	}
	vec_done(&clean.paths);
	return nothing;
}

void prepare_cleaned(struct core *c, struct member *m, const char *path, int http_code)
{
	auto_buf key = BUF_INIT;

	if (m->cleaning > 0)
		m->cleaning--;
	if (http_code / 100 == 2 || http_code == 404 || http_code == 409) {
		made_key(m, path, &key);
		registry_delete_aux(c->batch, false, STORE_AUX_SETTING, buf_span(&key));
	}
	m->unjoin_at = c->now + (http_code ? 0 : USEC_PER_SEC);
}
