/*
 * A member's Events about copies and their pods, told at the hub (DESIGN section 4 item 5).
 */
#include "world.h"

#include "base/json.h"

#include <inttypes.h>

static int open_world(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));
	world_open(w);
	w->after_turn = world_check;
	*state = w;
	return 0;
}

static int close_world(void **state)
{
	world_close(*state);
	free(*state);
	return 0;
}

/* An Event of the member's, without a turn. */
static void say(struct world *w, const struct model *m, const char *name, const char *kind,
		const char *object, const char *uid, const char *reason, int count)
{
	struct fact *f = fact_create(FACT_EVENT, m->number);
	auto_buf b = BUF_INIT;

	buf_addf(&b,
		 "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\"},\"involvedObject\":{"
		 "\"kind\":\"%s\",\"namespace\":\"default\",\"name\":\"%s\",\"uid\":\"%s\"},"
		 "\"reason\":\"%s\",\"message\":\"it said so\",\"source\":{\"component\":"
		 "\"kubelet\",\"host\":\"n1\"},\"firstTimestamp\":\"2026-01-01T00:00:00Z\","
		 "\"lastTimestamp\":\"2026-01-01T00:00:0%dZ\",\"count\":%d,\"type\":\"Warning\"}",
		 name, kind, object, uid, reason, count % 10, count);
	memcpy(f->incarnation, m->incarnation, STORE_UID_LEN);
	f->join = m->join;
	f->stream = STREAM_EVENTS;
	f->revision = 5000 + (uint64_t)count;
	f->json = arena_span(&f->mem, buf_span(&b));
	world_push(w, f);
}

static struct model *running_job(struct world *w)
{
	struct model *m = world_join(w, "c1", 2, 8);

	m->run_time = 600 * USEC_PER_SEC;
	assert_int_equal(world_job(w, "default", "one", 2, 3, ""), ERR_NONE);
	world_settle(w);
	return m;
}

static const char *field(struct world *w, const char *name, const char *path)
{
	return world_field(w, TYPE_EVENT, "default", name, path);
}

static void an_event_of_the_copy_is_one_of_the_hubs_object(void **state)
{
	struct world *w = *state;
	struct model *m = running_job(w);
	struct model_copy *copy = model_copy(m, "default", "one");

	say(w, m, "one.1", "Job", "one", copy->uid, "Created", 1);
	world_run(w);
	const struct job *j = world_record(w, TYPE_JOB, "default", "one");
	assert_string_equal(field(w, "one.1", "involvedObject.uid"), j->uid_text);
	assert_string_equal(field(w, "one.1", "involvedObject.apiVersion"), "batch/v1");
	assert_string_equal(field(w, "one.1", "source.component"), "kubelet");
	assert_string_equal(field(w, "one.1", "source.host"), "n1");
}

static void an_event_of_a_foreign_object_of_the_name_is_dropped(void **state)
{
	struct world *w = *state;
	struct model *m = running_job(w);

	say(w, m, "one.1", "Job", "one", "another-uid", "Created", 1);
	say(w, m, "x.1", "Job", "x", "some-uid", "Created", 1);
	world_run(w);
	assert_false(world_exists(w, TYPE_EVENT, "default", "one.1"));
	assert_false(world_exists(w, TYPE_EVENT, "default", "x.1"));
}

static void events_of_pods_are_told_of_the_pod_and_once_of_the_job(void **state)
{
	struct world *w = *state;
	struct model *m = running_job(w);
	struct model_copy *copy = model_copy(m, "default", "one");

	for (size_t i = 0; i < copy->pods.len; i++) {
		char name[32];
		(void)snprintf(name, sizeof(name), "pod.%zu", i);
		say(w, m, name, "Pod", copy->pods.items[i]->name, "u", "BackOff", 1);
	}
	world_run(w);
	assert_string_equal(field(w, "pod.0", "involvedObject.name"), copy->pods.items[0]->name);
	assert_string_equal(field(w, "pod.0", "involvedObject.uid"), "u");
	assert_int_equal(world_events(w, "one", "BackOff", ": it said so"), 1);
	size_t before = world_count(w, TYPE_EVENT, "default");
	say(w, m, "pod.0", "Pod", copy->pods.items[0]->name, "u", "BackOff", 4);
	say(w, m, "pod.0", "Pod", copy->pods.items[0]->name, "u", "BackOff", 4);
	world_run(w);
	assert_int_equal(world_count(w, TYPE_EVENT, "default"), before);
	assert_string_equal(field(w, "pod.0", "count"), "4");
	assert_int_equal(world_events(w, "one", "BackOff", ": it said so"), 1);
}

