#include "kube_test.h"

#include "kube/managed_fields.h"
#include "kube/schema.h"

#include <errno.h>

/* ---- a small kind: granular and atomic fields, a list by name, a status ---- */

static const struct schema string = {.type = SCHEMA_STRING};
static const struct schema strings = {.type = SCHEMA_MAP, .items = &string};
static const struct schema list = {.type = SCHEMA_ARRAY, .items = &string};
static const struct schema_field item_fields[] = {{"image", &string}, {"name", &string}};
static const struct schema item = {.type = SCHEMA_OBJECT, .fields = item_fields, .n_fields = 2};
static const char *const by_name[] = {"name", NULL};
static const struct schema items = {
    .type = SCHEMA_ARRAY, .items = &item, .list_type = SCHEMA_LIST_MAP, .list_keys = by_name};
static const struct schema_field spec_fields[] = {
    {"args", &list}, {"items", &items}, {"labels", &strings}, {"x", &string}, {"y", &string}};
static const struct schema spec = {.type = SCHEMA_OBJECT, .fields = spec_fields, .n_fields = 5};
static const struct schema_field status_fields[] = {{"phase", &string}};
static const struct schema status = {.type = SCHEMA_OBJECT, .fields = status_fields, .n_fields = 1};
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

#define T0 (1700000000 * USEC_PER_SEC)

static struct managed_write by(const char *manager)
{
	return (struct managed_write){
	    .kind = &kind, .manager = manager, .subresource = "", .now = T0};
}

/* An object with a spec; what stands around it is the server's. */
static struct cJSON *object_of(const char *spec_text)
{
	struct cJSON *o =
	    tree_of("{'apiVersion':'g/v1','kind':'K','metadata':{'name':'n','uid':'u',"
		    "'resourceVersion':'7','generation':1,'creationTimestamp':'t'}}");
	json_set(o, "spec", tree_of(spec_text));
	return o;
}

/* After managed_write_to the sets are text: read the whole as a client would. */
static struct cJSON *as_sent(struct cJSON *take)
{
	auto_buf text = BUF_INIT;
	struct cJSON *again = NULL;
	json_print(take, &text);
	json_free(take);
	assert_int_equal(json_parse(buf_span(&text), NULL, &again, NULL), 0);
	return again;
}

static struct cJSON *created(const char *manager, const char *spec_text)
{
	struct managed_write w = by(manager);
	struct cJSON *o = object_of(spec_text);
	managed_record(&w, NULL, o, NULL);
	return as_sent(o);
}

static struct cJSON *updated(struct cJSON *take_old, struct managed_write w, struct cJSON *take_now,
			     const char *sent)
{
	auto_json *s = sent ? tree_of(sent) : NULL;
	managed_record(&w, take_old, take_now, s);
	json_free(take_old);
	return as_sent(take_now);
}

struct applied {
	int r;
	bool changed;
	struct err err;
	char message[400];
	size_t n_causes;
};

/* Applies and replaces *live, unless it is refused. */
static struct applied apply(struct cJSON **live, struct managed_write w, const char *config,
			    bool force)
{
	struct applied a = {.err = ERR_INIT};
	auto_json *c = tree_of(config);
	struct managed m = MANAGED_INIT;
	struct managed_conflicts conflicts = {0};
	struct cJSON *out = NULL;

	assert_int_equal(
	    managed_read(&m, json_path(*live, "metadata", "managedFields", NULL), NULL), 0);
	a.r = managed_apply(&m, &w, *live, c, force, &out, &a.changed, &conflicts, &a.err);
	if (conflicts.n)
		(void)snprintf(a.message, sizeof(a.message), "%s", conflicts.message);
	a.n_causes = conflicts.n_causes;
	if (a.r == 0) {
		managed_write_to(&m, out);
		json_free(*live);
		*live = as_sent(out);
	}
	managed_done(&m);
	return a;
}

