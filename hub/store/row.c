#include "store/row.h"

#include "store/row_bytes.h"
#include "store/splice.h"

#include <errno.h>

#define STATE_HEAD  80
#define STATE_CHAIN 16
#define LOG_HEAD    32
#define HUNK_BYTES  12

enum { ROW_TOMBSTONE = 1 };
enum { LOG_HAS_OLD = 1, LOG_SAME_DIGEST = 2, LOG_BODY = 4 };

static void put_extent(char **p, const struct store_extent *e)
{
	PUT_INTEGER(p, uint32_t, e->at);
	PUT_INTEGER(p, uint32_t, e->len);
}

static struct store_extent take_extent(struct row_cursor *c)
{
	struct store_extent e;
	e.at = TAKE_INTEGER(c, uint32_t);
	e.len = TAKE_INTEGER(c, uint32_t);
	return e;
}

/* ---- states ---- */

/* o's json needs a length only. */
static void put_head(char **p, const struct store_object *o, bool tombstone, size_t n_owners)
{
	PUT_INTEGER(p, uint8_t, STORE_FORMAT);
	PUT_INTEGER(p, uint8_t, tombstone ? ROW_TOMBSTONE : 0);
	PUT_INTEGER(p, uint16_t, (uint16_t)n_owners);
	PUT_INTEGER(p, uint32_t, o->flags);
	PUT_INTEGER(p, uint64_t, o->revision);
	PUT_INTEGER(p, uint64_t, o->create_revision);
	put_span(p, span_make((const char *)o->uid, STORE_UID_LEN));
	put_extent(p, &o->extents.revision);
	put_extent(p, &o->extents.metadata);
	put_extent(p, &o->extents.spec);
	put_extent(p, &o->extents.status);
	PUT_INTEGER(p, uint32_t, (uint32_t)o->digest.len);
	PUT_INTEGER(p, uint32_t, (uint32_t)o->json.len);
}

struct head {
	struct store_object object; /* digest and json: lengths only */
	uint16_t n_owners;
	uint8_t format;
	bool tombstone;
};

static bool outside(const struct store_extent *e, size_t len)
{
	return e->at > len || e->len > len - e->at;
}

static uint8_t take_format(struct row_cursor *c)
{
	uint8_t format = TAKE_INTEGER(c, uint8_t);
	if (format < 1 || format > STORE_FORMAT)
		c->bad = true;
	return format;
}

static void take_head(struct row_cursor *c, struct head *ret)
{
	*ret = (struct head){0};
	ret->format = take_format(c);
	ret->tombstone = TAKE_INTEGER(c, uint8_t) & ROW_TOMBSTONE;
	ret->n_owners = TAKE_INTEGER(c, uint16_t);
	struct store_object *o = &ret->object;
	o->flags = TAKE_INTEGER(c, uint32_t);
	o->revision = TAKE_INTEGER(c, uint64_t);
	o->create_revision = TAKE_INTEGER(c, uint64_t);
	struct span uid = take(c, STORE_UID_LEN);
	memcpy(o->uid, uid.ptr, uid.len);
	o->extents.revision = take_extent(c);
	o->extents.metadata = take_extent(c);
	o->extents.spec = take_extent(c);
	o->extents.status = take_extent(c);
	o->digest.len = TAKE_INTEGER(c, uint32_t);
	o->json.len = TAKE_INTEGER(c, uint32_t);
	if (outside(&o->extents.revision, o->json.len) ||
	    outside(&o->extents.metadata, o->json.len) || outside(&o->extents.spec, o->json.len) ||
	    outside(&o->extents.status, o->json.len) ||
	    o->extents.revision.len >= STORE_REVISION_TEXT)
		c->bad = true;
}

/* The state as it will be read: full json length, shifted extents. */
static struct store_object finished(const struct row_new *n, char digits[STORE_REVISION_TEXT])
{
	struct store_object o = {
	    .revision = n->revision,
	    .create_revision = n->create_revision,
	    .flags = n->flags,
	    .digest = n->digest,
	};
	memcpy(o.uid, n->uid, STORE_UID_LEN);
	if (n->tombstone) {
		o.digest.len = 0;
		return o;
	}
	size_t len = splice_digits(n->revision, digits);
	o.extents = splice_shift(&n->extents, len);
	o.json.len = n->bare.len + len;
	return o;
}

static void put_json(char **p, const struct row_new *n, const struct store_object *o,
		     const char *digits)
{
	splice_in(n->bare, n->extents.revision.at, digits, o->extents.revision.len, *p);
	*p += o->json.len;
}

