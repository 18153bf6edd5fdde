#include "api/protobuf.h"

#include "api/protobuf_table.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/num.h"
#include <openssl/evp.h>

/* Of one map: setting a key looks at all that are there. */
#define MAX_ENTRIES 10000

static const struct {
	const char *package, *api_version;
} packages[] = {
    {"core", "v1"},
    {"batch", "batch/v1"},
    {"autoscaling", "autoscaling/v1"},
    {"sched", "scheduling.k8s.io/v1"},
    {"coord", "coordination.k8s.io/v1"},
    {"events", "events.k8s.io/v1"},
    {"authz", "authorization.k8s.io/v1"},
    {"authn", "authentication.k8s.io/v1"},
    {"rbac", "rbac.authorization.k8s.io/v1"},
    {"apiext", "apiextensions.k8s.io/v1"},
};

struct reader {
	const uint8_t *p, *end;
};

struct item { /* one field on the wire */
	uint32_t number;
	int wire; /* 0 varint, 1 64 bits, 2 bytes, 5 32 bits */
	uint64_t value;
	struct span bytes;
};

static bool read_varint(struct reader *r, uint64_t *ret)
{
	uint64_t v = 0;
	for (int shift = 0; shift < 64 && r->p < r->end; shift += 7) {
		uint8_t b = *r->p++;
		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			*ret = v;
			return true;
		}
	}
	return false;
}

static bool read_fixed(struct reader *r, size_t n, uint64_t *ret)
{
	uint64_t v = 0;
	if ((size_t)(r->end - r->p) < n)
		return false;
	for (size_t i = 0; i < n; i++)
		v |= (uint64_t)r->p[i] << 8 * i;
	r->p += n;
	*ret = v;
	return true;
}

/* False for malformed bytes; groups (wire types 3 and 4) are malformed here. */
static bool read_item(struct reader *r, struct item *ret)
{
	uint64_t tag, n;
	if (!read_varint(r, &tag) || tag >> 3 == 0 || tag >> 3 > UINT16_MAX)
		return false;
	*ret = (struct item){.number = (uint32_t)(tag >> 3), .wire = (int)(tag & 7)};
	switch (ret->wire) {
	case 0:
		return read_varint(r, &ret->value);
	case 1:
		return read_fixed(r, 8, &ret->value);
	case 5:
		return read_fixed(r, 4, &ret->value);
	case 2:
		if (!read_varint(r, &n) || n > (uint64_t)(r->end - r->p))
			return false;
		ret->bytes = span_make((const char *)r->p, (size_t)n);
		r->p += n;
		return true;
	default:
		return false;
	}
}

static struct reader reader_of(struct span s)
{
	return (struct reader){(const uint8_t *)s.ptr, (const uint8_t *)s.ptr + s.len};
}

/* The first field of that number; false when there is none (or the bytes are malformed, which
 * the walk that led here has not seen yet: then the value counts as absent). */
static bool find_item(struct span message, uint32_t number, struct item *ret)
{
	struct reader r = reader_of(message);
	while (r.p < r.end && read_item(&r, ret))
		if (ret->number == number)
			return true;
	return false;
}

/* ---- values; NULL: to be left out; each sets *bad for what cannot be ---- */

/* Text goes into JSON: it must be UTF-8, without NUL. The JSON checker decides. */
static struct cJSON *make_string(struct span s, bool *bad)
{
	struct buf quoted = BUF_INIT;
	struct cJSON *node = NULL;
	buf_add_json_str(&quoted, s);
	if (memchr(s.ptr ? s.ptr : "", 0, s.len) || json_check(buf_span(&quoted), NULL, NULL) < 0)
		*bad = true;
	else
		node = json_new_span(s);
	buf_done(&quoted);
	return node;
}

static struct cJSON *make_bytes(struct span s)
{
	struct buf text = BUF_INIT;
	struct cJSON *node;
	char *at = buf_reserve(&text, s.len / 3 * 4 + 5);
	if (at)
		buf_advance(&text,
			    (size_t)EVP_EncodeBlock((unsigned char *)at,
						    (const unsigned char *)s.ptr, (int)s.len));
	node = json_new_span(buf_span(&text));
	buf_done(&text);
	return node;
}

static struct cJSON *make_time(struct span message, bool micro)
{
	struct item seconds = {0}, nanos = {0};
	char text[CLOCK_TEXT_MAX];
	int64_t s, n;
	usec t;
	if (!find_item(message, 1, &seconds))
		seconds.value = 0;
	if (!find_item(message, 2, &nanos))
		nanos.value = 0;
	s = (int64_t)seconds.value;
	n = (int64_t)nanos.value;
	/* Go writes the zero time as an empty Timestamp; years beyond 9999 have no RFC 3339. */
	if ((!s && !n) || s < -62135596800 || s > 253402300799 || n < 0 || n > 999999999)
		return NULL;
	t = s * USEC_PER_SEC + n / 1000;
	return json_new_str(micro ? clock_format_micro(t, text) : clock_format(t, text));
}

