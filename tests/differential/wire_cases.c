/*
 * The hub's side of the comparison with Kubernetes' own types (wire/): reads one case per line, as
 * JSON, and answers each with one line of JSON.
 *
 *	{"op":"protobuf","body":"6b387300..."}	-> {"object":{}} or {"error":"","kind":"BadRequest"}
 */
#include "case_loop.h"

#include "api/protobuf.h"
#include "base/json.h"
#include "kinds/kinds.h"
#include "kube/openapi_v3.h"

#include <errno.h>

static int hex_digit(char c)
{
	return c >= 'a' ? c - 'a' + 10 : c - '0';
}

static void run_protobuf(const struct cJSON *c, struct buf *out)
{
	const char *hex = json_str(c, "body");
	auto_buf body = BUF_INIT;
	auto_json *object = NULL;
	struct err e = ERR_INIT;

	for (; hex && hex[0] && hex[1]; hex += 2)
		buf_add_char(&body, (char)(hex_digit(hex[0]) << 4 | hex_digit(hex[1])));
	if (protobuf_decode(buf_span(&body), &object, &e) == 0) {
		buf_add_str(out, "{\"object\":");
		json_print(object, out);
	} else {
		buf_add_str(out, "{\"error\":");
		buf_add_json_str(out, span_of(e.text));
		buf_addf(out, ",\"kind\":\"%s\"",
			 e.kind == ERR_BAD_REQUEST	   ? "BadRequest"
			 : e.kind == ERR_UNSUPPORTED_MEDIA ? "UnsupportedMediaType"
							   : "other");
	}
	buf_add_char(out, '}');
}

static void run(const struct cJSON *c, struct buf *out)
{
	const char *op = json_str(c, "op");

	if (op && strcmp(op, "protobuf") == 0)
		run_protobuf(c, out);
	else if (!op || strcmp(op, "openapi") != 0 ||
		 !openapi_v3_document(json_bool(c, "sim", false) ? kinds_sim() : kinds_hub(),
				      span_of(json_str(c, "group")),
				      span_of(json_str(c, "version")), out))
		buf_add_str(out, "{}");
}

int main(void)
{
	return case_loop(run);
}
