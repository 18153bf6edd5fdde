/*
 * Entries that own their object as a whole (managed_fields.h), and what spells them out.
 */
#include "kube/managed_priv.h"

/* What an object has, in the words of the entry's version; empty when that is not served. */
static struct field_set fields_of(struct managed *m, const struct managed_write *w,
				  const struct managed_entry *e, const struct cJSON *object)
{
	const struct kind *k = managed_kind(w, e->api_version);
	struct managed_write through = {.kinds = w->kinds, .kind = k, .subresource = ""};
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

void managed_spell_out(struct managed *m, const struct managed_write *w, const struct cJSON *object)
{
	vec_foreach (&m->entries, e) {
		if (!e->whole)
			continue;
		e->set = fields_of(m, w, e, object);
		e->whole = false;
		e->stored = NULL;
	}
	managed_drop_empty(m);
}

bool managed_stays_whole(struct managed *m, const struct managed_write *w)
{
	const struct managed_entry *own = managed_own(m, w, false);
	bool alone = true;

	if (strcmp(w->subresource, "status") == 0)
		return true; /* what is written there was never part of it */
	vec_foreach (&m->entries, e)
		if (e != own && !e->subresource[0])
			alone = false;
	return alone && own && own->whole;
}
