#include "base/json.h"
#include "kueue_world.h"

#include <stdlib.h>

struct span line_text(struct world *w, struct span object, const char *key)
{
	struct span value;
	if (json_text_member(object, key, &value) || json_text_type(value) != JSON_STRING)
		return SPAN_NONE;
	return arena_span(&w->mem, json_text_plain(value));
}

int64_t line_number(struct span object, const char *key, int64_t otherwise)
{
	struct span value;
	int64_t n;
	if (json_text_member(object, key, &value) || json_text_int64(value, &n))
		return otherwise;
	return n;
}

double line_weight(struct span object)
{
	struct span value;
	if (json_text_member(object, "weight", &value))
		return 1;
	return strtod(value.ptr, NULL);
}

bool line_yes(struct span object, const char *key)
{
	struct span value;
	return !json_text_member(object, key, &value) && span_is(value, "true");
}

bool line_is(struct span object, const char *key, const char *word)
{
	struct span value;
	return !json_text_member(object, key, &value) && span_is(json_text_plain(value), word);
}

struct span line_member(struct span object, const char *key)
{
	struct span value;
	return json_text_member(object, key, &value) ? SPAN_NONE : value;
}

size_t line_count(struct span container)
{
	size_t n = 0, pos = 0;
	struct span key, value;
	while (container.len && json_text_next(container, &pos, &key, &value))
		n++;
	return n;
}

void names_note(struct names *names, struct span name)
{
	for (size_t i = 0; i < names->len; i++)
		if (span_eq(names->items[i], name))
			return;
	vec_push(names, name);
	for (size_t i = names->len - 1; i && span_cmp(names->items[i - 1], name) > 0; i--) {
		names->items[i] = names->items[i - 1];
		names->items[i - 1] = name;
	}
}

struct span *line_strings(struct world *w, struct span list, size_t *ret_n)
{
	struct span *out = arena_array(&w->mem, struct span, line_count(list) + 1);
	size_t n = 0, pos = 0;
	struct span value;
	while (list.len && json_text_next(list, &pos, NULL, &value))
		out[n++] = arena_span(&w->mem, json_text_plain(value));
	*ret_n = n;
	return out;
}

struct label *line_labels(struct world *w, struct span object, size_t *ret_n)
{
	struct label *out = arena_array(&w->mem, struct label, line_count(object) + 1);
	size_t n = 0, pos = 0;
	struct span key, value;
	while (object.len && json_text_next(object, &pos, &key, &value))
		out[n++] = (struct label){.key = arena_span(&w->mem, key),
					  .value = arena_span(&w->mem, json_text_plain(value))};
	*ret_n = n;
	return out;
}

struct toleration *line_tolerations(struct world *w, struct span list, size_t *ret_n)
{
	struct toleration *out = arena_array(&w->mem, struct toleration, line_count(list) + 1);
	size_t n = 0, pos = 0;
	struct span value;
	while (list.len && json_text_next(list, &pos, NULL, &value))
		out[n++] = (struct toleration){.key = line_text(w, value, "key"),
					       .value = line_text(w, value, "value"),
					       .exists = line_is(value, "operator", "Exists"),
					       .effect = TAINT_ANY_EFFECT};
	*ret_n = n;
	return out;
}