/* "manager operation fieldsV1" of every entry, in order. */
static void assert_owners(const struct cJSON *object, const char *want)
{
	auto_arena mem = ARENA_INIT;
	auto_buf got = BUF_INIT;

	json_foreach (json_path(object, "metadata", "managedFields", NULL), e) {
		const char *sub = json_str(e, "subresource");
		buf_addf(&got, "%s %s%s%s ", json_str(e, "manager"), json_str(e, "operation"),
			 sub ? "/" : "", sub ? sub : "");
		json_print(json_get(e, "fieldsV1"), &got);
		buf_add_char(&got, '\n');
	}
	assert_text(buf_span(&got), quoted(&mem, want).ptr);
}

static void assert_spec(const struct cJSON *object, const char *want)
{
	assert_tree(json_get(object, "spec"), want);
}

#define CONFIG(spec_text)                                                                          \
	"{'apiVersion':'g/v1','kind':'K','metadata':{'name':'n'},'spec':" spec_text "}"

/* ---- updates ---- */

static void a_create_owns_the_object_as_a_whole(void **state)
{
	auto_json *o = created("kubectl-create", "{'x':'1'}");
	assert_owners(o, "kubectl-create Update {}\n");
	const struct cJSON *e = json_at(json_path(o, "metadata", "managedFields", NULL), 0);
	assert_string_equal(json_str(e, "apiVersion"), "g/v1");
	assert_string_equal(json_str(e, "time"), "2023-11-14T22:13:20Z");
	assert_string_equal(json_str(e, "fieldsType"), "FieldsV1");
}

static void its_maker_goes_on_to_own_it_as_a_whole(void **state)
{
	struct managed_write w = by("a");
	auto_json *o = created("a", "{'x':'1','y':'1'}");
	w.now = T0 + USEC_PER_SEC;
	o = updated(o, w, object_of("{'x':'2','z':'1'}"), NULL);
	assert_owners(o, "a Update {}\n");
	const struct cJSON *e = json_at(json_path(o, "metadata", "managedFields", NULL), 0);
	assert_string_equal(json_str(e, "time"), "2023-11-14T22:13:21Z");
}

static void a_whole_is_everything_but_identity_and_status(void **state)
{
	struct managed_write w = by("kubectl-create");
	auto_json *o = object_of("{'x':'1','labels':{'a':'b'},'args':['p']}");
	auto_json *now;
	json_set(o, "status", tree_of("{'phase':'New'}"));
	managed_record(&w, NULL, o, NULL);
	o = as_sent(o);
	now = json_dup(o);
	json_set_str(json_path(now, "spec", "labels", NULL), "c", "d");
	o = updated(o, by("b"), steal_ptr(&now), NULL);
	assert_owners(o, "b Update {'f:spec':{'f:labels':{'f:c':{}}}}\n"
			 "kubectl-create Update {'f:spec':{'.':{},'f:args':{},'f:labels':{'.':{},"
			 "'f:a':{}},'f:x':{}}}\n");
}

static void an_update_takes_what_it_changes_from_its_owner(void **state)
{
	auto_json *o = created("a", "{'x':'1','y':'1'}");
	o = updated(o, by("b"), object_of("{'x':'2','y':'1'}"), NULL);
	assert_owners(o, "a Update {'f:spec':{'.':{},'f:y':{}}}\n"
			 "b Update {'f:spec':{'f:x':{}}}\n");
}

static void what_an_update_removes_is_nobodys(void **state)
{
	auto_json *o = created("a", "{'x':'1','y':'1'}");
	o = updated(o, by("b"), object_of("{'x':'1'}"), NULL);
	assert_owners(o, "a Update {'f:spec':{'.':{},'f:x':{}}}\n");
}

static void an_update_that_changes_nothing_leaves_even_the_time(void **state)
{
	auto_json *o = created("a", "{'x':'1'}");
	auto_json *before = json_dup(o);
	struct managed_write w = by("a");
	w.now = T0 + USEC_PER_SEC;
	o = updated(o, w, json_dup(before), NULL);
	assert_true(json_equal(o, before));
}

