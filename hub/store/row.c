#include "store/row.h"

#include "store/splice.h"

#include <errno.h>

#define STATE_HEAD 80
#define LOG_HEAD   32

enum { ROW_TOMBSTONE = 1 };
enum { LOG_HAS_OLD = 1, LOG_SAME_DIGEST = 2 };

/* ---- bounded reading, plain writing ---- */

struct cursor {
	const char *p;
	size_t left;
	bool bad; /* sticks */
};

static struct span take(struct cursor *c, size_t n)
{
	if (c->bad || n > c->left) {
		c->bad = true;
		return SPAN("");
	}
	struct span s = span_make(c->p, n);
	c->p += n;
	c->left -= n;
	return s;
}

#define TAKE_INTEGER(c, T)                                                                         \
	({                                                                                         \
		T v_ = 0;                                                                          \
		struct span s_ = take((c), sizeof(v_));                                            \
		if (s_.len)                                                                        \
			memcpy(&v_, s_.ptr, sizeof(v_));                                           \
		v_;                                                                                \
	})

#define PUT_INTEGER(p, T, value)                                                                   \
	do {                                                                                       \
		T v_ = (value);                                                                    \
		memcpy(*(p), &v_, sizeof(v_));                                                     \
		*(p) += sizeof(v_);                                                                \
	} while (0)

static void put_span(char **p, struct span s)
{
	if (s.len)
		memcpy(*p, s.ptr, s.len);
	*p += s.len;
}

static void put_extent(char **p, const struct store_extent *e)
{
	PUT_INTEGER(p, uint32_t, e->at);
	PUT_INTEGER(p, uint32_t, e->len);
}

static struct store_extent take_extent(struct cursor *c)
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
	bool tombstone;
};

static bool outside(const struct store_extent *e, size_t len)
{
	return e->at > len || e->len > len - e->at;
}

