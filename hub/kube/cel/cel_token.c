#include "kube/cel/cel_token.h"

#include "base/num.h"
#include "kube/cel/cel_names.h"

#include <ctype.h>
#include <errno.h>

struct reader {
	struct arena *mem;
	struct span text;
	size_t at;
	struct err *reterr;
};

static int peek(const struct reader *r, size_t ahead)
{
	return r->at + ahead < r->text.len ? (unsigned char)r->text.ptr[r->at + ahead] : -1;
}

static void skip_blanks(struct reader *r)
{
	for (;;) {
		while (peek(r, 0) == ' ' || peek(r, 0) == '\t' || peek(r, 0) == '\n' ||
		       peek(r, 0) == '\r' || peek(r, 0) == '\f')
			r->at++;
		if (peek(r, 0) != '/' || peek(r, 1) != '/')
			return;
		while (peek(r, 0) >= 0 && peek(r, 0) != '\n')
			r->at++;
	}
}

/* ---- numbers ---- */

static size_t skip_digits(struct reader *r)
{
	size_t from = r->at;

	while (isdigit(peek(r, 0)))
		r->at++;
	return r->at - from;
}

static int read_hex(struct reader *r, uint64_t *ret)
{
	uint64_t v = 0;
	size_t n = 0;

	r->at += 2;
	for (; isxdigit(peek(r, 0)); r->at++, n++) {
		int c = peek(r, 0);
		if (v >> 60)
			return cel_refuse(r->reterr, r->text, (uint32_t)r->at,
					  "invalid int literal");
		v = v << 4 | (uint64_t)(isdigit(c) ? c - '0' : tolower(c) - 'a' + 10);
	}
	if (!n)
		return cel_refuse(r->reterr, r->text, (uint32_t)r->at, "invalid int literal");
	*ret = v;
	return 0;
}

static int read_real(struct reader *r, size_t from, struct cel_value *ret)
{
	*ret = (struct cel_value){.kind = CEL_DOUBLE};
	if (num_parse_double(span_make(r->text.ptr + from, r->at - from), &ret->real) < 0)
		return cel_refuse(r->reterr, r->text, (uint32_t)from, "invalid double literal");
	return 0;
}

static bool take_exponent(struct reader *r)
{
	size_t at = r->at;

	if (peek(r, 0) != 'e' && peek(r, 0) != 'E')
		return false;
	r->at++;
	if (peek(r, 0) == '+' || peek(r, 0) == '-')
		r->at++;
	if (skip_digits(r))
		return true;
	r->at = at;
	return false;
}

/* The sign of a number is an operator; so the least int64 is one too many, and is read as such. */
static int read_number(struct reader *r, struct cel_value *ret)
{
	size_t from = r->at;
	uint64_t v;

	if (peek(r, 0) == '0' && (peek(r, 1) == 'x' || peek(r, 1) == 'X')) {
		if (read_hex(r, &v) < 0)
			return err_errno(ERR_INVALID);
	} else {
		(void)skip_digits(r);
		bool real = peek(r, 0) == '.' && isdigit(peek(r, 1));
		if (real) {
			r->at++;
			(void)skip_digits(r);
		}
		if (take_exponent(r) || real)
			return read_real(r, from, ret);
		if (num_parse_u64(span_make(r->text.ptr + from, r->at - from), UINT64_MAX, &v) < 0)
			return cel_refuse(r->reterr, r->text, (uint32_t)from,
					  "invalid int literal");
	}
	if (peek(r, 0) == 'u' || peek(r, 0) == 'U') {
		r->at++;
		*ret = (struct cel_value){.kind = CEL_UINT, .natural = v};
		return 0;
	}
	if (v > (uint64_t)INT64_MAX + 1)
		return cel_refuse(r->reterr, r->text, (uint32_t)from, "invalid int literal");
	*ret = cel_int(v > INT64_MAX ? INT64_MIN : (int64_t)v);
	return 0;
}

/* ---- strings ---- */

static void add_point(struct buf *b, uint32_t c)
{
	if (c < 0x80) {
		buf_add_char(b, (char)c);
		return;
	}
	if (c < 0x800) {
		buf_add_char(b, (char)(0xc0 | c >> 6));
	} else if (c < 0x10000) {
		buf_add_char(b, (char)(0xe0 | c >> 12));
		buf_add_char(b, (char)(0x80 | (c >> 6 & 0x3f)));
	} else {
		buf_add_char(b, (char)(0xf0 | c >> 18));
		buf_add_char(b, (char)(0x80 | (c >> 12 & 0x3f)));
		buf_add_char(b, (char)(0x80 | (c >> 6 & 0x3f)));
	}
	buf_add_char(b, (char)(0x80 | (c & 0x3f)));
}

static bool read_digits(struct reader *r, int n, int base, uint32_t *ret)
{
	uint32_t v = 0;

	for (int i = 0; i < n; i++, r->at++) {
		int c = peek(r, 0);
		if (base == 8 ? c < '0' || c > '7' : !isxdigit(c))
			return false;
		v = v * (uint32_t)base + (uint32_t)(isdigit(c) ? c - '0' : tolower(c) - 'a' + 10);
	}
	*ret = v;
	return true;
}