static void status_is_owned_through_its_own_door(void **state)
{
	struct managed_write w = by("controller");
	auto_json *o = created("a", "{'x':'1'}");
	auto_json *now = json_dup(o);
	json_set(now, "status", tree_of("{'phase':'Running'}"));
	w.subresource = "status";
	o = updated(o, w, steal_ptr(&now), NULL);
	assert_owners(o, "a Update {}\n"
			 "controller Update/status {'f:status':{'.':{},'f:phase':{}}}\n");
}

static void an_empty_list_sent_drops_all_owners(void **state)
{
	static const char *const lists[] = {"[]", "[{}]"};
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		auto_json *o = created("a", "{'x':'1'}");
		o = updated(o, by("b"), object_of("{'x':'2'}"), lists[i]);
		assert_null(json_path(o, "metadata", "managedFields", NULL));
		/* And an object without owners gets none by updates. */
		o = updated(o, by("b"), object_of("{'x':'3'}"), NULL);
		assert_null(json_path(o, "metadata", "managedFields", NULL));
	}
}

#define NONSENSE                                                                                   \
	"[{'manager':'m','operation':'Update','apiVersion':'g/v1','fieldsType':'FieldsV1',"        \
	"'fieldsV1':{'nonsense':{}}}]"

static void a_list_that_cannot_be_read_leaves_the_stored_one(void **state)
{
	static const char *const lists[] = {
	    "[{'manager':'m'}]", "'x'", "null", NONSENSE,
	    "[{'manager':'m','operation':'Eat','apiVersion':'g/v1','fieldsType':'FieldsV1'}]"};
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		auto_json *o = created("a", "{'x':'1'}");
		o = updated(o, by("a"), object_of("{'x':'1'}"), lists[i]);
		assert_owners(o, "a Update {}\n");
	}
}

static void a_client_may_give_its_fields_to_another(void **state)
{
	auto_json *o = created("a", "{'x':'1'}");
	o = updated(
	    o, by("a"), object_of("{'x':'1'}"),
	    "[{'manager':'z','operation':'Apply','apiVersion':'g/v1','fieldsType':'FieldsV1',"
	    "'fieldsV1':{'f:spec':{'f:x':{}}}}]");
	assert_owners(o, "z Apply {'f:spec':{'f:x':{}}}\n");
}

static void a_whole_may_be_handed_to_an_applier(void **state)
{
	auto_json *o = created("kubectl-client-side-apply", "{'x':'1'}");
	o = updated(
	    o, by("upgrade"), object_of("{'x':'1'}"),
	    "[{'manager':'flux','operation':'Apply','apiVersion':'g/v1','fieldsType':'FieldsV1',"
	    "'fieldsV1':{}}]");
	assert_owners(o, "flux Apply {'f:spec':{'.':{},'f:x':{}}}\n");
}

static void the_oldest_updaters_become_one(void **state)
{
	auto_json *o = created("m0", "{'labels':{'k0':'v'}}");
	size_t n = 0;

	for (int i = 1; i < 14; i++) {
		char name[8], key[8];
		struct managed_write w = by(name);
		auto_json *now = json_dup(o);
		(void)snprintf(name, sizeof(name), "m%d", i);
		(void)snprintf(key, sizeof(key), "k%d", i);
		w.now = T0 + i * USEC_PER_SEC;
		json_set_str(json_path(now, "spec", "labels", NULL), key, "v");
		o = updated(o, w, steal_ptr(&now), NULL);
	}
	json_foreach (json_path(o, "metadata", "managedFields", NULL), e) {
		n++;
		if (strcmp(json_str(e, "manager"), "ancient-changes") == 0)
			assert_tree(json_get(e, "fieldsV1"),
				    "{'f:spec':{'.':{},'f:labels':{'.':{},'f:k0':{},'f:k1':{},"
				    "'f:k2':{},'f:k3':{},'f:k4':{}}}}");
	}
	assert_int_equal(n, MANAGED_MAX_UPDATERS);
}

/* ---- apply ---- */

static void an_apply_to_nothing_makes_the_object_and_owns_what_it_says(void **state)
{
	auto_json *o = NULL;
	struct applied a = apply(&o, by("a"), CONFIG("{'x':'1','labels':{'k':'v'}}"), false);
	assert_int_equal(a.r, 0);
	assert_spec(o, "{'x':'1','labels':{'k':'v'}}");
	assert_owners(o, "a Apply {'f:spec':{'f:labels':{'f:k':{}},'f:x':{}}}\n");
}

