/*
 * The fields of a create are printed straight from the tree; for random objects of every kind that
 * must be what the general way, over sets, finds.
 */
#include "kinds_test.h"

#include "kube/managed_fields.h"

static uint64_t seed = 88172645463325252u;

static uint32_t dice(uint32_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (uint32_t)(seed >> 16) % n;
}

static struct cJSON *any_scalar(void)
{
	static const char *const texts[] = {"a", "b/c", "with \"quotes\"", "\\", "", "\n", "é"};
	switch (dice(4)) {
	case 0:
		return json_new_int(dice(3));
	case 1:
		return json_new_bool(dice(2));
	default:
		return json_new_str(texts[dice(ARRAY_LEN(texts))]);
	}
}

static struct cJSON *value_of(const struct schema *s, int depth);

static struct cJSON *map_of(const struct schema *items, int depth)
{
	static const char *const keys[] = {"z", "a", "m.n/o", "quo\"te", "b\\s", "", "."};
	struct cJSON *out = json_object();

	for (uint32_t i = dice(5); i > 0; i--)
		json_set(out, keys[dice(ARRAY_LEN(keys))], value_of(items, depth - 1));
	return out;
}

static struct cJSON *object_of(const struct schema *s, int depth)
{
	struct cJSON *out = json_object();

	for (uint32_t i = s->n_fields ? dice(8) : 0; i > 0; i--) {
		const struct schema_field *f = &s->fields[dice(s->n_fields)];
		json_set(out, f->name, value_of(f->schema, depth - 1));
	}
	if (s->flags & SCHEMA_KEEP_UNKNOWN && dice(3) == 0)
		json_set(out, "unknown", map_of(NULL, depth));
	return out;
}

/* Mostly with its keys; now and then the same ones twice, or none. */
static struct cJSON *item_of(const struct schema *list, int depth)
{
	struct cJSON *item = value_of(list->items, depth - 1);

	for (size_t i = 0; list->list_keys && list->list_keys[i] && json_is(item, JSON_OBJECT); i++)
		if (dice(8))
			json_set(item, list->list_keys[i], any_scalar());
	return item;
}

static struct cJSON *list_of(const struct schema *s, int depth)
{
	struct cJSON *out = json_array();
	uint32_t n = dice(30) ? dice(4) : 40;

	for (uint32_t i = 0; i < n; i++)
		json_append(out, item_of(s, depth));
	return out;
}

static struct cJSON *value_of(const struct schema *s, int depth)
{
	if (depth <= 0 || dice(20) == 0)
		return dice(2) ? any_scalar() : json_null();
	if (!s || s->type == SCHEMA_ANY)
		return dice(2) ? any_scalar() : map_of(NULL, depth);
	switch ((enum schema_type)s->type) {
	case SCHEMA_OBJECT:
		return object_of(s, depth);
	case SCHEMA_MAP:
		return map_of(s->items, depth);
	case SCHEMA_ARRAY:
		return list_of(s, depth);
	default:
		return any_scalar();
	}
}

static void check(const struct kind *k)
{
	const struct managed_write w = {.kinds = kinds_hub(),
					.kind = k,
					.manager = "m",
					.subresource = "",
					.now = 1700000000 * USEC_PER_SEC};
	auto_json *quick = object_of(k->schema, 8);
	struct managed m = MANAGED_INIT, got = MANAGED_INIT;
	auto_buf text = BUF_INIT;
	auto_json *again = NULL;
	struct err e = ERR_INIT;

	json_set(quick, "metadata", value_of(schema_field_find(k->schema, "metadata")->schema, 6));
	if (!json_is(json_get(quick, "metadata"), JSON_OBJECT))
		json_set(quick, "metadata", json_object());
	(void)json_remove(json_get(quick, "metadata"), "managedFields");
	auto_json *slow = json_dup(quick);
	managed_update(&m, &w, NULL, slow);
	managed_record(&w, NULL, quick, NULL);

	json_print(quick, &text);
	assert_int_equal(json_parse(buf_span(&text), NULL, &again, &e), 0);
	if (managed_read(&got, json_path(again, "metadata", "managedFields", NULL), &e) < 0)
		fail_msg("%s: %s: %s", k->kind, e.text, text.ptr);
	assert_int_equal(got.entries.len, m.entries.len);
	if (m.entries.len && !field_set_equal(&got.entries.items[0].set, &m.entries.items[0].set)) {
		auto_buf want = BUF_INIT;
		field_set_print(&m.entries.items[0].set, &want);
		fail_msg("%s: %s\nwant %s", k->kind, text.ptr, want.ptr);
	}
	managed_done(&got);
	managed_done(&m);
}

static void both_ways_to_the_fields_of_a_create_agree(void **state)
{
	const struct kind_set *set = kinds_hub();

	for (size_t i = 0; i < set->n_kinds; i++)
		for (int n = 0; n < 300; n++)
			if (set->kinds[i]->schema)
				check(set->kinds[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(both_ways_to_the_fields_of_a_create_agree),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
