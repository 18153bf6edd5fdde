#include "kinds/batch_policies.h"

#include "base/num.h"
#include "kinds/refuse.h"
#include "kube/names.h"

#define MAX_RULES	  20
#define MAX_CONDITIONS	  20
#define MAX_EXIT_CODES	  255
#define MAX_INDEXES_BYTES (64 * 1024)

static bool is(const char *s, const char *what)
{
	return s && strcmp(s, what) == 0;
}

static void check_count(struct field_errors *errors, const struct cJSON *list, size_t most,
			const char *path)
{
	char shown[24], detail[48];
	size_t n = json_len(list);

	if (n <= most)
		return;
	(void)snprintf(shown, sizeof(shown), "%zu", n);
	(void)snprintf(detail, sizeof(detail), "must have at most %zu items", most);
	field_errors_add(errors, FIELD_TOO_MANY, path, shown, "%s", detail);
}

/* ---- podFailurePolicy ---- */

static bool has_container(const struct cJSON *spec, const char *name)
{
	static const char *const lists[] = {"containers", "initContainers"};

	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		json_foreach (json_path(spec, "template", "spec", lists[i], NULL), c)
			if (is(json_str(c, "name"), name))
				return true;
	return false;
}

static bool was_before(const struct cJSON *list, const struct cJSON *value, int64_t code)
{
	int64_t other;

	for (const struct cJSON *v = json_first(list); v != value; v = json_next(v))
		if (json_value_int64(v, &other) == 0 && other == code)
			return true;
	return false;
}

static void check_values(const struct cJSON *codes, const char *path, struct field_errors *errors)
{
	const struct cJSON *values = json_get(codes, "values");
	bool in = is(json_str(codes, "operator"), "In"), ordered = true;
	int64_t code = 0, before = INT64_MIN;
	char at[REFUSE_PATH_MAX];
	size_t i = 0;

	(void)snprintf(at, sizeof(at), "%.400s.values", path);
	if (!json_first(values)) {
		auto_json *nothing = values ? json_array() : json_null();
		refuse(errors, FIELD_INVALID, nothing, "at least one value is required", "%s", at);
	}
	check_count(errors, values, MAX_EXIT_CODES, at);
	json_foreach (values, v) {
		if (json_value_int64(v, &code) < 0)
			continue;
		if (in && code == 0)
			refuse(errors, FIELD_INVALID, v, "must not be 0 for the In operator",
			       "%s[%zu]", at, i);
		if (was_before(values, v, code))
			refuse(errors, FIELD_DUPLICATE, v, "", "%s[%zu]", at, i);
		ordered = ordered && code >= before;
		before = code;
		i++;
	}
	if (!ordered)
		refuse(errors, FIELD_INVALID, values, "must be ordered", "%s", at);
}

static void check_exit_codes(const struct cJSON *spec, const struct cJSON *codes, const char *path,
			     struct field_errors *errors)
{
	const char *name = json_str(codes, "containerName");

	if (name && !has_container(spec, name))
		refuse_text(
		    errors, FIELD_INVALID, name,
		    "must be one of the container or initContainer names in the pod template",
		    "%s.containerName", path);
	check_values(codes, path, errors);
}

static void check_conditions(const struct cJSON *conditions, const char *path,
			     struct field_errors *errors)
{
	size_t i = 0;

	check_count(errors, conditions, MAX_CONDITIONS, path);
	json_foreach (conditions, c) {
		const char *type = json_str(c, "type") ? json_str(c, "type") : "";
		const char *status = json_str(c, "status");
		if (!names_is_qualified(span_of(type)))
			refuse_text(errors, FIELD_INVALID, type,
				    names_qualified_rule(span_of(type)), "%s[%zu].type", path, i);
		if (status && !is(status, "True") && !is(status, "False") && !is(status, "Unknown"))
			refuse_text(errors, FIELD_NOT_SUPPORTED, status,
				    "supported values: \"False\", \"True\", \"Unknown\"",
				    "%s[%zu].status", path, i);
		i++;
	}
}

static void check_failure_rule(const struct cJSON *spec, const struct cJSON *rule, const char *path,
			       struct field_errors *errors)
{
	const struct cJSON *codes = json_get(rule, "onExitCodes");
	const struct cJSON *conditions = json_get(rule, "onPodConditions");
	bool by_condition = json_first(conditions);
	char below[REFUSE_PATH_MAX];

	if (is(json_str(rule, "action"), "FailIndex") && !json_get(spec, "backoffLimitPerIndex"))
		refuse_text(errors, FIELD_INVALID, "FailIndex",
			    "requires the backoffLimitPerIndex to be set", "%s.action", path);
	if (codes) {
		(void)snprintf(below, sizeof(below), "%.400s.onExitCodes", path);
		check_exit_codes(spec, codes, below, errors);
	}
	if (by_condition) {
		(void)snprintf(below, sizeof(below), "%.400s.onPodConditions", path);
		check_conditions(conditions, below, errors);
	}
	if (codes && by_condition)
		refuse(errors, FIELD_INVALID, NULL,
		       "specifying both OnExitCodes and OnPodConditions is not supported", "%s",
		       path);
	if (!codes && !by_condition)
		refuse(errors, FIELD_INVALID, NULL,
		       "specifying one of OnExitCodes and OnPodConditions is required", "%s", path);
}