static void the_same_again_changes_nothing(void **state)
{
	auto_json *o = NULL;
	struct managed_write w = by("a");
	(void)apply(&o, w, CONFIG("{'x':'1'}"), false);
	auto_json *before = json_dup(o);
	w.now = T0 + 5 * USEC_PER_SEC;
	struct applied a = apply(&o, w, CONFIG("{'x':'1'}"), false);
	assert_int_equal(a.r, 0);
	assert_false(a.changed);
	assert_true(json_equal(o, before));
}

static void a_field_that_is_not_said_any_more_goes(void **state)
{
	auto_json *o = NULL;
	(void)apply(&o, by("a"), CONFIG("{'x':'1','y':'2','items':[{'name':'i'}]}"), false);
	struct applied a = apply(&o, by("a"), CONFIG("{'x':'1'}"), false);
	assert_true(a.changed);
	assert_spec(o, "{'x':'1'}");
	assert_owners(o, "a Apply {'f:spec':{'f:x':{}}}\n");
}

static void a_field_of_two_stays_until_both_let_go(void **state)
{
	auto_json *o = NULL;
	(void)apply(&o, by("a"), CONFIG("{'x':'1'}"), false);
	assert_int_equal(apply(&o, by("b"), CONFIG("{'x':'1','y':'1'}"), false).r, 0);
	(void)apply(&o, by("a"), CONFIG("{}"), false);
	assert_spec(o, "{'x':'1','y':'1'}");
	(void)apply(&o, by("b"), CONFIG("{'y':'1'}"), false);
	assert_spec(o, "{'y':'1'}");
}

static void an_item_stays_while_another_owns_a_part_of_it(void **state)
{
	auto_json *o = NULL;
	(void)apply(&o, by("a"), CONFIG("{'items':[{'name':'i'},{'name':'j'}]}"), false);
	(void)apply(&o, by("b"), CONFIG("{'items':[{'name':'i','image':'p'}]}"), false);
	(void)apply(&o, by("a"), CONFIG("{}"), false);
	assert_spec(o, "{'items':[{'name':'i','image':'p'}]}");
}

static void another_value_for_anothers_field_is_a_conflict(void **state)
{
	auto_json *o = created("kubectl-edit", "{'x':'1'}");
	struct applied a = apply(&o, by("a"), CONFIG("{'x':'2'}"), false);
	assert_int_equal(a.r, -ESTALE);
	assert_string_equal(a.message, "Apply failed with 1 conflict: conflict with "
				       "\"kubectl-edit\" using g/v1: .spec.x");
	assert_int_equal(a.n_causes, 1);
	assert_spec(o, "{'x':'1'}");
}

/* Its time would be that of a change to the object; upstream sorts it first for the lack of one. */
static void who_only_comes_to_own_what_is_there_has_no_time(void **state)
{
	auto_json *o = NULL;
	struct managed_write w = by("b");
	const struct cJSON *entries;

	(void)apply(&o, by("a"), CONFIG("{'x':'1','y':'1'}"), false);
	w.now = T0 + USEC_PER_SEC;
	struct applied a = apply(&o, w, CONFIG("{'x':'1'}"), false);
	assert_int_equal(a.r, 0);
	entries = json_path(o, "metadata", "managedFields", NULL);
	assert_string_equal(json_str(json_at(entries, 0), "manager"), "b");
	assert_null(json_get(json_at(entries, 0), "time"));
	assert_string_equal(json_str(json_at(entries, 1), "time"), "2023-11-14T22:13:20Z");
	w.now = T0 + 2 * USEC_PER_SEC;
	(void)apply(&o, w, CONFIG("{'x':'1','labels':{'k':'v'}}"), false);
	entries = json_path(o, "metadata", "managedFields", NULL);
	assert_string_equal(json_str(json_at(entries, 1), "manager"), "b");
	assert_string_equal(json_str(json_at(entries, 1), "time"), "2023-11-14T22:13:22Z");
}

