/*
 * Tokens and key sets: parsing never fails badly, and nothing but the token of RFC 7515 A.3
 * verifies with its key. Input: a token, or a key set when it begins with '{'.
 */
#include "access/jwt.h"
#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char rfc_key[] = "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":"
			      "\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\",\"y\":"
			      "\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"}]}";
static const char rfc_signed[] =
    "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNv"
    "bS9pc19yb290Ijp0cnVlfQ";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = span_make((const char *)data, size);
	struct jwk_set *keys = NULL, *more = NULL;
	struct jwt t;
	if (size && data[0] == '{') {
		if (jwk_set_parse(text, &more, NULL) == 0)
			jwk_set_unref(more);
		return 0;
	}
	if (jwk_set_parse(span_of(rfc_key), &keys, NULL) < 0)
		abort();
	if (jwt_parse(text, &t, NULL) == 0) {
		if (!json_is(t.claims, JSON_OBJECT) || t.signed_part.len >= size)
			abort();
		(void)jwt_expires(&t);
		(void)jwt_is_for(&t, "x");
		if (jwt_check_claims(&t, "joe", 0, 0, NULL) == 0 && !jwt_expires(&t))
			abort();
		if (jwt_verify(&t, keys, NULL) == 0 && !span_is(t.signed_part, rfc_signed))
			abort(); /* forged */
	}
	jwt_done(&t);
	jwk_set_unref(keys);
	return 0;
}