static struct cJSON *make_int_or_string(struct span message, bool *bad)
{
	struct item type = {0}, value = {0};
	(void)find_item(message, 1, &type);
	if (type.value == 0) {
		if (!find_item(message, 2, &value))
			value.value = 0;
		return json_new_int((int64_t)value.value);
	}
	return find_item(message, 3, &value) ? make_string(value.bytes, bad) : json_new_str("");
}

static struct cJSON *make_quantity(struct span message, bool *bad)
{
	struct item text = {0};
	return find_item(message, 1, &text) ? make_string(text.bytes, bad) : json_new_str("0");
}

/* JSON text, to stand in an object at `depth`. */
static struct cJSON *make_raw(struct span message, int depth, bool *bad)
{
	struct json_limits limits = {.max_depth = JSON_MAX_DEPTH - depth};
	struct cJSON *node = NULL;
	struct item raw = {0};
	if (find_item(message, 1, &raw) && raw.bytes.len &&
	    (limits.max_depth <= 0 || json_parse(raw.bytes, &limits, &node, NULL) < 0))
		*bad = true;
	return node;
}

static struct cJSON *make_double(uint64_t bits, bool *bad)
{
	char text[NUM_DOUBLE_TEXT];
	double v;
	memcpy(&v, &bits, sizeof(v));
	if (num_format_double(v, text))
		return json_new_number(span_of(text));
	*bad = true;
	return NULL;
}

static struct cJSON *make_extra_value(struct span message, bool *bad)
{
	struct cJSON *list = json_array();
	struct reader r = reader_of(message);
	struct item item;
	while (r.p < r.end) {
		if (!read_item(&r, &item)) {
			*bad = true;
			break;
		}
		if (item.number == 1)
			json_append(list, make_string(item.bytes, bad));
	}
	return list;
}

/* The fields of a message into `object`, which stands `depth` deep in JSON, the root at 1. */
static bool decode_message(struct span bytes, const struct protobuf_message *m,
			   struct cJSON *object, int depth);

static int wire_of(const struct protobuf_field *f)
{
	if (f->type == PROTOBUF_DOUBLE)
		return 1;
	return f->type == PROTOBUF_INTEGER || f->type == PROTOBUF_BOOLEAN ? 0 : 2;
}

static struct cJSON *make_message(const struct protobuf_field *f, struct span bytes, bool keep,
				  int depth, bool *bad)
{
	const struct protobuf_message *m = &protobuf_messages[f->message];
	struct cJSON *node = json_object(), *last = NULL;
	bool either = f->flags & PROTOBUF_EITHER;
	if (!decode_message(bytes, m, node, either ? depth : depth + 1))
		*bad = true;
	if (!either && (json_len(node) || keep))
		return node;
	json_foreach (node, child)
		last = child;
	if (last)
		last = json_take_child(node, last);
	json_free(node);
	return last;
}

/* To stand in an object or list at `depth`. */
static struct cJSON *make_value(const struct protobuf_field *f, const struct item *i, bool keep,
				int depth, bool *bad)
{
	struct cJSON *node;
	if (i->wire != wire_of(f)) {
		*bad = true;
		return NULL;
	}
	switch ((enum protobuf_type)f->type) {
	case PROTOBUF_INTEGER:
		return i->value || keep ? json_new_int((int64_t)i->value) : NULL;
	case PROTOBUF_BOOLEAN:
		return i->value || keep ? json_new_bool(i->value != 0) : NULL;
	case PROTOBUF_STRING:
		return i->bytes.len || keep ? make_string(i->bytes, bad) : NULL;
	case PROTOBUF_BYTES:
		return i->bytes.len || keep ? make_bytes(i->bytes) : NULL;
	case PROTOBUF_TIME:
	case PROTOBUF_MICRO_TIME:
		return make_time(i->bytes, f->type == PROTOBUF_MICRO_TIME);
	case PROTOBUF_QUANTITY:
		return make_quantity(i->bytes, bad);
	case PROTOBUF_INT_OR_STRING:
		return make_int_or_string(i->bytes, bad);
	case PROTOBUF_RAW:
	case PROTOBUF_FIELDS_V1:
		return make_raw(i->bytes, depth, bad);
	case PROTOBUF_JSON:
		node = make_raw(i->bytes, depth, bad);
		return node ? node : json_null();
	case PROTOBUF_EXTRA_VALUE:
		return make_extra_value(i->bytes, bad);
	case PROTOBUF_DOUBLE:
		return make_double(i->value, bad);
	case PROTOBUF_MESSAGE:
		break;
	}
	return make_message(f, i->bytes, keep, depth, bad);
}

static struct cJSON *ensure_array(struct cJSON *object, const char *name)
{
	struct cJSON *list = json_get(object, name);
	if (!list) {
		json_set(object, name, json_array());
		list = json_get(object, name);
	}
	return list;
}

/* Repeated integers may come packed: all in one field of bytes. */
static bool add_packed(struct cJSON *list, struct span bytes)
{
	struct reader r = reader_of(bytes);
	uint64_t v;
	while (r.p < r.end) {
		if (!read_varint(&r, &v))
			return false;
		json_append(list, json_new_int((int64_t)v));
	}
	return true;
}