void row_state_write(const struct row_new *n, char *out)
{
	char digits[STORE_REVISION_TEXT], *p = out;
	const struct store_object o = finished(n, digits);

	put_head(&p, &o, n->tombstone, n->owners.len / STORE_UID_LEN);
	if (n->tombstone)
		return;
	PUT_INTEGER(&p, uint64_t, n->anchor);
	PUT_INTEGER(&p, uint32_t, n->deltas);
	PUT_INTEGER(&p, uint32_t, 0);
	put_span(&p, n->owners);
	put_span(&p, n->digest);
	put_json(&p, n, &o, digits);
}

static size_t json_len(const struct row_new *n)
{
	char digits[STORE_REVISION_TEXT];
	return n->bare.len + splice_digits(n->revision, digits);
}

size_t row_state_size(const struct row_new *n)
{
	if (n->tombstone)
		return STATE_HEAD;
	return STATE_HEAD + STATE_CHAIN + n->owners.len + n->digest.len + json_len(n);
}

/* The log row of a tombstone has a body, and so has every one of format 1. */
static void take_chain(struct row_cursor *c, const struct head *h, struct row_state *ret)
{
	ret->anchor = h->object.revision;
	ret->deltas = 0;
	if (h->format < 2 || h->tombstone)
		return;
	ret->anchor = TAKE_INTEGER(c, uint64_t);
	ret->deltas = TAKE_INTEGER(c, uint32_t);
	(void)take(c, 4);
}

int row_state_read(struct span row, struct row_state *ret)
{
	struct row_cursor c = {row.ptr, row.len, false};
	struct head h;

	take_head(&c, &h);
	ret->tombstone = h.tombstone;
	ret->object = h.object;
	take_chain(&c, &h, ret);
	ret->owners = take(&c, (size_t)h.n_owners * STORE_UID_LEN);
	ret->object.digest = take(&c, h.object.digest.len);
	ret->object.json = take(&c, h.object.json.len);
	return c.bad || c.left ? -EBADMSG : 0;
}

int row_state_peek(struct span row, uint64_t *ret_revision)
{
	struct row_cursor c = {row.ptr, row.len, false};
	(void)take_format(&c);
	if (c.bad || row.len < STATE_HEAD)
		return -EBADMSG;
	memcpy(ret_revision, row.ptr + 8, sizeof(*ret_revision));
	return row.ptr[1] & ROW_TOMBSTONE;
}

/* ---- log rows ---- */

static bool same_digest(const struct row_log_new *n)
{
	return span_eq(n->old->digest, n->state->digest);
}

size_t row_log_size(const struct row_log_new *n)
{
	size_t size = LOG_HEAD + n->key.len + STATE_HEAD + n->state->digest.len +
		      (n->body ? json_len(n->state) : 0);
	if (n->old)
		size += STATE_HEAD + (same_digest(n) ? 0 : n->old->digest.len) +
			n->diff.n * HUNK_BYTES + row_diff_old_len(&n->diff) +
			(n->body ? 0 : row_diff_new_len(&n->diff));
	return size;
}

static void put_old(char **p, const struct row_log_new *n)
{
	put_head(p, n->old, false, 0);
	if (!same_digest(n))
		put_span(p, n->old->digest);
	for (uint32_t i = 0; i < n->diff.n; i++) {
		PUT_INTEGER(p, uint32_t, n->diff.hunks[i].skip);
		PUT_INTEGER(p, uint32_t, n->diff.hunks[i].old_len);
		PUT_INTEGER(p, uint32_t, n->diff.hunks[i].new_len);
	}
	row_diff_take_old(&n->diff, n->old_bare, *p);
	*p += row_diff_old_len(&n->diff);
	if (!n->body)
		row_diff_take_new(&n->diff, n->state->bare, *p);
}

void row_log_write(const struct row_log_new *n, char *out)
{
	char digits[STORE_REVISION_TEXT], *p = out;
	const struct store_object o = finished(n->state, digits);
	bool same = n->old && same_digest(n);

	PUT_INTEGER(&p, uint8_t, STORE_FORMAT);
	PUT_INTEGER(&p, uint8_t, (uint8_t)n->op);
	PUT_INTEGER(&p, uint8_t,
		    (uint8_t)((n->old ? LOG_HAS_OLD : 0) | (same ? LOG_SAME_DIGEST : 0) |
			      (n->body ? LOG_BODY : 0)));
	PUT_INTEGER(&p, uint8_t, 0);
	PUT_INTEGER(&p, uint16_t, (uint16_t)n->key.len);
	PUT_INTEGER(&p, uint16_t, (uint16_t)n->diff.n);
	PUT_INTEGER(&p, uint64_t, n->back);
	PUT_INTEGER(&p, int64_t, n->time);
	PUT_INTEGER(&p, uint64_t, n->anchor);
	put_span(&p, n->key);
	put_head(&p, &o, false, 0);
	put_span(&p, n->state->digest);
	if (n->body)
		put_json(&p, n->state, &o, digits);
	if (n->old)
		put_old(&p, n);
}

