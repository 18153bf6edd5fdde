#ifndef TEST_MANAGED_SCENE_H
#define TEST_MANAGED_SCENE_H
/*
 * One object of a kind whose conditions are a list by type, written by the hub (as text), by
 * clients (as trees) and by appliers; and the words to say who owns what of it.
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
static inline struct managed_write by(const char *manager, const char *subresource, int second)
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

static inline int setup(void **state)
{
	*state = xcalloc(1, sizeof(struct scene));
	return 0;
}

static inline int teardown(void **state)
{
	struct scene *s = *state;
	object_draft_done(&s->d);
	arena_done(&s->mem);
	free(s);
	return 0;
}

static inline void take(struct scene *s, struct object_draft d)
{
	object_draft_done(&s->d);
	s->d = d;
}

static inline struct cJSON *tree_now(const struct scene *s)
{
	struct cJSON *tree = NULL;
	assert_int_equal(json_parse(span_make(s->d.json, s->d.len), NULL, &tree, NULL), 0);
	return tree;
}

static inline void write_tree(struct scene *s, struct cJSON *take_tree)
{
	auto_json *tree = take_tree;
	struct object_draft d;
	struct err err = ERR_INIT;
	if (object_draft_from_tree(&kind, tree, &d, &err) < 0)
		fail_msg("%s", err.text);
	take(s, d);
}

static inline void create(struct scene *s, const char *manager, int second)
{
	struct managed_write w = by(manager, "", second);
	struct cJSON *o =
	    tree_of("{'apiVersion':'g/v1','kind':'K','metadata':{'name':'n','uid':'" UID
		    "'},'spec':{'x':'1'}}");
	managed_record(&w, NULL, o, NULL);
	write_tree(s, o);
}

/* A client's write through a door: `part` of the object becomes this, or goes (NULL). */
static inline void client(struct scene *s, struct managed_write w, const char *part,
			  const char *text)
{
	auto_json *old = tree_now(s);
	struct cJSON *now = json_dup(old);
	if (text)
		json_set(now, part, tree_of(text));
	else
		(void)json_remove(now, part);
	managed_record(&w, old, now, NULL);
	write_tree(s, now);
}

static inline struct store_object stored(const struct scene *s)
{
	return (struct store_object){
	    .json = span_make(s->d.json, s->d.len), .extents = s->d.extents, .flags = s->d.flags};
}

static inline void hub_at(struct scene *s, int second, const char *text)
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

static inline struct applied apply(struct scene *s, struct managed_write w, const char *text,
				   bool force)
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
static inline void assert_owners(const struct scene *s, const char *want)
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

static inline void assert_status(const struct scene *s, const char *want)
{
	auto_json *tree = tree_now(s);
	assert_tree(json_get(tree, "status"), want);
}

#define RUNS		"{'type':'Runs','status':'True'}"
#define LATE		"{'type':'Late','status':'True'}"
#define STATUS(text)	"{'apiVersion':'g/v1','kind':'K','metadata':{'name':'n'},'status':" text "}"
#define CONDITION(type) "'k:{\\\"type\\\":\\\"" type "\\\"}':{'.':{},'f:status':{},'f:type':{}}"

#define SCENE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
