#include "kinds/job_path.h"

#include "base/json.h"
#include "base/num.h"

#include <errno.h>

#define MAX_KEY 256

/* The next step of the path; *ret_in_brackets says how it was written. */
static struct span next_step(struct span *path, bool *ret_in_brackets)
{
	struct span step = {path->ptr, 0};

	*ret_in_brackets = path->len && path->ptr[0] == '[';
	if (*ret_in_brackets) {
		step.ptr++;
		while (1 + step.len < path->len && step.ptr[step.len] != ']')
			step.len++;
		size_t used = num_min(step.len + 2, path->len);
		*path = span_make(path->ptr + used, path->len - used);
	} else {
		while (step.len < path->len && path->ptr[step.len] != '.' &&
		       path->ptr[step.len] != '[')
			step.len++;
		*path = span_make(path->ptr + step.len, path->len - step.len);
	}
	if (path->len && path->ptr[0] == '.')
		*path = span_make(path->ptr + 1, path->len - 1);
	return step;
}

static int element(struct span array, uint64_t index, struct span *ret)
{
	size_t pos = 0;

	while (json_text_next(array, &pos, NULL, ret))
		if (index-- == 0)
			return 0;
	return -ENOENT;
}

static int member(struct span object, struct span key, struct span *ret)
{
	char text[MAX_KEY];

	if (key.len >= sizeof(text) || json_text_type(object) != JSON_OBJECT)
		return -ENOENT;
	(void)snprintf(text, sizeof(text), "%.*s", SPAN_ARGS(key));
	return json_text_member(object, text, ret);
}

int job_path_find(struct span object, struct span path, struct span *ret)
{
	struct span at = object;

	while (path.len) {
		bool in_brackets;
		uint64_t index;
		struct span step = next_step(&path, &in_brackets);
		int r = in_brackets && json_text_type(at) == JSON_ARRAY
			    ? num_parse_u64(step, UINT32_MAX, &index)
			    : -ENOENT;
		r = r == 0 ? element(at, index, &at) : member(at, step, &at);
		if (r < 0)
			return -ENOENT;
	}
	*ret = at;
	return 0;
}
