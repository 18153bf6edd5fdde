#include "registry/owner_refs.h"
#include "base/json.h"
#include "kube/object.h"

static bool metadata_list(const struct store_object *o, const char *member, struct span *ret)
{
	struct store_extent m = o->extents.metadata;
	if (!m.len || (size_t)m.at + m.len > o->json.len)
		return false;
	struct span metadata = span_make(o->json.ptr + m.at, m.len);
	return json_text_member(metadata, member, ret) == 0 && json_text_type(*ret) == JSON_ARRAY;
}

static bool true_member(struct span object, const char *key)
{
	struct span v;
	return json_text_member(object, key, &v) == 0 && span_is(v, "true");
}

static struct span plain_member(struct span object, const char *key)
{
	struct span v;
	return json_text_member(object, key, &v) == 0 ? json_text_plain(v) : SPAN_NONE;
}

bool owner_refs_next(const struct store_object *o, size_t *pos, struct owner_ref *ret)
{
	struct span list, one, key = SPAN_NONE;
	if (!metadata_list(o, "ownerReferences", &list))
		return false;
	while (json_text_next(list, pos, &key, &one)) {
		if (json_text_type(one) != JSON_OBJECT ||
		    object_uid_parse(plain_member(one, "uid"), ret->uid))
			continue;
		ret->api_version = plain_member(one, "apiVersion");
		ret->kind = plain_member(one, "kind");
		ret->name = plain_member(one, "name");
		ret->block = true_member(one, "blockOwnerDeletion");
		ret->controller = true_member(one, "controller");
		return true;
	}
	return false;
}

bool owner_refs_next_finalizer(const struct store_object *o, size_t *pos, struct span *ret)
{
	struct span list, one, key = SPAN_NONE;
	if (!metadata_list(o, "finalizers", &list) || !json_text_next(list, pos, &key, &one))
		return false;
	*ret = json_text_plain(one);
	return true;
}

bool owner_refs_has_finalizer(const struct store_object *o, const char *finalizer)
{
	struct span one;
	for (size_t pos = 0; owner_refs_next_finalizer(o, &pos, &one);)
		if (span_is(one, finalizer))
			return true;
	return false;
}
