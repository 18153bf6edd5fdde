/*
 * What the hub's own writes say in managedFields, and what becomes of it when others write the same
 * status: clients by updates, and appliers.
 */
#include "kube_test.h"

#include "kube/managed_draft.h"
#include "kube/schema.h"

#include <errno.h>

#define UID "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
#define T0  (1700000000 * USEC_PER_SEC) /* 2023-11-14T22:13:20Z */

/* ---- a kind whose conditions are a list by type ---- */

static const struct schema string = {.type = SCHEMA_STRING};
static const struct schema_field condition_fields[] = {
    {"message", &string}, {"status", &string}, {"type", &string}};
static const struct schema condition = {
    .type = SCHEMA_OBJECT, .fields = condition_fields, .n_fields = 3};
static const char *const by_type[] = {"type", NULL};
static const struct schema conditions = {
    .type = SCHEMA_ARRAY, .items = &condition, .list_type = SCHEMA_LIST_MAP, .list_keys = by_type};
static const struct schema_field status_fields[] = {{"conditions", &conditions},
						    {"phase", &string}};
static const struct schema status = {.type = SCHEMA_OBJECT, .fields = status_fields, .n_fields = 2};
static const struct schema_field spec_fields[] = {{"x", &string}, {"y", &string}};
static const struct schema spec = {.type = SCHEMA_OBJECT, .fields = spec_fields, .n_fields = 2};
static const struct schema any = {.type = SCHEMA_ANY, .flags = SCHEMA_KEEP_UNKNOWN};
static const struct schema_field root_fields[] = {{"apiVersion", &string},
						  {"kind", &string},
						  {"metadata", &any},
						  {"spec", &spec},
						  {"status", &status}};
static const struct schema root = {.type = SCHEMA_OBJECT, .fields = root_fields, .n_fields = 5};
static const struct kind kind = {.type = 1,
				 .group = "g",
				 .version = "v1",
				 .kind = "K",
				 .plural = "ks",
				 .has_status = true,
				 .schema = &root};

/* Seconds after T0. */
static struct managed_write by(const char *manager, const char *subresource, int second)
{
	return (struct managed_write){.kind = &kind,
				      .manager = manager,
				      .subresource = subresource,
				      .now = T0 + second * USEC_PER_SEC};
}

/* ---- one object ---- */

struct scene {
	struct object_draft d; /* as it was written last */
	struct arena mem;
};

static int setup(void **state)
{
	*state = xcalloc(1, sizeof(struct scene));
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;
	object_draft_done(&s->d);
	arena_done(&s->mem);
	free(s);
	return 0;
}

static void take(struct scene *s, struct object_draft d)
{
	object_draft_done(&s->d);
	s->d = d;
}

static struct cJSON *tree_now(const struct scene *s)
{
	struct cJSON *tree = NULL;
	assert_int_equal(json_parse(span_make(s->d.json, s->d.len), NULL, &tree, NULL), 0);
	return tree;
}

static void write_tree(struct scene *s, struct cJSON *take_tree)
{
	auto_json *tree = take_tree;
	struct object_draft d;
	struct err err = ERR_INIT;
	if (object_draft_from_tree(&kind, tree, &d, &err) < 0)
		fail_msg("%s", err.text);
	take(s, d);
}

static void create(struct scene *s, const char *manager, int second)
{
	struct managed_write w = by(manager, "", second);
	struct cJSON *o =
	    tree_of("{'apiVersion':'g/v1','kind':'K','metadata':{'name':'n','uid':'" UID
		    "'},'spec':{'x':'1'}}");
	managed_record(&w, NULL, o, NULL);
	write_tree(s, o);
}

/* A client's write through a door: `part` of the object becomes this. */
static void client(struct scene *s, struct managed_write w, const char *part, const char *text)
{
	auto_json *old = tree_now(s);
	struct cJSON *now = json_dup(old);
	json_set(now, part, tree_of(text));
	managed_record(&w, old, now, NULL);
	write_tree(s, now);
}

static struct store_object stored(const struct scene *s)
{
	return (struct store_object){
	    .json = span_make(s->d.json, s->d.len), .extents = s->d.extents, .flags = s->d.flags};
}

static void hub_at(struct scene *s, int second, const char *text)
{
	struct managed_write w = by("hub", "", second);
	struct store_object o = stored(s);
	struct object_draft d;
	struct err err = ERR_INIT;
	if (object_draft_splice_status(&o, text ? quoted(&s->mem, text) : SPAN_NONE, false, &d,
				       &err) < 0)
		fail_msg("%s", err.text);
	managed_draft_status(&w, &o, &d);
	take(s, d);
	/* The extents are still where they belong. */
	auto_json *tree = tree_now(s);
	assert_non_null(json_get(tree, "metadata"));
	if (text)
		assert_text(span_make(s->d.json + s->d.extents.status.at, s->d.extents.status.len),
			    quoted(&s->mem, text).ptr);
	assert_int_equal(s->d.json[s->d.extents.metadata.at + s->d.extents.metadata.len - 1], '}');
	assert_memory_equal(s->d.json + s->d.extents.spec.at, "{\"x\":", 5);
}

