#include "kube_test.h"

#include "kinds/types.h"
#include "kube/object.h"

#define UID   "6ba7b810-9dad-41d1-80b4-00c04fd430c8"
#define OWNER "00000000-0000-4000-8000-000000000001"

static const struct kind pytorch = {.type = TYPE_PYTORCH_JOB,
				    .group = "kubeflow.org",
				    .version = "v1",
				    .kind = "PyTorchJob",
				    .plural = "pytorchjobs",
				    .is_job = true};

static struct span part(const struct object_draft *d, struct store_extent e)
{
	return span_make(d->json + e.at, e.len);
}

/* What the store makes of a draft: digits written, extents shifted. */
static struct store_object stored(const struct object_draft *d, const char *digits,
				  struct arena *mem)
{
	uint32_t n = (uint32_t)strlen(digits), at = d->extents.revision.at;
	char *json = arena_alloc(mem, d->len + n + 1);
	struct store_object o = {.flags = d->flags, .extents = d->extents};

	memcpy(json, d->json, at);
	memcpy(json + at, digits, n);
	memcpy(json + at + n, d->json + at, d->len - at);
	o.extents.revision.len = n;
	o.extents.metadata.len += n;
	if (o.extents.spec.len)
		o.extents.spec.at += n;
	if (o.extents.status.len)
		o.extents.status.at += n;
	o.json = span_make(json, d->len + n);
	o.digest = span_make(d->digest, d->digest_len);
	memcpy(o.uid, d->uid, sizeof(o.uid));
	return o;
}

static void draft_of(const char *text, struct object_draft *d)
{
	auto_json *tree = tree_of(text);
	struct err err = ERR_INIT;
	if (object_draft_from_tree(&pytorch, tree, d, &err) < 0)
		fail_msg("%s", err.text);
}

static const char simple[] =
    "{'status':{'a':1},'spec':{'b':12345678901234567890},'metadata':{'generation':3,"
    "'labels':{'l':'v'},'resourceVersion':'77','uid':'" UID "','name':'n'},"
    "'kind':'PyTorchJob','apiVersion':'kubeflow.org/v1'}";

static void a_draft_puts_identity_first_and_leaves_room_for_the_revision(void **state)
{
	struct object_draft d;
	draft_of(simple, &d);
	assert_string_equal(d.json,
			    "{\"apiVersion\":\"kubeflow.org/v1\",\"kind\":\"PyTorchJob\","
			    "\"metadata\":{\"name\":\"n\",\"uid\":\"" UID "\","
			    "\"resourceVersion\":\"\",\"generation\":3,\"labels\":{\"l\":\"v\"}},"
			    "\"status\":{\"a\":1},\"spec\":{\"b\":12345678901234567890}}");
	assert_int_equal(d.len, strlen(d.json));
	assert_memory_equal(d.json + d.extents.revision.at - 1, "\"\"", 2);
	assert_int_equal(d.extents.revision.len, 0);
	assert_text(part(&d, d.extents.status), "{\"a\":1}");
	assert_text(part(&d, d.extents.spec), "{\"b\":12345678901234567890}");
	assert_true(span_starts(part(&d, d.extents.metadata), SPAN("{\"name\":\"n\"")));
	assert_true(span_ends(part(&d, d.extents.metadata), SPAN("\"v\"}}")));
	assert_int_equal(d.generation, 3);
	object_draft_done(&d);
}

static void an_absent_part_has_no_extent(void **state)
{
	struct object_draft d;
	draft_of("{'apiVersion':'v1','kind':'K','metadata':{'uid':'" UID "','name':'n'}}", &d);
	assert_int_equal(d.extents.spec.len, 0);
	assert_int_equal(d.extents.status.len, 0);
	assert_int_equal(d.flags, 0);
	object_draft_done(&d);
}

static void flags_and_owners_follow_the_metadata(void **state)
{
	struct object_draft d;
	draft_of("{'apiVersion':'v1','kind':'K','metadata':{'uid':'" UID "','name':'n',"
		 "'deletionTimestamp':'2026-01-01T00:00:00Z','finalizers':['" OBJECT_HUB_FINALIZER
		 "'],'ownerReferences':[{'uid':'" OWNER "'},{'uid':'not-a-uuid'},{'uid':'" OWNER
		 "'}]},'spec':{'runPolicy':{'suspend':true}},"
		 "'status':{'conditions':[{'type':'Succeeded','status':'True'}]}}",
		 &d);
	assert_int_equal(d.flags, OBJECT_DELETING | OBJECT_HAS_FINALIZERS | OBJECT_HAS_OWNERS |
				      OBJECT_SUSPENDED | OBJECT_FINISHED);
	assert_int_equal(d.n_owners, 1);
	assert_int_equal(d.owners[0][15], 1);
	object_draft_done(&d);
	draft_of("{'apiVersion':'v1','kind':'K','metadata':{'uid':'" UID "','name':'n',"
		 "'finalizers':['x/y']}}",
		 &d);
	assert_int_equal(d.flags, OBJECT_HAS_FINALIZERS | OBJECT_FOREIGN_FINALIZERS);
	object_draft_done(&d);
}

