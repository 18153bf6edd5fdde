/*
 * Entries that own their object as a whole (managed_fields.h), and what spells them out.
 */
#include "kube/managed_priv.h"

/* What a Go value of the type is written as before anything is said: {"spec":{...}}, and null for
 * the lists that it always writes. A create is compared with that, so that the structures
 * themselves are nobody's. */
static struct cJSON *zero_value(const struct schema *s)
{
	struct cJSON *object = json_object();

	for (uint64_t left = s->structs; left; left &= left - 1) {
		const struct schema_field *f = &s->fields[__builtin_ctzll(left)];
		json_add(object, f->name,
			 f->schema->type == SCHEMA_OBJECT ? zero_value(f->schema) : json_null());
	}
	return object;
}

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
	struct cJSON *zero = k->strategic ? zero_value(k->schema) : NULL;
	if (zero)
		vec_push(&m->trees, zero);
	typed_compare(&m->mem, k->schema, zero, object, &c);
	set = managed_door(&m->mem, &through, &c.added);
	return managed_strip(&m->mem, &set);
}

/* What other updates through the same door own of it. */
static struct field_set taken_from(struct managed *m, const struct managed_entry *whole)
{
	struct field_set taken = FIELD_SET_EMPTY;

	vec_foreach (&m->entries, e)
		if (!e->whole && !e->applied &&
		    managed_is_status(e->subresource) == managed_is_status(whole->subresource))
			taken = field_set_union(&m->mem, &taken, &e->set);
	return taken;
}

/* Sets that were spelled out before are no less whole for the next: all before any is. */
static void spell_out(struct managed *m, const struct managed_write *w, struct managed_entry *e,
		      const struct cJSON *object)
{
	struct field_set has = fields_of(m, w, e, object), taken = taken_from(m, e);

	e->set = field_set_difference(&m->mem, &has, &taken);
	e->stored = NULL;
}

/* Whether `e` is to be spelled out for a write through the door of `subresource`. */
static bool is_behind(const struct managed_write *w, const struct managed_entry *e,
		      const char *subresource)
{
	/* Without a status of its own all that the object has is behind one door. */
	return e->whole && (!subresource || !w->kind->has_status ||
			    managed_is_status(e->subresource) == managed_is_status(subresource));
}

/* Those behind one door, or all (NULL). */
static void spell_out_behind(struct managed *m, const struct managed_write *w,
			     const struct cJSON *object, const char *subresource)
{
	vec_foreach (&m->entries, e)
		if (is_behind(w, e, subresource))
			spell_out(m, w, e, object);
	vec_foreach (&m->entries, e)
		if (is_behind(w, e, subresource))
			e->whole = false;
	managed_drop_empty(m);
}

void managed_spell_out(struct managed *m, const struct managed_write *w, const struct cJSON *object)
{
	spell_out_behind(m, w, object, NULL);
}

/* One whole status beside updates that speak the same version: they take from it what they own. */
static bool is_shared_status(const struct managed *m, const struct managed_write *w)
{
	char version[KIND_API_VERSION_MAX];
	const char *own = kind_api_version(w->kind, version);
	size_t n_whole = 0;

	if (!w->kind->has_status || !managed_is_status(w->subresource))
		return false;
	vec_foreach (&m->entries, e) {
		if (!managed_is_status(e->subresource))
			continue;
		if (e->applied || strcmp(e->api_version, own) != 0)
			return false;
		n_whole += e->whole;
	}
	return n_whole == 1;
}

/* Whether the writer is the only one behind its door, and owns what is there as a whole. */
static bool is_alone(struct managed *m, const struct managed_write *w)
{
	const struct managed_entry *own = managed_own(m, w, false);

	vec_foreach (&m->entries, e)
		if (e != own && strcmp(e->subresource, w->subresource) == 0)
			return false;
	return own && own->whole;
}

void managed_open(struct managed *m, const struct managed_write *w, const struct cJSON *object,
		  bool by_update)
{
	if (!by_update || !(is_alone(m, w) || is_shared_status(m, w)))
		spell_out_behind(m, w, object, w->subresource);
}

void managed_close(struct managed *m, const struct managed_write *w, const struct cJSON *now)
{
	if (!is_shared_status(m, w) || json_get(now, "status"))
		return;
	vec_foreach (&m->entries, e)
		if (managed_is_status(e->subresource))
			e->whole = false;
	managed_drop_empty(m);
}
