#ifndef BASE_JSON_H
#define BASE_JSON_H
/*
 * JSON in two forms: checked text, and a tree for what is really edited.
 *
 * Text. json_check() is the trust boundary: strict RFC 8259 plus what Kubernetes needs (UTF-8,
 * no NUL escapes, no duplicate keys in one object however they are escaped, bounded depth, no
 * trailing bytes). After it,
 * the json_text_* readers walk the text without checking again; they are for checked text only.
 *
 * Tree. json_parse() checks, then builds cJSON nodes (struct cJSON), with every number kept as
 * the exact text that came in, so that print(parse(x)) keeps each number byte for byte (cJSON
 * alone breaks integers from 2^52 on: libraries.md section 3). Look nodes up and read them with
 * the functions here only; cJSON's own lookups ignore case and its valueint saturates.
 * No tree crosses threads; trees are not for hot paths.
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/span.h"
#include <stdbool.h>
#include <stdint.h>

struct cJSON;

#define JSON_MAX_KEYS  10000		  /* of one object: lookups in a tree walk over them */
#define JSON_MAX_DEPTH 64		  /* DESIGN section 10 */
#define JSON_MAX_BYTES ((size_t)64 << 20) /* a list from a member; requests are capped earlier */

struct json_limits {
	size_t max_bytes; /* 0: JSON_MAX_BYTES */
	int max_depth;	  /* 0: JSON_MAX_DEPTH */
	/* Duplicate keys are refused unless this is set; then the last one wins in the tree, in
	 * the place of the first, as in every Go decoder. */
	bool allow_duplicates;
};

/* ---- text ---- */

/* 0 when text is one JSON value within the limits; else ERR_BAD_REQUEST with "offset N" in the
 * words, or ERR_TOO_LARGE. limits may be NULL. */
int json_check(struct span text, const struct json_limits *limits, struct err *reterr) MUST_CHECK;

enum json_type {
	JSON_INVALID,
	JSON_NULL,
	JSON_BOOL,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT
};

/* Type of a checked value by its first byte. */
enum json_type json_text_type(struct span value);
/* The raw text of member `key` (written plainly in the text, without escapes) of a checked
 * object; -ENOENT. */
int json_text_member(struct span object, const char *key, struct span *ret);
/* As above along a path of keys ended by NULL: json_text_path(o, &v, "metadata", "name", NULL). */
int json_text_path(struct span object, struct span *ret, ...) __attribute__((sentinel));
/* Walk a checked object or array: start with *pos = 0. False at the end. For objects *ret_key is
 * the key's text without quotes, escapes as they stand. For arrays ret_key is left alone. */
bool json_text_next(struct span container, size_t *pos, struct span *ret_key,
		    struct span *ret_value);
/* Decodes a checked string value into UTF-8 appended to out. -EINVAL if it is not a string. */
int json_text_string(struct span value, struct buf *out);
/* The inside of a string value when it has no escapes, else absent: saves a copy. */
struct span json_text_plain(struct span value);
/* An integer value. -EINVAL when not an integer literal, -ERANGE over int64. */
int json_text_int64(struct span value, int64_t *ret);

/* The paths of keys that stand twice in one object ("spec.containers[0].image"), each ended by
 * '\n', appended to out. For text checked with allow_duplicates. */
void json_text_duplicates(struct span text, struct buf *out);

/* ---- tree ---- */

int json_parse(struct span text, const struct json_limits *limits, struct cJSON **ret,
	       struct err *reterr) MUST_CHECK;
/* The tree of text that has been checked already: what the store keeps, above all. Owned. */
struct cJSON *json_parse_checked(struct span text);
void json_free(struct cJSON *node); /* NULL is fine */
static inline void json_auto_free(struct cJSON **p)
{
	json_free(*p);
}
#define auto_json AUTO(json_auto_free) struct cJSON

void json_print(const struct cJSON *node, struct buf *out); /* compact */
void json_print_pretty(const struct cJSON *node, struct buf *out);

enum json_type json_type_of(const struct cJSON *node); /* JSON_INVALID for NULL */
const char *json_type_name(enum json_type t);	       /* "object", "string", ... */
static inline bool json_is(const struct cJSON *node, enum json_type t)
{
	return json_type_of(node) == t;
}

