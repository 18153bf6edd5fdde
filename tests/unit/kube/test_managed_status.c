/*
 * A status that the hub owns in short, and what becomes of it when others write it too: clients by
 * updates, and appliers. The short form says what is left when the others' updates are taken out.
 */
#include "managed_scene.h"

#include "kube/field_set.h"

/* What an entry of the list says once it is spelled out. */
static struct cJSON *spelled(const struct scene *s, const char *manager)
{
	auto_json *tree = tree_now(s), *holder = json_object();
	struct managed m = MANAGED_INIT;
	struct managed_write w = by("anyone", "status", 9);
	struct cJSON *found = NULL;
	auto_buf text = BUF_INIT;
	assert_int_equal(managed_read(&m, json_path(tree, "metadata", "managedFields", NULL), NULL),
			 0);
	managed_spell_out(&m, &w, tree);
	managed_write_to(&m, holder);
	json_print(holder, &text);
	managed_done(&m);
	auto_json *read = NULL;
	assert_int_equal(json_parse(buf_span(&text), NULL, &read, NULL), 0);
	json_foreach (json_path(read, "metadata", "managedFields", NULL), e)
		if (strcmp(json_str(e, "manager"), manager) == 0 && json_str(e, "subresource"))
			found = json_dup(json_get(e, "fieldsV1"));
	return found;
}

static void assert_owns(const struct scene *s, const char *manager, const char *want)
{
	auto_json *fields = spelled(s, manager);
	assert_tree(fields, want);
}

#define RUNS_OF_HUB                                                                                \
	"{'f:status':{'.':{},'f:conditions':{'.':{}," CONDITION("Runs") "},'f:phase':{}}}"
#define LATE_OF_OTHER "{'f:status':{'f:conditions':{" CONDITION("Late") "}}}"

static void a_clients_condition_is_the_clients(void **state)
{
	struct scene *s = *state;
	create(s, "kubectl", 0);
	hub_at(s, 1, "{'conditions':[" RUNS "],'phase':'New'}");
	client(s, by("other", "status", 2), "status",
	       "{'conditions':[" RUNS "," LATE "],'phase':'New'}");
	assert_owners(s, "kubectl Update 0 {}\nhub Update/status 1 {}\n"
			 "other Update/status 2 " LATE_OF_OTHER "\n");
	assert_owns(s, "hub", RUNS_OF_HUB);
}

static void the_hub_takes_what_it_changes_and_leaves_the_rest(void **state)
{
	struct scene *s = *state;
	create(s, "kubectl", 0);
	hub_at(s, 1, "{'conditions':[" RUNS "],'phase':'New'}");
	client(s, by("other", "status", 2), "status",
	       "{'conditions':[" RUNS "," LATE "],'phase':'Mine'}");
	assert_owns(s, "hub",
		    "{'f:status':{'.':{},'f:conditions':{'.':{}," CONDITION("Runs") "}}}");
	hub_at(s, 3, "{'conditions':[" RUNS "," LATE "],'phase':'Old'}");
	assert_owners(s, "kubectl Update 0 {}\n"
			 "other Update/status 2 " LATE_OF_OTHER "\nhub Update/status 3 {}\n");
	assert_owns(s, "hub", RUNS_OF_HUB);
	/* What it does not say any more is nobody's. */
	hub_at(s, 4, "{'conditions':[" RUNS "],'phase':'Old'}");
	assert_owners(s, "kubectl Update 0 {}\nhub Update/status 3 {}\n");
	assert_owns(s, "hub", RUNS_OF_HUB);
}

static void an_emptied_status_is_still_the_hubs_and_one_that_is_gone_is_nobodys(void **state)
{
	struct scene *s = *state;
	create(s, "kubectl", 0);
	hub_at(s, 1, "{'phase':'New'}");
	client(s, by("other", "status", 2), "status", "{}");
	assert_owners(s, "kubectl Update 0 {}\nhub Update/status 1 {}\n");
	assert_owns(s, "hub", "{'f:status':{}}");
	client(s, by("other", "status", 3), "status", NULL);
	assert_owners(s, "kubectl Update 0 {}\n");
}