static void many_conflicts_are_told_by_manager(void **state)
{
	auto_json *o = NULL;
	(void)apply(&o, by("b"), CONFIG("{'x':'1','items':[{'name':'i','image':'p'}]}"), false);
	(void)apply(&o, by("a"), CONFIG("{'y':'1'}"), false);
	struct applied a = apply(
	    &o, by("c"), CONFIG("{'x':'2','y':'2','items':[{'name':'i','image':'q'}]}"), false);
	assert_string_equal(a.message, "Apply failed with 3 conflicts: conflicts with \"a\":\n"
				       "- .spec.y\nconflicts with \"b\":\n"
				       "- .spec.x\n- .spec.items[name=\"i\"].image");
	assert_int_equal(a.n_causes, 3);
}

static void force_takes_the_field(void **state)
{
	auto_json *o = NULL;
	(void)apply(&o, by("a"), CONFIG("{'x':'1','y':'1'}"), false);
	assert_int_equal(apply(&o, by("b"), CONFIG("{'x':'2'}"), true).r, 0);
	assert_spec(o, "{'x':'2','y':'1'}");
	assert_owners(o, "a Apply {'f:spec':{'f:y':{}}}\nb Apply {'f:spec':{'f:x':{}}}\n");
}

static void an_atomic_list_is_replaced_as_a_whole(void **state)
{
	auto_json *o = NULL;
	(void)apply(&o, by("a"), CONFIG("{'args':['p','q']}"), false);
	assert_int_equal(apply(&o, by("b"), CONFIG("{'args':['p']}"), false).r, -ESTALE);
	(void)apply(&o, by("a"), CONFIG("{'args':['r']}"), false);
	assert_spec(o, "{'args':['r']}");
}

static void what_was_there_before_has_an_owner_of_its_own(void **state)
{
	auto_json *o = object_of("{'x':'1','y':'1'}");
	struct applied a = apply(&o, by("a"), CONFIG("{'x':'2'}"), false);
	assert_string_equal(a.message, "Apply failed with 1 conflict: conflict with "
				       "\"before-first-apply\" using g/v1: .spec.x");
	(void)apply(&o, by("a"), CONFIG("{'x':'2'}"), true);
	assert_owners(o, "a Apply {'f:spec':{'f:x':{}}}\n"
			 "before-first-apply Update {'f:spec':{'.':{},'f:y':{}}}\n");
}

static void kubectl_takes_over_what_it_applied_itself_and_is_unchanged(void **state)
{
	static const char annotations[] =
	    "{'kubectl.kubernetes.io/last-applied-configuration':"
	    "'{\\\"apiVersion\\\":\\\"g/v1\\\",\\\"spec\\\":{\\\"x\\\":\\\"1\\\"}}'}";
	struct managed_write w = by("kubectl-client-side-apply");
	auto_json *o = object_of("{'x':'1','y':'1'}");
	json_set(json_get(o, "metadata"), "annotations", tree_of(annotations));
	managed_record(&w, NULL, o, NULL);
	o = as_sent(o);
	/* y was not among what it applied. */
	struct applied a = apply(&o, by("kubectl"), CONFIG("{'x':'2','y':'2'}"), false);
	assert_string_equal(a.message, "Apply failed with 1 conflict: conflict with "
				       "\"kubectl-client-side-apply\" using g/v1: .spec.y");
	assert_int_equal(apply(&o, by("kubectl"), CONFIG("{'x':'2'}"), false).r, 0);
	assert_spec(o, "{'x':'2','y':'1'}");
	/* Somebody else has no such right. */
	assert_int_equal(apply(&o, by("other"), CONFIG("{'x':'3'}"), false).r, -ESTALE);
}

static void status_in_a_configuration_of_the_object_counts_for_nothing(void **state)
{
	auto_json *o = NULL;
	(void)apply(&o, by("a"), CONFIG("{'x':'1'},'status':{'phase':'p'}"), false);
	assert_owners(o, "a Apply {'f:spec':{'f:x':{}}}\n");
}

