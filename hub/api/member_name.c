#include "api/member_name.h"

bool member_name_split(const struct call *c, struct span name, struct span *ret_member,
		       struct span *ret_name)
{
	const struct backend *b = c->listener->backend;
	const struct kind *k = kind_by_resource(b->kinds, SPAN("cluster.karmada.io"),
						SPAN("v1alpha1"), SPAN("clusters"));
	const char *dot = name.len ? memchr(name.ptr, '.', name.len) : NULL;
	auto_reader *reader = NULL;
	struct store_object o;

	if (!k || !dot || dot == name.ptr || dot + 1 == name.ptr + name.len ||
	    store_read_begin(b->truth, &reader, NULL) < 0)
		return false;
	*ret_member = span_make(name.ptr, (size_t)(dot - name.ptr));
	*ret_name = span_make(dot + 1, name.len - ret_member->len - 1);
	struct store_key key = {k->type, SPAN(""), *ret_member};
	return store_get(reader, &key, &o) == 0;
}
