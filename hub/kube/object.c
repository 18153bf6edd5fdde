/*
 * Drafts are printed in one order: apiVersion, kind, metadata (its identity first), then the rest
 * as it came. So whoever reads the bytes finds names and uid within the first few hundred, and
 * the status, which is replaced most often, always stands behind the revision.
 */
#include "kube/object.h"

#include "base/json.h"
#include "base/num.h"
#include "kube/copy_info.h"
#include "kube/info_codec.h"

#include <errno.h>

/* Digits of the greatest revision: the store writes them into the bytes later. */
#define REVISION_DIGITS (STORE_REVISION_TEXT - 1)

void object_draft_done(struct object_draft *d)
{
	free(d->json);
	free(d->digest);
	free(d->owners);
	*d = (struct object_draft){0};
}

/* ---- uid ---- */

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int object_uid_parse(struct span text, uint8_t ret[STORE_UID_LEN])
{
	uint8_t uid[STORE_UID_LEN];
	size_t at = 0;

	if (text.len != OBJECT_UID_TEXT - 1)
		return -EINVAL;
	for (size_t i = 0; i < STORE_UID_LEN; i++) {
		if ((i == 4 || i == 6 || i == 8 || i == 10) && text.ptr[at++] != '-')
			return -EINVAL;
		int high = hex_digit(text.ptr[at]), low = hex_digit(text.ptr[at + 1]);
		if (high < 0 || low < 0)
			return -EINVAL;
		uid[i] = (uint8_t)(high << 4 | low);
		at += 2;
	}
	memcpy(ret, uid, sizeof(uid));
	return 0;
}

const char *object_uid_format(const uint8_t uid[STORE_UID_LEN], char out[OBJECT_UID_TEXT])
{
	static const char hex[] = "0123456789abcdef";
	size_t at = 0;

	for (size_t i = 0; i < STORE_UID_LEN; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			out[at++] = '-';
		out[at++] = hex[uid[i] >> 4];
		out[at++] = hex[uid[i] & 15];
	}
	out[at] = '\0';
	return out;
}

/* ---- printing with extents ---- */

static struct store_extent extent_from(const struct buf *out, size_t from)
{
	return (struct store_extent){(uint32_t)from, (uint32_t)(out->len - from)};
}

static void add_key(struct buf *out, const char *key)
{
	if (out->len && out->ptr[out->len - 1] != '{')
		buf_add_char(out, ',');
	buf_add_json_str(out, span_of(key));
	buf_add_char(out, ':');
}

static void add_member(struct buf *out, const struct cJSON *value)
{
	add_key(out, json_key(value));
	json_print(value, out);
}

static bool is_one_of(const char *key, const char *const *list)
{
	for (; *list; list++)
		if (strcmp(key, *list) == 0)
			return true;
	return false;
}

static void add_metadata(struct buf *out, const struct cJSON *metadata,
			 struct store_extents *extents)
{
	static const char *const first[] = {"name", "namespace", "uid"};
	static const char *const skip[] = {"name", "namespace", "uid", "resourceVersion", NULL};
	size_t from = out->len;

	buf_add_char(out, '{');
	for (size_t i = 0; i < ARRAY_LEN(first); i++) {
		const struct cJSON *m = json_get(metadata, first[i]);
		if (m)
			add_member(out, m);
	}
	add_key(out, "resourceVersion");
	buf_add_char(out, '"');
	extents->revision = (struct store_extent){(uint32_t)out->len, 0};
	buf_add_char(out, '"');
	json_foreach (metadata, m)
		if (!is_one_of(json_key(m), skip))
			add_member(out, m);
	buf_add_char(out, '}');
	extents->metadata = extent_from(out, from);
}

static void add_object(struct buf *out, const struct cJSON *object, struct store_extents *extents)
{
	static const char *const first[] = {"apiVersion", "kind"};
	static const char *const skip[] = {"apiVersion", "kind", "metadata", NULL};

	buf_add_char(out, '{');
	for (size_t i = 0; i < ARRAY_LEN(first); i++) {
		const struct cJSON *m = json_get(object, first[i]);
		if (m)
			add_member(out, m);
	}
	add_key(out, "metadata");
	add_metadata(out, json_get(object, "metadata"), extents);
	json_foreach (object, m) {
		const char *key = json_key(m);
		if (is_one_of(key, skip))
			continue;
		add_key(out, key);
		size_t from = out->len;
		json_print(m, out);
		if (strcmp(key, "spec") == 0)
			extents->spec = extent_from(out, from);
		else if (strcmp(key, "status") == 0)
			extents->status = extent_from(out, from);
	}
	buf_add_char(out, '}');
}

/* ---- what the text says beside the text ---- */

static struct span extent_text(const struct object_draft *d, struct store_extent e)
{
	return e.len ? span_make(d->json + e.at, e.len) : SPAN_NONE;
}

