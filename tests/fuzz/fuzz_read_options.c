/*
 * The query of a GET, LIST or WATCH, from its raw text to the options: what is refused has words,
 * what is taken is within its limits, and its selectors can be asked about an object.
 * Input: a byte (whether it is a watch, and of which kind), then the query.
 */
#include "api/option_errors.h"
#include "api/read_options.h"
#include "base/json.h"
#include "kinds/kinds.h"
#include "kinds/types.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void split(struct span query, struct http_request *r)
{
	while (query.len && r->n_params < HTTP_MAX_PARAMS) {
		struct span pair = span_split(&query, '&');
		if (!pair.len)
			continue;
		r->params[r->n_params].name = span_split(&pair, '=');
		r->params[r->n_params++].value = pair.ptr ? pair : SPAN("");
	}
}

static void check(const struct read_options *o, bool watch)
{
	static const char text[] =
	    "{\"metadata\":{\"name\":\"a\",\"namespace\":\"b\",\"labels\":{\"a\":\"b\"}},"
	    "\"type\":\"t\",\"spec\":{\"nodeName\":\"n\"},\"status\":{\"phase\":\"Running\"}}";
	struct cJSON *object = NULL;
	if (o->limit < 0 || o->limit > INT32_MAX || o->timeout < 0 ||
	    o->timeout > 86400 * USEC_PER_SEC || (watch && o->continue_text.len) ||
	    (o->revision && !o->has_revision))
		abort();
	if (json_parse(span_of(text), NULL, &object, NULL) < 0)
		abort();
	(void)selector_matches_tree(&o->selector, object);
	json_free(object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t types[] = {TYPE_CONFIG_MAP, TYPE_SECRET, TYPE_EVENT, TYPE_POD};
	bool watch = size && data[0] & 1;
	struct arena mem = ARENA_INIT;
	struct http_request r = {.method = HTTP_GET};
	struct call c = {.mem = &mem, .request = &r, .kinds = kinds_hub()};
	struct read_options o;
	struct err e = ERR_INIT;
	if (!size)
		return 0;
	c.kind = kind_by_type(c.kinds, types[data[0] >> 1 & 3]);
	c.info.name = data[0] & 8 ? SPAN("a,b=c\\d") : SPAN_NONE;
	split(span_make((const char *)data + 1, size - 1), &r);
	if (read_options_parse(&c, watch, &o, &e) == 0) {
		check(&o, watch);
		read_options_done(&o);
	} else if (!e.text[0]) {
		abort();
	}
	option_done(&c);
	arena_done(&mem);
	return 0;
}