static void an_object_without_a_uuid_makes_no_draft(void **state)
{
	auto_json *tree = tree_of("{'metadata':{'name':'n','uid':'abc'}}");
	struct object_draft d;
	struct err err = ERR_INIT;
	assert_true(object_draft_from_tree(&pytorch, tree, &d, &err) < 0);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_string_equal(err.field, "metadata.uid");
}

static void an_object_over_the_limit_makes_no_draft(void **state)
{
	auto_json *tree = tree_of(simple);
	char *big = xcalloc(1, STORE_MAX_OBJECT + 1);
	memset(big, 'x', STORE_MAX_OBJECT);
	json_set_str(tree, "spec", big);
	free(big);
	struct object_draft d;
	struct err err = ERR_INIT;
	assert_true(object_draft_from_tree(&pytorch, tree, &d, &err) < 0);
	assert_int_equal(err.kind, ERR_TOO_LARGE);
}

static void a_draft_of_a_stored_object_is_the_draft_it_came_from(void **state)
{
	auto_arena mem = ARENA_INIT;
	struct object_draft d, again;
	draft_of("{'apiVersion':'v1','kind':'K','metadata':{'uid':'" UID
		 "','name':'n','generation':5,"
		 "'ownerReferences':[{'uid':'" OWNER "'}]},'spec':{},'status':{}}",
		 &d);
	struct store_object o = stored(&d, "1234567", &mem);
	object_draft_from_stored(&o, &again);
	assert_string_equal(again.json, d.json);
	assert_memory_equal(&again.extents, &d.extents, sizeof(d.extents));
	assert_memory_equal(again.uid, d.uid, sizeof(d.uid));
	assert_int_equal(again.generation, 5);
	assert_int_equal(again.n_owners, 1);
	assert_int_equal(again.flags, d.flags);
	object_draft_done(&d);
	object_draft_done(&again);
}

static void splice(const char *object, const char *status, bool finished, struct object_draft *ret)
{
	auto_arena mem = ARENA_INIT;
	struct object_draft d;
	struct err err = ERR_INIT;
	draft_of(object, &d);
	struct store_object o = stored(&d, "42", &mem);
	struct span s = status ? quoted(&mem, status) : SPAN_NONE;
	if (object_draft_splice_status(&o, s, finished, ret, &err) < 0)
		fail_msg("%s", err.text);
	object_draft_done(&d);
}

#define HEAD                                                                                       \
	"{\"apiVersion\":\"v1\",\"kind\":\"K\",\"metadata\":{\"name\":\"n\",\"uid\":\"" UID        \
	"\",\"resourceVersion\":\"\"}"
#define PLAIN "{'apiVersion':'v1','kind':'K','metadata':{'name':'n','uid':'" UID "'}"

static void check_extents(const struct object_draft *d, const char *spec, const char *status)
{
	assert_text(part(d, d->extents.spec), spec);
	assert_text(part(d, d->extents.status), status);
	assert_memory_equal(d->json + d->extents.revision.at - 1, "\"\"", 2);
}

static void a_status_is_replaced_wherever_it_stands(void **state)
{
	struct object_draft d;
	splice(PLAIN ",'spec':{'a':1},'status':{'old':[1,2,3]}}", "{'new': true}", true, &d);
	assert_string_equal(d.json, HEAD ",\"spec\":{\"a\":1},\"status\":{\"new\": true}}");
	check_extents(&d, "{\"a\":1}", "{\"new\": true}");
	assert_int_equal(d.flags, OBJECT_FINISHED);
	object_draft_done(&d);
	splice(PLAIN ",'status':{'old':'a,b'},'spec':{'a':1}}", "{}", false, &d);
	assert_string_equal(d.json, HEAD ",\"status\":{},\"spec\":{\"a\":1}}");
	check_extents(&d, "{\"a\":1}", "{}");
	assert_int_equal(d.flags, 0);
	object_draft_done(&d);
}

