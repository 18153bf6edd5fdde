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
	    cmocka_unit_test(an_unknown_kind_is_unsupported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
