#include "access_test.h"
#include "jwt_test.h"

#include <errno.h>
#include <openssl/ec.h>

/* RFC 7515, A.3. */
#define RFC_KEYS                                                                                   \
	"{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":"                                      \
	"\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\",\"y\":"                                   \
	"\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"}]}"
#define RFC_SIGNED                                                                                  \
	"eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxl" \
	"LmNvbS9pc19yb290Ijp0cnVlfQ"
#define RFC_TOKEN                                                                                  \
	RFC_SIGNED                                                                                 \
	".DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-"         \
	"Kg6NU1Q"

static int verify(const char *token, const struct jwk_set *keys)
{
	struct jwt t;
	int r = jwt_parse(span_of(token), &t, NULL);
	if (!r)
		r = jwt_verify(&t, keys, NULL);
	jwt_done(&t);
	return r;
}

static void the_example_of_rfc_7515_holds(void **state)
{
	struct jwk_set *keys;
	struct jwt t;
	char token[512];
	(void)state;
	assert_int_equal(jwk_set_parse(SPAN(RFC_KEYS), &keys, NULL), 0);
	assert_int_equal(verify(RFC_TOKEN, keys), 0);
	assert_int_equal(jwt_parse(SPAN(RFC_TOKEN), &t, NULL), 0);
	assert_string_equal(json_str(t.claims, "iss"), "joe");
	assert_int_equal(jwt_expires(&t), 1300819380 * USEC_PER_SEC);
	jwt_done(&t);
	for (size_t i = 0; i < strlen(RFC_TOKEN); i++) { /* every byte of it counts */
		snprintf(token, sizeof(token), "%s", RFC_TOKEN);
		token[i] = token[i] == 'A' ? 'B' : 'A';
		assert_true(verify(token, keys) < 0);
	}
	jwk_set_unref(keys);
}

static void every_algorithm_verifies_with_its_own_key_alone(void **state)
{
	static const struct {
		const char *alg;
		int key; /* of keys[] */
		const EVP_MD *(*md)(void);
		bool pss;
	} cases[] = {{"RS256", 0, EVP_sha256, false}, {"RS384", 0, EVP_sha384, false},
		     {"RS512", 0, EVP_sha512, false}, {"PS256", 0, EVP_sha256, true},
		     {"PS512", 0, EVP_sha512, true},  {"ES256", 1, EVP_sha256, false},
		     {"ES384", 2, EVP_sha384, false}, {"ES512", 3, EVP_sha512, false}};
	EVP_PKEY *keys[] = {EVP_RSA_gen(2048), EVP_EC_gen("P-256"), EVP_EC_gen("P-384"),
			    EVP_EC_gen("P-521")};
	struct jwk_set *sets[4];
	(void)state;
	for (size_t i = 0; i < 4; i++)
		sets[i] = test_key_set(keys[i], "k");
	for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
		char header[64];
		auto_free char *token = NULL;
		snprintf(header, sizeof(header), "{\"alg\":\"%s\",\"kid\":\"k\"}", cases[c].alg);
		token = test_token(keys[cases[c].key], header, "{\"iss\":\"x\"}", cases[c].md(),
				   cases[c].pss);
		for (int i = 0; i < 4; i++)
			assert_int_equal(verify(token, sets[i]) == 0, i == cases[c].key);
	}
	for (size_t i = 0; i < 4; i++) {
		jwk_set_unref(sets[i]);
		EVP_PKEY_free(keys[i]);
	}
}

static void an_unknown_key_is_told_from_a_bad_signature(void **state)
{
	EVP_PKEY *key = EVP_EC_gen("P-256"), *other = EVP_EC_gen("P-256");
	struct jwk_set *a = test_key_set(key, "a"), *b = test_key_set(other, "a");
	auto_free char *known =
	    test_token(key, "{\"alg\":\"ES256\",\"kid\":\"a\"}", "{}", EVP_sha256(), false);
	auto_free char *unknown =
	    test_token(key, "{\"alg\":\"ES256\",\"kid\":\"z\"}", "{}", EVP_sha256(), false);
	(void)state;
	assert_int_equal(verify(known, a), 0);
	assert_int_equal(verify(known, b), -EACCES);
	assert_int_equal(verify(unknown, a), -ENOENT);
	jwk_set_unref(a);
	jwk_set_unref(b);
	EVP_PKEY_free(key);
	EVP_PKEY_free(other);
}

