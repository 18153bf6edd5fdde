/*
 * What somebody learns who only reads the watch log: the usage of the quota tree, from QueueUnits.
 * A unit holds its request from Dequeued until it is over, back in its queue, or gone.
 */
#include "world.h"

#include "base/json.h"
#include "kube/quantity.h"

#include <inttypes.h>

struct held {
	int64_t cpu;
	char ns[64];
};

static int64_t milli_cpus(const struct cJSON *list)
{
	const struct cJSON *node = json_get(list, "cpu");
	int64_t v = 0;

	if (node)
		assert_int_equal(quantity_from_node(node, QUANTITY_MILLI, &v), 0);
	return v;
}

static void take_limits(struct world_replay *p, const struct cJSON *tree)
{
	const struct cJSON *root = json_path(tree, "spec", "root", NULL);
	const struct cJSON *leaves = json_get(root, "children");

	p->n_leaves = 0;
	p->max_root = milli_cpus(json_get(root, "max"));
	json_foreach (leaves, leaf) {
		struct world_leaf *l = &p->leaves[p->n_leaves++];
		assert_true(p->n_leaves <= ARRAY_LEN(p->leaves));
		(void)snprintf(l->ns, sizeof(l->ns), "%s",
			       json_value_str(json_at(json_get(leaf, "namespaces"), 0)));
		l->max = milli_cpus(json_get(leaf, "max"));
	}
}

static int64_t used_by(const struct world_replay *p, const char *ns)
{
	int64_t sum = 0;

	map_foreach (&p->units, e) {
		const struct held *h = e->value;
		if (!ns || strcmp(h->ns, ns) == 0)
			sum += h->cpu;
	}
	return sum;
}

static void check_raised(const struct world_replay *p, const struct held *h, uint64_t revision)
{
	int64_t root = used_by(p, NULL);

	if (p->has_tree && root > p->max_root)
		fail_msg("revision %" PRIu64 " raises root to %" PRId64 " of %" PRId64, revision,
			 root, p->max_root);
	for (size_t i = 0; i < p->n_leaves; i++) {
		int64_t used = used_by(p, p->leaves[i].ns);
		if (strcmp(p->leaves[i].ns, h->ns) == 0 && used > p->leaves[i].max)
			fail_msg("revision %" PRIu64 " raises %s to %" PRId64 " of %" PRId64,
				 revision, h->ns, used, p->leaves[i].max);
	}
}

static void take_unit(struct world_replay *p, const struct store_log_row *row,
		      const struct cJSON *unit)
{
	const char *phase = json_str(json_get(unit, "status"), "phase");
	auto_buf key = BUF_INIT;
	int64_t was;

	buf_add_span(&key, row->object.key.ns);
	buf_add_char(&key, '/');
	buf_add_span(&key, row->object.key.name);
	struct held *h = map_get(&p->units, buf_span(&key));
	if (!h) {
		h = xcalloc(1, sizeof(*h));
		(void)snprintf(h->ns, sizeof(h->ns), "%.*s", SPAN_ARGS(row->object.key.ns));
		map_put(&p->units, buf_span(&key), h);
	}
	was = h->cpu;
	h->cpu = 0;
	if (row->op != STORE_LOG_DELETED && phase &&
	    (strcmp(phase, "Dequeued") == 0 || strcmp(phase, "Running") == 0))
		h->cpu = milli_cpus(json_path(unit, "spec", "request", NULL));
	if (h->cpu > was)
		check_raised(p, h, row->revision);
}

static int take_row(void *arg, const struct store_log_row *row)
{
	struct world_replay *p = arg;
	uint16_t type = row->object.key.type;
	auto_json *tree = NULL;

	p->revision = row->revision;
	p->rows++;
	world_replay_kueue(p, row);
	if (type != TYPE_QUEUE_UNIT && type != TYPE_ELASTIC_QUOTA_TREE)
		return 0;
	assert_int_equal(object_tree(&row->object, &tree, NULL), 0);
	if (type == TYPE_QUEUE_UNIT) {
		take_unit(p, row, tree);
	} else {
		p->has_tree = row->op != STORE_LOG_DELETED;
		p->n_leaves = 0;
		if (p->has_tree)
			take_limits(p, tree);
	}
	return 0;
}

void world_replay(struct world *w)
{
	auto_reader *r = NULL;

	assert_int_equal(store_read_begin(w->truth, &r, NULL), 0);
	assert_int_equal(store_log_scan(r, w->replay.revision, take_row, &w->replay), 0);
}

void world_replay_done(struct world *w)
{
	map_foreach (&w->replay.units, e)
		free(e->value);
	map_done(&w->replay.units);
	world_replay_kueue_done(&w->replay);
}
