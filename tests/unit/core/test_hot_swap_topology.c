/*
 * Gangs that are bound to domains, or start again as a whole, and lose a node.
 */
#include "hot_swap_words.h"

/* ---- domains ---- */

/* A gang of two that must be in one rack, and racks of `first` and two nodes. */
static struct model *racks(struct world *w, int first)
{
	struct model *m = member(w, "c1", first + 2);

	for (size_t i = 0; i < m->nodes.len; i++)
		model_place_node(m, m->nodes.items[i]->name, "A", i < (size_t)first ? "r1" : "r2");
	world_settle(w);
	auto_free char *text = world_job_text("default", "gang", 2, 4, "");
	auto_buf b = BUF_INIT;
	char *spec = strstr(text, "'template':{") + strlen("'template':{");

	buf_add(&b, text, (size_t)(spec - text));
	buf_addf(&b,
		 "'metadata':{'annotations':{'kueue.x-k8s.io/podset-required-topology':"
		 "'cloud.example.com/rack'}},%s",
		 spec);
	assert_int_equal(world_create(w, TYPE_JOB, b.ptr), ERR_NONE);
	world_settle(w);
	assert_int_equal(bound(w, m, "gang"), 2);
	return m;
}

static void a_gang_bound_to_a_rack_finds_its_spare_node_there(void **state)
{
	struct world *w = *state;
	struct model *m = racks(w, 3);

	/* Of three and two nodes the tighter rack was taken; a third node comes to it. */
	const char *rack = strstr(record(w, "gang")->domains, "r1") ? "r1" : "r2";
	model_add_node(m, "fresh", 4, 0);
	model_place_node(m, "fresh", "A", rack);
	world_settle(w);
	uint64_t starts = m->starts;
	model_remove_node(m, model_copy(m, "default", "gang")->pods.items[0]->node);
	world_settle(w);
	assert_int_equal(world_events(w, "gang", "HotSwap", "spare nodes of cluster c1"), 1);
	assert_int_equal(m->starts, starts); /* its copy stays */
	assert_int_equal(record(w, "gang")->dispatch.epoch, 1);
}

static void a_rack_that_cannot_hold_its_gang_is_left_for_another(void **state)
{
	struct world *w = *state;
	struct model *m = racks(w, 2);
	char *node = model_copy(m, "default", "gang")->pods.items[0]->node;
	bool in_r1 = strstr(record(w, "gang")->domains, "r1") != NULL;

	model_remove_node(m, node);
	world_settle(w);
	later(w, 2000);
	assert_int_equal(world_events(w, "gang", "HotSwap", "another one can"), 1);
	assert_int_equal(record(w, "gang")->dispatch.epoch, 2);
	assert_non_null(strstr(record(w, "gang")->domains, in_r1 ? "r2" : "r1"));
	assert_int_equal(bound(w, m, "gang"), 2);
}

/* ---- gangs that restart as a whole ---- */

static void a_controller_that_restarts_all_finds_its_old_nodes_kept(void **state)
{
	struct world *w = *state;
	struct model *m = member(w, "c1", 4);

	job(w, "gang", 3, "low");
	auto_free char *node = node_of(m, "gang");
	struct model_copy *c = model_copy(m, "default", "gang");
	model_set_node(m, node, false, false);
	world_settle(w);
	/* All pods go; for a moment every node is empty, and others would like them. */
	for (size_t i = 0; i < c->pods.len; i++)
		model_end_pod(m, c->pods.items[i]);
	world_streams(w);
	world_run(w);
	job(w, "other", 2, "low");
	assert_false(record(w, "other")->holds);
	for (size_t i = 0; i < c->pods.len; i++)
		c->pods.items[i]->gone = false;
	free(c->pods.items[0]->node);
	c->pods.items[0]->node = xstrdup(node);
	model_recreate(m, c, true);
	world_settle(w);
	later(w, 6000);
	later(w, 1100);
	assert_int_equal(bound(w, m, "gang"), 3);
	assert_null(record(w, "gang")->swap);
	assert_false(record(w, "other")->holds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(a_gang_bound_to_a_rack_finds_its_spare_node_there),
	    STORY(a_rack_that_cannot_hold_its_gang_is_left_for_another),
	    STORY(a_controller_that_restarts_all_finds_its_old_nodes_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
