#include "core/member_event.h"

#include "base/json.h"
#include "core/binding.h"
#include "core/capacity.h"
#include "core/job.h"
#include "core/member.h"
#include "core/object_writer.h"

#include <errno.h>
#include <inttypes.h>

#define EARLY_MAX   256 /* kept for their pods, per member */
#define EARLY_WAIT  (3 * USEC_PER_SEC)
#define EARLY_AGAIN (100 * USEC_PER_MS)

/* ---- whom it is about ---- */

struct subject {
	const struct kind *kind; /* the job's */
	struct span ns, name;
	char uid[OBJECT_UID_TEXT];
};

struct heard {
	struct span json, name, ns, reason, component;
	struct span kind, object, uid; /* of involvedObject */
	uint64_t count;
};

static struct span plain(struct span object, const char *key)
{
	struct span v;
	return json_text_member(object, key, &v) == 0 ? json_text_plain(v) : SPAN_NONE;
}

static bool hear(struct span json, struct heard *ret)
{
	struct span meta, about, source, v;
	int64_t count = 1;

	*ret = (struct heard){.json = json};
	if (json_text_member(json, "metadata", &meta) < 0 ||
	    json_text_member(json, "involvedObject", &about) < 0)
		return false;
	ret->name = plain(meta, "name");
	ret->ns = plain(about, "namespace");
	ret->kind = plain(about, "kind");
	ret->object = plain(about, "name");
	ret->uid = plain(about, "uid");
	ret->reason = plain(json, "reason");
	if (json_text_member(json, "source", &source) == 0)
		ret->component = plain(source, "component");
	if (!ret->component.len)
		ret->component = plain(json, "reportingComponent");
	if (json_text_member(json, "count", &v) == 0)
		(void)json_text_int64(v, &count);
	ret->count = count > 0 ? (uint64_t)count : 1;
	return ret->name.len && ret->name.len <= STORE_MAX_NAME && ret->ns.len && ret->object.len;
}

static void subject_of(const struct job *j, struct subject *ret)
{
	ret->kind = j->kind;
	ret->ns = span_of(j->ns);
	ret->name = span_of(j->name);
	memcpy(ret->uid, j->uid_text, sizeof(ret->uid));
}

/* A job that is over has no record; its binding says where its copy is. */
static bool find_finished(struct core *c, const struct member *m, const struct heard *h,
			  const struct kind *kind, struct subject *ret)
{
	char binding[BINDING_NAME_MAX];
	struct dispatch_state s;
	struct store_object o;
	auto_free char *name = xstrndup(h->object.ptr, h->object.len);

	if (registry_get(c->batch, kind_by_type(c->kinds, TYPE_RESOURCE_BINDING), h->ns,
			 span_of(binding_name(kind, name, binding)), &o) < 0 ||
	    binding_dispatch(&o, &s) < 0 || s.member != m->number || !span_is(h->uid, s.uid) ||
	    registry_get(c->batch, kind, h->ns, h->object, &o) < 0)
		return false;
	*ret = (struct subject){.kind = kind, .ns = h->ns, .name = h->object};
	object_uid_format(o.uid, ret->uid);
	return true;
}

/* A copy is made suspended and then started: that is how it is sent, and happens to nobody. Like
 * the condition Suspended it is told only of a job that was taken back. */
static bool is_of_dispatch(const struct job *j, const struct heard *h)
{
	return (span_is(h->reason, "Suspended") || span_is(h->reason, "SuspendedJobs")) &&
	       j->dispatch.step != DISPATCH_STOPPING && j->dispatch.step != DISPATCH_PARKED;
}

static bool find_job(struct core *c, const struct member *m, const struct heard *h,
		     struct subject *ret)
{
	const struct kind *kind = NULL;

	for (size_t i = 0; i < c->kinds->n_kinds && !kind; i++)
		if (c->kinds->kinds[i]->is_job && span_is(h->kind, c->kinds->kinds[i]->kind))
			kind = c->kinds->kinds[i];
	if (!kind)
		return false;
	const struct job *j = job_by_key(c, kind->type, h->ns, h->object);
	if (!j)
		return find_finished(c, m, h, kind, ret);
	if (member_of(c, j) != m || !span_is(h->uid, j->dispatch.uid) || is_of_dispatch(j, h))
		return false;
	subject_of(j, ret);
	return true;
}