static bool seen_owner(const struct object_draft *d, const uint8_t uid[STORE_UID_LEN])
{
	for (size_t i = 0; i < d->n_owners; i++)
		if (memcmp(d->owners[i], uid, STORE_UID_LEN) == 0)
			return true;
	return false;
}

/* Owners whose uid is not a UUID cannot be objects of ours: they have no row in the index. */
static void find_owners(struct object_draft *d, struct span list)
{
	struct span one, uid_text;
	uint8_t uid[STORE_UID_LEN];
	size_t n = 0;

	for (size_t at = 0; json_text_next(list, &at, NULL, &one);)
		n++;
	if (n == 0)
		return;
	d->owners = xcalloc(n, sizeof(*d->owners));
	for (size_t at = 0; json_text_next(list, &at, NULL, &one);)
		if (json_text_member(one, "uid", &uid_text) == 0 &&
		    object_uid_parse(json_text_plain(uid_text), uid) == 0 && !seen_owner(d, uid))
			memcpy(d->owners[d->n_owners++], uid, sizeof(uid));
}

static store_flags finalizer_flags(struct span list)
{
	struct span one;
	store_flags flags = 0;

	for (size_t at = 0; json_text_next(list, &at, NULL, &one);) {
		flags |= OBJECT_HAS_FINALIZERS;
		if (!span_is(json_text_plain(one), OBJECT_HUB_FINALIZER))
			flags |= OBJECT_FOREIGN_FINALIZERS;
	}
	return flags;
}

/* Fills flags, owners and generation from the text of the draft. */
static void index_text(struct object_draft *d, uint16_t type, const struct info_meta *meta)
{
	d->generation = meta->generation;
	d->flags = finalizer_flags(meta->finalizers);
	if (meta->deleting)
		d->flags |= OBJECT_DELETING;
	find_owners(d, meta->owners);
	if (d->n_owners)
		d->flags |= OBJECT_HAS_OWNERS;
	if (copy_info_suspended(type, extent_text(d, d->extents.spec)))
		d->flags |= OBJECT_SUSPENDED;
	if (copy_phase_is_terminal(copy_info_phase(type, extent_text(d, d->extents.status))))
		d->flags |= OBJECT_FINISHED;
}

int object_draft_from_tree(const struct kind *k, const struct cJSON *object,
			   struct object_draft *ret, struct err *reterr)
{
	auto_buf text = BUF_MAX(STORE_MAX_OBJECT - REVISION_DIGITS);
	auto_buf digest = BUF_MAX(STORE_MAX_OBJECT);
	struct object_draft d = {0};
	struct info_meta meta;

	(void)buf_reserve(&text, 4096);
	add_object(&text, object, &d.extents);
	if (!buf_ok(&text))
		return err_set(reterr, ERR_TOO_LARGE, "the object is larger than %zu bytes",
			       STORE_MAX_OBJECT);
	struct store_extent at = d.extents.metadata;
	info_meta_read_metadata(span_make(text.ptr + at.at, at.len), &meta);
	if (object_uid_parse(json_text_plain(meta.uid), d.uid) < 0)
		return err_set_field(reterr, ERR_INVALID, "metadata.uid", "not a UUID");
	if (k->digest) {
		int r = k->digest(k, object, &digest, reterr);
		if (r < 0)
			return r;
		if (!buf_ok(&digest))
			return err_set(reterr, ERR_TOO_LARGE, "the object's digest is too large");
		d.digest = buf_steal(&digest, &d.digest_len);
	}
	d.json = buf_steal(&text, &d.len);
	index_text(&d, k->type, &meta);
	*ret = d;
	return 0;
}

/* ---- splicing ---- */

static struct store_extent less(struct store_extent e, uint32_t digits, uint32_t from)
{
	if (e.len && e.at >= from)
		e.at -= digits;
	return e;
}

/* The bytes of a stored object without its revision's digits, up to `end`; and the extents. */
static void add_without_revision(struct buf *out, const struct store_object *o, size_t end,
				 struct store_extents *ret)
{
	struct store_extent r = o->extents.revision;
	size_t behind = (size_t)r.at + r.len;

	buf_add(out, o->json.ptr, r.at);
	buf_add(out, o->json.ptr + behind, end - behind);
	*ret = (struct store_extents){
	    .revision = {r.at, 0},
	    .metadata = o->extents.metadata,
	    .spec = less(o->extents.spec, r.len, r.at),
	    .status = less(o->extents.status, r.len, r.at),
	};
	ret->metadata.len -= r.len;
}

static void copy_rest(const struct store_object *o, struct object_draft *d)
{
	struct info_meta meta;

	memcpy(d->uid, o->uid, sizeof(d->uid));
	info_meta_read_metadata(extent_text(d, d->extents.metadata), &meta);
	d->generation = meta.generation;
	find_owners(d, meta.owners);
	if (o->digest.len) {
		d->digest = xstrndup(o->digest.ptr, o->digest.len);
		d->digest_len = o->digest.len;
	}
}

