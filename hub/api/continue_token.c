#include "api/continue_token.h"
#include "base/base64.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#define VERSION	 1
#define MAC_LEN	 16 /* of 32: as strong as the uid it stands for */
#define HEAD_LEN (1 + 8 + 8 + 8 + 2 + 2)

static void put_be(struct buf *out, uint64_t v, int bytes)
{
	while (bytes--)
		buf_add_char(out, (char)(v >> (bytes * 8) & 255));
}

static uint64_t get_be(const uint8_t *p, int bytes)
{
	uint64_t v = 0;
	while (bytes--)
		v = v << 8 | *p++;
	return v;
}

void continue_key(struct span secret, const uint8_t incarnation[STORE_UID_LEN],
		  uint8_t out[CONTINUE_KEY_LEN])
{
	unsigned int n = 0;
	HMAC(EVP_sha256(), secret.ptr ? secret.ptr : "", (int)secret.len, incarnation,
	     STORE_UID_LEN, out, &n);
}

static void sign(const uint8_t key[CONTINUE_KEY_LEN], const void *bytes, size_t n, uint8_t out[32])
{
	unsigned int len = 0;
	HMAC(EVP_sha256(), key, CONTINUE_KEY_LEN, bytes, n, out, &len);
}

void continue_token_write(const struct continue_token *t, const uint8_t key[CONTINUE_KEY_LEN],
			  struct buf *out)
{
	struct buf b = BUF_MAX(CONTINUE_MAX);
	uint8_t mac[32];
	put_be(&b, VERSION, 1);
	put_be(&b, t->revision, 8);
	put_be(&b, t->selector_hash, 8);
	put_be(&b, t->remaining, 8);
	put_be(&b, t->type, 2);
	put_be(&b, t->ns.len, 2);
	buf_add_span(&b, t->ns);
	buf_add_span(&b, t->name);
	sign(key, b.ptr, b.len, mac);
	buf_add(&b, mac, MAC_LEN);
	base64_add_url(out, buf_span(&b));
	buf_done(&b);
}

int continue_token_read(struct span text, const uint8_t key[CONTINUE_KEY_LEN], struct buf *mem,
			struct continue_token *ret, struct err *reterr)
{
	const uint8_t *p;
	uint8_t mac[32];
	size_t n, ns;
	buf_clear(mem);
	mem->max = CONTINUE_MAX;
	if (text.len > CONTINUE_MAX || base64_read_url(text, mem) ||
	    mem->len < HEAD_LEN + MAC_LEN || mem->ptr[0] != VERSION)
		return err_set(reterr, ERR_BAD_REQUEST,
			       "invalid continue token: continue key is not valid");
	p = (const uint8_t *)mem->ptr;
	n = mem->len - MAC_LEN;
	sign(key, p, n, mac);
	ns = (size_t)get_be(p + 27, 2);
	if (CRYPTO_memcmp(mac, p + n, MAC_LEN) != 0 || ns > n - HEAD_LEN)
		return err_set(reterr, ERR_BAD_REQUEST,
			       "invalid continue token: continue key is not valid");
	ret->revision = get_be(p + 1, 8);
	ret->selector_hash = get_be(p + 9, 8);
	ret->remaining = get_be(p + 17, 8);
	ret->type = (uint16_t)get_be(p + 25, 2);
	ret->ns = span_make(mem->ptr + HEAD_LEN, ns);
	ret->name = span_make(mem->ptr + HEAD_LEN + ns, n - HEAD_LEN - ns);
	return 0;
}

static uint64_t add_hash(uint64_t h, struct span s)
{
	for (size_t i = 0; i < s.len; i++)
		h = (h ^ (uint8_t)s.ptr[i]) * 1099511628211u;
	return (h ^ 0xff) * 1099511628211u; /* FNV-1a, with a mark between the parts */
}

uint64_t continue_selector_hash(struct span ns, struct span labels, struct span fields)
{
	return add_hash(add_hash(add_hash(14695981039346656037u, ns), labels), fields);
}
