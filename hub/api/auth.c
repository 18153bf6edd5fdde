#include "api/auth.h"

#include <openssl/crypto.h>
#include <strings.h>

#define MASTERS "system:masters"

static const char *const public_paths[] = {"/version", "/healthz", "/livez", "/readyz"};

static void add_group(struct auth_user *u, struct span g)
{
	if (u->n_groups < AUTH_MAX_GROUPS)
		u->groups[u->n_groups++] = g;
}

static int unauthorized(struct err *reterr)
{
	return err_set(reterr, ERR_UNAUTHORIZED, "Unauthorized");
}

static int by_certificate(const struct http_peer *p, struct auth_user *ret, struct err *reterr)
{
	const char *group = p->organizations;
	if (!p->verified || !p->common_name || !p->common_name[0])
		return unauthorized(reterr);
	ret->name = span_of(p->common_name);
	for (; group && *group; group += strlen(group) + 1)
		add_group(ret, span_of(group));
	add_group(ret, SPAN("system:authenticated"));
	return 0;
}

static bool is_token(struct span given, struct span want)
{
	return want.len && given.len == want.len &&
	       CRYPTO_memcmp(given.ptr, want.ptr, want.len) == 0;
}

int auth_authenticate(const struct pki *pki, const struct http_request *r, struct auth_user *ret,
		      struct err *reterr)
{
	struct span token = r->authorization;
	*ret = (struct auth_user){0};
	if (token.len > 7 && strncasecmp(token.ptr, "Bearer ", 7) == 0) {
		token = span_make(token.ptr + 7, token.len - 7);
		while (token.len && token.ptr[0] == ' ')
			token = span_make(token.ptr + 1, token.len - 1);
		if (!is_token(token, pki_admin_token(pki)))
			return unauthorized(reterr);
		ret->name = SPAN("muster-admin");
		add_group(ret, SPAN(MASTERS));
		add_group(ret, SPAN("system:authenticated"));
		return 0;
	}
	if (token.len)
		return unauthorized(reterr);
	if (r->peer->presented)
		return by_certificate(r->peer, ret, reterr);
	ret->name = SPAN("system:anonymous");
	ret->anonymous = true;
	add_group(ret, SPAN("system:unauthenticated"));
	return 0;
}

bool auth_in_group(const struct auth_user *u, const char *group)
{
	for (size_t i = 0; i < u->n_groups; i++)
		if (span_is(u->groups[i], group))
			return true;
	return false;
}

static bool is_public(const struct request_info *i)
{
	for (size_t n = 0; n < ARRAY_LEN(public_paths); n++) {
		struct span p = span_of(public_paths[n]);
		if (span_starts(i->path, p) && (i->path.len == p.len || i->path.ptr[p.len] == '/'))
			return i->verb == API_GET;
	}
	return false;
}

static int forbidden_resource(const struct auth_user *u, const struct request_info *i,
			      struct err *reterr)
{
	char where[128] = "at the cluster scope";
	bool sub = i->subresource.len > 0;
	if (i->ns.len)
		snprintf(where, sizeof(where), "in the namespace \"%.*s\"", SPAN_ARGS(i->ns));
	return err_set(reterr, ERR_FORBIDDEN,
		       "%.*s%s%.*s%s%.*s%s is forbidden: User \"%.*s\" cannot %s resource "
		       "\"%.*s%s%.*s\" in API group \"%.*s\" %s",
		       SPAN_ARGS(i->resource), i->group.len ? "." : "", SPAN_ARGS(i->group),
		       i->name.len ? " \"" : "", SPAN_ARGS(i->name), i->name.len ? "\"" : "",
		       SPAN_ARGS(u->name), api_verb_name(i->verb), SPAN_ARGS(i->resource),
		       sub ? "/" : "", SPAN_ARGS(i->subresource), SPAN_ARGS(i->group), where);
}

int auth_authorize(const struct auth_user *u, const struct request_info *i, struct err *reterr)
{
	if (auth_in_group(u, MASTERS) || (!i->is_resource && is_public(i)))
		return 0;
	if (u->anonymous)
		return unauthorized(reterr);
	if (i->is_resource)
		return forbidden_resource(u, i, reterr);
	return err_set(reterr, ERR_FORBIDDEN, "forbidden: User \"%.*s\" cannot %s path \"%.*s\"",
		       SPAN_ARGS(u->name), api_verb_name(i->verb), SPAN_ARGS(i->path));
}
