#include "store/sealed_box.h"

#include "store/splice.h"

#include <errno.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#define MAGIC	   "SEAL"
#define DIGITS_AT  (4 + SEALED_ID_BYTES + 1)
#define NONCE	   12
#define TAG	   16
#define N_EXTENTS  4
#define HEAD_BYTES (N_EXTENTS * 2 * sizeof(uint32_t))
#define MAX_DIGITS 20

bool sealed_box_is(struct span json)
{
	return json.len > DIGITS_AT && memcmp(json.ptr, MAGIC, 4) == 0;
}

int sealed_box_key(const struct sealed_keys *k, struct span box, size_t *ret_index)
{
	for (size_t i = 0; i < k->n; i++)
		if (memcmp(box.ptr + 4, k->keys[i].id, SEALED_ID_BYTES) == 0) {
			*ret_index = i;
			return 0;
		}
	return -ENOENT;
}

/* What the box is bound to. */
static void bind_to(const struct store_key *of, struct buf *out)
{
	buf_add_char(out, (char)(of->type >> 8));
	buf_add_char(out, (char)(of->type & 255));
	buf_add_span(out, of->ns);
	buf_add_char(out, '\0');
	buf_add_span(out, of->name);
}

static bool crypt_bytes(bool seal, const uint8_t *key, const uint8_t *nonce, uint8_t *tag,
			struct span bound, const uint8_t *in, size_t n, uint8_t *out)
{
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	int len = 0, end = 0;
	bool ok =
	    ctx && EVP_CipherInit_ex(ctx, EVP_aes_256_gcm(), NULL, key, nonce, seal) == 1 &&
	    EVP_CipherUpdate(ctx, NULL, &len, (const uint8_t *)bound.ptr, (int)bound.len) == 1 &&
	    EVP_CipherUpdate(ctx, out, &len, in, (int)n) == 1;
	if (ok && !seal)
		ok = EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_TAG, TAG, tag) == 1;
	ok = ok && EVP_CipherFinal_ex(ctx, out + len, &end) == 1;
	if (ok && seal)
		ok = EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_GET_TAG, TAG, tag) == 1;
	EVP_CIPHER_CTX_free(ctx);
	return ok;
}

static void put_extents(const struct store_extents *e, char *out)
{
	const struct store_extent all[N_EXTENTS] = {e->revision, e->metadata, e->spec, e->status};
	memcpy(out, all, HEAD_BYTES);
}

static void get_extents(const char *in, struct store_extents *ret)
{
	struct store_extent all[N_EXTENTS];
	memcpy(all, in, HEAD_BYTES);
	*ret = (struct store_extents){
	    .revision = all[0], .metadata = all[1], .spec = all[2], .status = all[3]};
}

_Static_assert(sizeof(struct store_extent) * N_EXTENTS == HEAD_BYTES, "extents are two u32 each");

int sealed_box_seal(const struct sealed_keys *k, const struct store_key *of, struct span bare,
		    const struct store_extents *extents, struct buf *out,
		    struct store_extents *ret_extents, struct err *reterr)
{
	const struct sealed_key *key = &k->keys[0];
	size_t n = HEAD_BYTES + bare.len;
	auto_buf bound = BUF_INIT, plain = BUF_INIT;
	char head[HEAD_BYTES];
	uint8_t nonce[NONCE], tag[TAG];
	char *at;
	bool ok;
	put_extents(extents, head);
	plain.max = n;
	if (!buf_reserve(&plain, n))
		return err_set(reterr, ERR_TOO_LARGE, "the object is too large to be sealed");
	buf_add(&plain, head, sizeof(head));
	buf_add_span(&plain, bare);
	bind_to(of, &bound);
	buf_add_str(out, MAGIC);
	buf_add(out, key->id, SEALED_ID_BYTES);
	buf_add_str(out, "\"\"");
	at = buf_reserve(out, NONCE + TAG + n);
	ok = at && RAND_bytes(nonce, NONCE) == 1 &&
	     crypt_bytes(true, key->bytes, nonce, tag, buf_span(&bound), (uint8_t *)plain.ptr, n,
			 (uint8_t *)at + NONCE + TAG);
	explicit_bzero(plain.ptr, plain.cap);
	if (!ok)
		return err_set(reterr, ERR_INTERNAL, "an object cannot be sealed");
	memcpy(at, nonce, NONCE);
	memcpy(at + NONCE, tag, TAG);
	buf_advance(out, NONCE + TAG + n);
	*ret_extents = (struct store_extents){.revision = {(uint32_t)DIGITS_AT, 0}};
	return 0;
}

/* The digits between the quotes; false when there are no quotes. */
static bool find_digits(struct span box, struct span *ret)
{
	const char *from = box.ptr + DIGITS_AT, *end;
	size_t most = box.len - DIGITS_AT;
	if (box.ptr[DIGITS_AT - 1] != '"')
		return false;
	end = memchr(from, '"', most < MAX_DIGITS + 1 ? most : MAX_DIGITS + 1);
	if (!end)
		return false;
	*ret = span_make(from, (size_t)(end - from));
	return true;
}

int sealed_box_open(const struct sealed_keys *k, const struct store_key *of, struct span box,
		    struct arena *mem, struct span *ret_json, struct store_extents *ret_extents)
{
	struct span digits, bare;
	struct store_extents extents;
	auto_buf bound = BUF_INIT;
	const uint8_t *at;
	uint8_t tag[TAG];
	size_t key, n;
	char *plain, *full;
	if (sealed_box_key(k, box, &key) < 0)
		return -ENOENT;
	if (!find_digits(box, &digits))
		return -EBADMSG;
	at = (const uint8_t *)digits.ptr + digits.len + 1;
	n = box.len - (size_t)((const char *)at - box.ptr);
	if (n < NONCE + TAG + HEAD_BYTES)
		return -EBADMSG;
	n -= NONCE + TAG;
	plain = arena_alloc(mem, n);
	memcpy(tag, at + NONCE, TAG);
	bind_to(of, &bound);
	if (!crypt_bytes(false, k->keys[key].bytes, at, tag, buf_span(&bound), at + NONCE + TAG, n,
			 (uint8_t *)plain))
		return -EBADMSG;
	get_extents(plain, &extents);
	bare = span_make(plain + HEAD_BYTES, n - HEAD_BYTES);
	if (!splice_check(&extents, bare.len))
		return -EBADMSG;
	full = arena_alloc(mem, bare.len + digits.len + 1);
	splice_in(bare, extents.revision.at, digits.ptr, digits.len, full);
	*ret_json = span_make(full, bare.len + digits.len);
	*ret_extents = splice_shift(&extents, digits.len);
	return 0;
}
