#include "api/gzip.h"

bool gzip_begin(struct gzip *g)
{
	*g = (struct gzip){0};
	/* 15 + 16: the largest window, gzip framing. */
	g->open = deflateInit2(&g->z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK;
	return g->open;
}

bool gzip_add(struct gzip *g, struct span bytes, bool last, struct buf *out)
{
	g->z.next_in = (Bytef *)(uintptr_t)bytes.ptr;
	g->z.avail_in = (uInt)bytes.len;
	for (;;) {
		char *at = buf_reserve(out, 16384);
		int r;
		if (!at)
			return false;
		g->z.next_out = (Bytef *)at;
		g->z.avail_out = 16384;
		r = deflate(&g->z, last ? Z_FINISH : Z_NO_FLUSH);
		buf_advance(out, 16384 - g->z.avail_out);
		if (r == Z_STREAM_END)
			return true;
		if (r != Z_OK && r != Z_BUF_ERROR)
			return false;
		if (!last && g->z.avail_out)
			return true;
	}
}

void gzip_done(struct gzip *g)
{
	if (g->open)
		deflateEnd(&g->z);
	g->open = false;
}

bool gzip_whole(struct buf *body)
{
	struct gzip g;
	struct buf out = BUF_MAX(body->len + 4096);
	bool ok = gzip_begin(&g) && gzip_add(&g, buf_span(body), true, &out);
	gzip_done(&g);
	if (!ok) {
		buf_done(&out);
		return false;
	}
	buf_done(body);
	*body = out;
	return true;
}
