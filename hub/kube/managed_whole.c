/*
 * Entries that own their object as a whole (managed_fields.h), and what spells them out.
 */
#include "kube/managed_priv.h"

/* What an object has, in the words of the entry's version; empty when that is not served. */
static struct field_set fields_of(struct managed *m, const struct managed_write *w,
				  const struct managed_entry *e, const struct cJSON *object)
{
	const struct kind *k = managed_kind(w, e->api_version);
	struct managed_write through = {
	    .kinds = w->kinds, .kind = k, .subresource = e->subresource};
	struct typed_change c;
	struct field_set set;

	if (!k)
		return FIELD_SET_EMPTY;
	if (k->schema != w->kind->schema) {
		struct cJSON *converted = managed_convert(object, w->kind, k);
		vec_push(&m->trees, converted);
		object = converted;
	}
	typed_compare(&m->mem, k->schema, NULL, object, &c);
	set = managed_door(&m->mem, &through, &c.added);
	return managed_strip(&m->mem, &set);
}

static void spell_out(struct managed *m, const struct managed_write *w, struct managed_entry *e,
		      const struct cJSON *object)
{
	e->set = fields_of(m, w, e, object);
	e->whole = false;
	e->stored = NULL;
}

void managed_spell_out(struct managed *m, const struct managed_write *w, const struct cJSON *object)
{
	vec_foreach (&m->entries, e)
		if (e->whole)
			spell_out(m, w, e, object);
	managed_drop_empty(m);
}

static bool is_of_status(const char *subresource)
{
	return strcmp(subresource, "status") == 0;
}

void managed_open(struct managed *m, const struct managed_write *w, const struct cJSON *object,
		  bool keeps_own)
{
	const struct managed_entry *own = keeps_own ? managed_own(m, w, false) : NULL;
	bool of_status = is_of_status(w->subresource), alone = own && own->whole;

	vec_foreach (&m->entries, e)
		if (e != own && strcmp(e->subresource, w->subresource) == 0)
			alone = false;
	if (alone)
		return;
	/* Without a status of its own all that the object has is behind one door. */
	vec_foreach (&m->entries, e)
		if (e->whole && (is_of_status(e->subresource) == of_status || !w->kind->has_status))
			spell_out(m, w, e, object);
	managed_drop_empty(m);
}
