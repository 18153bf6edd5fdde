/*
 * A status that is written by copying its text is byte for byte the one that its tree would give.
 */
#include "base/json.h"
#include "core/kueue/workload_edit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char *const types[] = {"QuotaReserved", "Admitted",  "Evicted",
				    "Preempted",     "PodsReady", "Finished"};
static const char *const messages[] = {"", "Quota reserved in ClusterQueue a",
				       "with \"quotes\", a \\ and\na line",
				       "Previously: \xe2\x82\xac 5 and a tab\t"};

static uint32_t below(uint64_t *rng, uint32_t n)
{
	*rng = *rng * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*rng >> 33) % n;
}

static const char *pick(uint64_t *rng, const char *const *from, size_t n)
{
	return from[below(rng, (uint32_t)n)];
}

/* Members in any order, some lacking, some of the wrong type, some that nobody knows. */
static struct cJSON *random_condition(uint64_t *rng)
{
	struct cJSON *one = json_object();

	if (below(rng, 20) == 0)
		json_set_str(one, "message", "first");
	if (below(rng, 20))
		json_set_str(one, "type", pick(rng, types, ARRAY_LEN(types)));
	if (below(rng, 4))
		json_set_str(one, "lastTransitionTime", "2026-01-01T00:00:00Z");
	if (below(rng, 10))
		json_set_str(one, "status", below(rng, 2) ? "True" : "False");
	else if (below(rng, 2))
		json_set_int(one, "status", 1);
	if (below(rng, 2))
		json_set_int(one, "observedGeneration", 9007199254740993);
	if (below(rng, 10))
		json_set_str(one, "reason", "Pending");
	if (below(rng, 8))
		json_set_str(one, "message", pick(rng, messages, ARRAY_LEN(messages)));
	return one;
}

static struct cJSON *random_status(uint64_t *rng)
{
	struct cJSON *status = json_object(), *list = json_array();

	if (below(rng, 3) == 0)
		json_set_str(status, "nodeName", "a\"b");
	if (below(rng, 3) == 0)
		json_set(status, "admission", json_new_str("as it was"));
	if (below(rng, 3) == 0)
		json_set(status, "unhealthyNodes", json_array());
	if (below(rng, 5)) {
		for (uint32_t n = below(rng, 6); n > 0; n--)
			json_append(list, random_condition(rng));
		json_set(status, "conditions", list);
	} else if (below(rng, 4) == 0) {
		json_set_str(status, "conditions", "none");
		json_free(list);
	} else {
		json_free(list);
	}
	if (below(rng, 3) == 0)
		json_set_int(status, "accumulatedPastExecutionTimeSeconds", 7);
	return status;
}

static struct workload_edit *random_edit(uint64_t *rng)
{
	struct workload_edit *e = xcalloc(1, sizeof(*e));

	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		struct condition_edit k = {.type = types[i], .reason = "Because"};
		if (below(rng, 2))
			continue;
		k.clear = below(rng, 3) == 0;
		k.status = !k.clear && below(rng, 2);
		k.message = k.clear ? NULL : xstrdup(pick(rng, messages, ARRAY_LEN(messages)));
		vec_push(&e->conditions, k);
	}
	e->has_admission = below(rng, 2);
	if (e->has_admission && below(rng, 2))
		e->admission = xstrdup("{\"clusterQueue\":\"q\",\"podSetAssignments\":[]}");
	return e;
}

static void text_and_tree_write_the_same(void **state)
{
	size_t by_text = 0;
	uint64_t rng = 17;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		static struct workload w;
		auto_buf stored = BUF_INIT, text = BUF_INIT, tree = BUF_INIT;
		auto_json *status = random_status(&rng);
		bool text_finished = false, tree_finished = false;
		w.edit = random_edit(&rng);
		w.generation = below(&rng, 3);
		if (below(&rng, 10))
			json_print(status, &stored);
		if (workload_text_write(&w, buf_span(&stored), i, &text, &text_finished)) {
			workload_tree_write(&w, buf_span(&stored), i, &tree, &tree_finished);
			if (!span_eq(buf_span(&text), buf_span(&tree)) ||
			    text_finished != tree_finished)
				fail_msg("of %.*s\ntext %.*s\ntree %.*s",
					 SPAN_ARGS(buf_span(&stored)), SPAN_ARGS(buf_span(&text)),
					 SPAN_ARGS(buf_span(&tree)));
			by_text++;
		} else {
			assert_int_equal(text.len, 0);
		}
		workload_edit_free(&w);
	}
	/* Only where conditions are no list is the tree needed. */
	assert_true(by_text > 18000);
}

static bool writes_by_text(const char *stored, struct workload *w)
{
	auto_buf out = BUF_INIT;
	bool finished;

	return workload_text_write(w, span_of(stored), 0, &out, &finished);
}

/* A key or a type that is spelled with escapes is the same key to a tree. */
static void what_is_not_plain_is_left_to_the_tree(void **state)
{
	static struct workload w;
	uint64_t rng = 3;

	(void)state;
	do {
		workload_edit_free(&w);
		w.edit = random_edit(&rng);
	} while (!w.edit->conditions.len ||
		 strcmp(w.edit->conditions.items[0].type, types[0]) != 0);
	assert_true(writes_by_text("{\"conditions\":[{\"type\":\"QuotaReserved\"}]}", &w));
	assert_false(writes_by_text("{\"condition\\u0073\":[]}", &w));
	assert_false(writes_by_text("{\"conditions\":[{\"type\":\"Quota\\u0052eserved\"}]}", &w));
	assert_false(writes_by_text(
	    "{\"conditions\":[{\"type\":\"Finished\",\"status\":\"Tru\\u0065\"}]}", &w));
	assert_false(writes_by_text("[]", &w));
	w.past_execution = 1;
	assert_false(writes_by_text("{}", &w));
	w.past_execution = 0;
	w.edit->has_requeue = true;
	assert_false(writes_by_text("{}", &w));
	workload_edit_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(text_and_tree_write_the_same),
	    cmocka_unit_test(what_is_not_plain_is_left_to_the_tree),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
