/*
 * Only the two outer levels of a list are walked here, byte by byte: its members and the elements
 * of `items`. What stands deeper is collected whole by counting brackets outside strings, and
 * judged by json_check() once it is complete; a text that only looks balanced is refused there.
 */
#include "member-sync/list_stream.h"

#include "base/json.h"
#include "base/num.h"

#include "member-sync/watch_stream.h"

#include <errno.h>

enum state {
	AT_START,     /* before the list's '{' */
	AT_FIRST_KEY, /* after it: a key or '}' */
	AT_KEY,	      /* after a comma: a key */
	IN_KEY,
	AT_COLON,
	AT_VALUE,      /* before a member's value */
	AT_FIRST_ITEM, /* after '[' of items: an item or ']' */
	AT_ITEM,       /* after a comma there: an item */
	IN_CONTAINER,  /* collecting an object or array */
	IN_STRING,     /* collecting a string */
	IN_SCALAR,     /* collecting a number, true, false, null */
	AFTER_VALUE,   /* a comma or the end of what encloses it */
	AT_END,
};

void list_stream_init(struct list_stream *l, size_t max_item)
{
	*l = (struct list_stream){.value = BUF_MAX(max_item ? max_item : LIST_STREAM_MAX_ITEM)};
}

void list_stream_done(struct list_stream *l)
{
	buf_done(&l->value);
	free(l->next);
	l->next = NULL;
}