static void what_is_no_token_is_refused(void **state)
{
	static const char *const headers[] = {
	    "{\"alg\":\"none\"}",
	    "{\"alg\":\"HS256\"}",
	    "{}",
	    "[]",
	    "{\"alg\":\"ES256\",\"alg\":\"none\"}",
	    "{\"alg\":\"ES256\",\"crit\":[\"b64\"]}",
	    "{\"alg\":\"es256\"}",
	};
	static const char *const texts[] = {"",	     ".",	"..",	    "a.b",
					    "a.b.c", "a.b.c.d", "e30.e30.", ".e30.AAAA"};
	struct jwt t;
	struct buf huge = BUF_INIT;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
		auto_buf b = BUF_INIT;
		base64_add_url(&b, span_make((const char *)headers[i], strlen(headers[i])));
		buf_add_str(&b, ".e30.AAAA");
		assert_int_equal(jwt_parse(buf_span(&b), &t, NULL), -EACCES);
	}
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		assert_int_equal(jwt_parse(span_of(texts[i]), &t, NULL), -EACCES);
	for (size_t i = 0; i < JWT_MAX_BYTES; i++)
		buf_add_str(&huge, "e3");
	assert_int_equal(jwt_parse(buf_span(&huge), &t, NULL), -EACCES);
	buf_done(&huge);
}

static int check(const char *claims, int64_t now_s)
{
	struct jwt t = {.claims = json_of(claims)};
	int r = jwt_check_claims(&t, "me", now_s * USEC_PER_SEC, 10 * USEC_PER_SEC, NULL);
	jwt_done(&t);
	return r;
}

static void a_token_has_its_time_and_issuer(void **state)
{
	(void)state;
	assert_int_equal(check("{'iss':'me','exp':1000}", 900), 0);
	assert_int_equal(check("{'iss':'me','exp':1000.5}", 900), 0);
	assert_int_equal(check("{'iss':'me','exp':1000}", 1009), 0); /* clocks differ */
	assert_true(check("{'iss':'me','exp':1000}", 1010) < 0);
	assert_true(check("{'iss':'me'}", 900) < 0);
	assert_true(check("{'iss':'me','exp':'1000'}", 900) < 0);
	assert_true(check("{'iss':'me','exp':-5}", 900) < 0);
	assert_true(check("{'iss':'you','exp':1000}", 900) < 0);
	assert_true(check("{'exp':1000}", 900) < 0);
	assert_int_equal(check("{'iss':'me','exp':1000,'nbf':905}", 900), 0);
	assert_true(check("{'iss':'me','exp':1000,'nbf':911}", 900) < 0);
	assert_true(check("{'iss':'me','exp':1000,'nbf':'x'}", 900) < 0);
}

static void audiences_are_one_or_many(void **state)
{
	struct jwt one = {.claims = json_of("{'aud':'a'}")};
	struct jwt many = {.claims = json_of("{'aud':['b','a']}")};
	struct jwt none = {.claims = json_of("{}")};
	(void)state;
	assert_true(jwt_is_for(&one, "a"));
	assert_false(jwt_is_for(&one, "b"));
	assert_true(jwt_is_for(&many, "a"));
	assert_false(jwt_is_for(&many, "ab"));
	assert_false(jwt_is_for(&none, ""));
	jwt_done(&one);
	jwt_done(&many);
	jwt_done(&none);
}

static void what_it_signs_it_verifies_and_so_do_others(void **state)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	auto_json *claims = json_of("{'iss':'me','exp':1}");
	struct jwk_set *own, *others;
	auto_buf token = BUF_INIT, printed = BUF_INIT;
	(void)state;
	assert_int_equal(jwk_set_of(key, &own, NULL), 0);
	assert_int_equal(jwt_sign(claims, own, &token, NULL), 0);
	assert_int_equal(verify(token.ptr, own), 0);
	jwk_set_print(own, &printed);
	assert_int_equal(jwk_set_parse(buf_span(&printed), &others, NULL), 0);
	assert_int_equal(verify(token.ptr, others), 0);
	jwk_set_unref(own);
	jwk_set_unref(others);
	EVP_PKEY_free(key);
}

static void weak_and_foreign_keys_are_passed_over(void **state)
{
	static const char *const sets[] = {
	    "[]",
	    "{\"keys\":[]}",
	    "{\"keys\":[{\"kty\":\"oct\",\"k\":\"AAAA\"}]}",
	    "{\"keys\":[{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\"}]}",
	    "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AAAA\",\"y\":\"AAAA\"}]}",
	    /* not on the curve */
	    "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":"
	    "\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\",\"y\":"
	    "\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\"}]}",
	    "{\"keys\":[{\"kty\":\"EC\",\"use\":\"enc\",\"crv\":\"P-256\",\"x\":"
	    "\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\",\"y\":"
	    "\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"}]}",
	};
	struct jwk_set *keys;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sets); i++)
		assert_true(jwk_set_parse(span_of(sets[i]), &keys, NULL) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_example_of_rfc_7515_holds),
	    cmocka_unit_test(every_algorithm_verifies_with_its_own_key_alone),
	    cmocka_unit_test(an_unknown_key_is_told_from_a_bad_signature),
	    cmocka_unit_test(what_is_no_token_is_refused),
	    cmocka_unit_test(a_token_has_its_time_and_issuer),
	    cmocka_unit_test(audiences_are_one_or_many),
	    cmocka_unit_test(what_it_signs_it_verifies_and_so_do_others),
	    cmocka_unit_test(weak_and_foreign_keys_are_passed_over),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