static void check_failure_policy(const struct cJSON *spec, const struct cJSON *policy,
				 const char *path, struct field_errors *errors)
{
	const char *replace = json_str(spec, "podReplacementPolicy");
	char at[REFUSE_PATH_MAX];
	size_t i = 0;

	if (replace && strcmp(replace, "Failed") != 0)
		refuse_text(errors, FIELD_NOT_SUPPORTED, replace, "supported values: \"Failed\"",
			    "%s.podReplacementPolicy", path);
	(void)snprintf(at, sizeof(at), "%.300s.podFailurePolicy.rules", path);
	check_count(errors, json_get(policy, "rules"), MAX_RULES, at);
	json_foreach (json_get(policy, "rules"), rule) {
		(void)snprintf(at, sizeof(at), "%.300s.podFailurePolicy.rules[%zu]", path, i++);
		check_failure_rule(spec, rule, at, errors);
	}
}

/* ---- successPolicy ---- */

/* A number below `completions`. The words say what is wrong with it. */
static bool read_index(struct span text, int64_t completions, int64_t *ret, char words[160])
{
	if (num_parse_i64(text, INT32_MIN, INT32_MAX, ret) < 0)
		(void)snprintf(words, 160, "cannot convert string to integer for index: \"%.80s\"",
			       text.len ? text.ptr : "");
	else if (*ret >= completions)
		(void)snprintf(words, 160, "too large index: \"%.*s\"", SPAN_ARGS(text));
	else
		return true;
	return false;
}

/* "1,3-5": first and last of one interval. */
static bool read_interval(struct span text, int64_t completions, int64_t *first, int64_t *last,
			  char words[160])
{
	struct span rest = text, from = span_split(&rest, '-');
	bool single = from.len == text.len;

	if (!single && memchr(rest.ptr, '-', rest.len)) {
		(void)snprintf(words, 160,
			       "the fragment \"%.40s\" violates the requirement that an index "
			       "interval can have at most two parts separated by '-'",
			       text.ptr);
		return false;
	}
	if (!read_index(from, completions, first, words))
		return false;
	*last = *first;
	if (single)
		return true;
	if (!read_index(rest, completions, last, words))
		return false;
	if (*first < *last)
		return true;
	(void)snprintf(words, 160, "non-increasing order, previous: %lld, current: %lld",
		       (long long)*first, (long long)*last);
	return false;
}

/* How many indexes the text names; 0 and words when it cannot be read. */
static int64_t count_indexes(const char *text, int64_t completions, char words[160])
{
	struct span rest = span_of(text);
	int64_t total = 0, before = INT64_MIN, first = 0, last = 0;

	words[0] = '\0';
	for (bool more = rest.len; more;) {
		auto_buf one = BUF_INIT;
		more = memchr(rest.ptr, ',', rest.len);
		buf_add_span(&one, span_split(&rest, ','));
		buf_add_str(&one, "");
		if (!read_interval(buf_span(&one), completions, &first, &last, words))
			return 0;
		if (before >= first) {
			(void)snprintf(words, 160,
				       "non-increasing order, previous: %lld, current: %lld",
				       (long long)before, (long long)first);
			return 0;
		}
		total += last - first + 1;
		before = last;
	}
	return total;
}

static void check_success_rule(const struct cJSON *rule, int64_t completions, const char *path,
			       struct field_errors *errors)
{
	const char *indexes = json_str(rule, "succeededIndexes");
	const struct cJSON *count = json_get(rule, "succeededCount");
	char words[160] = "", detail[256];
	int64_t total = 0, n = 0;

	if (!indexes && !count)
		refuse(errors, FIELD_REQUIRED, NULL,
		       "at least one of succeededCount or succeededIndexes must be specified", "%s",
		       path);
	if (indexes && strlen(indexes) > MAX_INDEXES_BYTES)
		refuse(errors, FIELD_TOO_LONG, NULL, "may not be more than 65536 bytes",
		       "%s.succeededIndexes", path);
	else if (indexes)
		total = count_indexes(indexes, completions, words);
	if (words[0]) {
		(void)snprintf(detail, sizeof(detail), "error parsing succeededIndexes: %s", words);
		refuse_text(errors, FIELD_INVALID, indexes, detail, "%s.succeededIndexes", path);
	}
	if (!count || json_value_int64(count, &n) < 0)
		return;
	(void)snprintf(detail, sizeof(detail),
		       "must be less than or equal to %lld (the number of specified completions)",
		       (long long)completions);
	if (n > completions)
		refuse(errors, FIELD_INVALID, count, detail, "%s.succeededCount", path);
	(void)snprintf(detail, sizeof(detail),
		       "must be less than or equal to %lld (the number of indexes in the specified "
		       "succeededIndexes field)",
		       (long long)total);
	if (indexes && n > total)
		refuse(errors, FIELD_INVALID, count, detail, "%s.succeededCount", path);
}

static void check_success_policy(const struct cJSON *spec, const struct cJSON *policy,
				 const char *path, struct field_errors *errors)
{
	const struct cJSON *rules = json_get(policy, "rules");
	char at[REFUSE_PATH_MAX];
	int64_t completions = 0;
	size_t i = 0;

	if (json_int64(spec, "completions", &completions) < 0)
		return; /* which is refused already */
	(void)snprintf(at, sizeof(at), "%.300s.successPolicy.rules", path);
	if (!json_first(rules))
		refuse(errors, FIELD_REQUIRED, NULL,
		       "at least one rules must be specified when the successPolicy is specified",
		       "%s", at);
	check_count(errors, rules, MAX_RULES, at);
	json_foreach (rules, rule) {
		(void)snprintf(at, sizeof(at), "%.300s.successPolicy.rules[%zu]", path, i++);
		check_success_rule(rule, completions, at, errors);
	}
}

void batch_policies_check(const struct cJSON *spec, const char *path, struct field_errors *errors)
{
	const struct cJSON *failure = json_get(spec, "podFailurePolicy");
	const struct cJSON *success = json_get(spec, "successPolicy");

	if (failure)
		check_failure_policy(spec, failure, path, errors);
	if (success && is(json_str(spec, "completionMode"), "Indexed"))
		check_success_policy(spec, success, path, errors);
}
