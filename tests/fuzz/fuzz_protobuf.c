/* Protobuf bodies: whatever is accepted prints as JSON that the strict checker takes. */
#include "api/protobuf.h"
#include "base/buf.h"
#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cJSON *tree = NULL;
	struct buf text = BUF_INIT;
	if (protobuf_decode(span_make((const char *)data, size), &tree, NULL) < 0)
		return 0;
	json_print(tree, &text);
	if (buf_ok(&text) && json_check(buf_span(&text), NULL, NULL) < 0)
		abort();
	json_free(tree);
	buf_done(&text);
	return 0;
}