static void a_configuration_that_does_not_fit_is_refused_with_its_path(void **state)
{
	static const struct {
		const char *config, *words;
	} bad[] = {
	    {CONFIG("{'bogus':1}"), ".spec.bogus: field not declared in schema"},
	    {CONFIG("{'x':{}}"), ".spec.x: expected string, got object"},
	    {CONFIG("{'labels':[]}"), ".spec.labels: expected map, got array"},
	    {CONFIG("{'items':[{'image':'i'}]}"),
	     ".spec.items: element 0: associative list with keys has an element that omits key "
	     "field \"name\" (and doesn't have default value)"},
	    {CONFIG("{'items':[{'name':'i'},{'name':'i'}]}"),
	     ".spec.items: duplicate entries for key [name=\"i\"]"},
	    {CONFIG("{'items':[{'name':'i','bogus':1}]}"),
	     ".spec.items[name=\"i\"].bogus: field not declared in schema"},
	    {CONFIG("{'a':1,'b':2}"), "errors:\n  .spec.a: field not declared in schema\n"
				      "  .spec.b: field not declared in schema"},
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		auto_json *o = NULL;
		struct applied a = apply(&o, by("a"), bad[i].config, false);
		assert_int_equal(a.r, -EINVAL);
		assert_string_equal(a.err.text, bad[i].words);
	}
}

/* ---- two versions: v2 calls x z ---- */

static const struct schema_field spec2_fields[] = {{"y", &string}, {"z", &string}};
static const struct schema spec2 = {.type = SCHEMA_OBJECT, .fields = spec2_fields, .n_fields = 2};
static const struct schema_field root2_fields[] = {
    {"apiVersion", &string}, {"kind", &string}, {"metadata", &any}, {"spec", &spec2}};
static const struct schema root2 = {.type = SCHEMA_OBJECT, .fields = root2_fields, .n_fields = 4};

static void rename_member(struct cJSON *object, const char *from, const char *to)
{
	struct cJSON *in = json_get(object, "spec"), *v = json_take(in, from);
	json_set(in, to, v);
}

static void convert(const struct kind *k, struct cJSON *object, enum kind_conversion way)
{
	if (way == KIND_TO_STORED)
		rename_member(object, "z", "x");
	else
		rename_member(object, "x", "z");
	json_set_str(object, "apiVersion", way == KIND_TO_STORED ? "g/v1" : "g/v2");
}

static const struct kind kind2 = {.type = 1,
				  .group = "g",
				  .version = "v2",
				  .kind = "K",
				  .plural = "ks",
				  .schema = &root2,
				  .convert = convert};
static const struct kind *const both_kinds[] = {&kind, &kind2};
static const struct kind_set both = {both_kinds, 2};

static struct managed_write by_version(const char *manager, const struct kind *k)
{
	struct managed_write w = by(manager);
	w.kinds = &both;
	w.kind = k;
	return w;
}

#define CONFIG2(spec_text)                                                                         \
	"{'apiVersion':'g/v2','kind':'K','metadata':{'name':'n'},'spec':" spec_text "}"

static void a_conflict_is_told_in_the_version_of_the_owner(void **state)
{
	auto_json *o = NULL;
	(void)apply(&o, by_version("a", &kind), CONFIG("{'x':'1','y':'1'}"), false);
	convert(&kind2, o, KIND_FROM_STORED);
	struct applied a = apply(&o, by_version("b", &kind2), CONFIG2("{'z':'2'}"), false);
	assert_string_equal(a.message,
			    "Apply failed with 1 conflict: conflict with \"a\": .spec.x");
	assert_int_equal(apply(&o, by_version("b", &kind2), CONFIG2("{'z':'2'}"), true).r, 0);
	assert_spec(o, "{'y':'1','z':'2'}");
	assert_owners(o, "a Apply {'f:spec':{'f:y':{}}}\nb Apply {'f:spec':{'f:z':{}}}\n");
}