static bool read_escape(struct reader *r, bool bytes, struct buf *out)
{
	static const char from[] = "abfnrtv\\?\"'`", to[] = "\a\b\f\n\r\t\v\\?\"'`";
	int c = peek(r, 0);
	const char *simple = c > 0 ? strchr(from, c) : NULL;
	uint32_t v;

	if (simple) {
		r->at++;
		buf_add_char(out, to[simple - from]);
		return true;
	}
	int n = c == 'x' || c == 'X' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
	if (n)
		r->at++;
	else if (c < '0' || c > '3')
		return false;
	if (!read_digits(r, n ? n : 3, n ? 16 : 8, &v) || v > 0x10ffff ||
	    (v >= 0xd800 && v < 0xe000) || (bytes && n > 2))
		return false;
	if (bytes)
		buf_add_char(out, (char)v);
	else
		add_point(out, v);
	return true;
}

static bool at_quotes(const struct reader *r, int quote, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (peek(r, i) != quote)
			return false;
	return true;
}

static int read_text(struct reader *r, bool raw, bool bytes, struct cel_value *ret)
{
	auto_buf out = BUF_MAX(CEL_MAX_TEXT * 4);
	uint32_t from = (uint32_t)r->at;
	int quote = peek(r, 0);
	size_t quotes = at_quotes(r, quote, 3) ? 3 : 1;

	r->at += quotes;
	while (!at_quotes(r, quote, quotes)) {
		int c = peek(r, 0);
		if (c < 0 || (quotes == 1 && (c == '\n' || c == '\r')))
			return cel_refuse(r->reterr, r->text, from,
					  "Syntax error: a string has no end");
		r->at++;
		if (c != '\\' || raw)
			buf_add_char(&out, (char)c);
		else if (!read_escape(r, bytes, &out))
			return cel_refuse(r->reterr, r->text, (uint32_t)r->at,
					  "Syntax error: an escape that is none");
	}
	r->at += quotes;
	*ret = cel_text(bytes ? CEL_BYTES : CEL_STRING,
			arena_span(r->mem, span_make(out.ptr ? out.ptr : "", out.len)));
	return 0;
}

/* Prefixes r and b, in any order and case. */
static bool at_text(struct reader *r, bool *ret_raw, bool *ret_bytes)
{
	size_t n = 0;

	*ret_raw = *ret_bytes = false;
	for (; n < 2; n++) {
		int c = tolower(peek(r, n));
		if (c == 'r' && !*ret_raw)
			*ret_raw = true;
		else if (c == 'b' && !*ret_bytes)
			*ret_bytes = true;
		else
			break;
	}
	if (peek(r, n) != '"' && peek(r, n) != '\'')
		return false;
	r->at += n;
	return true;
}

/* ---- tokens ---- */

static bool is_name_char(int c)
{
	return isalnum(c) || c == '_';
}

static void read_name(struct reader *r, struct cel_token *ret)
{
	size_t from = r->at;

	while (is_name_char(peek(r, 0)))
		r->at++;
	ret->text = span_make(r->text.ptr + from, r->at - from);
	ret->kind = CEL_TOKEN_NAME;
	if (span_is(ret->text, "true") || span_is(ret->text, "false")) {
		ret->kind = CEL_TOKEN_VALUE;
		ret->value = cel_bool(ret->text.len == 4);
	} else if (span_is(ret->text, "null")) {
		ret->kind = CEL_TOKEN_VALUE;
		ret->value = (struct cel_value){.kind = CEL_NULL};
	}
}

static int read_sign(struct reader *r, struct cel_token *ret)
{
	static const char *const signs[] = {"&&", "||", "==", "!=", "<=", ">=", "<", ">",
					    "+",  "-",	"*",  "/",  "%",  "!",	"?", ":",
					    ".",  ",",	"(",  ")",  "[",  "]",	"{", "}"};
	struct span rest = span_make(r->text.ptr + r->at, r->text.len - r->at);

	for (size_t i = 0; i < ARRAY_LEN(signs); i++)
		if (span_starts(rest, span_of(signs[i]))) {
			ret->kind = CEL_TOKEN_SIGN;
			ret->text = span_of(signs[i]);
			r->at += ret->text.len;
			return 0;
		}
	return cel_refuse(r->reterr, r->text, (uint32_t)r->at,
			  "Syntax error: token recognition error");
}

int cel_token_next(struct arena *mem, struct span text, size_t *pos, struct cel_token *ret,
		   struct err *reterr)
{
	struct reader r = {mem, text, *pos, reterr};
	bool raw, bytes;
	int e = 0;

	skip_blanks(&r);
	*ret = (struct cel_token){.at = (uint32_t)r.at};
	if (peek(&r, 0) < 0) {
		ret->kind = CEL_TOKEN_END;
	} else if (at_text(&r, &raw, &bytes)) {
		ret->kind = CEL_TOKEN_VALUE;
		e = read_text(&r, raw, bytes, &ret->value);
	} else if (isdigit(peek(&r, 0)) || (peek(&r, 0) == '.' && isdigit(peek(&r, 1)))) {
		ret->kind = CEL_TOKEN_VALUE;
		e = read_number(&r, &ret->value);
	} else if (is_name_char(peek(&r, 0))) {
		read_name(&r, ret);
	} else {
		e = read_sign(&r, ret);
	}
	*pos = r.at;
	return e;
}
