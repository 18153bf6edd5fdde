#include "request.h"

#include "api/protobuf.h"
#include "base/buf.h"
#include "base/json.h"

static struct span from_hex(const char *hex, struct buf *out)
{
	for (; hex[0]; hex += 2) {
		unsigned byte = 0;
		assert_int_equal(sscanf(hex, "%2x", &byte), 1);
		buf_add_char(out, (char)byte);
	}
	return buf_span(out);
}

static void expect(const char *hex, const char *want)
{
	struct buf bytes = BUF_INIT, text = BUF_INIT;
	struct cJSON *tree = NULL;
	struct err e = ERR_INIT;
	if (protobuf_decode(from_hex(hex, &bytes), &tree, &e) < 0)
		fail_msg("%s", e.text);
	json_print(tree, &text);
	assert_string_equal(text.ptr, want);
	json_free(tree);
	buf_done(&bytes);
	buf_done(&text);
}

/* kubectl auth can-i create jobsets.jobset.x-k8s.io, as recorded: kubernetes-api.md 1.3. */
#define CAN_I                                                                                        \
	"6b3873000a320a17617574686f72697a6174696f6e2e6b38732e696f2f7631121753656c665375626a65637441" \
	"636365737352657669657712510a100a0012001a0022002a0032003800420012330a310a0764656661756c7412" \
	"066372656174651a0f6a6f627365742e782d6b38732e696f22002a076a6f627365747332003a001a0808001200" \
	"1a0020001a002200"

static void a_recorded_review_is_read(void **state)
{
	(void)state;
	expect(CAN_I,
	       "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SelfSubjectAccessReview\","
	       "\"spec\":{\"resourceAttributes\":{\"namespace\":\"default\",\"verb\":\"create\","
	       "\"group\":\"jobset.x-k8s.io\",\"resource\":\"jobsets\"}},"
	       "\"status\":{\"allowed\":false}}");
}

/* v1 ConfigMap {metadata{name a, creationTimestamp zero, labels{x:y}}, data{k:v}}. */
static void a_config_map_keeps_its_maps(void **state)
{
	(void)state;
	expect("6b3873000a0f0a027631120"
	       "9436f6e6669674d6170"
	       "121b0a110a01614204080010005a060a0178"
	       "120179"
	       "12060a016b120176",
	       "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\","
	       "\"labels\":{\"x\":\"y\"}},\"data\":{\"k\":\"v\"}}");
}

static void bytes_become_base64_and_pointers_keep_zero(void **state)
{
	(void)state;
	/* v1 Secret {metadata{name s}, data{k: 00 ff}, type "", immutable pointer to false} */
	expect("6b3873000a0c0a02763112065365637265741212"
	       "0a030a017312070a016b120200ff1a002800",
	       "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"s\"},"
	       "\"data\":{\"k\":\"AP8=\"},\"immutable\":false}");
}

static void malformed_bytes_are_refused(void **state)
{
	static const char *const bad[] = {
	    "",
	    "6b3873",
	    "7b7d",
	    "6b387300",
	    "6b3873000a",
	    "6b3873000a0f0a0276311209436f6e6669674d6170"
	    "1203ffffff",
	    /* an envelope that is cut in its last field, or in the object */
	    "6b3873000a0f0a0276311209436f6e6669674d6170"
	    "12050a030a01611a",
	    "6b3873000a0f0a0276311209436f6e6669674d6170"
	    "12050a03",
	    /* a name that is not UTF-8 */
	    "6b3873000a0f0a0276311209436f6e6669674d6170"
	    "12050a030a01ff",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct buf bytes = BUF_INIT;
		struct cJSON *tree = NULL;
		struct err e = ERR_INIT;
		assert_true(protobuf_decode(from_hex(bad[i], &bytes), &tree, &e) < 0);
		assert_int_equal(e.kind, ERR_BAD_REQUEST);
		buf_done(&bytes);
	}
}

static void every_cut_of_a_message_is_safe(void **state)
{
	struct buf bytes = BUF_INIT;
	struct span all = from_hex(CAN_I, &bytes);
	(void)state;
	for (size_t n = 0; n < all.len; n++) {
		char *copy = xstrndup(all.ptr, n); /* so that a sanitizer sees a read beyond */
		struct cJSON *tree = NULL;
		if (protobuf_decode(span_make(copy, n), &tree, NULL) == 0)
			json_free(tree);
		free(copy);
	}
	buf_done(&bytes);
}

static void add_varint(struct buf *out, size_t n)
{
	for (; n > 127; n >>= 7)
		buf_add_char(out, (char)(n | 128));
	buf_add_char(out, (char)n);
}

/* `message` becomes the field of that number of a message around it. */
static void wrap(struct buf *message, unsigned number)
{
	struct buf out = BUF_INIT;
	add_varint(&out, number << 3 | 2);
	add_varint(&out, message->len);
	buf_add_span(&out, buf_span(message));
	buf_done(message);
	*message = out;
}

