#include "store/row.h"

#include "fixture.h"

#include <errno.h>

static const uint8_t uid[STORE_UID_LEN] = {1, 2, 3};

static struct row_new a_state(void)
{
	return (struct row_new){
	    .owners = SPAN("0123456789abcdef"),
	    .digest = SPAN("digest"),
	    .bare = SPAN("{\"rv\":\"\",\"status\":{\"x\":1}}"),
	    .extents = {.revision = {7, 0}, .status = {18, 7}},
	    .revision = 123,
	    .create_revision = 9,
	    .uid = uid,
	    .flags = 5,
	};
}

static void a_state_goes_round(void **state)
{
	struct row_new n = a_state();
	struct row_state back;
	char bytes[512];
	uint64_t revision;
	size_t size = row_state_size(&n);
	(void)state;
	row_state_write(&n, bytes);
	assert_int_equal(row_state_read(span_make(bytes, size), &back), 0);
	assert_false(back.tombstone);
	assert_true(span_is(back.object.json, "{\"rv\":\"123\",\"status\":{\"x\":1}}"));
	assert_true(span_is(back.object.digest, "digest"));
	assert_true(span_eq(back.owners, n.owners));
	assert_int_equal(back.object.revision, 123);
	assert_int_equal(back.object.create_revision, 9);
	assert_int_equal(back.object.flags, 5);
	assert_int_equal(back.object.extents.status.at, 21);
	assert_memory_equal(back.object.uid, uid, sizeof(uid));
	assert_int_equal(row_state_peek(span_make(bytes, size), &revision), 0);
	assert_int_equal(revision, 123);
}

static void a_tombstone_is_a_head_alone(void **state)
{
	struct row_new n = a_state();
	struct row_state back;
	char bytes[512];
	uint64_t revision;
	(void)state;
	n.tombstone = true;
	n.owners = SPAN_NONE;
	size_t size = row_state_size(&n);
	assert_true(size <= 80);
	row_state_write(&n, bytes);
	assert_int_equal(row_state_read(span_make(bytes, size), &back), 0);
	assert_true(back.tombstone);
	assert_int_equal(back.object.json.len, 0);
	assert_int_equal(row_state_peek(span_make(bytes, size), &revision), 1);
}

static void a_damaged_state_is_refused(void **state)
{
	struct row_new n = a_state();
	struct row_state back;
	char bytes[512];
	uint64_t revision;
	size_t size = row_state_size(&n);
	(void)state;
	row_state_write(&n, bytes);
	for (size_t cut = 0; cut < size; cut++)
		assert_int_equal(row_state_read(span_make(bytes, cut), &back), -EBADMSG);
	assert_int_equal(row_state_read(span_make(bytes, size + 1), &back), -EBADMSG);
	bytes[0] = 99; /* another format */
	assert_int_equal(row_state_read(span_make(bytes, size), &back), -EBADMSG);
	assert_int_equal(row_state_peek(span_make(bytes, size), &revision), -EBADMSG);
	assert_int_equal(row_state_peek(SPAN("x"), &revision), -EBADMSG);
}

static void differences_never_overlap(void **state)
{
	static const struct {
		const char *a, *b;
		uint32_t prefix, suffix;
	} rows[] = {
	    {"", "", 0, 0},
	    {"a", "", 0, 0},
	    {"abc", "abc", 3, 0},
	    {"aaa", "aa", 2, 0},
	    {"aa", "aaa", 2, 0},
	    {"abXcd", "abYcd", 2, 2},
	    {"Xabc", "abc", 0, 3},
	    {"abcabc", "abc", 3, 0},
	    {"abcX", "abcY", 3, 0},
	    {"0123456789012345678901234567890123456789X0123456789012345678901234567890123456789",
	     "0123456789012345678901234567890123456789YY0123456789012345678901234567890123456789",
	     40, 40},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct row_diff d;
		row_diff(span_of(rows[i].a), span_of(rows[i].b), &d);
		assert_int_equal(d.prefix, rows[i].prefix);
		assert_int_equal(d.suffix, rows[i].suffix);
	}
}

/* Writes the log row of a change from `before` to `after` and reads the old json back. */
static void assert_old_comes_back(const char *before, const char *after, uint64_t old_revision,
				  uint32_t old_at, uint32_t new_at)
{
	char old_bytes[2048], bytes[4096], want[2048], got[2048];
	struct row_state old;
	struct row_log log;
	struct row_new n = a_state();

	n.bare = span_of(before);
	n.extents = (struct store_extents){.revision = {old_at, 0}};
	n.revision = old_revision;
	size_t old_size = row_state_size(&n);
	row_state_write(&n, old_bytes);
	assert_int_equal(row_state_read(span_make(old_bytes, old_size), &old), 0);
	n.bare = span_of(after);
	n.extents.revision.at = new_at;
	n.revision = 100000;
	struct row_log_new l = {.op = STORE_LOG_MODIFIED,
				.back = old_revision,
				.time = -7,
				.key = SPAN("key"),
				.state = &n,
				.old = &old.object,
				.old_bare = span_of(before)};
	row_diff(l.old_bare, n.bare, &l.diff);
	size_t size = row_log_size(&l);
	row_log_write(&l, bytes);
	assert_int_equal(row_log_read(span_make(bytes, size), &log), 0);
	assert_int_equal(log.time, -7);
	assert_int_equal(log.back, old_revision);
	assert_true(log.has_old && span_is(log.key, "key"));
	assert_true(span_is(log.old.digest, "digest"));
	assert_int_equal(row_log_old_len(&log), old.object.json.len);
	row_log_old(&log, got);
	memcpy(want, old.object.json.ptr, old.object.json.len);
	assert_memory_equal(got, want, old.object.json.len);
	for (size_t cut = 0; cut < size; cut++)
		assert_int_equal(row_log_read(span_make(bytes, cut), &log), -EBADMSG);
}

static void the_old_json_is_rebuilt_wherever_the_digits_stand(void **state)
{
	static const char *const texts[] = {"",
					    "a",
					    "{\"v\":\"\",\"a\":1}",
					    "{\"v\":\"\",\"a\":12}",
					    "{\"x\":0,\"v\":\"\"}",
					    "completely other"};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		for (size_t k = 0; k < ARRAY_LEN(texts); k++)
			for (uint32_t at = 0; at <= strlen(texts[i]); at += 3)
				assert_old_comes_back(texts[i], texts[k], at % 2 ? 7 : 99999999, at,
						      (uint32_t)strlen(texts[k]));
}

static void an_unchanged_digest_is_kept_once(void **state)
{
	struct row_new n = a_state();
	char old_bytes[512];
	struct row_state old;
	(void)state;
	size_t old_size = row_state_size(&n);
	row_state_write(&n, old_bytes);
	assert_int_equal(row_state_read(span_make(old_bytes, old_size), &old), 0);
	struct row_log_new l = {.op = STORE_LOG_MODIFIED,
				.key = SPAN("k"),
				.state = &n,
				.old = &old.object,
				.old_bare = n.bare};
	row_diff(l.old_bare, n.bare, &l.diff);
	size_t same = row_log_size(&l);
	n.digest = SPAN("DIGEST");
	assert_int_equal(row_log_size(&l), same + 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_state_goes_round),
	    cmocka_unit_test(a_tombstone_is_a_head_alone),
	    cmocka_unit_test(a_damaged_state_is_refused),
	    cmocka_unit_test(differences_never_overlap),
	    cmocka_unit_test(the_old_json_is_rebuilt_wherever_the_digits_stand),
	    cmocka_unit_test(an_unchanged_digest_is_kept_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
