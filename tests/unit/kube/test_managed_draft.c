/*
 * What the hub's own writes say in managedFields.
 */
#include "managed_scene.h"

/* ---- the hub alone ---- */

static void the_first_status_is_owned_as_a_whole(void **state)
{
	struct scene *s = *state;
	create(s, "kubectl", 0);
	hub_at(s, 1, "{'phase':'New'}");
	assert_owners(s, "kubectl Update 0 {}\nhub Update/status 1 {}\n");
}

static void the_next_one_changes_its_time(void **state)
{
	struct scene *s = *state;
	create(s, "kubectl", 0);
	hub_at(s, 1, "{'phase':'New'}");
	size_t len = s->d.len;
	hub_at(s, 2, "{'phase':'Old'}");
	assert_owners(s, "kubectl Update 0 {}\nhub Update/status 2 {}\n");
	assert_int_equal(s->d.len, len);
}

static void entries_stand_in_the_servers_order(void **state)
{
	struct scene *s = *state;
	create(s, "zsh", 0);
	hub_at(s, 0, "{'phase':'New'}");
	assert_owners(s, "hub Update/status 0 {}\nzsh Update 0 {}\n");
	client(s, by("zsh", "", 2), "spec", "{'x':'2'}");
	assert_owners(s, "hub Update/status 0 {}\nzsh Update 2 {}\n");
	hub_at(s, 3, "{'phase':'Old'}");
	assert_owners(s, "zsh Update 2 {}\nhub Update/status 3 {}\n");
}

static void an_appliers_entry_stands_first(void **state)
{
	struct scene *s = *state;
	create(s, "kubectl", 0);
	(void)apply(s, by("flux", "", 5),
		    "{'apiVersion':'g/v1','kind':'K','metadata':{'name':'n'},'spec':{'y':'1'}}",
		    false);
	hub_at(s, 5, "{'phase':'New'}");
	assert_owners(s, "flux Apply 5 {'f:spec':{'f:y':{}}}\n"
			 "kubectl Update 0 {'f:spec':{'.':{},'f:x':{}}}\n"
			 "hub Update/status 5 {}\n");
}

static void an_object_without_owners_gets_none(void **state)
{
	struct scene *s = *state;
	write_tree(s, tree_of("{'apiVersion':'g/v1','kind':'K','metadata':{'name':'n','uid':'" UID
			      "'},'spec':{'x':'1'}}"));
	hub_at(s, 1, "{'phase':'New'}");
	assert_owners(s, "");
}

static void a_status_that_is_gone_has_no_owner(void **state)
{
	static const char *const gone[] = {"{}", NULL};
	for (size_t i = 0; i < ARRAY_LEN(gone); i++) {
		struct scene *s = *state;
		create(s, "kubectl", 0);
		hub_at(s, 1, "{'phase':'New'}");
		hub_at(s, 2, gone[i]);
		assert_owners(s, "kubectl Update 0 {}\n");
	}
}

static void an_edit_of_the_spec_leaves_the_statuss_owner_in_short(void **state)
{
	struct scene *s = *state;
	create(s, "kubectl", 0);
	hub_at(s, 1, "{'phase':'New'}");
	client(s, by("editor", "", 2), "spec", "{'x':'1','y':'1'}");
	assert_owners(s, "kubectl Update 0 {'f:spec':{'.':{},'f:x':{}}}\n"
			 "hub Update/status 1 {}\n"
			 "editor Update 2 {'f:spec':{'f:y':{}}}\n");
	(void)apply(s, by("flux", "", 3),
		    "{'apiVersion':'g/v1','kind':'K','metadata':{'name':'n'},'spec':{'x':'1'}}",
		    false);
	hub_at(s, 4, "{'phase':'Old'}");
	assert_owners(s, "flux Apply 0 {'f:spec':{'f:x':{}}}\n"
			 "kubectl Update 0 {'f:spec':{'.':{},'f:x':{}}}\n"
			 "editor Update 2 {'f:spec':{'f:y':{}}}\n"
			 "hub Update/status 4 {}\n");
}

static void an_entry_that_does_not_fit_is_left_out(void **state)
{
	struct scene *s = *state;
	auto_buf text = BUF_MAX(STORE_MAX_OBJECT);
	create(s, "kubectl", 0);
	buf_add_str(&text, "{'phase':'");
	while (text.len < STORE_MAX_OBJECT - s->d.len - 100)
		buf_add_char(&text, 'x');
	buf_add_str(&text, "'}");
	hub_at(s, 1, text.ptr);
	assert_owners(s, "kubectl Update 0 {}\n");
	assert_true(s->d.len <= STORE_MAX_OBJECT - STORE_REVISION_TEXT);
}

