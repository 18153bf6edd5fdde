#include "api/impersonate.h"

static int ask(struct authorizer *a, const struct auth_user *u, const char *group,
	       const char *resource, struct span ns, struct span name, struct err *reterr)
{
	struct rbac_request q = {.is_resource = true,
				 .verb = SPAN("impersonate"),
				 .group = span_of(group),
				 .resource = span_of(resource),
				 .subresource = SPAN(""),
				 .ns = ns,
				 .name = name};
	return auth_authorize(a, u, &q, reterr);
}

static int ask_extra(struct authorizer *a, const struct auth_user *u,
		     const struct http_param *extra, struct err *reterr)
{
	struct rbac_request q = {.is_resource = true,
				 .verb = SPAN("impersonate"),
				 .group = SPAN("authentication.k8s.io"),
				 .resource = SPAN("userextras"),
				 .subresource = extra->name,
				 .ns = SPAN(""),
				 .name = extra->value};
	return auth_authorize(a, u, &q, reterr);
}

/* system:serviceaccount:<namespace>:<name> */
static bool is_account(struct span user, struct span *ret_ns, struct span *ret_name)
{
	struct span head = SPAN("system:serviceaccount:");
	if (!span_starts(user, head))
		return false;
	*ret_name = span_make(user.ptr + head.len, user.len - head.len);
	*ret_ns = span_split(ret_name, ':');
	return ret_ns->len && ret_name->len && !memchr(ret_name->ptr, ':', ret_name->len);
}

static int check(struct authorizer *a, const struct http_impersonation *i,
		 const struct auth_user *u, struct err *reterr)
{
	struct span ns, name;
	int r = is_account(i->user, &ns, &name) ? ask(a, u, "", "serviceaccounts", ns, name, reterr)
						: ask(a, u, "", "users", SPAN(""), i->user, reterr);
	for (size_t n = 0; !r && n < i->n_groups; n++)
		r = ask(a, u, "", "groups", SPAN(""), i->groups[n], reterr);
	for (size_t n = 0; !r && n < i->n_extra; n++)
		r = ask_extra(a, u, &i->extra[n], reterr);
	if (!r && i->uid.len)
		r = ask(a, u, "authentication.k8s.io", "uids", SPAN(""), i->uid, reterr);
	return r;
}

static bool says_whether_authenticated(const struct http_impersonation *i, bool nobody)
{
	for (size_t n = 0; n < i->n_groups; n++)
		if (span_is(i->groups[n], "system:unauthenticated") ||
		    (!nobody && span_is(i->groups[n], "system:authenticated")))
			return true;
	return false;
}

static void add_account_groups(struct auth_user *u, struct arena *mem, struct span ns)
{
	struct buf b = BUF_MAX(1024);
	buf_addf(&b, "system:serviceaccounts:%.*s", SPAN_ARGS(ns));
	u->groups[u->n_groups++] = SPAN("system:serviceaccounts");
	u->groups[u->n_groups++] = arena_span(mem, buf_span(&b));
	buf_done(&b);
}

static void become(const struct http_impersonation *i, struct arena *mem, struct auth_user *ret)
{
	struct span ns, name;
	bool nobody = span_is(i->user, "system:anonymous");
	*ret = (struct auth_user){
	    .name = i->user,
	    .uid = i->uid,
	    .anonymous = nobody,
	    .groups = arena_array(mem, struct span, i->n_groups + 3),
	};
	for (size_t n = 0; n < i->n_groups; n++)
		ret->groups[ret->n_groups++] = i->groups[n];
	if (i->n_extra)
		ret->extra = arena_array(mem, struct auth_extra, i->n_extra);
	for (size_t n = 0; n < i->n_extra; n++)
		ret->extra[ret->n_extra++] =
		    (struct auth_extra){i->extra[n].name, i->extra[n].value};
	if (!i->n_groups && is_account(i->user, &ns, &name))
		add_account_groups(ret, mem, ns);
	if (!says_whether_authenticated(i, nobody))
		ret->groups[ret->n_groups++] =
		    nobody ? SPAN("system:unauthenticated") : SPAN("system:authenticated");
}

int impersonate(struct authorizer *a, const struct http_request *r, struct arena *mem,
		struct auth_user *user, struct err *reterr)
{
	const struct http_impersonation *i = r->impersonation;
	int rc;
	if (!i)
		return 0;
	if (i->unreadable)
		return err_set(reterr, ERR_BAD_REQUEST, "the Impersonate headers cannot be read");
	if (!i->user.len)
		return err_set(reterr, ERR_BAD_REQUEST,
			       "requested groups, a uid or extra without impersonating a user");
	rc = check(a, i, user, reterr);
	if (!rc)
		become(i, mem, user);
	return rc;
}
