#include "kube/kind.h"

#include "base/compat.h"

const struct kind *kind_by_resource(const struct kind_set *set, struct span group,
				    struct span version, struct span plural)
{
	for (size_t i = 0; i < set->n_kinds; i++) {
		const struct kind *k = set->kinds[i];
		if (span_is(plural, k->plural) && span_is(group, k->group) &&
		    span_is(version, k->version))
			return k;
	}
	return NULL;
}

const struct kind *kind_by_gvk(const struct kind_set *set, struct span group, struct span version,
			       struct span kind)
{
	for (size_t i = 0; i < set->n_kinds; i++) {
		const struct kind *k = set->kinds[i];
		if (span_is(kind, k->kind) && span_is(group, k->group) &&
		    span_is(version, k->version))
			return k;
	}
	return NULL;
}

const struct kind *kind_by_type(const struct kind_set *set, uint16_t type)
{
	size_t low = 0, high = set->n_stored;

	for (size_t i = 0; type < KIND_FIRST_USER_TYPE && i < set->n_kinds; i++)
		if (set->kinds[i]->type == type)
			return set->kinds[i];
	while (low < high) {
		size_t mid = (low + high) / 2;
		if (set->stored[mid]->type == type)
			return set->stored[mid];
		if (set->stored[mid]->type < type)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

const char *kind_api_version(const struct kind *k, char out[KIND_API_VERSION_MAX])
{
	(void)snprintf(out, KIND_API_VERSION_MAX, "%s%s%s", k->group, k->group[0] ? "/" : "",
		       k->version);
	return out;
}

const char *kind_resource_name(const struct kind *k, char out[KIND_API_VERSION_MAX])
{
	(void)snprintf(out, KIND_API_VERSION_MAX, "%s%s%s", k->plural, k->group[0] ? "." : "",
		       k->group);
	return out;
}

void kind_split_api_version(struct span api_version, struct span *ret_group,
			    struct span *ret_version)
{
	struct span rest = api_version;
	struct span head = span_split(&rest, '/');
	if (!rest.ptr) {
		*ret_group = SPAN("");
		*ret_version = api_version;
		return;
	}
	*ret_group = head;
	*ret_version = rest;
}
