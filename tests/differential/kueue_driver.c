/*
 * The hub's side of the test against the slow model of Kueue's cycle: replays the scenarios that
 * kueue_model/generate.py writes (one operation a line, with what the model decided) and compares
 * decision by decision. generate.py says what the lines mean.
 *
 * usage: kueue_driver [rounds] < scenarios; ends with 0 when everything was the same. One
 * difference ends its scenario: what follows would differ for that reason. With `rounds` cycles
 * have many rounds, as in the hub; else one, as in Kueue.
 */
#include "base/arena.h"
#include "base/json.h"
#include "kueue_world.h"

#include <stdio.h>
#include <string.h>

enum { MAX_SHOWN = 5, MAX_LINE = 1 << 20 };

static void world_done(struct world *w)
{
	map_foreach (&w->jobs, e)
		vec_done(&((struct job *)e->value)->pod_sets);
	map_done(&w->jobs);
	map_done(&w->checks);
	kueue_queues_destroy(w->queues);
	kueue_forest_destroy(w->forest);
	vec_done(&w->queue_names);
	vec_done(&w->cohort_names);
	vec_done(&w->flavor_names);
	vec_done(&w->resource_names);
	arena_done(&w->mem);
	*w = (struct world){.rounds = w->rounds};
}

static int apply(struct world *w, struct span op, struct span line, struct err *err)
{
	if (span_is(op, "flavor"))
		return objects_set_flavor(w, line, err);
	if (span_is(op, "cohort"))
		return objects_set_cohort(w, line, err);
	if (span_is(op, "queue"))
		return objects_set_queue(w, line, err);
	if (span_is(op, "add"))
		return objects_add(w, line, err);
	if (span_is(op, "usage")) {
		objects_set_usage(w, line);
		return 0;
	}
	if (span_is(op, "starving"))
		return compare_shadows(w, line, err);
	return objects_act(w, op, line, err);
}

/* Whether the line was done as the model did. */
static bool step(struct world *w, struct span line, int64_t seed, size_t number)
{
	struct err err = {0};
	struct span op = line_text(w, line, "op"), expect = line_member(line, "expect");
	int r = apply(w, op, line, &err);
	if (r)
		printf(" refused: %s\n", err.text);
	bool ok = !r && (!expect.len || compare_run(w, expect));
	if (!ok)
		printf("^ seed %lld, line %zu: %.*s\n\n", (long long)seed, number,
		       (int)(expect.len ? (size_t)(expect.ptr - line.ptr) : line.len), line.ptr);
	return ok;
}

int main(int argc, char **argv)
{
	static char line[MAX_LINE];
	struct world w = {.rounds = argc > 1 && !strcmp(argv[1], "rounds")};
	int64_t seed = 0;
	size_t number_of_line = 0, scenarios = 0, wrong = 0;
	bool lost = true;
	while (fgets(line, sizeof(line), stdin)) {
		struct span s = span_make(line, strcspn(line, "\n"));
		struct err err = {0};
		number_of_line++;
		if (json_check(s, NULL, &err)) {
			printf("line %zu: %s\n", number_of_line, err.text);
			return 2;
		}
		if (line_is(s, "op", "options")) {
			world_done(&w);
			seed = line_number(s, "seed", 0);
			objects_set_options(&w, s);
			scenarios++;
			lost = false;
		} else if (!lost && !step(&w, s, seed, number_of_line)) {
			lost = true;
			if (++wrong >= MAX_SHOWN)
				break;
		}
	}
	world_done(&w);
	printf("%zu scenarios, %zu wrong\n", scenarios, wrong);
	return wrong || !scenarios;
}