static void a_manager_may_change_to_another_version(void **state)
{
	auto_json *o = NULL;
	(void)apply(&o, by_version("a", &kind), CONFIG("{'x':'1','y':'1'}"), false);
	(void)apply(&o, by_version("b", &kind), CONFIG("{'x':'1'}"), false);
	convert(&kind2, o, KIND_FROM_STORED);
	/* y was the manager's alone, x is another's too. */
	assert_int_equal(apply(&o, by_version("a", &kind2), CONFIG2("{}"), false).r, 0);
	assert_spec(o, "{'z':'1'}");
	assert_owners(o, "b Apply {'f:spec':{'f:x':{}}}\na Apply {'f:spec':{}}\n");
}

static void entries_of_versions_that_are_not_served_go(void **state)
{
	auto_json *o = created("a", "{'x':'1'}");
	json_set_str(json_at(json_path(o, "metadata", "managedFields", NULL), 0), "apiVersion",
		     "g/v0");
	o = updated(o, by_version("b", &kind), object_of("{'x':'2'}"), NULL);
	assert_owners(o, "b Update {'f:spec':{'f:x':{}}}\n");
}

static void a_manager_is_named_by_its_user_agent(void **state)
{
	char name[MANAGED_MAX_NAME + 1], agent[300];
	memset(agent, 'x', sizeof(agent));
	assert_string_equal(managed_name_from_agent(SPAN("kubectl/v1.32.4 (linux)"), name),
			    "kubectl");
	assert_string_equal(managed_name_from_agent(SPAN("a\x01\xff"
							 "b/1"),
						    name),
			    "ab");
	assert_string_equal(managed_name_from_agent(SPAN_NONE, name), "");
	assert_int_equal(strlen(managed_name_from_agent(span_make(agent, sizeof(agent)), name)),
			 MANAGED_MAX_NAME);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_create_owns_the_object_as_a_whole),
	    cmocka_unit_test(its_maker_goes_on_to_own_it_as_a_whole),
	    cmocka_unit_test(a_whole_is_everything_but_identity_and_status),
	    cmocka_unit_test(an_update_takes_what_it_changes_from_its_owner),
	    cmocka_unit_test(what_an_update_removes_is_nobodys),
	    cmocka_unit_test(an_update_that_changes_nothing_leaves_even_the_time),
	    cmocka_unit_test(status_is_owned_through_its_own_door),
	    cmocka_unit_test(an_empty_list_sent_drops_all_owners),
	    cmocka_unit_test(a_list_that_cannot_be_read_leaves_the_stored_one),
	    cmocka_unit_test(a_client_may_give_its_fields_to_another),
	    cmocka_unit_test(a_whole_may_be_handed_to_an_applier),
	    cmocka_unit_test(the_oldest_updaters_become_one),
	    cmocka_unit_test(an_apply_to_nothing_makes_the_object_and_owns_what_it_says),
	    cmocka_unit_test(the_same_again_changes_nothing),
	    cmocka_unit_test(a_field_that_is_not_said_any_more_goes),
	    cmocka_unit_test(a_field_of_two_stays_until_both_let_go),
	    cmocka_unit_test(an_item_stays_while_another_owns_a_part_of_it),
	    cmocka_unit_test(another_value_for_anothers_field_is_a_conflict),
	    cmocka_unit_test(who_only_comes_to_own_what_is_there_has_no_time),
	    cmocka_unit_test(many_conflicts_are_told_by_manager),
	    cmocka_unit_test(force_takes_the_field),
	    cmocka_unit_test(an_atomic_list_is_replaced_as_a_whole),
	    cmocka_unit_test(what_was_there_before_has_an_owner_of_its_own),
	    cmocka_unit_test(kubectl_takes_over_what_it_applied_itself_and_is_unchanged),
	    cmocka_unit_test(status_in_a_configuration_of_the_object_counts_for_nothing),
	    cmocka_unit_test(a_configuration_that_does_not_fit_is_refused_with_its_path),
	    cmocka_unit_test(a_conflict_is_told_in_the_version_of_the_owner),
	    cmocka_unit_test(a_manager_may_change_to_another_version),
	    cmocka_unit_test(entries_of_versions_that_are_not_served_go),
	    cmocka_unit_test(a_manager_is_named_by_its_user_agent),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
