#include "api/request_header.h"

#include "api/x509.h"
#include <strings.h>

static char user_header[] = "X-Remote-User", group_header[] = "X-Remote-Group",
	    extra_prefix[] = "X-Remote-Extra-";
static char *const user_headers[] = {user_header, NULL};
static char *const group_headers[] = {group_header, NULL};
static char *const extra_prefixes[] = {extra_prefix, NULL};

static char *const *given(char *const *list, char *const *otherwise)
{
	return list && *list ? list : otherwise;
}

char *const *request_header_user_headers(const struct request_header_config *c)
{
	return given(c->user_headers, user_headers);
}

static bool is_name(struct span header, const char *name)
{
	return header.len == strlen(name) && !strncasecmp(header.ptr, name, header.len);
}

/* The first value that says something, of the first name that has one. */
static struct span first(const struct http_proxied *h, char *const *names)
{
	for (; names && *names; names++)
		for (size_t i = 0; i < h->n; i++)
			if (is_name(h->headers[i].name, *names)) {
				if (h->headers[i].value.len)
					return h->headers[i].value;
				break;
			}
	return SPAN_NONE;
}

static bool is_allowed(const struct request_header_config *c, const struct http_peer *p)
{
	char **name = c->allowed_names;
	if (!name || !*name)
		return true;
	while (*name && (!p->common_name || strcmp(*name, p->common_name) != 0))
		name++;
	return *name != NULL;
}

/* As kube-apiserver adds it to whomever it has authenticated. */
static bool is_told_apart(const struct auth_user *u)
{
	return u->anonymous || auth_in_group(u, "system:authenticated") ||
	       auth_in_group(u, "system:unauthenticated");
}

static void add_groups(const struct http_proxied *h, char *const *names, struct arena *mem,
		       struct auth_user *ret)
{
	size_t n_names = 0;
	while (names[n_names])
		n_names++;
	ret->groups = arena_array(mem, struct span, n_names * h->n + 1);
	for (; *names; names++)
		for (size_t i = 0; i < h->n; i++)
			if (is_name(h->headers[i].name, *names) && h->headers[i].value.len)
				ret->groups[ret->n_groups++] = arena_span(mem, h->headers[i].value);
	if (!is_told_apart(ret))
		ret->groups[ret->n_groups++] = SPAN("system:authenticated");
}

static void add_extra(const struct http_proxied *h, const char *prefix, struct arena *mem,
		      struct auth_user *ret)
{
	size_t n = strlen(prefix);
	for (size_t i = 0; i < h->n; i++) {
		struct span name = h->headers[i].name;
		if (name.len < n || strncasecmp(name.ptr, prefix, n) != 0)
			continue;
		name = arena_span(mem, span_make(name.ptr + n, name.len - n));
		ret->extra[ret->n_extra++] = (struct auth_extra){
		    http_header_key(mem, name), arena_span(mem, h->headers[i].value)};
	}
}

int request_header_authenticate(const struct request_header_config *c, const struct http_request *r,
				struct arena *mem, struct auth_user *ret, struct err *reterr)
{
	const struct http_proxied *h = r->proxied;
	char *const *prefixes = given(c->extra_prefixes, extra_prefixes);
	struct span name, uid;
	size_t n_prefixes = 0;
	if (!r->peer->proxy || !h || !is_allowed(c, r->peer))
		return 0;
	if (h->unreadable)
		return err_set(reterr, ERR_UNAUTHORIZED, "the proxy's headers cannot be read");
	name = first(h, request_header_user_headers(c));
	if (!name.len)
		return 0;
	uid = first(h, c->uid_headers);
	*ret = (struct auth_user){.name = arena_span(mem, name),
				  .anonymous = span_is(name, "system:anonymous")};
	if (uid.len)
		ret->uid = arena_span(mem, uid);
	add_groups(h, given(c->group_headers, group_headers), mem, ret);
	while (prefixes[n_prefixes])
		n_prefixes++;
	ret->extra = arena_array(mem, struct auth_extra, n_prefixes * h->n + 1);
	for (; *prefixes; prefixes++)
		add_extra(h, *prefixes, mem, ret);
	return 1;
}

int request_header_check(const struct request_header_config *c, struct span ca, struct span own,
			 struct err *reterr)
{
	bool same;
	if (!x509_count(ca, own, &same))
		return err_set_field(reterr, ERR_INVALID, "requestHeader.clientCAFile",
				     "requestHeader.clientCAFile: %s holds no certificate",
				     c->client_ca_file);
	if (same && (!c->allowed_names || !*c->allowed_names))
		return err_set_field(reterr, ERR_INVALID, "requestHeader.allowedNames",
				     "requestHeader.allowedNames: must be given where the proxies' "
				     "CA signs users' certificates, too");
	return 0;
}
