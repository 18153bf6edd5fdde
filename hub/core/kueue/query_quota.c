#include "core/kueue/query_quota.h"

#include "base/json.h"
#include "base/num.h"
#include "core/kueue/cluster_queue.h"
#include "core/query.h"
#include "quota-tree/quota_message.h"

#include <inttypes.h>

#define MAX_PATH 1024

struct tree {
	uint32_t root;
	struct map cells; /* that its queues state: "FLAVOR/RESOURCE" -> struct kueue_use */
};

struct walk {
	struct core *c;
	struct buf *b;
	bool *first;
	const struct tree *tree;
};

static void add_cell(const struct walk *w, uint32_t node, const char *name,
		     const struct kueue_use *cell, bool *first)
{
	const struct kueue_forest *f = w->c->kueue->forest;
	struct span resource = kueue_forest_resource_name(f, cell->resource);
	bool queue = kueue_forest_is_queue(f, node);
	int64_t nominal = queue ? kueue_forest_nominal(f, node, cell->flavor, cell->resource)
				: kueue_forest_subtree(f, node, cell->flavor, cell->resource);
	int64_t used = kueue_forest_usage(f, node, cell->flavor, cell->resource);

	if (queue ? !kueue_forest_lists(f, node, cell->flavor, cell->resource) && used == 0
		  : nominal == 0 && used == 0)
		return;
	buf_add_str(w->b, *first ? "" : ",");
	*first = false;
	buf_add_json_str(w->b, span_of(name));
	buf_addf(w->b, ":{\"unit\":\"%s\"", span_is(resource, "cpu") ? "milli" : "one");
	query_add_quantity(w->b, "min", resource, nominal);
	query_add_quantity(w->b, "max", resource,
			   kueue_forest_potential(f, node, cell->flavor, cell->resource));
	query_add_quantity(w->b, "used", resource, used);
	query_add_quantity(w->b, "borrowed", resource, num_max(0, num_sub_sat(used, nominal)));
	buf_add_char(w->b, '}');
}

static void add_node(const struct walk *w, uint32_t node, struct span parents, size_t depth)
{
	const struct kueue *k = w->c->kueue;
	const struct kueue_forest *f = k->forest;
	bool queue = kueue_forest_is_queue(f, node), first = true;
	struct kueue_counts n = {0};
	auto_buf path = BUF_MAX(MAX_PATH);

	if (queue)
		n = kueue_queues_count(k->queues, node);
	buf_addf(&path, "%.*s%s%.*s", SPAN_ARGS(parents), parents.len ? "/" : "",
		 SPAN_ARGS(kueue_forest_name(f, node)));
	buf_add_str(w->b, *w->first ? "{\"name\":" : ",{\"name\":");
	*w->first = false;
	buf_add_json_str(w->b, kueue_forest_name(f, node));
	buf_add_str(w->b, ",\"path\":");
	buf_add_json_str(w->b, buf_span(&path));
	buf_addf(w->b, ",\"kind\":\"%s\",\"depth\":%zu,\"pending\":%zu",
		 queue ? "ClusterQueue" : "Cohort", depth, n.pending);
	if (queue)
		buf_addf(w->b, ",\"reserving\":%zu,\"admitted\":%zu", n.reserving, n.admitted);
	if (k->settings.engine.fair_sharing)
		buf_addf(w->b, ",\"weightedShare\":%" PRId64,
			 kueue_share_status(kueue_forest_share(f, node)));
	buf_add_str(w->b, ",\"namespaces\":[],\"resources\":{");
	map_foreach (&w->tree->cells, e)
		add_cell(w, node, e->key, e->value, &first);
	buf_add_str(w->b, "}}");
	for (size_t i = 0; !queue; i++) {
		uint32_t child = kueue_forest_child(f, node, i);
		if (child == KUEUE_NONE)
			break;
		add_node(w, child, buf_span(&path), depth + 1);
	}
}

static void collect(struct core *c, const struct cluster_queue *q, struct tree *t)
{
	struct kueue_forest *f = c->kueue->forest;
	const struct kueue_queue_spec *s = kueue_forest_queue_spec(f, q->node);

	for (size_t g = 0; s && g < s->n_groups; g++) {
		const struct kueue_group_spec *group = &s->groups[g];
		for (size_t i = 0; i < group->n_flavors * group->n_resources; i++) {
			struct span flavor = group->flavors[i / group->n_resources];
			struct span resource = group->resources[i % group->n_resources];
			auto_buf name = BUF_INIT;
			buf_addf(&name, "%.*s/%.*s", SPAN_ARGS(flavor), SPAN_ARGS(resource));
			if (map_has(&t->cells, buf_span(&name)))
				continue;
			struct kueue_use *cell = xcalloc(1, sizeof(*cell));
			cell->flavor = kueue_forest_flavor(f, flavor);
			cell->resource = kueue_forest_find_resource(f, resource);
			map_put(&t->cells, buf_span(&name), cell);
		}
	}
}

static struct tree *tree_of(struct map *trees, uint32_t root)
{
	struct span key = span_make((const char *)&root, sizeof(root));
	struct tree *t = map_get(trees, key);

	if (t)
		return t;
	t = xcalloc(1, sizeof(*t));
	t->root = root;
	map_put(trees, key, t);
	return t;
}

void query_quota_nodes(struct core *c, bool *first, struct buf *b)
{
	struct map trees = MAP_INIT;

	map_foreach (&c->kueue->cluster_queues, e) {
		const struct cluster_queue *q = e->value;
		if (q->node != KUEUE_NONE)
			collect(c, q,
				tree_of(&trees, kueue_forest_root(c->kueue->forest, q->node)));
	}
	map_foreach (&trees, e) {
		struct tree *t = e->value;
		struct walk w = {.c = c, .b = b, .first = first, .tree = t};
		add_node(&w, t->root, SPAN(""), 1);
		map_foreach (&t->cells, cell)
			free(cell->value);
		map_done(&t->cells);
		free(t);
	}
	map_done(&trees);
}
