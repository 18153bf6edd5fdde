#include "core/kueue/in_use.h"

#include "core/kueue/cluster_queue.h"

bool in_use_keeps(const struct kind *kind)
{
	return kind->type == TYPE_RESOURCE_FLAVOR || kind->type == TYPE_ADMISSION_CHECK ||
	       kind->type == TYPE_TOPOLOGY;
}

/* ---- who names it ---- */

static bool queue_names_flavor(const struct kueue *k, const struct cluster_queue *q,
			       struct span name)
{
	const struct kueue_queue_spec *s =
	    q->node != KUEUE_NONE ? kueue_forest_queue_spec(k->forest, q->node) : NULL;

	for (size_t g = 0; s && g < s->n_groups; g++)
		for (size_t f = 0; f < s->groups[g].n_flavors; f++)
			if (span_eq(s->groups[g].flavors[f], name))
				return true;
	return false;
}

static bool queue_names_check(const struct cluster_queue *q, struct span name)
{
	vec_foreach (&q->checks, a)
		if (span_is(name, a->name))
			return true;
	return false;
}

static bool some_queue_names(const struct kueue *k, uint16_t type, struct span name)
{
	map_foreach (&k->cluster_queues, e) {
		const struct cluster_queue *q = e->value;
		if (type == TYPE_RESOURCE_FLAVOR ? queue_names_flavor(k, q, name)
						 : queue_names_check(q, name))
			return true;
	}
	return false;
}

/* Numbers of flavors are dense, and stay. */
static bool some_flavor_names(const struct kueue *k, struct span topology)
{
	for (uint32_t f = 0; kueue_forest_flavor_name(k->forest, f).len; f++) {
		const struct kueue_flavor_spec *s = kueue_forest_flavor_spec(k->forest, f);
		if (s && span_eq(s->topology, topology))
			return true;
	}
	return false;
}

/* ---- those that leave ---- */

static void look_again(struct kueue *k, const struct kind *kind)
{
	if (k->leaving.len && (in_use_keeps(kind) || kind->type == TYPE_CLUSTER_QUEUE))
		k->leaving_changed = true;
}

static size_t place_of(const struct kueue *k, uint16_t type, struct span name)
{
	size_t at = 0;

	while (at < k->leaving.len && (k->leaving.items[at].kind->type != type ||
				       !span_is(name, k->leaving.items[at].name)))
		at++;
	return at;
}

void in_use_observe(struct core *c, const struct kind *kind, const struct store_object *o)
{
	struct kueue *k = c->kueue;

	if (in_use_keeps(kind) && o->flags & OBJECT_DELETING &&
	    core_has_finalizer(o, KUEUE_FINALIZER) &&
	    place_of(k, kind->type, o->key.name) == k->leaving.len)
		vec_push(&k->leaving, ((struct kueue_leaving){
					  kind, xstrndup(o->key.name.ptr, o->key.name.len)}));
	look_again(k, kind);
}

void in_use_forget(struct core *c, const struct kind *kind, struct span name)
{
	struct kueue *k = c->kueue;
	size_t at = place_of(k, kind->type, name);

	if (at < k->leaving.len) {
		free(k->leaving.items[at].name);
		k->leaving.items[at] = k->leaving.items[--k->leaving.len];
	}
	look_again(k, kind);
}

void in_use_flush(struct core *c)
{
	struct kueue *k = c->kueue;

	if (!k->leaving_changed || c->restoring)
		return;
	vec_foreach (&k->leaving, l) {
		struct span name = span_of(l->name);
		struct store_object o;
		if (l->kind->type == TYPE_TOPOLOGY ? some_flavor_names(k, name)
						   : some_queue_names(k, l->kind->type, name))
			continue;
		if (registry_batch_full(c->batch))
			return;
		if (registry_get(c->batch, l->kind, SPAN(""), name, &o) == 0)
			core_remove_finalizer(c, l->kind, &o, KUEUE_FINALIZER);
	}
	k->leaving_changed = false;
}

usec in_use_due(const struct core *c)
{
	return c->kueue->leaving_changed ? c->now : INT64_MAX;
}

void in_use_done(struct kueue *k)
{
	vec_foreach (&k->leaving, l)
		free(l->name);
	vec_done(&k->leaving);
}
