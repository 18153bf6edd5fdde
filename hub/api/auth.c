#include "api/auth.h"

static const char *const public_paths[] = {"/version", "/healthz", "/livez", "/readyz"};

static int unauthorized(struct err *reterr)
{
	return err_set(reterr, ERR_UNAUTHORIZED, "Unauthorized");
}

void auth_user_copy(const struct auth_user *u, struct arena *mem, struct auth_user *ret)
{
	*ret = (struct auth_user){.name = arena_span(mem, u->name),
				  .uid = arena_span(mem, u->uid),
				  .n_groups = u->n_groups,
				  .n_extra = u->n_extra,
				  .anonymous = u->anonymous};
	ret->groups = arena_array(mem, struct span, u->n_groups);
	for (size_t i = 0; i < u->n_groups; i++)
		ret->groups[i] = arena_span(mem, u->groups[i]);
	if (u->n_extra)
		ret->extra = arena_array(mem, struct auth_extra, u->n_extra);
	for (size_t i = 0; i < u->n_extra; i++)
		ret->extra[i] = (struct auth_extra){arena_span(mem, u->extra[i].key),
						    arena_span(mem, u->extra[i].value)};
}

bool auth_in_group(const struct auth_user *u, const char *group)
{
	for (size_t i = 0; i < u->n_groups; i++)
		if (span_is(u->groups[i], group))
			return true;
	return false;
}

static bool is_public(const struct rbac_request *q)
{
	for (size_t n = 0; !q->is_resource && n < ARRAY_LEN(public_paths); n++) {
		struct span p = span_of(public_paths[n]);
		if (span_starts(q->path, p) && (q->path.len == p.len || q->path.ptr[p.len] == '/'))
			return span_is(q->verb, "get") || span_is(q->verb, "head");
	}
	return false;
}

/* The name that a field selector asks for, if it is one that could stand in a path. */
static struct span selected_name(const struct http_request *r)
{
	struct span text = http_param(r, "fieldSelector");
	while (text.len) {
		struct span term = span_split(&text, ','), key = span_split(&term, '=');
		if (!span_is(key, "metadata.name") || !term.len)
			continue;
		if (term.ptr[0] == '=')
			term = span_make(term.ptr + 1, term.len - 1);
		if (!term.len || memchr(term.ptr, '/', term.len) ||
		    memchr(term.ptr, '%', term.len) || memchr(term.ptr, '\\', term.len) ||
		    span_is(term, ".") || span_is(term, ".."))
			return SPAN("");
		return term;
	}
	return SPAN("");
}

static const char *const method_verbs[HTTP_METHOD_MAX] = {
    [HTTP_GET] = "get",		[HTTP_HEAD] = "head",	[HTTP_POST] = "post",
    [HTTP_PUT] = "put",		[HTTP_PATCH] = "patch", [HTTP_DELETE] = "delete",
    [HTTP_OPTIONS] = "options",
};

static struct span or_empty(struct span s)
{
	return s.ptr ? s : SPAN("");
}

void auth_request(const struct request_info *i, const struct http_request *r,
		  struct rbac_request *ret)
{
	*ret = (struct rbac_request){.is_resource = i->is_resource, .path = i->path};
	if (!i->is_resource) {
		ret->verb = span_of(method_verbs[r->method]);
		return;
	}
	/* A connection to a pod does more than a GET looks at: kube-apiserver 1.35, too, asks for
	 * `create` (AuthorizePodWebsocketUpgradeCreatePermission). */
	ret->verb =
	    r->upgrade && i->verb != API_WATCH ? SPAN("create") : span_of(api_verb_name(i->verb));
	ret->group = or_empty(i->group);
	ret->resource = or_empty(i->resource);
	ret->subresource = or_empty(i->subresource);
	ret->name = or_empty(i->name);
	ret->ns = or_empty(i->ns);
	if (!ret->ns.len && ret->name.len && span_is(ret->resource, "namespaces"))
		ret->ns = ret->name;
	if (!ret->name.len && (i->verb == API_LIST || i->verb == API_WATCH))
		ret->name = selected_name(r);
}

/* "pods.group \"name\"", and what stands for HTML is written as such, as upstream does. */
static void add_denial(struct buf *out, const struct auth_user *u, const struct rbac_request *q)
{
	if (!q->is_resource) {
		buf_addf(out, "User \"%.*s\" cannot %.*s path \"%.*s\"", SPAN_ARGS(u->name),
			 SPAN_ARGS(q->verb), SPAN_ARGS(q->path));
		return;
	}
	buf_addf(out, "User \"%.*s\" cannot %.*s resource \"%.*s%s%.*s\" in API group \"%.*s\" ",
		 SPAN_ARGS(u->name), SPAN_ARGS(q->verb), SPAN_ARGS(q->resource),
		 q->subresource.len ? "/" : "", SPAN_ARGS(q->subresource), SPAN_ARGS(q->group));
	if (q->ns.len)
		buf_addf(out, "in the namespace \"%.*s\"", SPAN_ARGS(q->ns));
	else
		buf_add_str(out, "at the cluster scope");
}

static void sanitize(struct span text, struct buf *out)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		if (c == '&' || c == '<' || c == '>')
			buf_add_str(out, c == '&' ? "&amp;" : c == '<' ? "&lt;" : "&gt;");
		else
			buf_add_char(out, c);
	}
}

static int forbidden(const struct auth_user *u, const struct rbac_request *q, struct span reason,
		     struct err *reterr)
{
	auto_buf plain = BUF_INIT, text = BUF_INIT;
	add_denial(&plain, u, q);
	if (q->is_resource) {
		buf_addf(&text, "%.*s%s%.*s", SPAN_ARGS(q->resource), q->group.len ? "." : "",
			 SPAN_ARGS(q->group));
		if (q->name.len)
			buf_addf(&text, " \"%.*s\"", SPAN_ARGS(q->name));
		buf_add_str(&text, " is ");
	}
	buf_add_str(&text, "forbidden: ");
	sanitize(buf_span(&plain), &text);
	if (reason.len)
		buf_addf(&text, ": %.*s", SPAN_ARGS(reason));
	return err_set(reterr, ERR_FORBIDDEN, "%s", text.ptr ? text.ptr : "forbidden");
}

int auth_authorize(struct authorizer *a, const struct auth_user *u, const struct rbac_request *q,
		   struct err *reterr)
{
	struct rbac_user user = auth_rbac_user(u);
	struct buf reason = BUF_MAX(1024);
	int r;
	if (u->anonymous && !is_public(q))
		return unauthorized(reterr);
	if (authorizer_allows(a, &user, q, NULL))
		return 0;
	(void)authorizer_allows(a, &user, q, &reason);
	r = forbidden(u, q, buf_span(&reason), reterr);
	buf_done(&reason);
	return r;
}
