#include "fixture.h"

static struct fixture f;

static int setup(void **state)
{
	fixture_open(&f);
	return 0;
}

static int teardown(void **state)
{
	fixture_close(&f);
	return 0;
}

#define MAP(name, uid, rest)                                                                       \
	"{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'" name                          \
	"','namespace':'team','uid':'00000000-0000-4000-8000-00000000000" #uid "'},'data':{" rest  \
	"}}"
#define JOB(name, uid, meta, rest)                                                                 \
	"{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'" name                          \
	"','namespace':'team','uid':'00000000-0000-4000-8000-00000000000" #uid "'" meta            \
	"},'spec':{" rest "}}"

static void a_create_in_a_missing_namespace_is_not_found(void **state)
{
	fixture_create(&f, &kind_config_map, "nowhere", "a", MAP("a", 1, ""));
	assert_int_equal(f.err.kind, ERR_NOT_FOUND);
	assert_string_equal(f.err.text, "namespaces \"nowhere\" not found");
}

static void a_create_gets_a_revision_that_readers_see(void **state)
{
	uint64_t revision = fixture_create(&f, &kind_config_map, "team", "a", MAP("a", 1, ""));
	assert_int_equal(f.err.kind, ERR_NONE);
	assert_true(revision > 0);
	assert_int_equal(fixture_revision(&f, &kind_config_map, "team", "a"), revision);
}

static void a_second_create_already_exists(void **state)
{
	fixture_job(&f, "a", 1, "");
	fixture_job(&f, "a", 2, "");
	assert_int_equal(f.err.kind, ERR_ALREADY_EXISTS);
	assert_string_equal(f.err.text, "jobs.batch \"a\" already exists");
}

static void a_create_over_a_deleting_object_says_so(void **state)
{
	fixture_job(&f, "a", 1, ",'finalizers':['x/y']");
	fixture_delete(&f, &kind_job, "team", "a", PROPAGATE_DEFAULT);
	fixture_job(&f, "a", 2, "");
	assert_string_equal(f.err.text, "object is being deleted: jobs.batch \"a\" already exists");
}

static void an_update_at_another_revision_conflicts(void **state)
{
	uint64_t r = fixture_create(&f, &kind_config_map, "team", "a", MAP("a", 1, ""));
	fixture_update(&f, &kind_config_map, "team", "a", MAP("a", 1, "'k':'v'"), r + 1);
	assert_int_equal(f.err.kind, ERR_CONFLICT);
	assert_string_equal(
	    f.err.text,
	    "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; "
	    "please apply your changes to the latest version and try again");
	assert_int_equal(fixture_revision(&f, &kind_config_map, "team", "a"), r);
}

static void an_update_with_another_uid_conflicts(void **state)
{
	uint64_t r = fixture_create(&f, &kind_config_map, "team", "a", MAP("a", 1, ""));
	fixture_update(&f, &kind_config_map, "team", "a", MAP("a", 2, "'k':'v'"), r);
	assert_int_equal(f.err.kind, ERR_CONFLICT);
}

static void an_update_of_an_absent_object_is_not_found(void **state)
{
	fixture_update(&f, &kind_job, "team", "a", JOB("a", 1, "", ""), 1);
	assert_int_equal(f.err.kind, ERR_NOT_FOUND);
	assert_string_equal(f.err.text, "jobs.batch \"a\" not found");
}

static void an_update_with_the_same_bytes_keeps_the_revision(void **state)
{
	uint64_t r = fixture_create(&f, &kind_config_map, "team", "a", MAP("a", 1, "'k':'v'"));
	uint64_t before = store_revision(f.truth);
	uint64_t again =
	    fixture_update(&f, &kind_config_map, "team", "a", MAP("a", 1, "'k':'v'"), r);
	assert_int_equal(f.err.kind, ERR_NONE);
	assert_int_equal(again, r);
	assert_int_equal(store_revision(f.truth), before);
	assert_true(fixture_update(&f, &kind_config_map, "team", "a", MAP("a", 1, "'k':'w'"), r) >
		    r);
}