static void what_a_client_wrote_first_is_not_the_hubs(void **state)
{
	struct scene *s = *state;
	create(s, "kubectl", 0);
	client(s, by("other", "status", 1), "status", "{'conditions':[" LATE "]}");
	/* In short, since nobody else had one: an Update of the whole status, as far as it went. */
	hub_at(s, 2, "{'conditions':[" LATE "],'phase':'New'}");
	assert_owners(s,
		      "kubectl Update 0 {}\n"
		      "other Update/status 1 {'f:status':{'.':{},'f:conditions':{'.':{}," CONDITION(
			  "Late") "}}}\nhub Update/status 2 {'f:status':{'f:phase':{}}}\n");
}

/* ---- appliers ---- */

static void another_condition_can_be_applied_beside_the_hubs(void **state)
{
	struct scene *s = *state;
	create(s, "kubectl", 0);
	hub_at(s, 1, "{'conditions':[" RUNS "]}");
	struct applied a =
	    apply(s, by("flux", "status", 2), STATUS("{'conditions':[" LATE "]}"), false);
	assert_int_equal(a.r, 0);
	assert_status(s, "{'conditions':[" RUNS "," LATE "]}");
	assert_owners(
	    s,
	    "flux Apply/status 2 {'f:status':{'f:conditions':{" CONDITION(
		"Late") "}}}\n"
			"kubectl Update 0 {}\n"
			"hub Update/status 1 {'f:status':{'.':{},'f:conditions':{'.':{}," CONDITION(
			    "Runs") "}}}\n");
	/* And taken away again, by the applier alone. */
	(void)apply(s, by("flux", "status", 3), STATUS("{}"), false);
	assert_status(s, "{'conditions':[" RUNS "]}");
}

static void another_value_for_the_hubs_condition_is_a_conflict(void **state)
{
	struct scene *s = *state;
	create(s, "kubectl", 0);
	hub_at(s, 1, "{'conditions':[" RUNS "]}");
	static const char mine[] = STATUS("{'conditions':[{'type':'Runs','status':'False'}]}");
	struct applied a = apply(s, by("flux", "status", 2), mine, false);
	assert_int_equal(a.r, -ESTALE);
	assert_string_equal(a.message, "Apply failed with 1 conflict: conflict with \"hub\" with "
				       "subresource \"status\" using g/v1: "
				       ".status.conditions[type=\"Runs\"].status");
	assert_int_equal(apply(s, by("flux", "status", 2), mine, true).r, 0);
	assert_owners(s,
		      "flux Apply/status 2 {'f:status':{'f:conditions':{" CONDITION(
			  "Runs") "}}}\n"
				  "kubectl Update 0 {}\n"
				  "hub Update/status 1 {'f:status':{'.':{},'f:conditions':{'.':{},"
				  "'k:{\\\"type\\\":\\\"Runs\\\"}':{'.':{},'f:type':{}}}}}\n");
}

static void an_applier_beside_a_client_finds_what_each_owns(void **state)
{
	struct scene *s = *state;
	create(s, "kubectl", 0);
	hub_at(s, 1, "{'conditions':[" RUNS "],'phase':'New'}");
	client(s, by("other", "status", 2), "status",
	       "{'conditions':[" RUNS "," LATE "],'phase':'New'}");
	static const char mine[] =
	    STATUS("{'conditions':[{'type':'Late','status':'False'}],'phase':'Mine'}");
	struct applied a = apply(s, by("flux", "status", 3), mine, false);
	assert_int_equal(a.r, -ESTALE);
	assert_string_equal(a.message,
			    "Apply failed with 2 conflicts: conflicts with \"hub\" with "
			    "subresource \"status\" using g/v1:\n- .status.phase\n"
			    "conflicts with \"other\" with subresource \"status\" using g/v1:\n"
			    "- .status.conditions[type=\"Late\"].status");
	assert_int_equal(apply(s, by("flux", "status", 3), mine, true).r, 0);
	assert_owns(s, "hub",
		    "{'f:status':{'.':{},'f:conditions':{'.':{}," CONDITION("Runs") "}}}");
}

