#ifndef MEMBER_SYNC_SIM_SPDY_H
#define MEMBER_SYNC_SIM_SPDY_H
/*
 * Frames of SPDY/3.1 (draft-mbelshe-httpbis-spdy-00), as a server of port-forward reads and writes
 * them: kubectl sends them inside of a WebSocket ("SPDY/3.1+portforward.k8s.io"). PURE.
 *
 * What Kubernetes' client (moby/spdystream) uses of it: streams that the client opens, data, ends,
 * pings. Windows are not kept, on neither side. Of a stream's headers three are read.
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/span.h"
#include <stdbool.h>
#include <stdint.h>

#define SPDY_MAX_FRAME	 ((size_t)1 << 20)
#define SPDY_MAX_HEADERS 4096 /* bytes, inflated */

struct spdy;

struct spdy_event {
	enum {
		SPDY_NOTHING, /* a frame that means nothing here */
		SPDY_OPENED,
		SPDY_DATA,
		SPDY_RESET,
		SPDY_GOAWAY,
	} kind;
	uint32_t stream;
	bool fin;				       /* the client's last of it */
	struct span data;			       /* in the bytes that were read */
	char stream_type[16], port[8], request_id[24]; /* of SPDY_OPENED; "" when not given */
};

struct spdy *spdy_create(void);
struct spdy *spdy_destroy(struct spdy *s); /* NULL is fine; returns NULL */

/* The frame at the front of `bytes`: the number of them that it takes, 0 when it is not whole yet,
 * negative (ERR_BAD_REQUEST, ERR_TOO_LARGE) for what ends the connection. Pings are answered to
 * `out`.
 */
ptrdiff_t spdy_read(struct spdy *s, const char *bytes, size_t len, struct spdy_event *ret,
		    struct buf *out, struct err *reterr);

/* A SYN_REPLY without headers. */
void spdy_put_reply(struct spdy *s, uint32_t stream, struct buf *out);
void spdy_put_data(uint32_t stream, struct span data, bool fin, struct buf *out);

#endif