static void the_second_of_two_updates_in_one_batch_conflicts(void **state)
{
	struct err e = ERR_INIT;
	struct registry_batch *b;
	uint64_t r = fixture_create(&f, &kind_config_map, "team", "a", MAP("a", 1, ""));
	struct command *one = fixture_command(COMMAND_UPDATE, &kind_config_map, "team", "a",
					      MAP("a", 1, "'k':'1'"), r);
	struct command *two = fixture_command(COMMAND_UPDATE, &kind_config_map, "team", "a",
					      MAP("a", 1, "'k':'2'"), r);
	one->origin = two->origin = &f;
	assert_int_equal(registry_begin(f.reg, f.now, &b, &e), 0);
	assert_int_equal(registry_execute(b, one), 0);
	assert_true(registry_execute(b, two) < 0);
	assert_int_equal(registry_commit(b, &e), 0);
	registry_reply(b);
	registry_end(b);
	assert_int_equal(one->err.kind, ERR_NONE);
	assert_int_equal(two->err.kind, ERR_CONFLICT);
	assert_true(fixture_contains(&f, &kind_config_map, "team", "a", "'k':'1'"));
	command_destroy(one);
	command_destroy(two);
}

static void a_delete_with_finalizers_only_marks(void **state)
{
	uint64_t r = fixture_job(&f, "a", 1, ",'generation':1,'finalizers':['x/y']");
	uint64_t marked = fixture_delete(&f, &kind_job, "team", "a", PROPAGATE_DEFAULT);
	assert_true(marked > r);
	assert_int_equal(fixture_revision(&f, &kind_job, "team", "a"), marked);
	assert_true(fixture_contains(&f, &kind_job, "team", "a", "'deletionTimestamp':"));
	assert_true(fixture_contains(&f, &kind_job, "team", "a", "'generation':2"));
	assert_int_equal(fixture_delete(&f, &kind_job, "team", "a", PROPAGATE_DEFAULT), marked);
	assert_int_equal(f.err.kind, ERR_NONE);
}

static void an_update_that_drops_the_last_finalizer_removes(void **state)
{
	fixture_job(&f, "a", 1, ",'finalizers':['x/y']");
	uint64_t marked = fixture_delete(&f, &kind_job, "team", "a", PROPAGATE_DEFAULT);
	uint64_t gone =
	    fixture_update(&f, &kind_job, "team", "a",
			   JOB("a", 1, ",'deletionTimestamp':'2026-01-01T00:00:00Z'", ""), marked);
	assert_int_equal(f.err.kind, ERR_NONE);
	assert_true(gone > marked);
	assert_int_equal(fixture_revision(&f, &kind_job, "team", "a"), 0);
}

static void a_delete_at_another_revision_conflicts(void **state)
{
	uint64_t r = fixture_job(&f, "a", 1, "");
	fixture_run(&f, fixture_command(COMMAND_DELETE, &kind_job, "team", "a", NULL, r + 5));
	assert_int_equal(f.err.kind, ERR_CONFLICT);
	assert_int_equal(fixture_revision(&f, &kind_job, "team", "a"), r);
}

static void a_dry_run_changes_nothing(void **state)
{
	uint64_t before = store_revision(f.truth);
	struct command *c =
	    fixture_command(COMMAND_CREATE, &kind_job, "team", "a", JOB("a", 1, "", ""), 0);
	c->dry_run = true;
	fixture_run(&f, c);
	assert_int_equal(f.err.kind, ERR_NONE);
	uint64_t r = fixture_job(&f, "b", 2, "");
	c = fixture_command(COMMAND_DELETE, &kind_job, "team", "b", NULL, r);
	c->dry_run = true;
	fixture_run(&f, c);
	assert_int_equal(f.err.kind, ERR_NONE);
	assert_int_equal(store_revision(f.truth), before + 1);
}