bool list_stream_complete(const struct list_stream *l)
{
	return !l->broken && l->state == AT_END && l->seen_metadata;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static int malformed(struct err *reterr)
{
	return err_set(reterr, ERR_BAD_REQUEST, "the list is not valid JSON");
}

static int take_metadata(struct list_stream *l, struct span metadata, struct err *reterr)
{
	struct span text;
	auto_buf token = BUF_MAX(65536);

	if (l->seen_metadata || json_text_type(metadata) != JSON_OBJECT ||
	    json_text_member(metadata, "resourceVersion", &text) < 0 ||
	    num_parse_u64(json_text_plain(text), UINT64_MAX, &l->revision) < 0)
		return err_set(reterr, ERR_INVALID, "the list has no numeric resourceVersion");
	l->seen_metadata = true;
	if (json_text_member(metadata, "continue", &text) < 0)
		return 0;
	if (json_text_string(text, &token) < 0 || !buf_ok(&token))
		return err_set(reterr, ERR_INVALID, "the list's continue token is not a string");
	if (token.len)
		l->next = buf_steal(&token, NULL);
	return 0;
}

/* A value is complete in l->value. */
static int take_value(struct list_stream *l, int (*each)(void *arg, struct span item), void *arg,
		      struct err *reterr)
{
	struct json_limits limits = {.max_depth = JSON_MAX_DEPTH - (l->in_items ? 2 : 1)};
	struct span value = buf_span(&l->value);
	int r = json_check(value, &limits, reterr);

	if (r < 0)
		return r;
	if (l->in_items) {
		if (json_text_type(value) != JSON_OBJECT)
			return err_set(reterr, ERR_INVALID, "an item of the list is not an object");
		l->items++;
		return each(arg, value);
	}
	if (strcmp(l->key, "metadata") == 0)
		return take_metadata(l, value, reterr);
	if (strcmp(l->key, "items") == 0 && json_text_type(value) != JSON_NULL)
		return err_set(reterr, ERR_INVALID, "the list's items are not an array");
	return 0;
}

/* Ends the value that was collected; the memory of a large one is not kept. */
static int end_value(struct list_stream *l, int (*each)(void *arg, struct span item), void *arg,
		     struct err *reterr)
{
	int r = buf_ok(&l->value) ? take_value(l, each, arg, reterr)
				  : err_set(reterr, ERR_TOO_LARGE,
					    "an item of the list is over %zu bytes", l->value.max);

	if (l->value.cap > 65536)
		buf_done(&l->value);
	buf_clear(&l->value);
	l->state = AFTER_VALUE;
	return r;
}

/* Before a value or item: decides how it is collected. Consumes nothing but brackets that the
 * walk itself follows. */
static int begin_value(struct list_stream *l, char c, size_t *used, struct err *reterr)
{
	if (!l->in_items && c == '[' && strcmp(l->key, "items") == 0) {
		if (l->seen_items)
			return malformed(reterr);
		l->seen_items = l->in_items = true;
		l->state = AT_FIRST_ITEM;
		(*used)++;
		return 0;
	}
	l->depth = 0;
	l->in_string = l->escaped = false;
	l->state = c == '{' || c == '[' ? IN_CONTAINER : c == '"' ? IN_STRING : IN_SCALAR;
	return strchr(",:]}", c) ? malformed(reterr) : 0;
}

/* Length of the run of `s` that belongs to the container or string; *ret_end when it closes. */
static size_t scan(struct list_stream *l, struct span s, bool *ret_end)
{
	for (size_t i = 0; i < s.len; i++) {
		char c = s.ptr[i];
		if (l->in_string) {
			if (l->escaped)
				l->escaped = false;
			else if (c == '\\')
				l->escaped = true;
			else if (c == '"')
				l->in_string = false;
			else
				continue;
		} else if (c == '"') {
			l->in_string = true;
			continue;
		} else if (c == '{' || c == '[') {
			l->depth++;
			continue;
		} else if (c == '}' || c == ']') {
			l->depth--;
		} else {
			continue;
		}
		if (!l->in_string && !l->escaped && l->depth <= 0) {
			*ret_end = true;
			return i + 1;
		}
	}
	return s.len;
}

static size_t scan_scalar(struct span s, bool *ret_end)
{
	for (size_t i = 0; i < s.len; i++)
		if (is_space(s.ptr[i]) || strchr(",]}", s.ptr[i])) {
			*ret_end = true;
			return i;
		}
	return s.len;
}

/* Collects what belongs to the current value. */
static int collect(struct list_stream *l, struct span s, size_t *used,
		   int (*each)(void *arg, struct span item), void *arg, struct err *reterr)
{
	bool end = false;
	size_t n = l->state == IN_SCALAR ? scan_scalar(s, &end) : scan(l, s, &end);

	buf_add(&l->value, s.ptr, n);
	*used += n;
	if (end || !buf_ok(&l->value))
		return end_value(l, each, arg, reterr);
	return 0;
}

/* One structural byte, no space. */
static int step(struct list_stream *l, char c, size_t *used, struct err *reterr)
{
	static const struct {
		enum state from;
		char c;
		enum state to;
	} table[] = {
	    {AT_START, '{', AT_FIRST_KEY}, {AT_FIRST_KEY, '"', IN_KEY}, {AT_FIRST_KEY, '}', AT_END},
	    {AT_KEY, '"', IN_KEY},	   {AT_COLON, ':', AT_VALUE},
	};

	if (l->state == AFTER_VALUE) {
		(*used)++;
		if (c == ',')
			l->state = l->in_items ? AT_ITEM : AT_KEY;
		else if (c == ']' && l->in_items)
			l->in_items = false;
		else if (c == '}' && !l->in_items)
			l->state = AT_END;
		else
			return malformed(reterr);
		return 0;
	}
	if (l->state == AT_FIRST_ITEM && c == ']') {
		l->in_items = false;
		l->state = AFTER_VALUE;
		(*used)++;
		return 0;
	}
	if (l->state == AT_VALUE || l->state == AT_ITEM || l->state == AT_FIRST_ITEM)
		return begin_value(l, c, used, reterr);
	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if ((int)table[i].from == l->state && table[i].c == c) {
			l->state = table[i].to;
			l->key_len = 0;
			(*used)++;
			return 0;
		}
	return malformed(reterr);
}

/* Keys of a list are plain words; one with escapes is none that we look for. */
static int key_byte(struct list_stream *l, char c, struct err *reterr)
{
	if (c == '"') {
		l->key[l->key_len] = '\0';
		l->state = AT_COLON;
		return 0;
	}
	if ((unsigned char)c < ' ' || c == '\\' || (unsigned char)c >= 0x7f)
		return malformed(reterr);
	if (l->key_len >= sizeof(l->key) - 1)
		return err_set(reterr, ERR_INVALID, "the list has a member with a long name");
	l->key[l->key_len++] = c;
	return 0;
}

int list_stream_feed(struct list_stream *l, struct span bytes,
		     int (*each)(void *arg, struct span item), void *arg, struct err *reterr)
{
	int r = l->broken ? err_set(reterr, ERR_INVALID, "the list is broken") : 0;

	for (size_t at = 0; r == 0 && at < bytes.len;) {
		char c = bytes.ptr[at];
		if (l->state == IN_KEY) {
			r = key_byte(l, c, reterr);
			at++;
		} else if (l->state == IN_CONTAINER || l->state == IN_STRING ||
			   l->state == IN_SCALAR) {
			r = collect(l, span_make(bytes.ptr + at, bytes.len - at), &at, each, arg,
				    reterr);
		} else if (is_space(c)) {
			at++;
		} else {
			r = step(l, c, &at, reterr);
		}
	}
	if (r < 0)
		l->broken = true;
	return r;
}
