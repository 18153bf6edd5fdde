#ifndef TESTS_CORE_STARVATION_WORDS_H
#define TESTS_CORE_STARVATION_WORDS_H
/*
 * What the stories about starving gangs share: a hub that starves after a minute, jobs with limits,
 * and time that passes.
 */
#include "world.h"

#define AFTER (60 * USEC_PER_SEC)

static inline int starvation_setup(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));

	w->starve_after = AFTER;
	world_open(w);
	w->after_turn = world_check;
	*state = w;
	return 0;
}

#define STORY(name) cmocka_unit_test_setup_teardown(name, starvation_setup, world_teardown)

/* A Job that its own controller ends after `limit` seconds; 0: none. */
static inline void limited_job(struct world *w, const char *ns, const char *name, int pods,
			       int cpus, int limit)
{
	auto_free char *text = world_job_text(ns, name, pods, cpus, "");
	auto_buf b = BUF_INIT;
	char *spec = strstr(text, "'spec':{");

	buf_add(&b, text, (size_t)(spec - text));
	buf_add_str(&b, "'spec':{");
	if (limit)
		buf_addf(&b, "'activeDeadlineSeconds':%d,", limit);
	buf_add_str(&b, spec + strlen("'spec':{"));
	assert_int_equal(world_create(w, TYPE_JOB, b.ptr), ERR_NONE);
	world_settle(w);
}

static inline bool is_placed(struct world *w, const char *ns, const char *name)
{
	struct job *j = world_record(w, TYPE_JOB, ns, name);
	return !j || j->holds || j->finished;
}

static inline void later(struct world *w, int seconds)
{
	world_advance(w, seconds * USEC_PER_SEC);
	world_settle(w);
}

#endif