static void a_create_after_a_delete_waits_for_the_next_batch(void **state)
{
	struct err e = ERR_INIT;
	struct registry_batch *b;
	uint64_t r = fixture_job(&f, "a", 1, "");
	struct command *del = fixture_command(COMMAND_DELETE, &kind_job, "team", "a", NULL, r);
	struct command *add =
	    fixture_command(COMMAND_CREATE, &kind_job, "team", "a", JOB("a", 2, "", ""), 0);
	del->origin = add->origin = &f;
	assert_int_equal(registry_begin(f.reg, f.now, &b, &e), 0);
	assert_int_equal(registry_execute(b, del), 0);
	assert_int_equal(registry_execute(b, add), -EINPROGRESS);
	assert_int_equal(registry_commit(b, &e), 0);
	registry_reply(b);
	registry_end(b);
	assert_int_equal(fixture_revision(&f, &kind_job, "team", "a"), 0);
	command_destroy(del);
	assert_true(fixture_run(&f, add) > r);
	assert_int_equal(f.err.kind, ERR_NONE);
}

static void a_batch_reads_its_own_writes_and_merges_them(void **state)
{
	struct err e = ERR_INIT;
	struct registry_batch *b;
	struct store_object o;
	uint64_t before = store_revision(f.truth);
	assert_int_equal(registry_begin(f.reg, f.now, &b, &e), 0);
	for (int i = 0; i < 3; i++) {
		struct object_draft d = fixture_draft(
		    &kind_config_map, i == 2 ? MAP("a", 1, "'z':'2'") : MAP("a", 1, "'z':'0'"));
		assert_int_equal(registry_put(b, &kind_config_map, SPAN("team"), SPAN("a"), &d), 0);
	}
	assert_int_equal(registry_get(b, &kind_config_map, SPAN("team"), SPAN("a"), &o), 0);
	assert_non_null(memmem(o.json.ptr, o.json.len, "\"z\":\"2\"", 7));
	assert_int_equal(o.revision, 0);
	registry_put_aux(b, false, STORE_AUX_SETTING, SPAN("k"), SPAN("v"));
	struct span v;
	assert_int_equal(registry_get_aux(b, false, STORE_AUX_SETTING, SPAN("k"), &v), 0);
	assert_int_equal(registry_batch_room(b), STORE_MAX_CHANGES - 2);
	assert_int_equal(registry_commit(b, &e), 0);
	size_t n;
	const struct registry_change *changes = registry_changes(b, &n);
	assert_int_equal(n, 1);
	assert_true(changes[0].created);
	assert_int_equal(changes[0].object.revision, before + 1);
	assert_int_equal(registry_truth_revision(b), before + 1);
	registry_end(b);
	assert_true(fixture_contains(&f, &kind_config_map, "team", "a", "'z':'2'"));
}

static void an_object_made_and_removed_in_one_batch_leaves_no_trace(void **state)
{
	struct err e = ERR_INIT;
	struct registry_batch *b;
	uint64_t before = store_revision(f.truth);
	struct object_draft d = fixture_draft(&kind_config_map, MAP("a", 1, ""));
	size_t n;
	assert_int_equal(registry_begin(f.reg, f.now, &b, &e), 0);
	assert_int_equal(registry_put(b, &kind_config_map, SPAN("team"), SPAN("a"), &d), 0);
	assert_int_equal(
	    registry_delete(b, &kind_config_map, SPAN("team"), SPAN("a"), PROPAGATE_DEFAULT), 0);
	assert_int_equal(registry_commit(b, &e), 0);
	registry_changes(b, &n);
	assert_int_equal(n, 0);
	registry_end(b);
	assert_int_equal(store_revision(f.truth), before);
}

