/*
 * Where who was evicted for pods that were not ready stands in its queue afterwards
 * (waitForPodsReady.requeuingStrategy.timestamp; reference/kueue.md 2.1 and 2.8).
 */
#include "kueue_words.h"

#define MINUTES (60 * USEC_PER_SEC)

static bool is_admitted(struct world *w, const char *job)
{
	return strcmp(of_job(w, job, "Admitted", "status"), "True") == 0;
}

/* The queue holds one of three jobs. `one` runs first and loses a pod for good: after 3 minutes it
 * is evicted and `two` takes its turn; a minute later its backoff is over, and when `two` ends
 * either `one` is next or `three`, which was created before that eviction. */
static void evict_the_first_of_three(struct world *w, const char *settings)
{
	struct model *m;

	w->kueue = settings;
	world_restart(w);
	m = world_join(w, "c1", 1, 4);
	m->run_time = 24 * 60 * MINUTES;
	flavor(w, "f", "");
	cluster_queue(w, "cq", "f", 4, "");
	local_queue(w, "lq", "cq");
	queued_job(w, "one", "lq", 2, 2);
	world_settle(w);
	world_advance(w, USEC_PER_SEC);
	queued_job(w, "two", "lq", 2, 2);
	queued_job(w, "three", "lq", 2, 2);
	world_settle(w);
	model_end_pod(m, model_copy(m, "default", "one")->pods.items[0]);
	world_settle(w);
	world_advance(w, 3 * MINUTES + USEC_PER_SEC);
	world_settle(w);
	assert_string_equal(of_job(w, "one", "Evicted", "reason"), "PodsReadyTimeout");
	assert_true(is_admitted(w, "two"));
	world_advance(w, 2 * MINUTES);
	world_settle(w);
	assert_string_equal(of_job(w, "one", "Requeued", "reason"), "BackoffFinished");
	world_restart(w); /* the place is remembered */
	world_settle(w);
	model_finish(m, model_copy(m, "default", "two"), false);
	world_settle(w);
}

static void by_its_eviction_it_goes_to_the_back(void **state)
{
	struct world *w = *state;

	evict_the_first_of_three(w, "{'waitForPodsReady':{'recoveryTimeout':'3m',"
				    "'requeuingStrategy':{'timestamp':'Eviction'}}}");
	assert_true(is_admitted(w, "three"));
	assert_false(is_admitted(w, "one"));
}

static void by_its_creation_it_keeps_its_place(void **state)
{
	struct world *w = *state;

	evict_the_first_of_three(w, "{'waitForPodsReady':{'recoveryTimeout':'3m',"
				    "'requeuingStrategy':{'timestamp':'Creation'}}}");
	assert_true(is_admitted(w, "one"));
	assert_false(is_admitted(w, "three"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    STORY(by_its_eviction_it_goes_to_the_back),
	    STORY(by_its_creation_it_keeps_its_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
