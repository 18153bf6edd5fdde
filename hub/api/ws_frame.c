#include "api/ws_frame.h"

#include <openssl/evp.h>

#define WS_GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

bool ws_accept(struct span key, char ret[WS_ACCEPT_LEN + 1])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	char text[WS_KEY_LEN + sizeof(WS_GUID)];
	unsigned int n = 0;

	if (key.len != WS_KEY_LEN)
		return false;
	memcpy(text, key.ptr, WS_KEY_LEN);
	memcpy(text + WS_KEY_LEN, WS_GUID, sizeof(WS_GUID));
	if (EVP_Digest(text, WS_KEY_LEN + strlen(WS_GUID), digest, &n, EVP_sha1(), NULL) != 1)
		return false;
	return EVP_EncodeBlock((unsigned char *)ret, digest, (int)n) == WS_ACCEPT_LEN;
}

static uint64_t big_endian(const unsigned char *at, size_t n)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++)
		v = v << 8 | at[i];
	return v;
}

static bool is_opcode(unsigned op)
{
	return op <= WS_BINARY || (op >= WS_CLOSE && op <= WS_PONG);
}

ptrdiff_t ws_frame_read(char *bytes, size_t len, struct ws_frame *ret, struct err *reterr)
{
	const unsigned char *at = (const unsigned char *)bytes;
	unsigned char mask[4];
	size_t head = 2;
	uint64_t n;

	if (len < head)
		return 0;
	if (at[0] & 0x70 || !is_opcode(at[0] & 0x0f))
		return err_set(reterr, ERR_BAD_REQUEST, "a frame of an unknown kind");
	if (!(at[1] & 0x80))
		return err_set(reterr, ERR_BAD_REQUEST, "a client's frame is not masked");
	n = at[1] & 0x7f;
	size_t wide = n == 126 ? 2 : n == 127 ? 8 : 0;
	if ((at[0] & 0x08) && (wide || !(at[0] & 0x80)))
		return err_set(reterr, ERR_BAD_REQUEST, "a control frame is long, or in parts");
	if (len < head + wide + 4)
		return 0;
	if (wide)
		n = big_endian(at + head, wide);
	head += wide;
	if (n > WS_MAX_PAYLOAD)
		return err_set(reterr, ERR_TOO_LARGE, "a frame is over %zu bytes", WS_MAX_PAYLOAD);
	memcpy(mask, at + head, 4);
	head += 4;
	if (len < head + n)
		return 0;
	for (size_t i = 0; i < n; i++)
		bytes[head + i] = (char)((unsigned char)bytes[head + i] ^ mask[i & 3]);
	ret->opcode = (enum ws_opcode)(at[0] & 0x0f);
	ret->last = at[0] & 0x80;
	ret->payload = span_make(bytes + head, (size_t)n);
	return (ptrdiff_t)(head + n);
}

void ws_frame_begin(struct buf *out, enum ws_opcode opcode, size_t len)
{
	buf_add_char(out, (char)(0x80 | opcode));
	if (len < 126) {
		buf_add_char(out, (char)len);
		return;
	}
	int wide = len <= 0xffff ? 2 : 8;
	buf_add_char(out, wide == 2 ? 126 : 127);
	for (int i = wide - 1; i >= 0; i--)
		buf_add_char(out, (char)((uint64_t)len >> (8 * i) & 0xff));
}

void ws_frame_lines(struct buf *out, struct span lines)
{
	while (lines.len) {
		const char *eol = memchr(lines.ptr, '\n', lines.len);
		size_t n = eol ? (size_t)(eol - lines.ptr) + 1 : lines.len;
		ws_frame_begin(out, WS_TEXT, n);
		buf_add(out, lines.ptr, n);
		lines = span_make(lines.ptr + n, lines.len - n);
	}
}