static void a_failed_commit_releases_nothing(void **state)
{
	store_faulty_fail(f.truth, STORE_CALL_APPLY, 1, ERR_NO_SPACE, false);
	uint64_t before = store_revision(f.truth);
	fixture_job(&f, "a", 1, "");
	assert_int_equal(f.err.kind, ERR_NO_SPACE);
	assert_int_equal(store_revision(f.truth), before);
	fixture_job(&f, "a", 1, "");
	assert_int_equal(f.err.kind, ERR_NONE);
}

static void a_failed_commit_forgets_the_waiting_work_too(void **state)
{
	fixture_job(&f, "owner", 1, "");
	fixture_job(&f, "child", 2,
		    ",'ownerReferences':[{'apiVersion':'batch/v1','kind':'Job','name':'owner',"
		    "'uid':'00000000-0000-4000-8000-000000000001'}]");
	store_faulty_fail(f.truth, STORE_CALL_APPLY, 1, ERR_NO_SPACE, false);
	fixture_delete(&f, &kind_job, "team", "owner", PROPAGATE_DEFAULT);
	assert_int_equal(f.err.kind, ERR_NO_SPACE);
	assert_true(registry_due(f.reg) > f.now || fixture_work(&f, 64) < 3);
	assert_true(fixture_revision(&f, &kind_job, "team", "child") > 0);
	assert_true(fixture_revision(&f, &kind_job, "team", "owner") > 0);
}

static void a_failed_read_fails_the_commit(void **state)
{
	fixture_job(&f, "a", 1, "");
	store_faulty_fail(f.truth, STORE_CALL_GET, 1, ERR_INTERNAL, false);
	uint64_t before = store_revision(f.truth);
	fixture_job(&f, "b", 2, "");
	assert_int_equal(f.err.kind, ERR_INTERNAL);
	assert_int_equal(store_revision(f.truth), before);
}

static void a_query_is_not_the_registrys(void **state)
{
	fixture_run(&f, fixture_command(COMMAND_QUERY, &kind_job, "", "", NULL, 0));
	assert_int_equal(f.err.kind, ERR_NOT_FOUND);
}

static void time_never_goes_back(void **state)
{
	struct err e = ERR_INIT;
	struct registry_batch *b;
	assert_int_equal(registry_begin(f.reg, f.now, &b, &e), 0);
	registry_end(b);
	assert_int_equal(registry_begin(f.reg, f.now - 5, &b, &e), 0);
	assert_int_equal(registry_now(b), f.now);
	registry_end(b);
}

static void uids_are_version_4_and_differ(void **state)
{
	uint8_t a[STORE_UID_LEN], b[STORE_UID_LEN];
	registry_new_uid(f.reg, a);
	registry_new_uid(f.reg, b);
	assert_int_equal(a[6] >> 4, 4);
	assert_int_equal(a[8] >> 6, 2);
	assert_memory_not_equal(a, b, STORE_UID_LEN);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(a_create_in_a_missing_namespace_is_not_found),
	    T(a_create_gets_a_revision_that_readers_see),
	    T(a_second_create_already_exists),
	    T(a_create_over_a_deleting_object_says_so),
	    T(an_update_at_another_revision_conflicts),
	    T(an_update_with_another_uid_conflicts),
	    T(an_update_of_an_absent_object_is_not_found),
	    T(an_update_with_the_same_bytes_keeps_the_revision),
	    T(the_second_of_two_updates_in_one_batch_conflicts),
	    T(a_delete_with_finalizers_only_marks),
	    T(an_update_that_drops_the_last_finalizer_removes),
	    T(a_delete_at_another_revision_conflicts),
	    T(a_dry_run_changes_nothing),
	    T(a_create_after_a_delete_waits_for_the_next_batch),
	    T(a_batch_reads_its_own_writes_and_merges_them),
	    T(an_object_made_and_removed_in_one_batch_leaves_no_trace),
	    T(a_failed_commit_releases_nothing),
	    T(a_failed_commit_forgets_the_waiting_work_too),
	    T(a_failed_read_fails_the_commit),
	    T(a_query_is_not_the_registrys),
	    T(time_never_goes_back),
	    T(uids_are_version_4_and_differ),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
