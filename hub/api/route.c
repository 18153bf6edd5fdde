#include "api/route.h"

#include "api/await_revision.h"
#include "api/documents.h"
#include "api/impersonate.h"
#include "api/listener.h"
#include "api/refusal.h"
#include "api/scale.h"
#include "kinds/types.h"
#include "kube/discovery.h"
#include "kube/openapi_names.h"

/* A refusal is about the one object that a field selector asks for, too. */
static void refuse(struct call *c, struct span selected, const struct err *e)
{
	struct status_subject s = {.kind = c->kind};
	char name[STORE_MAX_NAME + 1];
	if (c->info.name.len || !selected.len || selected.len > STORE_MAX_NAME) {
		call_fail(c, e);
		return;
	}
	snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(selected));
	s.name = name;
	call_fail_with(c, e, &s);
}

bool route_admit(struct call *c)
{
	struct rbac_request wanted = {0};
	struct err e = ERR_INIT;
	int r = authenticator_request(c->listener->authenticator, c->request, clock_now(), c->mem,
				      &c->user, &e);
	if (!r && c->request->impersonation) {
		struct auth_user *asker = arena_new(c->mem, struct auth_user);
		*asker = c->user;
		r = impersonate(c->listener->authorizer, c->request, c->mem, &c->user, &e);
		c->asker = r ? NULL : asker;
	}
	if (!r) {
		auth_request(&c->info, c->request, &wanted);
		r = auth_authorize(c->listener->authorizer, &c->user, &wanted, &e);
	}
	/* The details of a refusal name the resource, as of any other error about it. */
	if (r && e.kind == ERR_FORBIDDEN && c->info.is_resource)
		c->kind = kind_by_resource(c->listener->backend->kinds, c->info.group,
					   c->info.version, c->info.resource);
	if (r)
		refuse(c, wanted.name, &e);
	return r == 0;
}

static bool verb_is_served(const struct kind *k, enum api_verb v)
{
	if (k->verbs == KIND_VERBS_READ)
		return v == API_GET || v == API_LIST || v == API_WATCH;
	if (k->verbs == KIND_VERBS_CREATE)
		return v == API_CREATE;
	return v != API_DELETE_COLLECTION || !k->singly;
}

/* Whether the path fits the kind's scope for this verb. */
static bool scope_fits(const struct call *c)
{
	enum api_verb v = c->info.verb;
	if (c->kind->scope == KIND_CLUSTER)
		return !c->info.ns.ptr;
	return c->info.ns.ptr || v == API_LIST || v == API_WATCH;
}

static const struct kind_subresource *find_subresource(const struct kind *k, struct span name)
{
	for (size_t i = 0; i < k->n_subresources; i++)
		if (span_is(name, k->subresources[i].name))
			return &k->subresources[i];
	return NULL;
}

enum door { DOOR_OBJECT, DOOR_SCALE, DOOR_PROXY, DOOR_TOKEN, DOOR_REFUSED, DOOR_NONE };

static enum door door_of(const struct call *c)
{
	static const char *const through[] = {"log", "exec", "attach", "portforward"};
	struct span sub = c->info.subresource;
	if (!sub.len)
		return DOOR_OBJECT;
	if (c->info.watch_path)
		return DOOR_NONE;
	if (refusal_is_of_pod(c))
		return DOOR_REFUSED;
	if (span_is(sub, "proxy"))
		return DOOR_PROXY;
	for (size_t i = 0; i < ARRAY_LEN(through); i++)
		if (span_is(sub, through[i]))
			return find_subresource(c->kind, sub) ? DOOR_PROXY : DOOR_NONE;
	if (c->info.rest.len > 1)
		return DOOR_NONE;
	if (span_is(sub, "token") && span_is(c->info.resource, "serviceaccounts"))
		return DOOR_TOKEN;
	if (span_is(sub, "scale") && c->kind->scale)
		return DOOR_SCALE;
	if (span_is(sub, "status") && c->kind->has_status)
		return DOOR_OBJECT;
	if (span_is(sub, "finalize") && span_is(c->info.resource, "namespaces") &&
	    (c->info.verb == API_UPDATE || c->info.verb == API_GET))
		return DOOR_OBJECT;
	return DOOR_NONE;
}

static void (*const verbs[API_VERB_MAX])(struct call *c) = {
    [API_GET] = call_get,	[API_LIST] = call_list,
    [API_WATCH] = call_watch,	[API_CREATE] = call_create,
    [API_UPDATE] = call_update, [API_PATCH] = call_patch,
    [API_DELETE] = call_delete, [API_DELETE_COLLECTION] = call_delete_collection,
};

