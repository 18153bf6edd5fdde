#include "member-sync/sim/spdy.h"

#define ZLIB_CONST
#include <zlib.h>

enum {
	SYN_STREAM = 1,
	SYN_REPLY = 2,
	RST_STREAM = 3,
	PING = 6,
	GOAWAY = 7,
	FLAG_FIN = 1,
};

/* Section 2.6.10.1: words that each stand behind their length in four bytes, then a text. */
static const char *const dictionary_words[] = {
    "options",
    "head",
    "post",
    "put",
    "delete",
    "trace",
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "accept-ranges",
    "age",
    "allow",
    "authorization",
    "cache-control",
    "connection",
    "content-base",
    "content-encoding",
    "content-language",
    "content-length",
    "content-location",
    "content-md5",
    "content-range",
    "content-type",
    "date",
    "etag",
    "expect",
    "expires",
    "from",
    "host",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-range",
    "if-unmodified-since",
    "last-modified",
    "location",
    "max-forwards",
    "pragma",
    "proxy-authenticate",
    "proxy-authorization",
    "range",
    "referer",
    "retry-after",
    "server",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "vary",
    "via",
    "warning",
    "www-authenticate",
    "method",
    "get",
    "status",
    "200 OK",
    "version",
    "HTTP/1.1",
    "url",
    "public",
    "set-cookie",
    "keep-alive",
    "origin",
};
static const char dictionary_text[] =
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request"
    "401 Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented"
    "503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, "
    "Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,"
    "application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age="
    "gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.";

struct spdy {
	z_stream in, out;
	struct buf dictionary;
};

