#include "api/account_token.h"

#include "base/base64.h"
#include "base/json.h"
#include "kinds/types.h"
#include "kube/meta.h"
#include "kube/object.h"
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#define CLOCK_LEEWAY (10 * USEC_PER_SEC)

struct account_issuer {
	char *name;
	struct jwk_set *keys;
};

/* The next block that holds a key, public or private; other blocks are passed over. */
static EVP_PKEY *read_key(BIO *bio)
{
	EVP_PKEY *key = NULL;
	char *name = NULL, *header = NULL;
	unsigned char *der = NULL;
	long len = 0;
	while (!key && PEM_read_bio(bio, &name, &header, &der, &len) == 1) {
		const unsigned char *at = der;
		key = strcmp(name, PEM_STRING_PUBLIC) == 0 ? d2i_PUBKEY(NULL, &at, len)
							   : d2i_AutoPrivateKey(NULL, &at, len);
		OPENSSL_free(name);
		OPENSSL_free(header);
		OPENSSL_clear_free(der, (size_t)len);
	}
	ERR_clear_error();
	return key;
}

static int add_older(struct jwk_set *keys, struct span pem, struct err *reterr)
{
	BIO *bio = BIO_new_mem_buf(pem.ptr ? pem.ptr : "", (int)pem.len);
	EVP_PKEY *key;
	int r = 0;
	while (!r && bio && (key = read_key(bio))) {
		r = jwk_set_add(keys, key, reterr);
		EVP_PKEY_free(key);
	}
	BIO_free(bio);
	return r;
}

int account_issuer_create(struct span key_pem, struct span older_pem, const char *issuer,
			  struct account_issuer **ret, struct err *reterr)
{
	BIO *bio = BIO_new_mem_buf(key_pem.ptr, (int)key_pem.len);
	EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL) : NULL;
	struct jwk_set *keys = NULL;
	int r = key ? jwk_set_of(key, &keys, reterr)
		    : err_set(reterr, ERR_INTERNAL, "the key that signs tokens cannot be read");
	BIO_free(bio);
	EVP_PKEY_free(key);
	if (!r)
		r = add_older(keys, older_pem, reterr);
	if (r) {
		jwk_set_unref(keys);
		return r;
	}
	*ret = xcalloc(1, sizeof(**ret));
	(*ret)->name = xstrdup(issuer);
	(*ret)->keys = keys;
	return 0;
}

struct account_issuer *account_issuer_destroy(struct account_issuer *i)
{
	if (!i)
		return NULL;
	jwk_set_unref(i->keys);
	free(i->name);
	free(i);
	return NULL;
}

const char *account_issuer_name(const struct account_issuer *i)
{
	return i->name;
}

const struct jwk_set *account_issuer_keys(const struct account_issuer *i)
{
	return i->keys;
}

/* ---- making ---- */

static struct cJSON *reference(struct span name, struct span uid)
{
	struct cJSON *ref = json_object();
	json_set(ref, "name", json_new_span(name));
	if (uid.len)
		json_set(ref, "uid", json_new_span(uid));
	return ref;
}

static struct cJSON *private_claims(const struct account_token *t)
{
	struct cJSON *claims = json_object();
	json_set(claims, "namespace", json_new_span(t->ns));
	json_set(claims, "serviceaccount", reference(t->name, t->uid));
	if (t->bound_kind.len)
		json_set(claims,
			 span_is(t->bound_kind, "Pod")	    ? "pod"
			 : span_is(t->bound_kind, "Secret") ? "secret"
							    : "node",
			 reference(t->bound_name, t->bound_uid));
	if (t->node_name.len)
		json_set(claims, "node", reference(t->node_name, t->node_uid));
	return claims;
}

static void fill_random(void *arg, void *out, size_t n)
{
	(void)arg;
	if (RAND_bytes(out, (int)n) != 1)
		abort(); /* no randomness: no token may be given */
}

int account_token_make(const struct account_issuer *i, struct account_wish *wish, usec now,
		       struct buf *out, struct err *reterr)
{
	static const struct meta_random random_source = {fill_random, NULL};
	const struct account_token *t = &wish->account;
	auto_json *claims = json_object();
	struct cJSON *aud = json_array();
	auto_buf sub = BUF_INIT;
	char id[META_UID_TEXT];
	int64_t s = now / USEC_PER_SEC;
	for (size_t n = 0; n < wish->n_audiences; n++)
		json_append(aud, json_new_str(wish->audiences[n]));
	buf_addf(&sub, "system:serviceaccount:%.*s:%.*s", SPAN_ARGS(t->ns), SPAN_ARGS(t->name));
	json_set(claims, "aud", aud);
	if (wish->seconds)
		json_set_int(claims, "exp", s + wish->seconds);
	json_set_int(claims, "iat", s);
	json_set_str(claims, "iss", i->name);
	json_set_str(claims, "jti", meta_new_uid(&random_source, id));
	json_set(claims, "kubernetes.io", private_claims(t));
	json_set_int(claims, "nbf", s);
	json_set(claims, "sub", json_new_span(buf_span(&sub)));
	wish->account.expires =
	    wish->seconds ? (s + wish->seconds) * USEC_PER_SEC : ACCOUNT_TOKEN_LASTS;
	return jwt_sign(claims, i->keys, out, reterr);
}

/* ---- checking ---- */

bool account_token_is_ours(const struct account_issuer *i, const struct jwt *t)
{
	const char *iss = json_str(t->claims, "iss");
	return iss && strcmp(iss, i->name) == 0;
}

