#ifndef KUBE_INFO_CODEC_H
#define KUBE_INFO_CODEC_H
/*
 * What the decoders of nodes, pods and job copies share: the metadata of an object read in one
 * pass over checked JSON text, strings and lists moved into an arena, and a small binary form
 * with a bounds-checked reader.
 *
 * The binary form: numbers as little-endian base-128 varints (signed ones zigzag), strings as a
 * varint of length + 1 and the bytes (0: absent). It is not versioned here: rows that hold it
 * carry the store's format number. The reader trusts nothing: a count that could not fit in the
 * rest of the bytes fails before anything is allocated.
 *
 * Internal to hub/kube and to the digests of hub/kinds.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/span.h"
#include "kube/node_info.h"
#include <stdbool.h>
#include <stdint.h>

/* Raw JSON texts of the metadata members that decoders ask for; absent ones are absent. */
struct info_meta {
	struct span name, ns, uid;	 /* string values, with quotes */
	struct span labels, annotations; /* objects; absent when of another type */
	struct span finalizers, owners;	 /* arrays; absent when of another type */
	int64_t generation;		 /* 0 when absent */
	uint64_t revision;		 /* resourceVersion as a number, else 0 */
	bool deleting;
};

/* From checked text of a whole object. Values of the wrong type count as absent. */
void info_meta_read(struct span object, struct info_meta *ret);
/* From the text of .metadata itself. */
void info_meta_read_metadata(struct span metadata, struct info_meta *ret);

/* A string value, decoded, in the arena; absent when it is not a string. */
struct span info_string(struct span value, struct arena *mem);
/* Members of an object whose values are strings; others are passed over. */
struct info_pair *info_pairs(struct span object, struct arena *mem, size_t *ret_n);

/* Whether the condition Ready of a status.conditions array is True. */
bool info_is_ready(struct span conditions);
/* "NoSchedule", ...; -ENOENT for anything else. */
int info_effect_from(struct span name, enum info_effect *ret);

/* ---- binary form ---- */

void info_put_u64(struct buf *out, uint64_t v);
void info_put_i64(struct buf *out, int64_t v);
void info_put_span(struct buf *out, struct span s);
void info_put_pairs(struct buf *out, const struct info_pair *pairs, size_t n);
void info_put_amounts(struct buf *out, const struct info_amount *amounts, size_t n);

/* After a failure every get returns 0 or absent, and `failed` stays. */
struct info_reader {
	const char *p, *end;
	bool failed;
};

static inline struct info_reader info_reader_make(struct span bytes)
{
	return (struct info_reader){bytes.ptr, bytes.ptr ? bytes.ptr + bytes.len : NULL, false};
}
uint64_t info_get_u64(struct info_reader *r);
int64_t info_get_i64(struct info_reader *r);
struct span info_get_span(struct info_reader *r); /* borrowed from the bytes */
/* A count of items of which each takes at least `least` bytes; fails when they cannot fit. */
size_t info_get_count(struct info_reader *r, size_t least);
struct info_pair *info_get_pairs(struct info_reader *r, struct arena *mem, size_t *ret_n);
struct info_amount *info_get_amounts(struct info_reader *r, struct arena *mem, size_t *ret_n);
/* True when everything was read, to the last byte. */
bool info_reader_ended(const struct info_reader *r);

#endif
