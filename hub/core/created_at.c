#include "core/created_at.h"

#include "base/json.h"

usec created_at(const struct store_object *o, usec otherwise)
{
	struct span v;
	usec t;

	if (json_text_path(o->json, &v, "metadata", "creationTimestamp", NULL) < 0 ||
	    clock_parse(json_text_plain(v), &t) < 0)
		return otherwise;
	return t;
}
