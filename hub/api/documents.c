#include "api/documents.h"

#include "api/gzip.h"
#include "api/paths.h"
#include "base/map.h"
#include "kube/discovery.h"
#include "kube/openapi_names.h"
#include "kube/openapi_v2.h"
#include "kube/openapi_v3.h"
#include <pthread.h>

struct document {
	const char *content_type;
	char etag[24]; /* with quotes */
	struct buf plain, zipped;
};

struct documents {
	const struct kind_set *kinds; /* a reference */
	pthread_mutex_t lock;	      /* of all here */
	struct map made;	      /* "<form> <path>" -> struct document */
};

struct documents *documents_create(const struct kind_set *kinds)
{
	struct documents *d = xcalloc(1, sizeof(*d));
	d->kinds = kind_set_ref(kinds);
	pthread_mutex_init(&d->lock, NULL);
	return d;
}

static void drop_all(struct documents *d)
{
	map_foreach (&d->made, e) {
		struct document *doc = e->value;
		buf_done(&doc->plain);
		buf_done(&doc->zipped);
		free(doc);
	}
	map_done(&d->made);
	d->made = MAP_INIT;
}

void documents_set_kinds(struct documents *d, const struct kind_set *kinds)
{
	pthread_mutex_lock(&d->lock);
	drop_all(d);
	kind_set_unref(d->kinds);
	d->kinds = kind_set_ref(kinds);
	pthread_mutex_unlock(&d->lock);
}

struct documents *documents_destroy(struct documents *d)
{
	if (!d)
		return NULL;
	drop_all(d);
	kind_set_unref(d->kinds);
	pthread_mutex_destroy(&d->lock);
	free(d);
	return NULL;
}

static struct span path_tail(struct span path, const char *head)
{
	struct span h = span_of(head);
	if (!span_starts(path, h))
		return SPAN_NONE;
	path = span_make(path.ptr + h.len, path.len - h.len);
	while (path.len && path.ptr[0] == '/')
		path = span_make(path.ptr + 1, path.len - 1);
	while (path.len && path.ptr[path.len - 1] == '/')
		path.len--;
	return path;
}

static bool is_path(struct span path, const char *want)
{
	struct span tail = path_tail(path, want);
	return tail.ptr && tail.len == 0;
}

static bool under(struct span path, const char *head)
{
	size_t n = strlen(head);
	return span_starts(path, span_of(head)) && (path.len == n || path.ptr[n] == '/');
}

bool documents_has(const struct request_info *i)
{
	return !i->is_resource &&
	       (under(i->path, "/api") || under(i->path, "/apis") || under(i->path, "/openapi") ||
		span_is(i->path, "/") || span_is(i->path, "/index.html"));
}

/* The forms in which the document of a path can be had. */
static unsigned forms_of(struct span path)
{
	if (span_is(path, "/openapi/v2"))
		return FORM_BIT(FORM_JSON) | FORM_BIT(FORM_OPENAPI_V2);
	if (is_path(path, "/api") || is_path(path, "/apis"))
		return FORM_BIT(FORM_JSON) | FORM_BIT(FORM_DISCOVERY_V2) |
		       FORM_BIT(FORM_DISCOVERY_V2BETA1) | FORM_YAML;
	return FORM_BIT(FORM_JSON) | (under(path, "/openapi") ? 0 : FORM_YAML);
}

static bool make_v3(const struct kind_set *kinds, struct span path, struct buf *out)
{
	struct span tail = path_tail(path, "/openapi/v3"), group = SPAN("");
	struct span root;
	if (span_is(path, "/openapi/v3")) {
		openapi_v3_index(kinds, out);
		return true;
	}
	root = span_split(&tail, '/');
	if (span_is(root, "apis"))
		group = span_split(&tail, '/');
	else if (!span_is(root, "api"))
		return false;
	return tail.ptr && openapi_v3_document(kinds, group, tail, out);
}

static bool make_openapi(const struct kind_set *kinds, struct span path, enum answer_form form,
			 struct buf *out)
{
	if (under(path, "/openapi/v3"))
		return make_v3(kinds, path, out);
	if (!span_is(path, "/openapi/v2"))
		return false;
	if (form == FORM_OPENAPI_V2)
		openapi_v2_document(kinds, out);
	else
		openapi_v2_json(kinds, out);
	return true;
}

static bool make_discovery(const struct kind_set *kinds, struct span path, enum answer_form form,
			   const char *address, struct buf *out)
{
	bool core = !under(path, "/apis");
	struct span tail = path_tail(path, core ? "/api" : "/apis"), group;
	if (!tail.len && form != FORM_JSON) {
		discovery_aggregated(kinds, core, form == FORM_DISCOVERY_V2 ? "v2" : "v2beta1",
				     out);
		return true;
	}
	if (!tail.len) {
		if (core)
			discovery_core_versions(address, out);
		else
			discovery_groups(kinds, out);
		return true;
	}
	if (core)
		return discovery_resources(kinds, SPAN(""), tail, out);
	group = span_split(&tail, '/');
	return tail.ptr ? discovery_resources(kinds, group, tail, out)
			: discovery_group(kinds, group, out);
}

