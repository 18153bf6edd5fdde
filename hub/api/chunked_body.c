#include "api/chunked_body.h"

#include <errno.h>

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static int read_size(struct chunked_body *b, char c, const struct buf *out)
{
	int digit = digit_of(c);

	if (digit >= 0) {
		b->left = b->left * 16 + (uint64_t)digit;
		if (++b->digits > 16)
			return -EBADMSG;
		return b->left > out->max - out->len ? -EMSGSIZE : 0;
	}
	if (!b->digits || (c != '\r' && c != ';' && c != ' ' && c != '\t'))
		return -EBADMSG;
	b->at = c == '\r' ? CHUNKED_SIZE_LF : CHUNKED_EXTENSION;
	return 0;
}

static int expect(struct chunked_body *b, char c, char wanted, int next)
{
	if (c != wanted)
		return -EBADMSG;
	b->at = next;
	b->digits = 0;
	return 0;
}

/* One byte that is not of a chunk's data. */
static int read_frame(struct chunked_body *b, char c, const struct buf *out)
{
	switch (b->at) {
	case CHUNKED_SIZE:
		return read_size(b, c, out);
	case CHUNKED_SIZE_LF:
		return expect(b, c, '\n', b->left ? CHUNKED_DATA : CHUNKED_TRAILER);
	case CHUNKED_DATA_CR:
		return expect(b, c, '\r', CHUNKED_DATA_LF);
	case CHUNKED_DATA_LF:
		return expect(b, c, '\n', CHUNKED_SIZE);
	case CHUNKED_TRAILER_LF:
		return expect(b, c, '\n', CHUNKED_TRAILER);
	case CHUNKED_LAST_LF:
		return expect(b, c, '\n', CHUNKED_DONE);
	case CHUNKED_TRAILER:
		b->at = c == '\r' ? CHUNKED_LAST_LF : CHUNKED_TRAILER_LINE;
		break;
	case CHUNKED_EXTENSION:
		b->at = c == '\r' ? CHUNKED_SIZE_LF : CHUNKED_EXTENSION;
		break;
	default:
		b->at = c == '\r' ? CHUNKED_TRAILER_LF : CHUNKED_TRAILER_LINE;
		break;
	}
	return c == '\n' || ++b->extra > CHUNKED_BODY_MAX_EXTRA ? -EBADMSG : 0;
}

int chunked_body_feed(struct chunked_body *b, struct span piece, struct buf *out)
{
	while (piece.len && b->at != CHUNKED_DONE) {
		size_t n = 1;
		int r = 0;

		if (b->at == CHUNKED_DATA) {
			n = piece.len < b->left ? piece.len : (size_t)b->left;
			buf_add(out, piece.ptr, n);
			b->left -= n;
			if (!b->left)
				b->at = CHUNKED_DATA_CR;
		} else {
			r = read_frame(b, *piece.ptr, out);
		}
		if (r)
			return r;
		piece.ptr += n;
		piece.len -= n;
	}
	return buf_ok(out) ? 0 : -EMSGSIZE;
}