static void a_status_is_added_to_an_object_without_one(void **state)
{
	struct object_draft d;
	splice(PLAIN ",'spec':{'a':1}}", "{'x':1}", false, &d);
	assert_string_equal(d.json, HEAD ",\"spec\":{\"a\":1},\"status\":{\"x\":1}}");
	check_extents(&d, "{\"a\":1}", "{\"x\":1}");
	object_draft_done(&d);
}

static void an_absent_status_removes_the_member(void **state)
{
	struct object_draft d;
	splice(PLAIN ",'status':{'x':[{}]},'spec':{'a':1}}", NULL, false, &d);
	assert_string_equal(d.json, HEAD ",\"spec\":{\"a\":1}}");
	check_extents(&d, "{\"a\":1}", "");
	object_draft_done(&d);
	splice(PLAIN "}", NULL, false, &d);
	assert_string_equal(d.json, HEAD "}");
	object_draft_done(&d);
}

static void uids_have_one_written_form(void **state)
{
	uint8_t uid[STORE_UID_LEN];
	char out[OBJECT_UID_TEXT];
	assert_int_equal(object_uid_parse(SPAN(UID), uid), 0);
	assert_int_equal(uid[0], 0x6b);
	assert_int_equal(uid[15], 0xc8);
	assert_string_equal(object_uid_format(uid, out), UID);
	assert_true(object_uid_parse(SPAN("6BA7B810-9dad-41d1-80b4-00c04fd430c8"), uid) < 0);
	assert_true(object_uid_parse(SPAN("6ba7b810-9dad-41d1-80b4-00c04fd430c"), uid) < 0);
	assert_true(object_uid_parse(SPAN("6ba7b8109-dad-41d1-80b4-00c04fd430c8"), uid) < 0);
	assert_true(object_uid_parse(SPAN_NONE, uid) < 0);
}

static void a_change_borrows_from_its_draft(void **state)
{
	struct object_draft d;
	struct store_change c;
	struct store_key key = {TYPE_PYTORCH_JOB, SPAN("ns"), SPAN("n")};
	draft_of(simple, &d);
	object_draft_change(&d, &key, &c);
	assert_int_equal(c.op, STORE_PUT);
	assert_ptr_equal(c.json.ptr, d.json);
	assert_int_equal(c.json.len, d.len);
	assert_memory_equal(c.uid, d.uid, sizeof(c.uid));
	assert_text(c.key.name, "n");
	object_draft_done(&d);
}

static void every_byte_of_a_string_survives_a_draft(void **state)
{
	char text[127 + 64];
	size_t n = 0;
	for (int c = 1; c < 128; c++)
		text[n++] = (char)c;
	for (int i = 0; i < 10; i++) {
		memcpy(text + n, "\xc3\xa4\"\\\\", 5);
		n += 5;
	}
	text[n] = '\0';
	/* From every offset, so that each escape stands at each place of a machine word. */
	for (size_t from = 0; from < n; from++) {
		if (((unsigned char)text[from] & 0xc0) == 0x80)
			continue;
		auto_json *tree = tree_of(simple);
		auto_json *back = NULL;
		struct object_draft d;
		struct span extra;
		struct err err = ERR_INIT;
		auto_buf decoded = BUF_INIT;
		json_set_str(tree, "extra", text + from);
		assert_int_equal(object_draft_from_tree(&pytorch, tree, &d, &err), 0);
		assert_int_equal(json_parse(span_make(d.json, d.len), NULL, &back, &err), 0);
		assert_string_equal(json_str(back, "extra"), text + from);
		assert_int_equal(json_text_member(span_make(d.json, d.len), "extra", &extra), 0);
		assert_int_equal(json_text_string(extra, &decoded), 0);
		assert_text(buf_span(&decoded), text + from);
		object_draft_done(&d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_draft_puts_identity_first_and_leaves_room_for_the_revision),
	    cmocka_unit_test(an_absent_part_has_no_extent),
	    cmocka_unit_test(flags_and_owners_follow_the_metadata),
	    cmocka_unit_test(an_object_without_a_uuid_makes_no_draft),
	    cmocka_unit_test(an_object_over_the_limit_makes_no_draft),
	    cmocka_unit_test(a_draft_of_a_stored_object_is_the_draft_it_came_from),
	    cmocka_unit_test(a_status_is_replaced_wherever_it_stands),
	    cmocka_unit_test(a_status_is_added_to_an_object_without_one),
	    cmocka_unit_test(an_absent_status_removes_the_member),
	    cmocka_unit_test(uids_have_one_written_form),
	    cmocka_unit_test(a_change_borrows_from_its_draft),
	    cmocka_unit_test(every_byte_of_a_string_survives_a_draft),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