static const char *type_of(enum answer_form form)
{
	switch (form) {
	case FORM_OPENAPI_V2:
		return OPENAPI_V2_TYPE;
	case FORM_DISCOVERY_V2:
		return DISCOVERY_V2_TYPE;
	case FORM_DISCOVERY_V2BETA1:
		return DISCOVERY_V2BETA1_TYPE;
	default:
		return "application/json";
	}
}

static struct document *make(const struct call *c)
{
	const struct kind_set *kinds = c->kinds;
	struct span path = c->info.path;
	enum answer_form form = c->accept.form;
	struct document *d = xcalloc(1, sizeof(*d));
	const char *url = c->listener->url, *address = url + strlen("https://");
	uint64_t h = 14695981039346656037u;
	bool ok;
	d->plain.max = (size_t)64 << 20;
	d->content_type = type_of(form);
	if (under(path, "/openapi"))
		ok = make_openapi(kinds, path, form, &d->plain);
	else if (under(path, "/api") || under(path, "/apis"))
		ok = make_discovery(kinds, path, form, address, &d->plain);
	else
		ok = paths_document(kinds, &d->plain);
	if (!ok || !buf_ok(&d->plain)) {
		buf_done(&d->plain);
		free(d);
		return NULL;
	}
	for (size_t i = 0; i < d->plain.len; i++)
		h = (h ^ (uint8_t)d->plain.ptr[i]) * 1099511628211u;
	snprintf(d->etag, sizeof(d->etag), "\"%016llx\"", (unsigned long long)h);
	if (d->plain.len > GZIP_MIN / 8) {
		buf_add_span(&d->zipped, buf_span(&d->plain));
		if (!gzip_whole(&d->zipped))
			buf_done(&d->zipped);
	}
	return d;
}

/* What a router of kube-apiserver says of versions that a group does not have; the other paths are
 * no pages, and those below /openapi/v3 are nothing at all. */
static void not_found(struct call *c)
{
	const struct request_info *i = &c->info;

	if (under(i->path, "/openapi/v3"))
		call_ok(c, 404, NULL);
	else if (i->version.len && openapi_is_own_group(i->group) &&
		 discovery_has_group(c->kinds, i->group))
		call_refuse(c, ERR_NOT_FOUND);
	else
		call_no_page(c);
}

static void answer(struct call *c, const struct document *d)
{
	struct answer *a = &c->answer;
	bool zip = d->zipped.len && !c->accept.yaml && negotiate_gzip(c->request->accept_encoding);
	buf_addf(&a->headers, "ETag: %s\r\nVary: Accept, Accept-Encoding\r\n", d->etag);
	if (span_is(c->request->if_none_match, d->etag)) {
		call_ok(c, 304, NULL);
		return;
	}
	call_ok(c, 200, d->content_type);
	if (zip) {
		buf_add_str(&a->headers, "Content-Encoding: gzip\r\n");
		a->gzipped = true;
	}
	buf_add_span(&a->body, buf_span(zip ? &d->zipped : &d->plain));
}

static struct span cache_key(const struct call *c)
{
	struct buf b = BUF_INIT;
	struct span key;
	buf_addf(&b, "%d %.*s", (int)c->accept.form, SPAN_ARGS(c->info.path));
	key = arena_span(c->mem, buf_span(&b));
	buf_done(&b);
	return key;
}

static void make_on_worker(struct call *c)
{
	struct documents *all = c->listener->documents;
	struct document *d = make(c);
	struct span key = cache_key(c);
	bool kept;
	if (!d) {
		not_found(c);
		call_to_loop(c, call_finish);
		return;
	}
	answer(c, d);
	pthread_mutex_lock(&all->lock);
	kept = all->kinds == c->kinds && !map_has(&all->made, key);
	if (kept)
		map_put(&all->made, key, d);
	pthread_mutex_unlock(&all->lock);
	if (!kept) {
		buf_done(&d->plain);
		buf_done(&d->zipped);
		free(d);
	}
	call_to_loop(c, call_finish);
}

/* The resources of a version of Kubernetes' own are for reading, by their router. */
static bool may_ask(const struct call *c)
{
	const struct request_info *i = &c->info;
	bool own = i->version.len ? openapi_is_own_group(i->group) : is_path(i->path, "/api");

	return c->request->method == HTTP_GET || c->request->method == HTTP_HEAD || !own;
}

void call_document(struct call *c)
{
	struct documents *all = c->listener->documents;
	const struct document *d;
	if (!may_ask(c)) {
		call_refuse(c, ERR_METHOD_NOT_ALLOWED);
		call_finish(c);
		return;
	}
	c->accept = negotiate_accept(c->request->accept, forms_of(c->info.path));
	if (c->accept.form == FORM_NONE) {
		call_failf(c, ERR_NOT_ACCEPTABLE,
			   "only the following media types are accepted: application/json");
		call_finish(c);
		return;
	}
	pthread_mutex_lock(&all->lock);
	d = map_get(&all->made, cache_key(c));
	if (d)
		answer(c, d);
	pthread_mutex_unlock(&all->lock);
	if (d)
		call_finish(c);
	else
		call_to_worker(c, make_on_worker);
}
