/*
 * One change, in the words of every version that an entry may speak; and what of it counts.
 */
#include "kube/managed_priv.h"

const struct kind *managed_kind(const struct managed_write *w, const char *api_version)
{
	char version[KIND_API_VERSION_MAX];
	struct span group, number;
	const struct kind *k;

	if (strcmp(kind_api_version(w->kind, version), api_version) == 0)
		return w->kind;
	kind_split_api_version(span_of(api_version), &group, &number);
	k = w->kinds ? kind_by_gvk(w->kinds, group, number, span_of(w->kind->kind)) : NULL;
	return k && k->type == w->kind->type ? k : NULL;
}

struct cJSON *managed_convert(const struct cJSON *tree, const struct kind *from,
			      const struct kind *to)
{
	struct cJSON *copy = json_dup(tree);

	if (from == to || from->schema == to->schema || !copy)
		return copy;
	if (from->convert)
		from->convert(from, copy, KIND_TO_STORED);
	if (to->convert)
		to->convert(to, copy, KIND_FROM_STORED);
	return copy;
}

static void compute(struct managed_versions *v, struct managed_version *out)
{
	struct arena *mem = &v->m->mem;
	const struct cJSON *before = v->before, *now = v->now;
	struct typed_change c;

	if (out->kind->schema != v->w->kind->schema) {
		before = out->before = managed_convert(before, v->w->kind, out->kind);
		now = out->now = managed_convert(now, v->w->kind, out->kind);
	}
	if (managed_is_status(v->w->subresource))
		typed_compare_member(mem, out->kind->schema, "status", before, now, &c);
	else
		typed_compare(mem, out->kind->schema, before, now, &c);
	out->change.removed = managed_door(mem, v->w, &c.removed);
	out->change.modified = managed_door(mem, v->w, &c.modified);
	out->change.added = managed_door(mem, v->w, &c.added);
}

const struct typed_change *managed_change(struct managed_versions *v, const char *api_version)
{
	const struct kind *k = managed_kind(v->w, api_version);

	if (!k)
		return NULL;
	vec_foreach (&v->list, known)
		if (known->kind->schema == k->schema)
			return &known->change;
	/* As many as a kind has versions: pointers into the list must stay. */
	vec_reserve(&v->list, 16);
	if (v->list.len == 16)
		return NULL;
	vec_push(&v->list, (struct managed_version){.kind = k});
	struct managed_version *added = &v->list.items[v->list.len - 1];
	compute(v, added);
	return &added->change;
}

void managed_versions_done(struct managed_versions *v)
{
	vec_foreach (&v->list, one) {
		json_free(one->before);
		json_free(one->now);
	}
	vec_done(&v->list);
}

/* ---- what counts ---- */

struct field_set managed_door(struct arena *mem, const struct managed_write *w,
			      const struct field_set *set)
{
	const char *only = managed_is_status(w->subresource)	     ? "status"
			   : strcmp(w->subresource, "finalize") == 0 ? "spec"
								     : NULL;
	struct field_set out = FIELD_SET_EMPTY;

	if (!only && !w->kind->has_status)
		return *set;
	for (uint32_t i = 0; i < set->n; i++) {
		const struct field_child *c = &set->children[i];
		bool is_name = c->key.step == FIELD_NAME;
		if (only ? is_name && span_is(c->key.text, only)
			 : !(is_name && span_is(c->key.text, "status")))
			field_set_append(mem, &out, c->key, &c->set);
	}
	return out;
}

#define NAME(word)                                                                                 \
	{                                                                                          \
		.key = {FIELD_NAME, {"" word "", sizeof(word) - 1}}, .set = {.here = true }        \
	}

struct field_set managed_strip(struct arena *mem, const struct field_set *set)
{
	static struct field_child in_metadata[] = {
	    NAME("clusterName"),
	    NAME("creationTimestamp"),
	    NAME("generation"),
	    NAME("managedFields"),
	    NAME("name"),
	    NAME("namespace"),
	    NAME("resourceVersion"),
	    NAME("selfLink"),
	    NAME("uid"),
	};
	static struct field_child top[] = {
	    NAME("apiVersion"),
	    NAME("kind"),
	    {.key = {FIELD_NAME, {"metadata", 8}},
	     .set = {.here = true, .n = ARRAY_LEN(in_metadata), .children = in_metadata}},
	};
	const struct field_set identity = {.n = ARRAY_LEN(top), .children = top};

	return field_set_difference(mem, set, &identity);
}
