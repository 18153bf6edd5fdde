/*
 * Paths, parameters and headers of a request: parsing never fails, spans stay inside the input,
 * what is encoded again holds no byte that a URL may not have; tokens are refused.
 * Input: path, parameters, accept and a continue token, each ended by a newline.
 */
#include "api/continue_token.h"
#include "api/negotiate.h"
#include "api/request_info.h"
#include "api/timeout.h"
#include "base/buf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void inside(struct span part, struct span whole)
{
	if (part.len && (part.ptr < whole.ptr || part.ptr + part.len > whole.ptr + whole.len))
		abort();
}

static void check_url(const struct buf *b)
{
	for (size_t i = 0; i < b->len; i++)
		if ((unsigned char)b->ptr[i] <= ' ' || (unsigned char)b->ptr[i] > '~')
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span rest = span_make((const char *)data, size), params, token;
	struct http_request r = {.method = (enum http_method)(size % HTTP_METHOD_MAX)};
	uint8_t key[CONTINUE_KEY_LEN] = {7};
	struct continue_token t;
	struct request_info i;
	struct buf out = BUF_INIT, mem = BUF_INIT;
	r.path = span_split(&rest, '\n');
	params = span_split(&rest, '\n');
	while (params.len && r.n_params < HTTP_MAX_PARAMS) {
		struct span pair = span_split(&params, '&');
		r.params[r.n_params].name = span_split(&pair, '=');
		r.params[r.n_params++].value = pair.ptr ? pair : SPAN("");
	}
	r.accept = span_split(&rest, '\n');
	if (timeout_check(http_param(&r, "timeout"), NULL) == 0 &&
	    timeout_check(r.accept, NULL) == 0)
		buf_clear(&out);
	token = span_split(&rest, '\n');
	request_info_parse(&r, &i);
	inside(i.group, r.path);
	inside(i.version, r.path);
	inside(i.ns, r.path);
	inside(i.resource, r.path);
	inside(i.name, r.path);
	inside(i.subresource, r.path);
	inside(i.rest, r.path);
	request_encode_path(r.path, &out);
	request_encode_query(&r, &out);
	check_url(&out);
	(void)negotiate_accept(r.accept, ~0u);
	(void)negotiate_gzip(r.accept);
	(void)negotiate_body(r.accept);
	if (continue_token_read(token, key, &mem, &t, NULL) == 0)
		abort(); /* a forged signature */
	buf_done(&out);
	buf_done(&mem);
	return 0;
}
