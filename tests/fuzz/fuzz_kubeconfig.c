/*
 * kubeconfig_parse on anything; what it accepts survives being printed and parsed again.
 */
#include "member-sync/kubeconfig.h"

#include <assert.h>

static bool same(const struct kubeconfig_blob *a, const struct kubeconfig_blob *b)
{
	return span_eq(span_make(a->ptr, a->len), span_make(b->ptr, b->len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_kubeconfig k = {0}, again = {0};
	auto_buf text = BUF_INIT;
	struct err why = ERR_INIT;

	if (kubeconfig_parse(span_make((const char *)data, size), NULL, &k, &why) < 0) {
		assert(why.kind != ERR_NONE);
		return 0;
	}
	assert(strncmp(k.server, "https://", 8) == 0);
	kubeconfig_print(&k, &text);
	int r = kubeconfig_parse(buf_span(&text), NULL, &again, &why);
	assert(r == 0);
	assert(strcmp(k.server, again.server) == 0 && k.insecure == again.insecure);
	assert(same(&k.ca, &again.ca) && same(&k.cert, &again.cert) && same(&k.key, &again.key) &&
	       same(&k.token, &again.token));
	return 0;
}