static uint32_t read_u32(const char *p)
{
	const unsigned char *b = (const unsigned char *)p;

	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static void put_u32(struct buf *out, uint32_t v)
{
	unsigned char b[4] = {(unsigned char)(v >> 24), (unsigned char)(v >> 16),
			      (unsigned char)(v >> 8), (unsigned char)v};

	buf_add(out, b, 4);
}

struct spdy *spdy_create(void)
{
	struct spdy *s = xcalloc(1, sizeof(*s));

	for (size_t i = 0; i < ARRAY_LEN(dictionary_words); i++) {
		put_u32(&s->dictionary, (uint32_t)strlen(dictionary_words[i]));
		buf_add_str(&s->dictionary, dictionary_words[i]);
	}
	buf_add_str(&s->dictionary, dictionary_text);
	/* They fail for want of memory only, of which this program then ends. */
	if (inflateInit(&s->in) != Z_OK || deflateInit(&s->out, Z_BEST_SPEED) != Z_OK ||
	    deflateSetDictionary(&s->out, (const Bytef *)s->dictionary.ptr,
				 (uInt)s->dictionary.len) != Z_OK)
		abort();
	return s;
}

struct spdy *spdy_destroy(struct spdy *s)
{
	if (!s)
		return NULL;
	inflateEnd(&s->in);
	deflateEnd(&s->out);
	buf_done(&s->dictionary);
	free(s);
	return NULL;
}

/* ---- header blocks ---- */

static int inflate_block(struct spdy *s, struct span block, char *into, size_t room, size_t *ret,
			 struct err *reterr)
{
	int r = Z_OK;

	s->in.next_in = (const Bytef *)block.ptr;
	s->in.avail_in = (uInt)block.len;
	s->in.next_out = (Bytef *)into;
	s->in.avail_out = (uInt)room;
	while (s->in.avail_in && s->in.avail_out) {
		r = inflate(&s->in, Z_SYNC_FLUSH);
		if (r == Z_NEED_DICT)
			r = inflateSetDictionary(&s->in, (const Bytef *)s->dictionary.ptr,
						 (uInt)s->dictionary.len);
		if (r != Z_OK)
			break;
	}
	if ((r != Z_OK && r != Z_BUF_ERROR) || s->in.avail_in)
		return err_set(reterr, ERR_BAD_REQUEST,
			       "a block of headers is unreadable, or too long");
	*ret = room - s->in.avail_out;
	return 0;
}

static struct span counted(struct span *rest)
{
	struct span text;
	uint32_t n = rest->len >= 4 ? read_u32(rest->ptr) : UINT32_MAX;

	if (rest->len < 4 || n > rest->len - 4) {
		*rest = SPAN_NONE;
		return SPAN_NONE;
	}
	text = span_make(rest->ptr + 4, n);
	*rest = span_make(text.ptr + n, rest->len - 4 - n);
	return text;
}

static void keep(char *into, size_t room, struct span value)
{
	if (value.len < room && !memchr(value.ptr, 0, value.len)) {
		memcpy(into, value.ptr, value.len);
		into[value.len] = '\0';
	}
}

static int read_headers(struct spdy *s, struct span block, struct spdy_event *ret,
			struct err *reterr)
{
	char text[SPDY_MAX_HEADERS];
	size_t len = 0;
	int r = inflate_block(s, block, text, sizeof(text), &len, reterr);

	if (r)
		return r;
	struct span rest = span_make(text, len);
	if (rest.len < 4)
		return 0;
	rest = span_make(rest.ptr + 4, rest.len - 4); /* their number: the block's end tells it */
	while (rest.len) {
		struct span name = counted(&rest), value = counted(&rest);
		if (!value.ptr)
			return err_set(reterr, ERR_BAD_REQUEST, "a block of headers is cut");
		if (span_is(name, "streamtype"))
			keep(ret->stream_type, sizeof(ret->stream_type), value);
		else if (span_is(name, "port"))
			keep(ret->port, sizeof(ret->port), value);
		else if (span_is(name, "requestid"))
			keep(ret->request_id, sizeof(ret->request_id), value);
	}
	return 0;
}

/* ---- frames ---- */

static void put_control(int type, unsigned flags, size_t len, struct buf *out)
{
	put_u32(out, 0x80030000u | (uint32_t)type);
	put_u32(out, flags << 24 | (uint32_t)len);
}

static int read_control(struct spdy *s, int type, struct span body, struct spdy_event *ret,
			struct buf *out, struct err *reterr)
{
	switch (type) {
	case SYN_STREAM:
		if (body.len < 10)
			break;
		ret->kind = SPDY_OPENED;
		ret->stream = read_u32(body.ptr) & 0x7fffffff;
		return read_headers(s, span_make(body.ptr + 10, body.len - 10), ret, reterr);
	case RST_STREAM:
		if (body.len < 8)
			break;
		ret->kind = SPDY_RESET;
		ret->stream = read_u32(body.ptr) & 0x7fffffff;
		return 0;
	case PING:
		if (body.len != 4)
			break;
		put_control(PING, 0, 4, out);
		buf_add_span(out, body);
		return 0;
	case GOAWAY:
		ret->kind = SPDY_GOAWAY;
		return 0;
	default:
		return 0;
	}
	return err_set(reterr, ERR_BAD_REQUEST, "a frame of the wrong length");
}

ptrdiff_t spdy_read(struct spdy *s, const char *bytes, size_t len, struct spdy_event *ret,
		    struct buf *out, struct err *reterr)
{
	int r = 0;

	*ret = (struct spdy_event){0};
	if (len < 8)
		return 0;
	uint32_t head = read_u32(bytes), second = read_u32(bytes + 4);
	size_t n = second & 0xffffff;
	if (n > SPDY_MAX_FRAME)
		return err_set(reterr, ERR_TOO_LARGE, "a frame is over %zu bytes", SPDY_MAX_FRAME);
	if (len < 8 + n)
		return 0;
	ret->fin = second >> 24 & FLAG_FIN;
	if (!(head & 0x80000000u)) {
		ret->kind = SPDY_DATA;
		ret->stream = head;
		ret->data = span_make(bytes + 8, n);
	} else if ((head >> 16 & 0x7fff) != 3) {
		return err_set(reterr, ERR_BAD_REQUEST, "not SPDY/3");
	} else {
		r = read_control(s, (int)(head & 0xffff), span_make(bytes + 8, n), ret, out,
				 reterr);
	}
	return r ? r : (ptrdiff_t)(8 + n);
}

void spdy_put_reply(struct spdy *s, uint32_t stream, struct buf *out)
{
	static const unsigned char none[4];
	unsigned char block[128];

	s->out.next_in = none;
	s->out.avail_in = sizeof(none);
	s->out.next_out = block;
	s->out.avail_out = sizeof(block);
	(void)deflate(&s->out, Z_SYNC_FLUSH);
	size_t n = sizeof(block) - s->out.avail_out;
	put_control(SYN_REPLY, 0, 4 + n, out);
	put_u32(out, stream);
	buf_add(out, block, n);
}

void spdy_put_data(uint32_t stream, struct span data, bool fin, struct buf *out)
{
	put_u32(out, stream & 0x7fffffff);
	put_u32(out, (fin ? (uint32_t)FLAG_FIN << 24 : 0) | (uint32_t)data.len);
	buf_add_span(out, data);
}