void route_refuse_method(struct call *c)
{
	call_refuse(c, ERR_METHOD_NOT_ALLOWED);
	call_finish(c);
}

/* A view of what members have, or nothing at all: refused in words. */
static bool is_foreign(const struct call *c)
{
	const struct kind *k = c->kind;

	return k->verbs == KIND_VERBS_READ &&
	       (k->type == TYPE_SERVICE || k->type == TYPE_POD || k->type == TYPE_NODE);
}

/* A path of a definition's group that leads nowhere is no page; of another, no resource. */
static void refuse_resource(struct call *c)
{
	bool own =
	    openapi_is_own_group(c->info.group) && discovery_has_group(c->kinds, c->info.group);
	if (own || c->info.subresource.len)
		call_refuse(c, ERR_NOT_FOUND);
	else
		call_no_page(c);
	call_finish(c);
}

/* False: there is none that both know, and that is said. */
static bool agree_on_form(struct call *c)
{
	bool watch = c->info.verb == API_WATCH;

	c->accept = negotiate_accept(c->request->accept,
				     FORM_BIT(FORM_JSON) | FORM_BIT(FORM_TABLE) |
					 FORM_BIT(FORM_PARTIAL) | (watch ? 0 : FORM_YAML));
	if (c->accept.form != FORM_NONE)
		return true;
	call_failf(c, ERR_NOT_ACCEPTABLE,
		   "only the following media types are accepted: application/json%s",
		   watch ? "" : ", application/yaml");
	call_finish(c);
	return false;
}

static void to_object(struct call *c)
{
	enum api_verb v = c->info.verb;
	bool sub = c->info.subresource.len > 0;
	/* Services are none; clients list them unasked (get all, cluster-info), so they may. */
	if (is_foreign(c) && !verb_is_served(c->kind, v)) {
		refusal_answer(c);
		return;
	}
	if ((c->info.watch_path && c->request->method != HTTP_GET) || !verb_is_served(c->kind, v) ||
	    (sub && (v == API_CREATE || v == API_DELETE)) ||
	    (v == API_GET && span_is(c->info.subresource, "finalize")) ||
	    (v == API_CREATE && c->info.name.len) ||
	    ((v == API_UPDATE || v == API_PATCH) && !c->info.name.len)) {
		route_refuse_method(c);
		return;
	}
	if (!scope_fits(c)) {
		if ((v == API_CREATE || v == API_DELETE_COLLECTION) && c->kind->strategic &&
		    !c->info.ns.ptr)
			route_refuse_method(c); /* all namespaces can be listed there */
		else
			refuse_resource(c);
		return;
	}
	if (!agree_on_form(c))
		return;
	if (v > API_WATCH || !await_revision(c, verbs[v]))
		verbs[v](c);
}

static void to_resource(struct call *c)
{
	const struct request_info *i = &c->info;
	if (span_is(i->group, "muster.dev") || query_is_visibility(i)) {
		if (i->watch_path)
			refuse_resource(c);
		else
			call_query(c);
		return;
	}
	c->kind = listener_kind(c->listener, c->kinds, i);
	if (!c->kind) {
		refuse_resource(c);
		return;
	}
	if (c->kind->verbs == KIND_VERBS_NONE) {
		if (c->kind->n_subresources) /* it answers under those alone */
			refuse_resource(c);
		else if ((c->info.verb == API_LIST || c->info.verb == API_WATCH) &&
			 !c->info.subresource.len)
			to_object(c); /* clients look unasked, and there are none */
		else
			refusal_answer(c);
		return;
	}
	if (c->kind->deprecation)
		call_warn(c, span_of(c->kind->deprecation));
	switch (door_of(c)) {
	case DOOR_OBJECT:
		if (c->kind->verbs == KIND_VERBS_CREATE)
			call_review(c);
		else
			to_object(c);
		break;
	case DOOR_SCALE:
		if (!scope_fits(c))
			refuse_resource(c);
		else if (agree_on_form(c))
			call_scale(c);
		break;
	case DOOR_PROXY:
		call_proxy(c);
		break;
	case DOOR_TOKEN:
		call_token_request(c);
		break;
	case DOOR_REFUSED:
		refusal_answer(c);
		break;
	default:
		refuse_resource(c);
	}
}

void route_begin(struct call *c)
{
	if (c->info.is_resource)
		to_resource(c);
	else if (documents_has(&c->info))
		call_document(c);
	else
		call_health(c);
}