static void take_head(struct cursor *c, struct head *ret)
{
	*ret = (struct head){0};
	if (TAKE_INTEGER(c, uint8_t) != STORE_FORMAT)
		c->bad = true;
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

static void put_state(char **p, const struct row_new *n, bool with_owners)
{
	char digits[STORE_REVISION_TEXT];
	const struct store_object o = finished(n, digits);
	struct span owners = with_owners ? n->owners : SPAN_NONE;

	put_head(p, &o, n->tombstone, owners.len / STORE_UID_LEN);
	if (n->tombstone)
		return;
	put_span(p, owners);
	put_span(p, n->digest);
	splice_in(n->bare, n->extents.revision.at, digits, o.extents.revision.len, *p);
	*p += o.json.len;
}

static size_t state_size(const struct row_new *n, bool with_owners)
{
	char digits[STORE_REVISION_TEXT];
	if (n->tombstone)
		return STATE_HEAD;
	return STATE_HEAD + (with_owners ? n->owners.len : 0) + n->digest.len + n->bare.len +
	       splice_digits(n->revision, digits);
}

size_t row_state_size(const struct row_new *n)
{
	return state_size(n, true);
}

void row_state_write(const struct row_new *n, char *out)
{
	put_state(&out, n, true);
}

static void take_state(struct cursor *c, struct row_state *ret)
{
	struct head h;
	take_head(c, &h);
	ret->tombstone = h.tombstone;
	ret->object = h.object;
	ret->owners = take(c, (size_t)h.n_owners * STORE_UID_LEN);
	ret->object.digest = take(c, h.object.digest.len);
	ret->object.json = take(c, h.object.json.len);
}

int row_state_read(struct span row, struct row_state *ret)
{
	struct cursor c = {row.ptr, row.len, false};
	take_state(&c, ret);
	return c.bad || c.left ? -EBADMSG : 0;
}

int row_state_peek(struct span row, uint64_t *ret_revision)
{
	if (row.len < STATE_HEAD || row.ptr[0] != STORE_FORMAT)
		return -EBADMSG;
	memcpy(ret_revision, row.ptr + 8, sizeof(*ret_revision));
	return row.ptr[1] & ROW_TOMBSTONE;
}

/* ---- differences ---- */

static size_t common_prefix(const char *a, const char *b, size_t most)
{
	size_t n = 0;
	while (most - n >= 32 && memcmp(a + n, b + n, 32) == 0)
		n += 32;
	while (n < most && a[n] == b[n])
		n++;
	return n;
}

static size_t common_suffix(const char *a_end, const char *b_end, size_t most)
{
	size_t n = 0;
	while (most - n >= 32 && memcmp(a_end - n - 32, b_end - n - 32, 32) == 0)
		n += 32;
	while (n < most && a_end[-(ptrdiff_t)n - 1] == b_end[-(ptrdiff_t)n - 1])
		n++;
	return n;
}

void row_diff(struct span a, struct span b, struct row_diff *ret)
{
	size_t most = a.len < b.len ? a.len : b.len;
	size_t prefix = most ? common_prefix(a.ptr, b.ptr, most) : 0;
	most -= prefix;
	size_t suffix = most ? common_suffix(a.ptr + a.len, b.ptr + b.len, most) : 0;
	*ret = (struct row_diff){(uint32_t)prefix, (uint32_t)suffix};
}

/* ---- log rows ---- */

static size_t middle_len(const struct row_log_new *n)
{
	return n->old_bare.len - n->diff.prefix - n->diff.suffix;
}

static bool same_digest(const struct row_log_new *n)
{
	return span_eq(n->old->digest, n->state->digest);
}

size_t row_log_size(const struct row_log_new *n)
{
	size_t size = LOG_HEAD + n->key.len + state_size(n->state, false);
	if (n->old)
		size += STATE_HEAD + 8 + (same_digest(n) ? 0 : n->old->digest.len) + middle_len(n);
	return size;
}

void row_log_write(const struct row_log_new *n, char *out)
{
	bool same = n->old && same_digest(n);
	char *p = out;

	PUT_INTEGER(&p, uint8_t, STORE_FORMAT);
	PUT_INTEGER(&p, uint8_t, (uint8_t)n->op);
	PUT_INTEGER(&p, uint8_t,
		    (uint8_t)((n->old ? LOG_HAS_OLD : 0) | (same ? LOG_SAME_DIGEST : 0)));
	PUT_INTEGER(&p, uint8_t, 0);
	PUT_INTEGER(&p, uint16_t, (uint16_t)n->key.len);
	PUT_INTEGER(&p, uint16_t, 0);
	PUT_INTEGER(&p, uint64_t, n->back);
	PUT_INTEGER(&p, int64_t, n->time);
	PUT_INTEGER(&p, uint64_t, 0);
	put_span(&p, n->key);
	put_state(&p, n->state, false);
	if (!n->old)
		return;
	put_head(&p, n->old, false, 0);
	PUT_INTEGER(&p, uint32_t, n->diff.prefix);
	PUT_INTEGER(&p, uint32_t, n->diff.suffix);
	if (!same)
		put_span(&p, n->old->digest);
	put_span(&p, span_make(n->old_bare.ptr + n->diff.prefix, middle_len(n)));
}

static void take_old(struct cursor *c, bool same, struct row_log *ret)
{
	struct head h;
	take_head(c, &h);
	ret->old = h.object;
	ret->diff.prefix = TAKE_INTEGER(c, uint32_t);
	ret->diff.suffix = TAKE_INTEGER(c, uint32_t);
	ret->old.digest = same ? ret->object.digest : take(c, h.object.digest.len);

	size_t bare = h.object.json.len - h.object.extents.revision.len;
	size_t new_bare = ret->object.json.len - ret->object.extents.revision.len;
	size_t common = (size_t)ret->diff.prefix + ret->diff.suffix;
	char digits[STORE_REVISION_TEXT];
	if (c->bad || common > bare || common > new_bare ||
	    h.object.extents.revision.len != splice_digits(h.object.revision, digits))
		c->bad = true;
	else
		ret->middle = take(c, bare - common);
}

int row_log_read(struct span row, struct row_log *ret)
{
	struct cursor c = {row.ptr, row.len, false};
	struct row_state state;

	*ret = (struct row_log){0};
	if (TAKE_INTEGER(&c, uint8_t) != STORE_FORMAT)
		return -EBADMSG;
	uint8_t op = TAKE_INTEGER(&c, uint8_t), flags = TAKE_INTEGER(&c, uint8_t);
	(void)take(&c, 1);
	size_t key_len = TAKE_INTEGER(&c, uint16_t);
	(void)take(&c, 2);
	ret->back = TAKE_INTEGER(&c, uint64_t);
	ret->time = TAKE_INTEGER(&c, int64_t);
	(void)take(&c, 8);
	ret->key = take(&c, key_len);
	take_state(&c, &state);
	ret->object = state.object;
	ret->op = (enum store_log_op)op;
	ret->has_old = flags & LOG_HAS_OLD;
	if (ret->has_old && !c.bad)
		take_old(&c, flags & LOG_SAME_DIGEST, ret);
	return c.bad || c.left || op > STORE_LOG_DELETED ? -EBADMSG : 0;
}

size_t row_log_old_len(const struct row_log *row)
{
	return row->old.json.len;
}

/* Bytes [from, from + n) of json without its digits. */
static char *copy_bare(const struct store_object *o, size_t from, size_t n, char *out)
{
	const struct store_extent *digits = &o->extents.revision;
	size_t head = from < digits->at ? digits->at - from : 0;

	if (head > n)
		head = n;
	memcpy(out, o->json.ptr + from, head);
	memcpy(out + head, o->json.ptr + from + head + digits->len, n - head);
	return out + n;
}

void row_log_old(const struct row_log *row, char *out)
{
	const struct store_extent *digits = &row->old.extents.revision;
	size_t new_bare = row->object.json.len - row->object.extents.revision.len;
	char text[STORE_REVISION_TEXT];
	/* The bare text goes to the end of the room; then its head moves down before the digits. */
	char *p = out + digits->len;

	p = copy_bare(&row->object, 0, row->diff.prefix, p);
	memcpy(p, row->middle.ptr, row->middle.len);
	p += row->middle.len;
	copy_bare(&row->object, new_bare - row->diff.suffix, row->diff.suffix, p);
	memmove(out, out + digits->len, digits->at);
	memcpy(out + digits->at, text, splice_digits(row->old.revision, text));
}