struct applied {
	int r;
	char message[300];
};

static struct applied apply(struct scene *s, struct managed_write w, const char *text, bool force)
{
	auto_json *live = tree_now(s), *config = tree_of(text);
	struct managed_conflicts conflicts = {0};
	struct applied a = {0};
	struct managed m = MANAGED_INIT;
	struct cJSON *out = NULL;
	struct err err = ERR_INIT;
	bool changed;
	assert_int_equal(managed_read(&m, json_path(live, "metadata", "managedFields", NULL), NULL),
			 0);
	a.r = managed_apply(&m, &w, live, config, force, &out, &changed, &conflicts, &err);
	if (conflicts.n)
		(void)snprintf(a.message, sizeof(a.message), "%s", conflicts.message);
	if (a.r == 0) {
		managed_write_to(&m, out);
		write_tree(s, out);
	}
	managed_done(&m);
	return a;
}

/* "manager operation/subresource second fieldsV1" of every entry, in order. */
static void assert_owners(const struct scene *s, const char *want)
{
	auto_arena mem = ARENA_INIT;
	auto_buf got = BUF_INIT;
	auto_json *tree = tree_now(s);
	json_foreach (json_path(tree, "metadata", "managedFields", NULL), e) {
		const char *sub = json_str(e, "subresource"), *time = json_str(e, "time");
		usec at = T0;
		if (time)
			assert_int_equal(clock_parse(span_of(time), &at), 0);
		assert_string_equal(json_str(e, "apiVersion"), "g/v1");
		assert_string_equal(json_str(e, "fieldsType"), "FieldsV1");
		buf_addf(&got, "%s %s%s%s %d ", json_str(e, "manager"), json_str(e, "operation"),
			 sub ? "/" : "", sub ? sub : "", (int)((at - T0) / USEC_PER_SEC));
		json_print(json_get(e, "fieldsV1"), &got);
		buf_add_char(&got, '\n');
	}
	assert_text(buf_span(&got), quoted(&mem, want).ptr);
}

static void assert_status(const struct scene *s, const char *want)
{
	auto_json *tree = tree_now(s);
	assert_tree(json_get(tree, "status"), want);
}

#define RUNS		"{'type':'Runs','status':'True'}"
#define LATE		"{'type':'Late','status':'True'}"
#define STATUS(text)	"{'apiVersion':'g/v1','kind':'K','metadata':{'name':'n'},'status':" text "}"
#define CONDITION(type) "'k:{\\\"type\\\":\\\"" type "\\\"}':{'.':{},'f:status':{},'f:type':{}}"

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

/* ---- and others ---- */

static void a_clients_condition_is_the_clients(void **state)
{
	struct scene *s = *state;
	create(s, "kubectl", 0);
	hub_at(s, 1, "{'conditions':[" RUNS "],'phase':'New'}");
	client(s, by("other", "status", 2), "status",
	       "{'conditions':[" RUNS "," LATE "],'phase':'New'}");
	assert_owners(s,
		      "kubectl Update 0 {}\n"
		      "hub Update/status 1 {'f:status':{'.':{},'f:conditions':{'.':{}," CONDITION(
			  "Runs") "},'f:phase':{}}}\n"
				  "other Update/status 2 {'f:status':{'f:conditions':{" CONDITION(
				      "Late") "}}}\n");
}

static void the_hub_takes_what_it_changes_and_leaves_the_rest(void **state)
{
	struct scene *s = *state;
	create(s, "kubectl", 0);
	hub_at(s, 1, "{'conditions':[" RUNS "],'phase':'New'}");
	client(s, by("other", "status", 2), "status",
	       "{'conditions':[" RUNS "," LATE "],'phase':'Mine'}");
	hub_at(s, 3, "{'conditions':[" RUNS "," LATE "],'phase':'Old'}");
	assert_owners(
	    s,
	    "kubectl Update 0 {}\n"
	    "other Update/status 2 {'f:status':{'f:conditions':{" CONDITION(
		"Late") "}}}\n"
			"hub Update/status 3 {'f:status':{'.':{},'f:conditions':{'.':{}," CONDITION(
			    "Runs") "},'f:phase':{}}}\n");
	/* What it does not say any more is nobody's. */
	hub_at(s, 4, "{'conditions':[" RUNS "],'phase':'Old'}");
	assert_owners(s,
		      "kubectl Update 0 {}\n"
		      "hub Update/status 3 {'f:status':{'.':{},'f:conditions':{'.':{}," CONDITION(
			  "Runs") "},'f:phase':{}}}\n");
}

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

#define SCENE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

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
	    SCENE(a_clients_condition_is_the_clients),
	    SCENE(the_hub_takes_what_it_changes_and_leaves_the_rest),
	    SCENE(another_condition_can_be_applied_beside_the_hubs),
	    SCENE(another_value_for_the_hubs_condition_is_a_conflict),
	    SCENE(the_hubs_entry_may_be_the_oldest_of_too_many),
	    SCENE(what_the_hub_makes_anew_it_owns_anew),
	    SCENE(what_others_changed_of_it_stays_theirs_until_the_hub_changes_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