void object_draft_from_stored(const struct store_object *o, struct object_draft *ret)
{
	auto_buf text = BUF_MAX(STORE_MAX_OBJECT);
	struct object_draft d = {.flags = o->flags};

	add_without_revision(&text, o, o->json.len, &d.extents);
	d.json = buf_steal(&text, &d.len);
	copy_rest(o, &d);
	*ret = d;
}

/* Where the member that ends at `value` begins, with the comma before it. The status stands
 * behind the metadata, so there is one. */
static size_t member_start(struct span json, size_t value)
{
	size_t at = value;
	while (at > 0 && json.ptr[at] != ',')
		at--;
	return at;
}

int object_draft_splice_status(const struct store_object *o, struct span status, bool finished,
			       struct object_draft *ret, struct err *reterr)
{
	auto_buf text = BUF_MAX(STORE_MAX_OBJECT - REVISION_DIGITS);
	struct object_draft d = {.flags = o->flags & ~(store_flags)OBJECT_FINISHED};
	struct store_extent old = o->extents.status;
	size_t head_end = o->json.len, tail = o->json.len;

	if (old.len && old.at < o->extents.metadata.at)
		return err_set(reterr, ERR_INTERNAL, "a stored status stands before its metadata");
	while (tail > 0 && o->json.ptr[tail - 1] != '}')
		tail--; /* the object's own brace stays behind everything */
	tail--;
	if (old.len) {
		head_end = member_start(o->json, old.at);
		tail = (size_t)old.at + old.len;
	} else {
		head_end = tail;
	}
	(void)buf_reserve(&text, o->json.len + status.len);
	add_without_revision(&text, o, head_end, &d.extents);
	d.extents.status = (struct store_extent){0};
	if (status.ptr && status.len) {
		buf_add_str(&text, ",\"status\":");
		d.extents.status.at = (uint32_t)text.len;
		buf_add_span(&text, status);
		d.extents.status.len = (uint32_t)status.len;
	}
	/* What stood behind the old status: when that holds the spec, it has moved. */
	size_t at = text.len;
	buf_add(&text, o->json.ptr + tail, o->json.len - tail);
	if (!buf_ok(&text))
		return err_set(reterr, ERR_TOO_LARGE, "the object is larger than %zu bytes",
			       STORE_MAX_OBJECT);
	if (o->extents.spec.len && o->extents.spec.at >= tail)
		d.extents.spec.at = (uint32_t)(at + (o->extents.spec.at - tail));
	d.json = buf_steal(&text, &d.len);
	if (finished)
		d.flags |= OBJECT_FINISHED;
	copy_rest(o, &d);
	*ret = d;
	return 0;
}

void object_draft_replace(struct object_draft *d, size_t at, size_t len, const char *text)
{
	size_t n = strlen(text), behind = at + len;
	struct store_extent *parts[] = {&d->extents.revision, &d->extents.metadata,
					&d->extents.spec, &d->extents.status};

	if (n > len)
		d->json = xrealloc(d->json, d->len - len + n + 1);
	memmove(d->json + at + n, d->json + behind, d->len - behind + 1);
	memcpy(d->json + at, text, n);
	d->len = d->len - len + n;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		struct store_extent *p = parts[i];
		if (p->at >= behind)
			p->at = (uint32_t)(p->at - len + n);
		else if (p->len && at < (size_t)p->at + p->len)
			p->len = (uint32_t)(p->len - len + n);
	}
}

void object_draft_change(const struct object_draft *d, const struct store_key *key,
			 struct store_change *ret)
{
	*ret = (struct store_change){
	    .op = STORE_PUT,
	    .key = *key,
	    .flags = d->flags,
	    .extents = d->extents,
	    .digest = span_make(d->digest, d->digest_len),
	    .json = span_make(d->json, d->len),
	    .owners = (const uint8_t(*)[STORE_UID_LEN])d->owners,
	    .n_owners = d->n_owners,
	};
	memcpy(ret->uid, d->uid, sizeof(ret->uid));
}

int object_tree(const struct store_object *o, struct cJSON **ret, struct err *reterr)
{
	/* Nothing enters the store that was not parsed or printed by the hub. */
	if (!o->json.len)
		return err_set(reterr, ERR_INTERNAL, "a stored object has no text");
	*ret = json_parse_checked(o->json);
	return 0;
}

int64_t object_generation(const struct store_object *o)
{
	struct span text;
	int64_t n;

	if (json_text_path(o->json, &text, "metadata", "generation", NULL) < 0 ||
	    json_text_int64(text, &n) < 0 || n < 0)
		return 0;
	return n;
}
