#include "core/kueue/priority_boost.h"

#include "base/json.h"
#include "base/num.h"
#include "core/kueue/kueue.h"

#define ANNOTATION "kueue.x-k8s.io/priority-boost"

/* As Go's strconv has it: a plus sign is allowed. */
static bool parse(struct span text, int32_t *ret)
{
	int64_t v;

	if (text.len > 1 && text.ptr[0] == '+' && text.ptr[1] != '-')
		text = span_make(text.ptr + 1, text.len - 1);
	if (num_parse_i64(text, INT32_MIN, INT32_MAX, &v) < 0)
		return false;
	*ret = (int32_t)v;
	return true;
}

int32_t priority_boost_read(const struct core *c, const struct store_object *o)
{
	struct span v;
	int32_t boost = 0;

	if (!c->kueue->settings.priority_boost ||
	    json_text_path(o->json, &v, "metadata", "annotations", ANNOTATION, NULL) < 0)
		return 0;
	return parse(json_text_plain(v), &boost) ? boost : 0;
}

int priority_boost_check(const struct object_draft *d, struct err *reterr)
{
	struct span meta = span_make(d->json + d->extents.metadata.at, d->extents.metadata.len), v;
	const char *field = "metadata.annotations[" ANNOTATION "]";
	int32_t boost;

	if (json_text_path(meta, &v, "annotations", ANNOTATION, NULL) < 0)
		return 0;
	v = json_text_plain(v);
	if (!v.len)
		return err_set_field(reterr, ERR_INVALID, field,
				     "Invalid value: \"\": must be a valid signed integer; use "
				     "\"0\" explicitly, empty string is not allowed");
	if (!parse(v, &boost))
		return err_set_field(reterr, ERR_INVALID, field,
				     "Invalid value: \"%.*s\": must be a valid signed integer",
				     (int)num_min((int64_t)v.len, 64), v.ptr);
	return 0;
}
