/*
 * The Impersonate headers. Groups come as one header each, and the names of extras are the
 * client's, so these are read where the library keeps them (http_lws_custom.c).
 */
#include "api/http_lws.h"

#define USER  "impersonate-user:"
#define GROUP "impersonate-group:"
#define UID   "impersonate-uid:"
#define EXTRA "impersonate-extra-"

struct reading {
	struct arena *mem;
	struct http_impersonation *made;
};

static bool is_extra(struct span name)
{
	return span_starts(name, SPAN(EXTRA)) && name.len > strlen(EXTRA) + 1;
}

static struct span decode_key(struct arena *mem, struct span name)
{
	struct span raw = span_make(name.ptr + strlen(EXTRA), name.len - strlen(EXTRA) - 1);
	return http_header_key(mem, arena_span(mem, raw));
}

static bool add_header(void *arg, struct span name, struct span value)
{
	struct reading *r = arg;
	struct http_impersonation *ret = r->made;
	if (span_is(name, GROUP)) {
		if (ret->n_groups == HTTP_MAX_IMPERSONATED)
			return false;
		ret->groups[ret->n_groups++] = arena_span(r->mem, value);
	} else if (is_extra(name)) {
		if (ret->n_extra == HTTP_MAX_IMPERSONATED)
			return false;
		ret->extra[ret->n_extra++] =
		    (struct http_param){decode_key(r->mem, name), arena_span(r->mem, value)};
	}
	return true;
}

void http_lws_read_impersonation(struct http_conn *c, struct http_request *r, const char *uri)
{
	struct http_impersonation i = {.user = http_lws_custom_header(c, &r->mem, USER),
				       .uid = http_lws_custom_header(c, &r->mem, UID)};
	struct span group = http_lws_custom_header(c, &r->mem, GROUP);
	struct reading reading = {.mem = &r->mem};
	struct span name, value;
	if (!i.user.ptr && !i.uid.ptr && !group.ptr &&
	    !http_lws_find_custom(c, uri, SPAN(EXTRA), &name, &value))
		return;
	reading.made = arena_new(&r->mem, struct http_impersonation);
	r->impersonation = reading.made;
	i.groups = arena_array(&r->mem, struct span, HTTP_MAX_IMPERSONATED);
	i.extra = arena_array(&r->mem, struct http_param, HTTP_MAX_IMPERSONATED);
	*reading.made = i;
	if (!i.user.ptr) /* refused for that, whatever the others are */
		return;
	reading.made->unreadable =
	    !http_lws_each_custom(uri, SPAN(USER), i.user, add_header, &reading) ||
	    (group.ptr && !reading.made->n_groups);
}