/* ---- short and long say the same ---- */

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 16;
}

static void some_status(uint32_t *seed, struct buf *out)
{
	static const char *const types[] = {"Late", "Mine", "Runs"};
	bool first = true;
	buf_add_str(out, "{");
	if (next(seed) % 4) {
		buf_add_str(out, "'conditions':[");
		for (size_t i = 0; i < ARRAY_LEN(types); i++) {
			if (next(seed) % 3 == 0)
				continue;
			buf_addf(out, "%s{%s'status':'%u','type':'%s'}", first ? "" : ",",
				 next(seed) % 2 ? "'message':'m'," : "", next(seed) % 2, types[i]);
			first = false;
		}
		buf_add_str(out, "],");
	}
	buf_addf(out, "'phase':'%u'}", next(seed) % 3);
}

static void spell_out(struct scene *s)
{
	struct cJSON *tree = tree_now(s);
	auto_json *stored = json_dup(json_path(tree, "metadata", "managedFields", NULL));
	struct managed m = MANAGED_INIT;
	struct managed_write w = by("anyone", "status", 9);
	assert_int_equal(managed_read(&m, stored, NULL), 0);
	managed_spell_out(&m, &w, tree);
	managed_write_to(&m, tree);
	managed_done(&m);
	write_tree(s, tree);
}

static void assert_same_owners(const struct scene *a, const struct scene *b, uint32_t seed)
{
	static const char *const managers[] = {"hub", "c1", "c2"};
	for (size_t i = 0; i < ARRAY_LEN(managers); i++) {
		auto_json *x = spelled(a, managers[i]), *y = spelled(b, managers[i]);
		auto_buf text = BUF_INIT;
		if (x && y && json_equal(x, y))
			continue;
		if (!x && !y)
			continue;
		buf_addf(&text, "seed %u, %s: ", seed, managers[i]);
		if (x)
			json_print(x, &text);
		buf_add_str(&text, " against ");
		if (y)
			json_print(y, &text);
		fail_msg("%.*s", SPAN_ARGS(buf_span(&text)));
	}
}

/* The same writes onto two objects; on one the hub's first entry is spelled out at once. */
static void the_short_form_is_the_long_one_whoever_writes(void **state)
{
	struct scene *a = *state;
	for (uint32_t round = 0; round < 300; round++) {
		void *other = NULL;
		uint32_t seed = round * 7919;
		setup(&other);
		struct scene *b = other;
		create(a, "kubectl", 0);
		create(b, "kubectl", 0);
		for (int step = 1; step < 12; step++) {
			uint32_t who = step == 1 ? 0 : next(&seed) % 3;
			auto_buf text = BUF_INIT;
			some_status(&seed, &text);
			for (int i = 0; i < 2; i++) {
				struct scene *s = i ? b : a;
				if (who == 0)
					hub_at(s, step, text.ptr);
				else
					client(s, by(who == 1 ? "c1" : "c2", "status", step),
					       "status", text.ptr);
			}
			if (step == 1)
				spell_out(b);
			assert_same_owners(a, b, round);
		}
		teardown(&other);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    SCENE(a_clients_condition_is_the_clients),
	    SCENE(the_hub_takes_what_it_changes_and_leaves_the_rest),
	    SCENE(an_emptied_status_is_still_the_hubs_and_one_that_is_gone_is_nobodys),
	    SCENE(what_a_client_wrote_first_is_not_the_hubs),
	    SCENE(another_condition_can_be_applied_beside_the_hubs),
	    SCENE(another_value_for_the_hubs_condition_is_a_conflict),
	    SCENE(an_applier_beside_a_client_finds_what_each_owns),
	    SCENE(the_short_form_is_the_long_one_whoever_writes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
