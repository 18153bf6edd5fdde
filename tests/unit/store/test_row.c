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
	    .anchor = 77,
	    .deltas = 2,
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
	assert_int_equal(back.anchor, 77);
	assert_int_equal(back.deltas, 2);
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
	assert_int_equal(back.anchor, 123); /* the row of a deletion has a body */
	assert_int_equal(back.deltas, 0);
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

static void a_state_of_format_1_has_its_anchor_in_the_log(void **state)
{
	struct row_new n = a_state();
	struct row_state back;
	char bytes[512], old[512];
	uint64_t revision;
	size_t size = row_state_size(&n);
	(void)state;
	row_state_write(&n, bytes);
	memcpy(old, bytes, 80);
	memcpy(old + 80, bytes + 96, size - 96);
	old[0] = 1;
	assert_int_equal(row_state_read(span_make(old, size - 16), &back), 0);
	assert_true(span_is(back.object.json, "{\"rv\":\"123\",\"status\":{\"x\":1}}"));
	assert_true(span_is(back.object.digest, "digest"));
	assert_int_equal(back.anchor, 123);
	assert_int_equal(back.deltas, 0);
	assert_int_equal(row_state_peek(span_make(old, size - 16), &revision), 0);
}

static void an_added_row_without_a_body_knows_its_length(void **state)
{
	struct row_new n = a_state();
	struct row_log_new l = {.op = STORE_LOG_ADDED, .key = SPAN("key"), .state = &n};
	struct row_log log;
	char bytes[512];
	size_t size = row_log_size(&l);
	(void)state;
	row_log_write(&l, bytes);
	assert_int_equal(row_log_read(span_make(bytes, size), &log), 0);
	assert_false(log.body || log.has_old);
	assert_null(log.object.json.ptr);
	assert_int_equal(log.bare_len, n.bare.len);
	assert_int_equal(log.object.extents.status.at, 21);
	assert_true(span_is(log.object.digest, "digest"));
	l.body = true;
	assert_int_equal(row_log_size(&l), size + n.bare.len + 3);
}

/* What a text of revision r with its digits at `at` is. */
static void full_text(const char *bare, uint64_t r, uint32_t at, char out[2048])
{
	(void)snprintf(out, 2048, "%.*s%llu%s", (int)at, bare, (unsigned long long)r, bare + at);
}

static void assert_leads_both_ways(const struct row_log *log, const char *before, const char *after)
{
	char got[2048];

	assert_int_equal(log->old_bare_len, strlen(before));
	assert_int_equal(log->bare_len, strlen(after));
	assert_int_equal(row_log_backward(log, span_of(after), got), 0);
	assert_memory_equal(got, before, strlen(before));
	assert_int_equal(row_log_backward(log, span_make(after, strlen(after) + 1), got), -EBADMSG);
	if (log->body) {
		assert_int_equal(row_log_forward(log, span_of(before), got), -EBADMSG);
		return;
	}
	assert_int_equal(row_log_forward(log, span_of(before), got), 0);
	assert_memory_equal(got, after, strlen(after));
	assert_int_equal(row_log_forward(log, span_make(before, strlen(before) + 1), got),
			 -EBADMSG);
}

/* Rows of format 1: the same with a body and one hunk, which stood as the lengths of the common
 * start and end. The old digest must be the new one. */
static size_t of_format_1(const struct row_log_new *l, const char *row, size_t size, char *out)
{
	const struct row_hunk *h = &l->diff.hunks[0];
	size_t at = 32 + l->key.len;
	uint32_t ends[2];

	memcpy(out, row, size);
	out[0] = out[at] = 1;
	out[2] &= ~4;
	memset(out + 6, 0, 2);	/* hunks */
	memset(out + 24, 0, 8); /* anchor */
	if (!l->old)
		return size;
	at += 80 + l->state->digest.len + l->state->bare.len + 6;
	out[at] = 1;
	at += 80;
	ends[0] = l->diff.n ? h->skip : (uint32_t)l->old_bare.len;
	ends[1] = (uint32_t)(l->old_bare.len - row_diff_old_len(&l->diff) - ends[0]);
	memcpy(out + at, ends, sizeof(ends));
	size_t olds = row_diff_old_len(&l->diff);
	memcpy(out + at + 8, row + size - olds, olds);
	return at + 8 + olds;
}

static void assert_format_1_is_read(const struct row_log_new *l, const char *row, size_t size,
				    const char *before, const char *after)
{
	char old[4096];
	struct row_log log;
	size_t n = of_format_1(l, row, size, old);

	assert_int_equal(row_log_read(span_make(old, n), &log), 0);
	assert_true(log.body && log.has_old);
	assert_int_equal(log.anchor, l->back); /* each has a body */
	assert_leads_both_ways(&log, before, after);
	for (size_t cut = 0; cut < n; cut++)
		assert_int_equal(row_log_read(span_make(old, cut), &log), -EBADMSG);
}

/* Writes the log row of a change from `before` to `after`, and goes both ways. */
static void assert_change(const char *before, const char *after, uint64_t old_revision,
			  uint32_t old_at, uint32_t new_at, bool body)
{
	char old_bytes[2048], bytes[4096], want[2048];
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
				.body = body,
				.back = old_revision,
				.anchor = 3,
				.time = -7,
				.key = SPAN("key"),
				.state = &n,
				.old = &old.object,
				.old_bare = span_of(before)};
	row_diff(&(struct row_side){.bare = l.old_bare}, &(struct row_side){.bare = n.bare},
		 &l.diff);
	size_t size = row_log_size(&l);
	row_log_write(&l, bytes);
	assert_int_equal(row_log_read(span_make(bytes, size), &log), 0);
	assert_int_equal(log.time, -7);
	assert_int_equal(log.back, old_revision);
	assert_int_equal(log.anchor, 3);
	assert_true(log.has_old && span_is(log.key, "key"));
	assert_true(span_is(log.old.digest, "digest"));
	assert_int_equal(log.body, body);
	full_text(after, 100000, new_at, want);
	assert_true(body ? span_is(log.object.json, want) : !log.object.json.ptr);
	assert_leads_both_ways(&log, before, after);
	for (size_t cut = 0; cut < size; cut++)
		assert_int_equal(row_log_read(span_make(bytes, cut), &log), -EBADMSG);
	if (body)
		assert_format_1_is_read(&l, bytes, size, before, after);
}

static void a_log_row_leads_both_ways_wherever_the_digits_stand(void **state)
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
				for (int body = 0; body < 2; body++)
					assert_change(texts[i], texts[k], at % 2 ? 7 : 99999999, at,
						      (uint32_t)strlen(texts[k]), body);
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
	    cmocka_unit_test(a_state_of_format_1_has_its_anchor_in_the_log),
	    cmocka_unit_test(an_added_row_without_a_body_knows_its_length),
	    cmocka_unit_test(a_log_row_leads_both_ways_wherever_the_digits_stand),
	    cmocka_unit_test(an_unchanged_digest_is_kept_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