/* Members of objects and elements of arrays; NULL when absent or of the wrong type. */
struct cJSON *json_get(const struct cJSON *object, const char *key);
struct cJSON *json_at(const struct cJSON *array, size_t index);
struct cJSON *json_path(const struct cJSON *object, ...) __attribute__((sentinel));
size_t json_len(const struct cJSON *container);
struct cJSON *json_first(const struct cJSON *container); /* first child or NULL */
struct cJSON *json_next(const struct cJSON *child);	 /* next sibling or NULL */
const char *json_key(const struct cJSON *child);	 /* its key in its object, or NULL */
#define json_foreach(container, it)                                                                \
	for (struct cJSON *it = json_first(container); it; it = json_next(it))

/* Values. Strings are borrowed. */
const char *json_str(const struct cJSON *object, const char *key); /* NULL unless a string */
const char *json_value_str(const struct cJSON *node);		   /* NULL unless a string */
bool json_bool(const struct cJSON *object, const char *key, bool otherwise);
bool json_value_bool(const struct cJSON *node, bool otherwise);
/* Exact integers, also written as 1.0 or 1e3; -EINVAL if not an integer, -ERANGE, -ENOENT. */
int json_int64(const struct cJSON *object, const char *key, int64_t *ret);
int json_value_int64(const struct cJSON *node, int64_t *ret);
/* The text of a number as it was written; absent unless a number. */
struct span json_number_text(const struct cJSON *node);

/* Constructors; each is owned until given to a json_set or json_append. */
struct cJSON *json_object(void);
struct cJSON *json_array(void);
struct cJSON *json_null(void);
struct cJSON *json_new_bool(bool v);
struct cJSON *json_new_int(int64_t v);
struct cJSON *json_new_str(const char *s);
struct cJSON *json_new_span(struct span s);
struct cJSON *json_new_number(struct span text); /* text must be a checked JSON number */
/* A value that is only ever printed, from JSON text that the program itself made: saves building
 * the tree of it. Whoever reads the node instead sees a number. */
struct cJSON *json_new_text(struct span json);
struct cJSON *json_dup(const struct cJSON *node);
/* A node with the key and the children of `node`, which lends them and must live longer; a value
 * without children is copied. What is lent is for reading: neither of the two may be changed below
 * that node any more. json_dup() of it is a copy of its own, and comparing the two costs nothing.
 */
struct cJSON *json_lend(const struct cJSON *node);
bool json_is_lent(const struct cJSON *node);

/* All of these take ownership of take_value, always. A NULL take_value does nothing. */
void json_set(struct cJSON *object, const char *key, struct cJSON *take_value);
/* Adds a member without looking whether the key is there already: it must not be. */
void json_add(struct cJSON *object, const char *key, struct cJSON *take_value);
/* The same for a copy of another object's member, under the key that it has. */
void json_add_member(struct cJSON *object, struct cJSON *take_member);
void json_append(struct cJSON *array, struct cJSON *take_value);
void json_insert(struct cJSON *array, size_t index, struct cJSON *take_value);
/* Replaces old (a member or element of parent) in its place. */
void json_replace(struct cJSON *parent, struct cJSON *old, struct cJSON *take_value);
static inline void json_set_str(struct cJSON *object, const char *key, const char *s)
{
	json_set(object, key, s ? json_new_str(s) : NULL);
}
static inline void json_set_int(struct cJSON *object, const char *key, int64_t v)
{
	json_set(object, key, json_new_int(v));
}
static inline void json_set_bool(struct cJSON *object, const char *key, bool v)
{
	json_set(object, key, json_new_bool(v));
}
/* The member as an object, created when absent; NULL when it is something else. */
struct cJSON *json_ensure_object(struct cJSON *object, const char *key);

/* Removes a member or element; frees it. True when it was there. */
bool json_remove(struct cJSON *object, const char *key);
void json_remove_child(struct cJSON *container, struct cJSON *child);
/* Detaches without freeing: the caller owns it. */
struct cJSON *json_take(struct cJSON *object, const char *key);
struct cJSON *json_take_child(struct cJSON *container, struct cJSON *child);

/* Deep equality: objects regardless of key order, numbers by value when both are integers of
 * int64 (1 equals 1.0), else by text. */
bool json_equal(const struct cJSON *a, const struct cJSON *b);

#endif
