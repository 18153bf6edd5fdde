#include "kinds/topology_assignment.h"

#include "kinds/refuse.h"

/* ---- rules ---- */

static void check_values(const struct cJSON *values, const char *path, struct field_errors *errors)
{
	const struct cJSON *one = json_get(values, "universalValue");

	if (!json_get(values, "roots") == !one)
		refuse(errors, FIELD_INVALID, NULL,
		       "Exactly one of roots, universalValue must be set", "%s", path);
	if (one && (json_get(values, "prefix") || json_get(values, "suffix")))
		refuse(errors, FIELD_INVALID, NULL,
		       "universalValue cannot be set together with prefix or suffix", "%s", path);
}

static bool has_length(const struct cJSON *list, int64_t n)
{
	return !list || (n >= 0 && json_len(list) == (size_t)n);
}

static void check_slice(const struct cJSON *slice, const char *path, struct field_errors *errors)
{
	const struct cJSON *counts = json_get(slice, "podCounts");
	char below[REFUSE_PATH_MAX];
	bool fits = true;
	int64_t n = -1;
	size_t i = 0;

	(void)json_int64(slice, "domainCount", &n);
	if (!has_length(counts, n))
		refuse(errors, FIELD_INVALID, NULL,
		       "podCounts must have length equal to domainCount", "%s", path);
	if (!counts == !json_get(slice, "universalPodCount"))
		refuse(errors, FIELD_INVALID, NULL,
		       "Exactly one of podCounts, universalPodCount must be set", "%s", path);
	json_foreach (json_get(slice, "valuesPerLevel"), v)
		fits &= has_length(json_get(v, "roots"), n);
	if (!fits)
		refuse(errors, FIELD_INVALID, NULL,
		       "roots, if set, must have length equal to domainCount of this "
		       "TopologyAssignmentSlice",
		       "%s", path);
	json_foreach (json_get(slice, "valuesPerLevel"), v) {
		(void)snprintf(below, sizeof(below), "%.400s.valuesPerLevel[%zu]", path, i++);
		check_values(v, below, errors);
	}
}

void topology_assignment_check(const struct cJSON *assignment, const char *path,
			       struct field_errors *errors)
{
	size_t levels = json_len(json_get(assignment, "levels")), i = 0;
	char below[REFUSE_PATH_MAX];
	bool fits = true;

	json_foreach (json_get(assignment, "slices"), s)
		fits &= json_len(json_get(s, "valuesPerLevel")) == levels;
	if (!fits)
		refuse(errors, FIELD_INVALID, NULL,
		       "valuesPerLevel must have the same length as the number of levels in this "
		       "TopologyAssignment",
		       "%s", path);
	json_foreach (json_get(assignment, "slices"), s) {
		(void)snprintf(below, sizeof(below), "%.400s.slices[%zu]", path, i++);
		check_slice(s, below, errors);
	}
}

/* ---- domains to slices ---- */

static size_t shared_prefix(const char *a, const char *b, size_t most)
{
	size_t n = 0;

	while (n < most && a[n] && a[n] == b[n])
		n++;
	return n;
}

static size_t shared_suffix(const char *a, const char *b, size_t most)
{
	size_t x = strlen(a), y = strlen(b), n = 0;

	while (n < most && n < x && n < y && a[x - n - 1] == b[y - n - 1])
		n++;
	return n;
}

static const char *text_at(const struct cJSON *domain, size_t level)
{
	return json_value_str(json_at(json_get(domain, "values"), level));
}

/* What the values of a level have in common. */
struct common {
	const char *first;
	size_t prefix, suffix;
	bool same, whole; /* all are one value; every domain has one */
};

static struct common common_of(const struct cJSON *domains, size_t level)
{
	struct common c = {
	    .first = text_at(json_first(domains), level), .same = true, .whole = true};
	size_t shortest = c.first ? strlen(c.first) : 0;

	c.prefix = c.suffix = shortest;
	json_foreach (domains, d) {
		const char *v = text_at(d, level);
		c.whole &= c.first && v;
		if (!c.first || !v)
			continue;
		shortest = strlen(v) < shortest ? strlen(v) : shortest;
		c.prefix = shared_prefix(c.first, v, c.prefix);
		c.suffix = shared_suffix(c.first, v, c.suffix);
		c.same &= strcmp(c.first, v) == 0;
	}
	if (c.prefix + c.suffix > shortest)
		c.suffix = shortest - c.prefix;
	return c;
}

/* A prefix and a suffix may not end inside a character. */
static bool is_ascii(const struct cJSON *domains, size_t level)
{
	json_foreach (domains, d)
		for (const char *p = text_at(d, level); p && *p; p++)
			if ((unsigned char)*p >= 0x80)
				return false;
	return true;
}

