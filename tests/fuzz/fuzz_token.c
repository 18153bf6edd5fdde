/*
 * Bearer tokens, after their signature: the input is the claims of a token that the hub's own key
 * has signed, or, when it is not a JSON object, a bootstrap token. What is taken names its account
 * in every claim and has not expired; a token made of it says the same again. What has a bootstrap
 * token's form is of its characters.
 */
#include "access/jwk.h"
#include "access/jwt.h"
#include "api/account_token.h"
#include "api/bootstrap_token.h"
#include "base/json.h"
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ISSUER "https://hub"
#define NOW    ((usec)1700000000 * USEC_PER_SEC)

static void must(bool holds)
{
	if (!holds)
		abort();
}

static struct account_issuer *make_issuer(void)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	BIO *bio = BIO_new(BIO_s_mem());
	struct account_issuer *i = NULL;
	char *text = NULL;

	must(key && bio && PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1);
	long len = BIO_get_mem_data(bio, &text);
	must(account_issuer_create(span_make(text, (size_t)len), SPAN(""), ISSUER, &i, NULL) == 0);
	BIO_free(bio);
	EVP_PKEY_free(key);
	return i;
}

static void make_again(const struct account_issuer *i, const struct account_token *t,
		       struct arena *mem)
{
	static const char *const audiences[] = {ISSUER};
	struct account_wish wish = {*t, audiences, 1, 600};
	auto_buf text = BUF_INIT;
	struct account_token again;
	struct jwt parsed = {.claims = NULL};

	if (account_token_make(i, &wish, NOW, &text, NULL) < 0)
		return; /* claims too long for a token */
	if (jwt_parse(buf_span(&text), &parsed, NULL) == 0) {
		must(account_token_verify(i, &parsed, NOW, mem, &again, NULL) == 0);
		must(span_eq(again.ns, t->ns) && span_eq(again.name, t->name) &&
		     span_eq(again.uid, t->uid) && span_eq(again.bound_kind, t->bound_kind));
	}
	jwt_done(&parsed);
}

static void try_claims(const struct account_issuer *i, const struct cJSON *claims)
{
	auto_arena mem = ARENA_INIT;
	auto_buf text = BUF_INIT;
	struct account_token t;
	struct jwt parsed = {.claims = NULL};

	if (jwt_sign(claims, account_issuer_keys(i), &text, NULL) < 0)
		return;
	if (jwt_parse(buf_span(&text), &parsed, NULL) == 0) {
		(void)jwt_is_for(&parsed, ISSUER);
		if (account_token_verify(i, &parsed, NOW, &mem, &t, NULL) == 0) {
			must(account_token_is_ours(i, &parsed));
			must(t.ns.len && t.name.len && t.uid.len);
			make_again(i, &t, &mem);
		}
	}
	jwt_done(&parsed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = span_make((const char *)data, size);
	struct account_issuer *i;
	auto_json *claims = NULL;

	if (bootstrap_token_has_form(text))
		must(size == 23 && data[6] == '.');
	if (json_parse(text, NULL, &claims, NULL) < 0 || !json_is(claims, JSON_OBJECT))
		return 0;
	i = make_issuer();
	try_claims(i, claims);
	account_issuer_destroy(i);
	return 0;
}
