#include "core/kueue/topology.h"

#include "base/json.h"
#include "core/admission/settle.h"
#include "core/kueue/cluster_queue.h"

/* ---- the objects ---- */

static void topology_clear(struct topology *t)
{
	for (size_t i = 0; i < t->n_levels; i++)
		free((char *)(uintptr_t)t->levels[i].ptr);
	free(t->levels);
	free(t->name);
}

void topologies_done(struct kueue *k)
{
	vec_foreach (&k->topologies, t)
		topology_clear(t);
	vec_done(&k->topologies);
}

/* The place of the name in their order. */
static size_t place_of(const struct kueue *k, struct span name, bool *ret_found)
{
	size_t at = 0;

	while (at < k->topologies.len && span_cmp(span_of(k->topologies.items[at].name), name) < 0)
		at++;
	*ret_found = at < k->topologies.len && span_is(name, k->topologies.items[at].name);
	return at;
}

const struct topology *topology_find(const struct core *c, struct span name)
{
	bool found;
	size_t at = place_of(c->kueue, name, &found);

	return found ? &c->kueue->topologies.items[at] : NULL;
}

static void put(struct kueue *k, struct span name, struct topology take)
{
	bool found;
	size_t at = place_of(k, name, &found);

	if (found) {
		topology_clear(&k->topologies.items[at]);
		k->topologies.items[at] = take;
		return;
	}
	vec_push(&k->topologies, take);
	for (size_t i = k->topologies.len - 1; i > at; i--)
		k->topologies.items[i] = k->topologies.items[i - 1];
	k->topologies.items[at] = take;
}

/* Whoever waits and asks for a topology may ask for another one now. */
static void edited(struct core *c)
{
	kueue_queues_edited(c->kueue->queues, KUEUE_NONE);
	cluster_queue_review_all(c);
	map_foreach (&c->jobs_by_number, e) {
		struct job *j = e->value;
		bool asks = false;
		for (size_t i = 0; i < j->digest.n_pod_sets; i++)
			asks |= topology_request_asks(&j->digest.pod_sets[i].topology);
		if (asks && dispatch_is_free(&j->dispatch) && !j->finished && !j->deleting &&
		    !j->gone)
			settle_offer(c, j);
	}
	c->pump_wanted = true;
}

void topology_observe(struct core *c, const struct store_object *o)
{
	auto_json *tree = NULL;
	struct err err;

	if (object_tree(o, &tree, NULL) < 0)
		return;
	const struct cJSON *list = json_path(tree, "spec", "levels", NULL);
	struct topology t = {.name = xstrndup(o->key.name.ptr, o->key.name.len)};
	t.levels = xcalloc(json_len(list) + 1, sizeof(*t.levels));
	json_foreach (list, level) {
		const char *label = json_str(level, "nodeLabel");
		if (label)
			t.levels[t.n_levels++] = span_of(xstrdup(label));
	}
	const struct kueue_topology_spec spec = {o->key.name, t.levels, t.n_levels};
	if (kueue_forest_set_topology(c->kueue->forest, &spec, &err) < 0)
		log_warn(c->log, "topology refused", "topology=%s error=\"%s\"", t.name, err.text);
	put(c->kueue, o->key.name, t);
	edited(c);
}

void topology_forget(struct core *c, struct span name)
{
	struct kueue *k = c->kueue;
	bool found;
	size_t at = place_of(k, name, &found);

	if (!found)
		return;
	kueue_forest_remove_topology(k->forest, name);
	topology_clear(&k->topologies.items[at]);
	k->topologies.len--;
	for (; at < k->topologies.len; at++)
		k->topologies.items[at] = k->topologies.items[at + 1];
	edited(c);
}

struct span topology_of_flavor(const struct core *c, uint32_t flavor)
{
	const struct kueue_flavor_spec *s = kueue_forest_flavor_spec(c->kueue->forest, flavor);

	return s ? s->topology : SPAN_NONE;
}

/* ---- what a pod set asks ---- */

static bool level_at(const struct span *levels, size_t n, struct span label, uint32_t *ret)
{
	for (size_t i = 0; i < n; i++)
		if (span_eq(levels[i], label)) {
			*ret = (uint32_t)i;
			return true;
		}
	return false;
}

static const struct topology *topology_with(const struct core *c, const struct span *named,
					    size_t n)
{
	vec_foreach (&c->kueue->topologies, t) {
		size_t have = 0;
		uint32_t at;
		while (have < n && level_at(t->levels, t->n_levels, named[have], &at))
			have++;
		if (n && have == n)
			return t;
	}
	return NULL;
}

static int slices_of(const struct topology_request *r, struct pod_topology *t, struct err *reterr)
{
	for (size_t i = 0; i < r->n_layers; i++) {
		const struct topology_layer *layer = &r->layers[i];
		uint32_t level;
		if (!level_at(t->levels, t->n_levels, layer->level, &level))
			return err_set(reterr, ERR_INVALID,
				       "no requested topology level for slices: %.*s",
				       SPAN_ARGS(layer->level));
		if (i == 0) {
			t->slice_level = level;
			t->slice_size = (uint32_t)layer->size;
		} else {
			t->inner[t->n_inner].level = level;
			t->inner[t->n_inner++].size = (uint32_t)layer->size;
		}
	}
	return 0;
}

int topology_resolve(const struct core *c, const struct topology_request *request, struct span name,
		     struct arena *mem, struct pod_topology *ret, struct err *reterr)
{
	struct span named[TOPOLOGY_MAX_LAYERS + 1];
	size_t n = topology_request_levels(request, named);
	const struct topology *t = name.len ? topology_find(c, name) : topology_with(c, named, n);
	struct span level = request->required.len ? request->required : request->preferred;
	struct pod_topology out = {.mode = request->required.len    ? POD_TOPOLOGY_REQUIRED
					   : request->preferred.len ? POD_TOPOLOGY_PREFERRED
					   : request->n_layers	    ? POD_TOPOLOGY_SLICES
								    : POD_TOPOLOGY_UNCONSTRAINED};

	*ret = (struct pod_topology){0};
	if (!t && n == 0)
		return 0;
	if (!name.len && !topology_request_asks(request))
		return 0;
	struct span *levels = arena_array(mem, struct span, t ? t->n_levels : n);
	out.n_levels = t ? t->n_levels : n;
	memcpy(levels, t ? t->levels : named, out.n_levels * sizeof(*levels));
	out.levels = levels;
	if (level.len && !level_at(levels, out.n_levels, level, &out.level))
		return err_set(reterr, ERR_INVALID, "no requested topology level: %.*s",
			       SPAN_ARGS(level));
	int r = slices_of(request, &out, reterr);
	if (r == 0)
		*ret = out;
	return r;
}
