/*
 * Bytes to an ElasticQuotaTree spec and a sequence of operations on its queues. The spec may be as
 * wrong as it likes: validation must answer, and what it accepts must compile. Then whatever
 * happens, usage stays the sum of what is admitted, nothing wraps, no candidate is refused, and
 * elastic_queue_check() finds its invariants.
 *
 * The input is consumed from the front, two bytes for a number; when it runs out, zeros follow.
 */
#include "base/arena.h"
#include "quota-tree/quota_message.h"

#define MAX_NODES 64
#define MAX_UNITS 48

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *data;
	size_t size;
};

static uint8_t take(struct input *in)
{
	if (in->size == 0)
		return 0;
	in->size--;
	return *in->data++;
}

static uint32_t take_below(struct input *in, uint32_t n)
{
	return (uint32_t)(take(in) % n);
}

/* Small, large, at the edges, and negative. */
static int64_t take_number(struct input *in)
{
	uint8_t how = take(in);
	int64_t v = (int64_t)take(in) << 8 | take(in);
	switch (how % 8) {
	case 0:
		return INT64_MAX - v;
	case 1:
		return v << 46;
	case 2:
		return how > 128 ? -v : v;
	default:
		return v;
	}
}

static struct span take_name(struct input *in, struct arena *a, const char *prefix)
{
	static const char *const odd[] = {"root", "", "a/b", "default", "x y"};
	uint8_t b = take(in);
	if (b >= 250)
		return span_of(odd[b - 250 < 5 ? b - 250 : 0]);
	char *s = arena_alloc(a, 16);
	int n = snprintf(s, 16, "%s%u", prefix, b % 96);
	return span_make(s, (size_t)n);
}

static struct elastic_list take_list(struct input *in, struct arena *a)
{
	static const char *const names[] = {"cpu", "memory", "nvidia.com/gpu",
					    ELASTIC_JOBS_RESOURCE};
	size_t n = take_below(in, 5);
	struct elastic_quantity *items = arena_array(a, struct elastic_quantity, n);
	for (size_t i = 0; i < n; i++)
		items[i] =
		    (struct elastic_quantity){span_of(names[take_below(in, 4)]), take_number(in)};
	return (struct elastic_list){items, n};
}

static void take_node(struct input *in, struct arena *a, struct elastic_node_spec *s, int depth,
		      uint32_t *budget)
{
	s->name = depth ? take_name(in, a, "n") : SPAN("root");
	s->min = take_list(in, a);
	s->max = take_list(in, a);
	if (take_below(in, 4) == 0)
		s->lendlimit = take_list(in, a);
	s->n_namespaces = take_below(in, 3);
	struct span *namespaces = arena_array(a, struct span, s->n_namespaces);
	for (size_t i = 0; i < s->n_namespaces; i++)
		namespaces[i] = take_name(in, a, "ns");
	s->namespaces = namespaces;
	uint32_t n = take_below(in, 6);
	if (n > *budget || depth > ELASTIC_MAX_DEPTH)
		n = 0;
	*budget -= n;
	struct elastic_node_spec *children = arena_array(a, struct elastic_node_spec, n);
	s->children = children;
	s->n_children = n;
	for (uint32_t i = 0; i < n; i++)
		take_node(in, a, &children[i], depth + 1, budget);
}

struct play {
	struct elastic_tree *tree;
	struct elastic_queues *q;
	struct elastic_unit *units[MAX_UNITS];
	char names[MAX_UNITS][8];
};

static void play_add(struct play *p, struct input *in)
{
	uint32_t i = take_below(in, MAX_UNITS);
	if (p->units[i])
		return;
	struct elastic_quantity ask[3] = {{SPAN("cpu"), take_number(in)},
					  {SPAN("memory"), take(in)},
					  {SPAN("nvidia.com/gpu"), take(in) % 9}};
	struct quota_amount amounts[ELASTIC_REQUEST_AMOUNTS];
	snprintf(p->names[i], sizeof(p->names[i]), "u%u", i);
	struct elastic_unit_spec spec = {
	    .node = take(in) % quota_tree_n_nodes(elastic_tree_quota(p->tree)),
	    .shape = take_below(in, 8),
	    .priority = (int8_t)take(in),
	    .nonpreemptible = take_below(in, 3) == 0,
	    .first_attempt = take_below(in, 4),
	    .name = span_of(p->names[i]),
	    .amounts = amounts,
	};
	if (elastic_tree_request(p->tree, ask, 3, amounts, &spec.n_amounts, NULL) != 0)
		return;
	if (take_below(in, 8) == 0) {
		struct elastic_unit *unit = NULL;
		if (elastic_queue_restore(p->q, &spec, &unit) == 0)
			p->units[i] = unit;
	} else {
		p->units[i] = elastic_queue_add(p->q, &spec);
	}
}

