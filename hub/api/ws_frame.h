#ifndef API_WS_FRAME_H
#define API_WS_FRAME_H
/*
 * The frames of a WebSocket (RFC 6455), as a server reads and writes them. PURE.
 *
 * For watches that a client asks for so (http_lws_frames.c), and for the simulator's kubelets: no
 * extensions, and whole frames of at most WS_MAX_PAYLOAD bytes from a client. The frames of a
 * connection to a pod go through the hub unread (tunnel.c).
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/span.h"
#include <stdbool.h>

#define WS_MAX_PAYLOAD ((size_t)1 << 20)
#define WS_KEY_LEN     24 /* of base64(16 bytes) */
#define WS_ACCEPT_LEN  28 /* of base64(SHA-1) */

enum ws_opcode {
	WS_CONTINUATION = 0,
	WS_TEXT = 1,
	WS_BINARY = 2,
	WS_CLOSE = 8,
	WS_PING = 9,
	WS_PONG = 10,
};

struct ws_frame {
	enum ws_opcode opcode;
	bool last; /* of its message */
	struct span payload;
};

/* The value of Sec-WebSocket-Accept for a key (RFC 6455 4.2.2). False for a key that is none: not
 * WS_KEY_LEN characters. */
bool ws_accept(struct span key, char ret[WS_ACCEPT_LEN + 1]);

/* The frame at the front of `bytes`, unmasked in place: its payload lies in them. The number of
 * bytes that it takes, 0 when it is not whole yet, negative (ERR_BAD_REQUEST) for what no client
 * may send.
 */
ptrdiff_t ws_frame_read(char *bytes, size_t len, struct ws_frame *ret, struct err *reterr);

/* A whole message of a server: its header, after which `len` bytes must follow. */
void ws_frame_begin(struct buf *out, enum ws_opcode opcode, size_t len);
/* Lines as messages of text, each with its end of line, as kube-apiserver sends events
 * (apiserver/pkg/endpoints/handlers/watch.go). */
void ws_frame_lines(struct buf *out, struct span lines);

#endif