static struct span text_at(const struct cJSON *object, const char *key, struct arena *mem)
{
	const char *s = json_str(object, key);
	return s ? arena_span(mem, span_of(s)) : SPAN_NONE;
}

static void read_bound(const struct cJSON *claims, struct arena *mem, struct account_token *ret)
{
	static const char *const kinds[][2] = {
	    {"pod", "Pod"}, {"secret", "Secret"}, {"node", "Node"}};
	for (size_t n = 0; n < ARRAY_LEN(kinds); n++) {
		const struct cJSON *ref = json_get(claims, kinds[n][0]);
		if (!ref)
			continue;
		ret->bound_kind = span_of(kinds[n][1]);
		ret->bound_name = text_at(ref, "name", mem);
		ret->bound_uid = text_at(ref, "uid", mem);
		break;
	}
}

static void read_node(const struct cJSON *claims, struct arena *mem, struct account_token *ret)
{
	const struct cJSON *node = json_get(claims, "node");
	if (!node || !span_is(ret->bound_kind, "Pod"))
		return;
	ret->node_name = text_at(node, "name", mem);
	ret->node_uid = text_at(node, "uid", mem);
}

static bool names_its_subject(const struct jwt *t, const struct account_token *a)
{
	const char *sub = json_str(t->claims, "sub");
	auto_buf want = BUF_INIT;
	buf_addf(&want, "system:serviceaccount:%.*s:%.*s", SPAN_ARGS(a->ns), SPAN_ARGS(a->name));
	return sub && strcmp(sub, want.ptr) == 0;
}

int account_token_verify(const struct account_issuer *i, const struct jwt *t, usec now,
			 struct arena *mem, struct account_token *ret, struct err *reterr)
{
	const struct cJSON *own = json_get(t->claims, "kubernetes.io");
	const struct cJSON *account = json_get(own, "serviceaccount");
	struct account_token a = {0};
	bool lasts = !json_get(t->claims, "exp") && json_is(json_get(own, "secret"), JSON_OBJECT);
	if (jwt_verify(t, i->keys, reterr) < 0)
		return err_errno(ERR_UNAUTHORIZED);
	if ((lasts ? jwt_check_lasting(t, i->name, now, CLOCK_LEEWAY, reterr)
		   : jwt_check_claims(t, i->name, now, CLOCK_LEEWAY, reterr)) < 0)
		return err_errno(ERR_UNAUTHORIZED);
	a.ns = text_at(own, "namespace", mem);
	a.name = text_at(account, "name", mem);
	a.uid = text_at(account, "uid", mem);
	a.id = text_at(t->claims, "jti", mem);
	a.expires = lasts ? ACCOUNT_TOKEN_LASTS : jwt_expires(t);
	read_bound(own, mem, &a);
	read_node(own, mem, &a);
	if (lasts && !span_is(a.bound_kind, "Secret"))
		return err_set(reterr, ERR_UNAUTHORIZED, "the token has no end");
	if (!a.ns.len || !a.name.len || !a.uid.len || !names_its_subject(t, &a))
		return err_set(reterr, ERR_UNAUTHORIZED, "the token names no service account");
	*ret = a;
	return 0;
}

static bool is_there(const struct backend *b, uint16_t type, struct span ns, struct span name,
		     struct span uid)
{
	const struct kind *k = kind_by_type(b->kinds, type);
	struct store_key key = {type, ns, name};
	auto_reader *reader = NULL;
	char text[OBJECT_UID_TEXT];
	struct store_object o;
	if (!k || name.len > STORE_MAX_NAME || ns.len > STORE_MAX_NAMESPACE ||
	    store_read_begin(backend_store(b, k), &reader, NULL) < 0 ||
	    store_get(reader, &key, &o) < 0)
		return false;
	return !(o.flags & OBJECT_DELETING) && span_is(uid, object_uid_format(o.uid, text));
}

/* The Secret holds the token still. */
static bool is_held(const struct backend *b, const struct account_token *t)
{
	const struct kind *k = kind_by_type(b->kinds, TYPE_SECRET);
	struct store_key key = {TYPE_SECRET, t->ns, t->bound_name};
	auto_reader *reader = NULL;
	struct buf text = BUF_INIT;
	struct store_object o;
	struct span held;
	bool is = false;

	base64_add(&text, t->text);
	if (t->text.len && store_read_begin(backend_store(b, k), &reader, NULL) == 0 &&
	    store_get(reader, &key, &o) == 0 &&
	    json_text_path(o.json, &held, "data", "token", NULL) == 0)
		is = span_eq(json_text_plain(held), buf_span(&text));
	if (text.ptr)
		explicit_bzero(text.ptr, text.cap);
	buf_done(&text);
	return is;
}

int account_token_check_live(const struct account_token *t, const struct backend *b,
			     struct err *reterr)
{
	uint16_t type = span_is(t->bound_kind, "Pod")	   ? TYPE_POD
			: span_is(t->bound_kind, "Secret") ? TYPE_SECRET
							   : TYPE_NODE;
	if (!is_there(b, TYPE_SERVICE_ACCOUNT, t->ns, t->name, t->uid))
		return err_set(reterr, ERR_UNAUTHORIZED, "the service account has been deleted");
	if (t->bound_kind.len &&
	    !is_there(b, type, type == TYPE_NODE ? SPAN("") : t->ns, t->bound_name, t->bound_uid))
		return err_set(reterr, ERR_UNAUTHORIZED,
			       "the object that the token is bound to has been deleted");
	if (t->expires == ACCOUNT_TOKEN_LASTS && !is_held(b, t))
		return err_set(reterr, ERR_UNAUTHORIZED, "the token is not its secret's");
	return 0;
}
