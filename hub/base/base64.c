#include "base/base64.h"

#include <errno.h>

static const char standard[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static void add(struct buf *out, struct span bytes, const char *digits, bool pad)
{
	const unsigned char *p = (const unsigned char *)bytes.ptr;

	for (size_t i = 0; i < bytes.len; i += 3) {
		size_t n = bytes.len - i < 3 ? bytes.len - i : 3;
		uint32_t v = (uint32_t)p[i] << 16 | (n > 1 ? (uint32_t)p[i + 1] << 8 : 0) |
			     (n > 2 ? p[i + 2] : 0);
		char four[4] = {digits[v >> 18 & 63], digits[v >> 12 & 63],
				n > 1 ? digits[v >> 6 & 63] : '=', n > 2 ? digits[v & 63] : '='};
		buf_add(out, four, pad ? 4 : n + 1);
	}
}

void base64_add(struct buf *out, struct span bytes)
{
	add(out, bytes, standard, true);
}

void base64_add_url(struct buf *out, struct span bytes)
{
	add(out, bytes, url, false);
}

static int value_of(char c, const char *digits)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == digits[62] ? 62 : c == digits[63] ? 63 : -1;
}

struct bits {
	uint32_t held;
	int n;
};

static void take(struct bits *b, int value, struct buf *out)
{
	b->held = b->held << 6 | (uint32_t)value;
	b->n += 6;
	if (b->n < 8)
		return;
	b->n -= 8;
	buf_add_char(out, (char)(b->held >> b->n & 255));
}

int base64_read(struct span text, struct buf *out)
{
	struct bits bits = {0};
	size_t digits = 0, pad = 0;

	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		if (c == '\n' || c == '\r' || c == ' ')
			continue;
		int v = value_of(c, standard);
		if (c == '=')
			pad++;
		else if (v < 0 || pad)
			return -EINVAL;
		else
			take(&bits, v, out);
		digits++;
	}
	return digits % 4 == 0 && pad <= 2 && buf_ok(out) ? 0 : -EINVAL;
}

int base64_read_url(struct span text, struct buf *out)
{
	struct bits bits = {0};

	for (size_t i = 0; i < text.len; i++) {
		int v = value_of(text.ptr[i], url);
		if (v < 0)
			return -EINVAL;
		take(&bits, v, out);
	}
	bool left = bits.n >= 6 || (bits.held & ((1u << bits.n) - 1)) != 0;
	return !left && buf_ok(out) ? 0 : -EINVAL;
}
