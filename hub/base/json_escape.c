#include "base/json_escape.h"

int json_hex4(const char *p, const char *end, unsigned *ret)
{
	unsigned v = 0;
	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char ch = p[i];
		v <<= 4;
		if (ch >= '0' && ch <= '9')
			v |= (unsigned)(ch - '0');
		else if ((ch | 0x20) >= 'a' && (ch | 0x20) <= 'f')
			v |= (unsigned)((ch | 0x20) - 'a' + 10);
		else
			return -1;
	}
	*ret = v;
	return 0;
}

static void add_utf8(struct buf *out, unsigned u)
{
	char b[4];
	if (u < 0x80) {
		buf_add_char(out, (char)u);
	} else if (u < 0x800) {
		b[0] = (char)(0xc0 | u >> 6);
		b[1] = (char)(0x80 | (u & 0x3f));
		buf_add(out, b, 2);
	} else if (u < 0x10000) {
		b[0] = (char)(0xe0 | u >> 12);
		b[1] = (char)(0x80 | (u >> 6 & 0x3f));
		b[2] = (char)(0x80 | (u & 0x3f));
		buf_add(out, b, 3);
	} else {
		b[0] = (char)(0xf0 | u >> 18);
		b[1] = (char)(0x80 | (u >> 12 & 0x3f));
		b[2] = (char)(0x80 | (u >> 6 & 0x3f));
		b[3] = (char)(0x80 | (u & 0x3f));
		buf_add(out, b, 4);
	}
}

/* Decodes the escape at *p (a backslash) and moves past it. */
static void add_escape(struct buf *out, const char **p, const char *end)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	unsigned u = 0, low = 0;
	const char *at = strchr(from, (*p)[1]);

	if (at && (*p)[1]) {
		buf_add_char(out, to[at - from]);
		*p += 2;
		return;
	}
	(void)json_hex4(*p + 2, end, &u);
	*p += 6;
	if (u >= 0xd800 && u <= 0xdbff && end - *p >= 6) {
		(void)json_hex4(*p + 2, end, &low);
		u = 0x10000 + ((u - 0xd800) << 10) + (low - 0xdc00);
		*p += 6;
	}
	add_utf8(out, u);
}

void json_unescape(struct span raw, struct buf *out)
{
	const char *p = raw.ptr, *end = raw.ptr + raw.len;
	while (p < end) {
		const char *slash = memchr(p, '\\', (size_t)(end - p));
		const char *stop = slash ? slash : end;
		buf_add(out, p, (size_t)(stop - p));
		p = stop;
		if (slash)
			add_escape(out, &p, end);
	}
}
