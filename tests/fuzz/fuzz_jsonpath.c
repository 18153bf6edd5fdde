/* A path up to the first newline, then JSON text: every match lies within the text. */
#include "base/buf.h"
#include "base/json.h"
#include "kube/jsonpath.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool within(void *arg, struct span match)
{
	const struct span *text = arg;
	if (match.ptr < text->ptr || match.ptr + match.len > text->ptr + text->len)
		abort();
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span rest = span_make((const char *)data, size);
	struct span path = span_split(&rest, '\n');
	char *text = xstrndup(path.ptr ? path.ptr : "", path.len);

	if (rest.ptr && json_check(rest, NULL, NULL) == 0)
		(void)jsonpath_each(text, rest, within, &rest);
	free(text);
	return 0;
}