static struct cJSON *level_of(const struct cJSON *domains, size_t level)
{
	struct common c = common_of(domains, level);
	struct cJSON *values = json_object(), *roots;

	if (c.same && c.whole) {
		json_set_str(values, "universalValue", c.first);
		return values;
	}
	if (!is_ascii(domains, level) || !c.whole)
		c.prefix = c.suffix = 0;
	if (c.prefix)
		json_set(values, "prefix", json_new_span(span_make(c.first, c.prefix)));
	if (c.suffix) {
		const char *end = c.first + strlen(c.first) - c.suffix;
		json_set_str(values, "suffix", end);
	}
	roots = json_array();
	json_foreach (domains, d) {
		const char *v = text_at(d, level);
		if (v)
			json_append(roots, json_new_span(span_make(
					       v + c.prefix, strlen(v) - c.prefix - c.suffix)));
	}
	json_set(values, "roots", roots);
	return values;
}

static void set_counts(const struct cJSON *domains, struct cJSON *slice)
{
	const struct cJSON *first = json_get(json_first(domains), "count");
	struct cJSON *counts;
	bool same = true;

	json_foreach (domains, d)
		same &= json_equal(first, json_get(d, "count"));
	if (same) {
		json_set(slice, "universalPodCount", json_dup(first));
		return;
	}
	counts = json_array();
	json_foreach (domains, d)
		json_append(counts, json_dup(json_get(d, "count")));
	json_set(slice, "podCounts", counts);
}

void topology_assignment_to_slices(struct cJSON *assignment)
{
	auto_json *domains = json_take(assignment, "domains");
	size_t levels = json_len(json_get(json_first(domains), "values"));
	struct cJSON *slices, *slice, *values;

	if (!assignment || !domains)
		return;
	slices = json_array();
	if (json_first(domains)) {
		slice = json_object();
		json_set_int(slice, "domainCount", (int64_t)json_len(domains));
		values = json_array();
		for (size_t i = 0; i < levels; i++)
			json_append(values, level_of(domains, i));
		json_set(slice, "valuesPerLevel", values);
		set_counts(domains, slice);
		json_append(slices, slice);
	}
	json_set(assignment, "slices", slices);
}

/* ---- slices to domains ---- */

/* One level of a slice while its domains are walked. */
struct level_walk {
	const char *prefix, *suffix, *all;
	const struct cJSON *root;
};

static struct cJSON *next_value(struct level_walk *l)
{
	auto_buf text = BUF_INIT;

	if (l->all)
		return json_new_str(l->all);
	buf_addf(&text, "%s%s%s", l->prefix ? l->prefix : "",
		 json_value_str(l->root) ? json_value_str(l->root) : "",
		 l->suffix ? l->suffix : "");
	l->root = l->root ? json_next(l->root) : NULL;
	return json_new_span(buf_span(&text));
}

#define MAX_LEVELS  16
#define MAX_DOMAINS 100000 /* a few bytes of slices may stand for more than any list can hold */

static size_t start_levels(const struct cJSON *slice, struct level_walk levels[MAX_LEVELS])
{
	size_t n = 0;

	json_foreach (json_get(slice, "valuesPerLevel"), v) {
		if (n == MAX_LEVELS)
			break;
		levels[n++] = (struct level_walk){json_str(v, "prefix"), json_str(v, "suffix"),
						  json_str(v, "universalValue"),
						  json_first(json_get(v, "roots"))};
	}
	return n;
}

static void add_domains(const struct cJSON *slice, int64_t *room, struct cJSON *domains)
{
	struct level_walk levels[MAX_LEVELS];
	size_t n = start_levels(slice, levels);
	const struct cJSON *count = json_first(json_get(slice, "podCounts"));
	const struct cJSON *all = json_get(slice, "universalPodCount");
	int64_t left = 0;

	(void)json_int64(slice, "domainCount", &left);
	for (; left > 0 && *room > 0; left--, (*room)--) {
		struct cJSON *domain = json_object(), *values = json_array();
		json_set(domain, "count", json_dup(all ? all : count));
		for (size_t i = 0; i < n; i++)
			json_append(values, next_value(&levels[i]));
		json_set(domain, "values", values);
		json_append(domains, domain);
		count = count ? json_next(count) : NULL;
	}
}

void topology_assignment_to_domains(struct cJSON *assignment)
{
	auto_json *slices = json_take(assignment, "slices");
	int64_t room = MAX_DOMAINS;
	struct cJSON *domains;

	if (!assignment || !slices)
		return;
	domains = json_array();
	json_foreach (slices, s)
		add_domains(s, &room, domains);
	json_set(assignment, "domains", domains);
}
