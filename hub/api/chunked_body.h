#ifndef API_CHUNKED_BODY_H
#define API_CHUNKED_BODY_H
/*
 * Bodies in chunks (RFC 9112 section 7.1), taken apart as their bytes come: a reader that remembers
 * where it is between two pieces. Pure, of any thread.
 *
 * It is strict, so that nobody in front of the hub can read the same bytes otherwise: lines end
 * with CR LF, a size is 1 to 16 hexadecimal digits. Extensions of chunks and trailers are passed
 * over, CHUNKED_BODY_MAX_EXTRA bytes of them in all. What comes behind the end is not looked at.
 */
#include "base/buf.h"

#define CHUNKED_BODY_MAX_EXTRA 4096

struct chunked_body {
	enum {
		CHUNKED_SIZE,
		CHUNKED_EXTENSION,
		CHUNKED_SIZE_LF,
		CHUNKED_DATA,
		CHUNKED_DATA_CR,
		CHUNKED_DATA_LF,
		CHUNKED_TRAILER, /* a line begins */
		CHUNKED_TRAILER_LINE,
		CHUNKED_TRAILER_LF,
		CHUNKED_LAST_LF,
		CHUNKED_DONE,
	} at;
	uint64_t left; /* of this chunk; while its size is read: what that says so far */
	uint32_t extra;
	uint32_t digits; /* of the size */
};

/*
 * Reads the next piece; *b begins as zeroes. What is body is added to out, whose `max` (not 0)
 * bounds it.
 *
 * 0: more has to come, or b->at is CHUNKED_DONE. -EMSGSIZE: the body is longer than out takes; as
 * soon as a chunk says so, before its bytes are there. -EBADMSG: no chunked body, or more beside it
 * than is passed over. After an error nothing more is to be fed.
 */
int chunked_body_feed(struct chunked_body *b, struct span piece, struct buf *out) MUST_CHECK;

#endif