struct log_head {
	uint8_t format, flags;
	uint16_t n_hunks;
};

static size_t bare_len(struct row_cursor *c, const struct store_object *o)
{
	char digits[STORE_REVISION_TEXT];
	if (o->extents.revision.len != splice_digits(o->revision, digits))
		c->bad = true;
	return o->json.len - o->extents.revision.len;
}

static void take_new(struct row_cursor *c, const struct log_head *head, struct row_log *ret)
{
	struct head h;

	take_head(c, &h);
	if (h.tombstone)
		c->bad = true;
	ret->object = h.object;
	ret->bare_len = bare_len(c, &h.object);
	(void)take(c, (size_t)h.n_owners * STORE_UID_LEN);
	ret->object.digest = take(c, h.object.digest.len);
	ret->body = head->format < 2 || head->flags & LOG_BODY;
	ret->object.json = ret->body ? take(c, h.object.json.len) : SPAN_NONE;
}

/* Format 1 gave the lengths of the common start and end, before the old digest. */
static void take_one_hunk(struct row_cursor *c, struct row_log *ret)
{
	size_t prefix = TAKE_INTEGER(c, uint32_t), suffix = TAKE_INTEGER(c, uint32_t);
	size_t common = prefix + suffix;

	if (c->bad || common > ret->old_bare_len || common > ret->bare_len) {
		c->bad = true;
		return;
	}
	ret->diff.n = 1;
	ret->diff.hunks[0] = (struct row_hunk){
	    .skip = (uint32_t)prefix,
	    .old_len = (uint32_t)(ret->old_bare_len - common),
	    .new_len = (uint32_t)(ret->bare_len - common),
	};
}

static void take_hunks(struct row_cursor *c, size_t n, struct row_log *ret)
{
	if (n > ROW_MAX_HUNKS) {
		c->bad = true;
		return;
	}
	ret->diff.n = (uint32_t)n;
	for (size_t i = 0; i < n; i++) {
		ret->diff.hunks[i].skip = TAKE_INTEGER(c, uint32_t);
		ret->diff.hunks[i].old_len = TAKE_INTEGER(c, uint32_t);
		ret->diff.hunks[i].new_len = TAKE_INTEGER(c, uint32_t);
	}
}

static void take_old(struct row_cursor *c, const struct log_head *head, struct row_log *ret)
{
	struct head h;

	take_head(c, &h);
	ret->old = h.object;
	ret->old.json = SPAN_NONE;
	ret->old_bare_len = bare_len(c, &h.object);
	if (head->format < 2)
		take_one_hunk(c, ret);
	ret->old.digest =
	    head->flags & LOG_SAME_DIGEST ? ret->object.digest : take(c, h.object.digest.len);
	if (head->format >= 2)
		take_hunks(c, head->n_hunks, ret);
	if (c->bad || !row_diff_fits(&ret->diff, ret->old_bare_len, ret->bare_len)) {
		c->bad = true;
		return;
	}
	ret->olds = take(c, row_diff_old_len(&ret->diff));
	if (!ret->body)
		ret->news = take(c, row_diff_new_len(&ret->diff));
}

int row_log_read(struct span row, struct row_log *ret)
{
	struct row_cursor c = {row.ptr, row.len, false};
	struct log_head head;

	*ret = (struct row_log){0};
	head.format = take_format(&c);
	uint8_t op = TAKE_INTEGER(&c, uint8_t);
	head.flags = TAKE_INTEGER(&c, uint8_t);
	(void)take(&c, 1);
	size_t key_len = TAKE_INTEGER(&c, uint16_t);
	head.n_hunks = TAKE_INTEGER(&c, uint16_t);
	ret->back = TAKE_INTEGER(&c, uint64_t);
	ret->time = TAKE_INTEGER(&c, int64_t);
	ret->anchor = TAKE_INTEGER(&c, uint64_t);
	if (head.format < 2)
		ret->anchor = ret->back;
	ret->key = take(&c, key_len);
	ret->op = (enum store_log_op)op;
	take_new(&c, &head, ret);
	ret->has_old = head.flags & LOG_HAS_OLD;
	if (ret->has_old && !c.bad)
		take_old(&c, &head, ret);
	return c.bad || c.left || op > STORE_LOG_DELETED ? -EBADMSG : 0;
}

int row_log_forward(const struct row_log *row, struct span old_bare, char *out)
{
	if (!row->has_old || row->body || old_bare.len != row->old_bare_len)
		return -EBADMSG;
	row_diff_forward(&row->diff, old_bare, row->news, out);
	return 0;
}

int row_log_backward(const struct row_log *row, struct span new_bare, char *out)
{
	if (!row->has_old || new_bare.len != row->bare_len)
		return -EBADMSG;
	row_diff_backward(&row->diff, new_bare, row->olds, out);
	return 0;
}