static void the_hubs_entry_may_be_the_oldest_of_too_many(void **state)
{
	struct scene *s = *state;
	create(s, "kubectl", 0);
	hub_at(s, 1, "{'phase':'New'}");
	for (int i = 2; i < 11; i++) {
		auto_json *old = tree_now(s);
		struct cJSON *now = json_dup(old);
		char name[8];
		(void)snprintf(name, sizeof(name), "m%02d", i);
		json_set_str(json_ensure_object(json_get(now, "metadata"), "labels"), name, "v");
		struct managed_write w = by(name, "", i);
		managed_record(&w, old, now, NULL);
		write_tree(s, now);
	}
	auto_json *tree = tree_now(s);
	const struct cJSON *list = json_path(tree, "metadata", "managedFields", NULL);
	assert_int_equal(json_len(list), MANAGED_MAX_UPDATERS);
	assert_string_equal(json_str(json_at(list, 0), "manager"), "ancient-changes");
	assert_tree(json_get(json_at(list, 0), "fieldsV1"),
		    "{'f:spec':{'.':{},'f:x':{}},'f:status':{'.':{},'f:phase':{}}}");
}

/* ---- objects of the hub's own ---- */

/* As the writer of objects makes them: both entries in short. */
static void made_by_hub(struct scene *s, int second, const char *x)
{
	struct managed_write w = by("hub", "", second);
	auto_buf text = BUF_INIT;
	struct cJSON *tree = NULL;
	buf_addf(&text,
		 "{\"apiVersion\":\"g/v1\",\"kind\":\"K\",\"metadata\":{\"name\":\"n\",\"uid\":"
		 "\"" UID "\",\"resourceVersion\":\"\",");
	managed_draft_add(&w, true, &text);
	buf_addf(&text, "},\"spec\":{\"x\":\"%s\"},\"status\":{\"phase\":\"%d\"}}", x, second);
	assert_int_equal(json_parse(buf_span(&text), NULL, &tree, NULL), 0);
	struct object_draft was = s->d;
	struct store_object o = {.json = span_make(was.json, was.len), .extents = was.extents};
	s->d = (struct object_draft){0};
	write_tree(s, tree);
	if (was.json)
		managed_draft_edited(&w, &o, &s->d);
	object_draft_done(&was);
}

static void what_the_hub_makes_anew_it_owns_anew(void **state)
{
	struct scene *s = *state;
	made_by_hub(s, 1, "1");
	made_by_hub(s, 2, "2");
	assert_owners(s, "hub Update 2 {}\nhub Update/status 2 {}\n");
}

static void what_others_changed_of_it_stays_theirs_until_the_hub_changes_it(void **state)
{
	struct scene *s = *state;
	made_by_hub(s, 1, "1");
	client(s, by("editor", "", 2), "spec", "{'x':'1','y':'1'}");
	client(s, by("editor", "", 2), "spec", "{'x':'2','y':'1'}");
	made_by_hub(s, 3, "2"); /* without y */
	assert_owners(s, "hub Update 1 {'f:spec':{}}\n"
			 "editor Update 2 {'f:spec':{'f:x':{}}}\n"
			 "hub Update/status 3 {}\n");
	made_by_hub(s, 4, "3");
	assert_owners(s, "hub Update 4 {'f:spec':{'.':{},'f:x':{}}}\nhub Update/status 4 {}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    SCENE(the_first_status_is_owned_as_a_whole),
	    SCENE(the_next_one_changes_its_time),
	    SCENE(entries_stand_in_the_servers_order),
	    SCENE(an_appliers_entry_stands_first),
	    SCENE(an_object_without_owners_gets_none),
	    SCENE(a_status_that_is_gone_has_no_owner),
	    SCENE(an_edit_of_the_spec_leaves_the_statuss_owner_in_short),
	    SCENE(an_entry_that_does_not_fit_is_left_out),
	    SCENE(the_hubs_entry_may_be_the_oldest_of_too_many),
	    SCENE(what_the_hub_makes_anew_it_owns_anew),
	    SCENE(what_others_changed_of_it_stays_theirs_until_the_hub_changes_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
