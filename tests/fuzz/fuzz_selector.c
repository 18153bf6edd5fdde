/*
 * The first line as a label selector, the second as a field selector of Pods, matched against a
 * fixed object as a tree and as text, which must agree.
 */
#include "base/json.h"
#include "kinds/types.h"
#include "kube/kind.h"
#include "kube/selector.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char object[] =
    "{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"labels\":{\"a\":\"1\",\"b\":\"\"}},"
    "\"spec\":{\"nodeName\":\"x,y\"},\"status\":{\"phase\":\"Running\"}}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_selector s = SELECTOR_INIT;
	struct span rest = span_make((const char *)data, size), labels = span_split(&rest, '\n');
	const struct kind pod = {.type = TYPE_POD, .group = ""};
	struct err err = ERR_INIT;
	auto_json *tree = NULL;

	if (selector_add_labels(&s, labels, &err) < 0 && !err.text[0])
		abort();
	if (rest.ptr && selector_add_fields(&s, &pod, rest, &err) < 0 && !err.text[0])
		abort();
	if (json_parse(span_of(object), NULL, &tree, &err) < 0)
		abort();
	if (selector_matches_text(&s, span_of(object)) != selector_matches_tree(&s, tree))
		abort();
	return 0;
}