static bool add_entry(struct cJSON *map, const struct protobuf_field *f, struct span entry,
		      int depth)
{
	struct item key = {0}, value = {0};
	struct cJSON *name, *node;
	bool bad = false;
	if (json_len(map) >= MAX_ENTRIES)
		return false;
	if (!find_item(entry, 1, &key))
		key.bytes = SPAN("");
	name = make_string(key.bytes, &bad);
	if (!name)
		return false;
	if (!find_item(entry, 2, &value))
		value.wire = wire_of(f);
	node = make_value(f, &value, true, depth + 1, &bad);
	json_set(map, json_value_str(name), node);
	json_free(name);
	return !bad;
}

static bool add_field(struct cJSON *object, const struct protobuf_field *f, const struct item *i,
		      int depth)
{
	bool bad = false;
	if (f->flags & PROTOBUF_INLINE)
		return i->wire == 2 &&
		       decode_message(i->bytes, &protobuf_messages[f->message], object, depth);
	if (f->flags & PROTOBUF_MAP)
		return i->wire == 2 &&
		       add_entry(json_ensure_object(object, f->name), f, i->bytes, depth);
	if (f->flags & PROTOBUF_LIST) {
		struct cJSON *list = ensure_array(object, f->name);
		if (f->type == PROTOBUF_INTEGER && i->wire == 2)
			return add_packed(list, i->bytes);
		json_append(list, make_value(f, i, true, depth + 1, &bad));
		return !bad;
	}
	json_set(object, f->name, make_value(f, i, f->flags & PROTOBUF_KEEP, depth, &bad));
	return !bad;
}

static bool decode_message(struct span bytes, const struct protobuf_message *m,
			   struct cJSON *object, int depth)
{
	struct reader r = reader_of(bytes);
	struct item i;
	if (depth > JSON_MAX_DEPTH)
		return false;
	while (r.p < r.end) {
		if (!read_item(&r, &i))
			return false;
		for (uint16_t n = 0; n < m->n; n++)
			if (m->fields[n].number == i.number) {
				if (!add_field(object, &m->fields[n], &i, depth))
					return false;
				break;
			}
	}
	return true;
}

static const struct protobuf_message *find_message(struct span api_version, struct span kind)
{
	const char *package = span_is(kind, "DeleteOptions") ? "meta" : NULL;
	for (size_t i = 0; !package && i < ARRAY_LEN(packages); i++)
		if (span_is(api_version, packages[i].api_version))
			package = packages[i].package;
	for (size_t i = 0; package && i < protobuf_n_messages; i++) {
		const char *name = protobuf_messages[i].name;
		size_t n = strlen(package);
		if (strncmp(name, package, n) == 0 && name[n] == '.' && span_is(kind, name + n + 1))
			return &protobuf_messages[i];
	}
	return NULL;
}

/* Without it a cut body would be one that says less: options of a delete without preconditions. */
static bool is_whole(struct span message)
{
	struct reader r = reader_of(message);
	struct item i;
	while (r.p < r.end)
		if (!read_item(&r, &i))
			return false;
	return true;
}

int protobuf_decode(struct span body, struct cJSON **ret, struct err *reterr)
{
	static const char magic[4] = {'k', '8', 's', 0};
	struct item type = {0}, version = {0}, kind = {0}, raw = {0}, encoding = {0};
	const struct protobuf_message *m;
	struct cJSON *object;
	struct span unknown;
	if (body.len < 4 || memcmp(body.ptr, magic, 4) != 0)
		return err_set(reterr, ERR_BAD_REQUEST,
			       "provided data does not appear to be a protobuf message: it does "
			       "not begin with k8s\\0");
	unknown = span_make(body.ptr + 4, body.len - 4);
	if (!is_whole(unknown))
		return err_set(reterr, ERR_BAD_REQUEST, "malformed protobuf in the envelope");
	if (!find_item(unknown, 1, &type) || !is_whole(type.bytes) ||
	    !find_item(type.bytes, 1, &version) || !find_item(type.bytes, 2, &kind))
		return err_set(reterr, ERR_BAD_REQUEST, "the protobuf envelope names no kind");
	if (find_item(unknown, 3, &encoding) && encoding.bytes.len)
		return err_set(reterr, ERR_UNSUPPORTED_MEDIA,
			       "the protobuf envelope has a content encoding");
	m = find_message(version.bytes, kind.bytes);
	if (!m)
		return err_set(reterr, ERR_UNSUPPORTED_MEDIA,
			       "%.*s in version \"%.*s\" is not taken as protobuf; send JSON",
			       SPAN_ARGS(kind.bytes), SPAN_ARGS(version.bytes));
	if (!find_item(unknown, 2, &raw))
		raw.bytes = SPAN("");
	object = json_object();
	json_set(object, "apiVersion", json_new_span(version.bytes));
	json_set(object, "kind", json_new_span(kind.bytes));
	if (!decode_message(raw.bytes, m, object, 1)) {
		json_free(object);
		return err_set(reterr, ERR_BAD_REQUEST, "malformed protobuf in %s", m->name);
	}
	*ret = object;
	return 0;
}