/* -EAGAIN: the pod is not known yet. */
static int find_pod(const struct core *c, const struct member *m, const struct heard *h,
		    struct subject *ret)
{
	auto_buf key = BUF_INIT;

	buf_add_span(&key, h->ns);
	buf_add_char(&key, '/');
	buf_add_span(&key, h->object);
	const struct member_pod *p = map_get(&m->pods, buf_span(&key));
	const struct job *j = p ? job_by_number(c, p->job) : NULL;
	if (!p)
		return capacity_pod_is_known(c, m, buf_span(&key)) ? -ENOENT : -EAGAIN;
	if (!j)
		return -ENOENT;
	subject_of(j, ret);
	return 0;
}

/* ---- writing ---- */

static void add_text(struct buf *b, const char *key, struct span raw)
{
	if (!raw.len)
		return;
	buf_addf(b, ",\"%s\":", key);
	buf_add_span(b, raw);
}

static void add_parts(struct buf *b, struct span json, const char *const *keys, size_t n)
{
	struct span v;

	for (size_t i = 0; i < n; i++)
		if (json_text_member(json, keys[i], &v) == 0)
			add_text(b, keys[i], v);
}

static void begin(struct core *c, struct object_writer *w, struct span ns, struct span name,
		  const struct store_object *old, const struct member *m)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_EVENT);
	struct managed_write by = core_manager(c, kind);
	uint8_t uid[STORE_UID_LEN];
	auto_buf labels = BUF_INIT;

	if (old)
		memcpy(uid, old->uid, sizeof(uid));
	else
		registry_new_uid(c->registry, uid);
	buf_add_str(&labels, "{\"muster.dev/cluster\":");
	buf_add_json_str(&labels, span_of(m->name));
	buf_add_char(&labels, '}');
	object_writer_begin(w, &(struct object_head){.kind = kind,
						     .by = &by,
						     .spec_only = true,
						     .ns = ns,
						     .name = name,
						     .uid = uid,
						     .created = c->now,
						     .labels = labels.ptr});
}

static void add_about(struct buf *b, const struct subject *s)
{
	char api_version[KIND_API_VERSION_MAX];

	buf_addf(b, ",\"involvedObject\":{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"namespace\":",
		 kind_api_version(s->kind, api_version), s->kind->kind);
	buf_add_json_str(b, s->ns);
	buf_add_str(b, ",\"name\":");
	buf_add_json_str(b, s->name);
	buf_addf(b, ",\"uid\":\"%s\"}", s->uid);
}

static void put(struct core *c, struct object_writer *w, struct span ns, struct span name)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_EVENT);
	struct object_draft draft;

	if (object_writer_end(w, &draft, NULL) == 0)
		(void)core_put(c, kind, ns, name, &draft);
}

/* Told again, with nothing new in it. */
static bool is_told(const struct store_object *old, const struct heard *h)
{
	static const char *const keys[] = {"count", "lastTimestamp", "series", "message"};
	struct span a, b;

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		a = b = SPAN_NONE;
		(void)json_text_member(old->json, keys[i], &a);
		(void)json_text_member(h->json, keys[i], &b);
		if (!span_eq(a, b))
			return false;
	}
	return true;
}

/* The member's Event under its own name; about `s`, or as it is when that is NULL. False when it
 * is there already. */
static bool write_own(struct core *c, const struct member *m, const struct heard *h,
		      const struct subject *s, uint64_t *ret_more)
{
	static const char *const keys[] = {
	    "reason",		"message", "source",  "firstTimestamp",
	    "lastTimestamp",	"count",   "type",    "eventTime",
	    "series",		"action",  "related", "reportingComponent",
	    "reportingInstance"};
	const struct kind *kind = kind_by_type(c->kinds, TYPE_EVENT);
	struct object_writer w;
	struct store_object old;
	struct span about, v;
	int64_t before = 0;
	bool known = registry_get(c->batch, kind, h->ns, h->name, &old) == 0;

	if (known && is_told(&old, h))
		return false;
	if (known && json_text_member(old.json, "count", &v) == 0)
		(void)json_text_int64(v, &before);
	*ret_more = h->count > (uint64_t)before ? h->count - (uint64_t)before : 1;
	begin(c, &w, h->ns, h->name, known ? &old : NULL, m);
	if (s)
		add_about(&w.text, s);
	else if (json_text_member(h->json, "involvedObject", &about) == 0)
		add_text(&w.text, "involvedObject", about);
	add_parts(&w.text, h->json, keys, ARRAY_LEN(keys));
	put(c, &w, h->ns, h->name);
	return true;
}

