#include "core/kueue/settings_reader.h"

#include "base/num.h"

#include <ctype.h>
#include <errno.h>

static usec unit_of(struct span *rest)
{
	static const struct {
		const char *name;
		usec length;
	} units[] = {{"ms", USEC_PER_MS},
		     {"h", 3600 * USEC_PER_SEC},
		     {"m", 60 * USEC_PER_SEC},
		     {"s", USEC_PER_SEC}};

	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		size_t n = strlen(units[i].name);
		if (!span_starts(*rest, span_of(units[i].name)))
			continue;
		*rest = span_make(rest->ptr + n, rest->len - n);
		return units[i].length;
	}
	return 0;
}

int kueue_settings_duration(const char *text, usec *ret)
{
	struct span rest = span_of(text);
	usec sum = 0;

	if (!rest.len)
		return -EINVAL;
	while (rest.len) {
		struct span digits = {rest.ptr, 0};
		int64_t n;
		while (digits.len < rest.len && isdigit((unsigned char)rest.ptr[digits.len]))
			digits.len++;
		rest = span_make(rest.ptr + digits.len, rest.len - digits.len);
		bool zero = span_is(digits, "0") && !rest.len; /* needs no unit */
		usec unit = zero ? 1 : unit_of(&rest);
		if (!unit || num_parse_i64(digits, 0, INT64_MAX, &n) < 0 ||
		    num_mul_overflows(n, unit, &n) || num_add_overflows(sum, n, &sum))
			return -EINVAL;
	}
	*ret = sum;
	return 0;
}

int settings_reader_wrong(const struct settings_reader *r, const char *path, const char *words)
{
	return err_set_field(r->reterr, ERR_INVALID, path, "%s: %s", path, words);
}

int settings_reader_bool(const struct settings_reader *r, const char *path, const struct cJSON *v,
			 bool *out)
{
	if (!json_is(v, JSON_BOOL))
		return settings_reader_wrong(r, path, "must be true or false");
	*out = json_value_bool(v, false);
	return 0;
}

int settings_reader_duration(const struct settings_reader *r, const char *path,
			     const struct cJSON *v, usec *out)
{
	const char *text = json_value_str(v);

	if (!text || kueue_settings_duration(text, out) < 0)
		return settings_reader_wrong(r, path,
					     "must be a duration such as 30s, 5m or 1h30m");
	return 0;
}

int settings_reader_seconds(const struct settings_reader *r, const char *path,
			    const struct cJSON *v, usec *out)
{
	int64_t n;

	if (json_value_int64(v, &n) < 0 || n < 0 || n > INT32_MAX)
		return settings_reader_wrong(r, path, "must be a number of seconds");
	*out = n * USEC_PER_SEC;
	return 0;
}

/* ---- sections: a table of members each ---- */

int settings_reader_members(const struct settings_reader *r, const char *path,
			    const struct cJSON *object, const struct settings_member *members,
			    size_t n)
{
	char below[192];

	if (!json_is(object, JSON_OBJECT))
		return settings_reader_wrong(r, path, "must be a mapping");
	json_foreach (object, m) {
		settings_reader_fn take = NULL;
		(void)snprintf(below, sizeof(below), "%.100s.%.80s", path, json_key(m));
		for (size_t i = 0; i < n; i++)
			if (strcmp(members[i].name, json_key(m)) == 0)
				take = members[i].take;
		if (!take)
			return settings_reader_wrong(r, below, "unknown setting");
		int rc = take(r, below, m);
		if (rc)
			return rc;
	}
	return 0;
}