static void an_event_that_comes_before_its_pod_waits_for_it(void **state)
{
	struct world *w = *state;
	struct model *m = running_job(w);
	struct model_copy *copy = model_copy(m, "default", "one");
	char name[300];

	(void)snprintf(name, sizeof(name), "%s", copy->pods.items[0]->name);
	m->run_time = USEC_PER_SEC;
	assert_int_equal(world_job(w, "default", "two", 1, 1, ""), ERR_NONE);
	while (m->starts < 2) {
		if (w->orders.len)
			world_answer(w, w->orders.items[0]);
		else
			world_run(w);
	}
	copy = model_copy(m, "default", "two");
	say(w, m, "early.1", "Pod", copy->pods.items[0]->name, "u", "Scheduled", 1);
	say(w, m, "stranger.1", "Pod", "nobody", "u", "Scheduled", 1);
	world_run(w);
	assert_false(world_exists(w, TYPE_EVENT, "default", "early.1"));
	world_streams(w);
	world_advance(w, 200 * USEC_PER_MS);
	assert_true(world_exists(w, TYPE_EVENT, "default", "early.1"));
	assert_int_equal(world_events(w, "two", "Scheduled", "Pod two-"), 1);
	world_advance(w, 5 * USEC_PER_SEC);
	assert_false(world_exists(w, TYPE_EVENT, "default", "stranger.1"));
	assert_int_equal(world_member(w, m->number)->number, m->number);
}

static void an_event_after_the_end_is_still_told(void **state)
{
	struct world *w = *state;
	struct model *m = running_job(w);
	struct model_copy *copy = model_copy(m, "default", "one");

	model_finish(m, copy, false);
	world_settle(w);
	assert_null(world_record(w, TYPE_JOB, "default", "one"));
	say(w, m, "one.9", "Job", "one", copy->uid, "Completed", 1);
	world_run(w);
	assert_string_equal(field(w, "one.9", "reason"), "Completed");
	assert_string_equal(field(w, "one.9", "involvedObject.uid"),
			    world_field(w, TYPE_JOB, "default", "one", "metadata.uid"));
}

static void assert_hubs(const struct store_object *o)
{
	struct span list, entry, who;
	size_t pos = 0;

	assert_int_equal(json_text_path(o->json, &list, "metadata", "managedFields", NULL), 0);
	assert_true(json_text_next(list, &pos, NULL, &entry));
	assert_int_equal(json_text_member(entry, "manager", &who), 0);
	assert_true(span_is(json_text_plain(who), "musterd"));
	assert_false(json_text_next(list, &pos, NULL, &entry));
}

static void all_events_say_that_the_hub_wrote_them(void **state)
{
	struct world *w = *state;
	struct model *m = running_job(w);
	auto_reader *r = NULL;
	struct store_iter *it;
	struct store_object o;
	size_t n = 0;
	int fail = 0;

	say(w, m, "one.1", "Job", "one", model_copy(m, "default", "one")->uid, "Created", 1);
	world_run(w);
	assert_int_equal(store_read_begin(w->mirror, &r, NULL), 0);
	assert_int_equal(store_iter_begin(r, &(struct store_range){.type = TYPE_EVENT}, &it, NULL),
			 0);
	for (; store_iter_next(it, &o, &fail); n++)
		assert_hubs(&o);
	store_iter_end(it);
	assert_true(n > 1); /* the member's, and its own */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(an_event_of_the_copy_is_one_of_the_hubs_object),
	    TEST(an_event_of_a_foreign_object_of_the_name_is_dropped),
	    TEST(events_of_pods_are_told_of_the_pod_and_once_of_the_job),
	    TEST(an_event_that_comes_before_its_pod_waits_for_it),
	    TEST(an_event_after_the_end_is_still_told),
	    TEST(all_events_say_that_the_hub_wrote_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
