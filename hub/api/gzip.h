#ifndef API_GZIP_H
#define API_GZIP_H
/* Bodies as gzip, whole or piece by piece; on workers. */
#include "base/buf.h"
#include <stdbool.h>
#include <zlib.h>

/* Smaller bodies go out plain: apiserver's threshold (kubernetes-api.md 1.13). */
#define GZIP_MIN ((size_t)128 << 10)

struct gzip {
	z_stream z;
	bool open;
};

/* Fast rather than small (level 1, as apiserver). False when zlib cannot start. */
bool gzip_begin(struct gzip *g);
/* Appends what comes out; `last` ends the stream. False on failure. */
bool gzip_add(struct gzip *g, struct span bytes, bool last, struct buf *out);
void gzip_done(struct gzip *g);
/* Replaces *body by its gzip form; leaves it alone and returns false on failure. */
bool gzip_whole(struct buf *body);

#endif