static uint64_t mix(uint64_t hash, struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		hash = (hash ^ (unsigned char)s.ptr[i]) * 0x100000001b3ULL;
	return (hash ^ 0xff) * 0x100000001b3ULL;
}

/* What pods of a job go through, told of the job. */
static void write_job(struct core *c, const struct member *m, const struct heard *h,
		      const struct subject *s, uint64_t more)
{
	static const char *const keys[] = {"type", "reason", "source", "reportingComponent",
					   "reportingInstance"};
	const struct kind *kind = kind_by_type(c->kinds, TYPE_EVENT);
	char name[STORE_MAX_NAME + 1], when[CLOCK_TEXT_MAX];
	struct object_writer w;
	struct store_object old;
	struct span v, first = SPAN_NONE;
	auto_buf words = BUF_INIT;
	int64_t count = 0;

	uint64_t key =
	    mix(mix(mix(0xcbf29ce484222325ULL, span_of(s->uid)), h->reason), h->component);
	(void)snprintf(name, sizeof(name), "%.230s.%016" PRIx64, s->name.ptr, key);
	bool known = registry_get(c->batch, kind, s->ns, span_of(name), &old) == 0;
	if (known && json_text_member(old.json, "count", &v) == 0)
		(void)json_text_int64(v, &count);
	if (known)
		(void)json_text_member(old.json, "firstTimestamp", &first);
	buf_addf(&words, "Pod %.*s: ", SPAN_ARGS(h->object));
	if (json_text_member(h->json, "message", &v) == 0)
		(void)json_text_string(v, &words);
	clock_format(c->now, when);
	begin(c, &w, s->ns, span_of(name), known ? &old : NULL, m);
	add_about(&w.text, s);
	add_parts(&w.text, h->json, keys, ARRAY_LEN(keys));
	buf_add_str(&w.text, ",\"message\":");
	buf_add_json_str(&w.text, buf_span(&words));
	if (first.len)
		add_text(&w.text, "firstTimestamp", first);
	else
		buf_addf(&w.text, ",\"firstTimestamp\":\"%s\"", when);
	buf_addf(&w.text, ",\"lastTimestamp\":\"%s\",\"count\":%" PRIu64 ",\"eventTime\":null",
		 when, (uint64_t)count + more);
	put(c, &w, s->ns, span_of(name));
}

/* 0: done with; -EAGAIN: its pod is not known yet. */
static int tell(struct core *c, struct member *m, struct span json)
{
	struct subject s;
	struct heard h;
	uint64_t more = 1;

	if (!hear(json, &h))
		return 0;
	if (!span_is(h.kind, "Pod")) {
		if (find_job(c, m, &h, &s))
			(void)write_own(c, m, &h, &s, &more);
		return 0;
	}
	int r = find_pod(c, m, &h, &s);
	if (r == 0 && write_own(c, m, &h, NULL, &more))
		write_job(c, m, &h, &s, more);
	return r == -EAGAIN ? r : 0;
}

/* ---- early ones ---- */

void member_event(struct core *c, struct member *m, const struct fact *f)
{
	if (f->deleted || !f->json.len || tell(c, m, f->json) == 0 || m->early.len >= EARLY_MAX)
		return;
	vec_push(&m->early, (struct early_event){xstrndup(f->json.ptr, f->json.len), f->json.len,
						 c->now + EARLY_WAIT});
	if (!m->early_due)
		m->early_due = c->now + EARLY_AGAIN;
}

void member_event_retry(struct core *c, struct member *m)
{
	size_t kept = 0;

	if (!m->early_due || m->early_due > c->now)
		return;
	for (size_t i = 0; i < m->early.len; i++) {
		struct early_event e = m->early.items[i];
		if (registry_batch_full(c->batch) ||
		    (tell(c, m, span_make(e.json, e.len)) < 0 && e.until > c->now))
			m->early.items[kept++] = e;
		else
			free(e.json);
	}
	m->early.len = kept;
	m->early_due = kept ? c->now + EARLY_AGAIN : 0;
}

void member_event_free_all(struct member *m)
{
	vec_foreach (&m->early, e)
		free(e->json);
	vec_done(&m->early);
}