static void play_candidate(struct play *p, struct input *in)
{
	struct elastic_unit *u = elastic_queue_next(p->q);
	if (!u)
		return;
	switch (take_below(in, 4)) {
	case 0:
		elastic_queue_park(p->q, u);
		break;
	case 1:
		elastic_queue_skip(p->q, u);
		break;
	default:
		if (elastic_queue_admit(p->q, u, NULL) != 0)
			abort();
	}
}

static void play_end(struct play *p, struct input *in)
{
	uint32_t i = take_below(in, MAX_UNITS);
	if (!p->units[i])
		return;
	if (elastic_unit_is_admitted(p->units[i]) && take_below(in, 3) == 0) {
		elastic_queue_requeue(p->q, p->units[i]);
		return;
	}
	elastic_queue_remove(p->q, p->units[i]);
	p->units[i] = NULL;
}

static void play_look(struct play *p, struct input *in)
{
	uint32_t i = take_below(in, MAX_UNITS);
	if (!p->units[i])
		return;
	char text[64];
	struct elastic_standing s;
	struct quota_verdict path[QUOTA_MAX_DEPTH];
	struct quota_request req = elastic_unit_request(p->units[i]);
	elastic_queue_standing(p->q, p->units[i], &s);
	size_t len = quota_message_standing(p->tree, &s, text, sizeof(text));
	size_t depth =
	    quota_tree_explain(elastic_tree_quota(p->tree), s.node, &req, path, QUOTA_MAX_DEPTH);
	if (len >= sizeof(text) || depth == 0 || depth > QUOTA_MAX_DEPTH)
		abort();
}

static void play_configure(struct play *p, struct input *in)
{
	const struct elastic_queue_config config = {
	    .policy = (enum elastic_policy)take_below(in, ELASTIC_POLICY_MAX),
	    .threshold = (int8_t)take(in),
	    .priority = (int8_t)take(in),
	};
	elastic_queue_configure(p->q, take(in) % quota_tree_n_nodes(elastic_tree_quota(p->tree)),
				&config);
}

static void play(struct play *p, struct input *in)
{
	static void (*const steps[])(struct play *, struct input *) = {
	    play_add, play_add,	 play_candidate, play_candidate,
	    play_end, play_look, play_configure};
	while (in->size > 0) {
		uint32_t what = take_below(in, 9);
		if (what < ARRAY_LEN(steps))
			steps[what](p, in);
		else if (what == 7)
			elastic_queue_wake_shape(p->q, take_below(in, 8));
		else
			elastic_queue_rewind(p->q);
	}
	struct err err = ERR_INIT;
	while (elastic_queue_next(p->q))
		play_candidate(p, &(struct input){0});
	if (elastic_queue_check(p->q, &err) != 0) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	auto_arena arena = ARENA_INIT;
	struct elastic_problem items[4];
	struct elastic_problems problems = {.items = items, .max = ARRAY_LEN(items)};
	struct elastic_node_spec root = {0};
	uint32_t budget = MAX_NODES;
	take_node(&in, &arena, &root, 0, &budget);
	const struct elastic_options options = {.oversell_permille = take(&in) * 16,
						.max_binds_all = take_below(&in, 2)};
	const struct elastic_queue_options queue_options = {.check_oversold = take_below(&in, 2)};
	struct play p = {0};
	int valid = elastic_tree_validate(&root, &problems, NULL);
	if (problems.len > problems.max || (valid != 0) != (problems.n_errors > 0))
		abort();
	int made = elastic_tree_create(&root, &options, NULL, &p.tree, NULL);
	if ((valid != 0) != (made != 0))
		abort();
	if (made != 0)
		return 0;
	p.q = elastic_queue_create(p.tree, &queue_options);
	play(&p, &in);
	elastic_queue_destroy(p.q);
	elastic_tree_destroy(p.tree);
	return 0;
}