/* A CustomResourceDefinition in the envelope, whose one version has this schema. */
static void wrap_schema(struct buf *schema)
{
	static const unsigned path[] = {1, 4, 7, 2, 2}; /* openAPIV3Schema ... spec, raw */
	struct buf out = BUF_INIT;
	for (size_t i = 0; i < ARRAY_LEN(path); i++)
		wrap(schema, path[i]);
	(void)from_hex("6b387300"
		       "0a330a17617069657874656e73696f6e732e6b38732e696f2f7631"
		       "1218437573746f6d5265736f75726365446566696e6974696f6e",
		       &out);
	buf_add_span(&out, buf_span(schema));
	buf_done(schema);
	*schema = out;
}

static void expect_schema(const char *hex, const char *want)
{
	struct buf bytes = BUF_INIT, text = BUF_INIT;
	struct cJSON *tree = NULL;
	struct err e = ERR_INIT;
	const struct cJSON *version;
	(void)from_hex(hex, &bytes);
	wrap_schema(&bytes);
	if (protobuf_decode(buf_span(&bytes), &tree, &e) < 0)
		fail_msg("%s", e.text);
	version = json_at(json_path(tree, "spec", "versions", NULL), 0);
	json_print(json_path(version, "schema", "openAPIV3Schema", NULL), &text);
	assert_string_equal(text.ptr, want);
	json_free(tree);
	buf_done(&bytes);
	buf_done(&text);
}

static void schemas_of_definitions_are_read(void **state)
{
	(void)state;
	/* default {"a":1.50}, maximum 0.1, minimum -1e21, multipleOf 3 */
	expect_schema("420c0a0a7b2261223a312e35307d"
		      "499a9999999999b93f"
		      "5950efe2d6e41a4bc4"
		      "99010000000000000840",
		      "{\"default\":{\"a\":1.50},\"maximum\":0.1,"
		      "\"minimum\":-1e+21,\"multipleOf\":3}");
	/* enum [null, "x"] */
	expect_schema("a201060a046e756c6c"
		      "a201050a03227822",
		      "{\"enum\":[null,\"x\"]}");
}

static void one_of_several_forms_is_taken(void **state)
{
	(void)state;
	/* items: a schema, and a list of schemas */
	expect_schema("c201050a032a0161", "{\"items\":{\"type\":\"a\"}}");
	expect_schema("c2010a12032a016212032a0163",
		      "{\"items\":[{\"type\":\"b\"},{\"type\":\"c\"}]}");
	/* additionalProperties: false, true, and a schema, which Go allows, too */
	expect_schema("f201020800", "{\"additionalProperties\":false}");
	expect_schema("f201020801", "{\"additionalProperties\":true}");
	expect_schema("f20107080112032a0163", "{\"additionalProperties\":{\"type\":\"c\"}}");
	/* dependencies {"k": ["a", "b"]} */
	expect_schema("82020b0a016b120612016112"
		      "0162",
		      "{\"dependencies\":{\"k\":[\"a\",\"b\"]}}");
}

static void what_is_too_deep_for_json_is_refused(void **state)
{
	(void)state;
	for (int raw = 0; raw < 2; raw++)
		for (int deep = 0; deep < 200; deep++) {
			struct buf bytes = BUF_INIT, text = BUF_INIT;
			struct cJSON *tree = NULL;
			struct err e = ERR_INIT;
			/* A default of ten lists, or nothing, in `deep` schemas of `not`. */
			(void)from_hex(raw ? "42160a145b5b5b5b5b5b5b5b5b5b5d5d5d5d5d5d5d5d5d5d"
					   : "2a0161",
				       &bytes);
			for (int i = 0; i < deep; i++)
				wrap(&bytes, 28);
			wrap_schema(&bytes);
			if (protobuf_decode(buf_span(&bytes), &tree, &e) == 0) {
				json_print(tree, &text);
				assert_int_equal(json_check(buf_span(&text), NULL, NULL), 0);
				assert_true(deep < JSON_MAX_DEPTH);
			} else {
				assert_int_equal(e.kind, ERR_BAD_REQUEST);
				assert_true(deep > JSON_MAX_DEPTH - 20);
			}
			json_free(tree);
			buf_done(&bytes);
			buf_done(&text);
		}
}

static void an_unknown_kind_is_unsupported(void **state)
{
	struct buf bytes = BUF_INIT;
	struct cJSON *tree = NULL;
	struct err e = ERR_INIT;
	(void)state;
	(void)from_hex("6b3873000a090a027631120358797a12020a00", &bytes);
	assert_true(protobuf_decode(buf_span(&bytes), &tree, &e) < 0);
	assert_int_equal(e.kind, ERR_UNSUPPORTED_MEDIA);
	buf_done(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_recorded_review_is_read),
	    cmocka_unit_test(a_config_map_keeps_its_maps),
	    cmocka_unit_test(bytes_become_base64_and_pointers_keep_zero),
	    cmocka_unit_test(malformed_bytes_are_refused),
	    cmocka_unit_test(every_cut_of_a_message_is_safe),
	    cmocka_unit_test(schemas_of_definitions_are_read),
	    cmocka_unit_test(one_of_several_forms_is_taken),
	    cmocka_unit_test(what_is_too_deep_for_json_is_refused),
	    cmocka_unit_test(an_unknown_kind_is_unsupported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
