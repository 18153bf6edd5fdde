/*
 * The validation of topology annotations: rules and words of Kueue's webhooks (pkg/controller/
 * jobframework/tas_validation.go). They hold for every job, queued or not.
 */
#include "base/num.h"
#include "kinds/job_shape.h"
#include "kinds/refuse.h"
#include "kinds/topology_request.h"
#include "kube/names.h"

/* One template: its annotations, and where they stand. */
struct site {
	const struct cJSON *annotations;
	char path[REFUSE_PATH_MAX - 64];
	struct field_errors *errors;
};

static const char *value_of(const struct site *s, const char *key)
{
	return json_str(s->annotations, key);
}

static void refuse_site(const struct site *s, enum field_reason reason, const char *key,
			const char *value, const char *words)
{
	refuse_text(s->errors, reason, value, words, "%s[%s]", s->path, key);
}

static void forbid_beside(const struct site *s, const char *key, const char *other)
{
	char words[128];

	if (!value_of(s, other))
		return;
	(void)snprintf(words, sizeof(words), "may not be set when '%s' is specified", other);
	refuse_site(s, FIELD_FORBIDDEN, key, NULL, words);
}

/* ---- one annotation each ---- */

static void check_label(const struct site *s, const char *key)
{
	const char *v = value_of(s, key);

	if (v && !names_is_qualified(span_of(v)))
		refuse_site(s, FIELD_INVALID, key, v, names_qualified_rule(span_of(v)));
}

static void check_one_of(const struct site *s)
{
	static const char *const keys[] = {TOPOLOGY_KEY_REQUIRED, TOPOLOGY_KEY_PREFERRED,
					   TOPOLOGY_KEY_UNCONSTRAINED};
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		n += value_of(s, keys[i]) != NULL;
	if (n > 1)
		refuse(s->errors, FIELD_INVALID, NULL,
		       "must not contain more than one topology annotation: "
		       "[\"" TOPOLOGY_KEY_REQUIRED "\", \"" TOPOLOGY_KEY_PREFERRED
		       "\", \"" TOPOLOGY_KEY_UNCONSTRAINED "\"]",
		       "%s", s->path);
}

static void check_group(const struct site *s)
{
	const char *name = value_of(s, TOPOLOGY_KEY_GROUP);
	uint64_t n;

	if (!name)
		return;
	if (num_parse_u64(span_of(name), UINT64_MAX, &n) == 0)
		refuse_site(s, FIELD_INVALID, TOPOLOGY_KEY_GROUP, name, "must not be a number");
	forbid_beside(s, TOPOLOGY_KEY_GROUP, TOPOLOGY_KEY_SLICE_SIZE);
	forbid_beside(s, TOPOLOGY_KEY_GROUP, TOPOLOGY_KEY_SLICE_LEVEL);
	if (!value_of(s, TOPOLOGY_KEY_PREFERRED) && !value_of(s, TOPOLOGY_KEY_REQUIRED))
		refuse_site(s, FIELD_FORBIDDEN, TOPOLOGY_KEY_GROUP, NULL,
			    "may not be set when neither '" TOPOLOGY_KEY_PREFERRED
			    "' nor '" TOPOLOGY_KEY_REQUIRED "' is specified");
}

/* strconv.ParseBool */
static void check_unconstrained(const struct site *s)
{
	static const char *const words[] = {"1", "t", "T", "true",  "TRUE",  "True",
					    "0", "f", "F", "false", "FALSE", "False"};
	const char *v = value_of(s, TOPOLOGY_KEY_UNCONSTRAINED);

	for (size_t i = 0; v && i < ARRAY_LEN(words); i++)
		if (strcmp(v, words[i]) == 0)
			return;
	if (v)
		refuse_site(s, FIELD_INVALID, TOPOLOGY_KEY_UNCONSTRAINED, v,
			    "must be a boolean value");
}

static void check_offset(const struct site *s)
{
	const char *v = value_of(s, TOPOLOGY_KEY_OFFSET);
	uint64_t n;

	if (!v)
		return;
	if (value_of(s, TOPOLOGY_KEY_GROUP))
		forbid_beside(s, TOPOLOGY_KEY_OFFSET, TOPOLOGY_KEY_GROUP);
	else if (num_parse_u64(span_of(v), INT32_MAX, &n) < 0)
		refuse_site(s, FIELD_INVALID, TOPOLOGY_KEY_OFFSET, v,
			    "must be a non-negative integer");
}

static void check_slices(const struct site *s, int64_t count)
{
	const char *level = value_of(s, TOPOLOGY_KEY_SLICE_LEVEL);
	const char *size = value_of(s, TOPOLOGY_KEY_SLICE_SIZE);
	char words[96];
	int64_t n = 0;

	if (size && num_parse_i64(span_of(size), INT32_MIN, INT32_MAX, &n) < 0)
		refuse_site(s, FIELD_INVALID, TOPOLOGY_KEY_SLICE_SIZE, size,
			    "must be a numeric value");
	else if (size && n < 1)
		refuse_site(s, FIELD_INVALID, TOPOLOGY_KEY_SLICE_SIZE, size,
			    "must be greater than or equal to 1");
	else if (size && n > count) {
		(void)snprintf(words, sizeof(words), "must not be greater than pod set count %lld",
			       (long long)count);
		refuse_site(s, FIELD_INVALID, TOPOLOGY_KEY_SLICE_SIZE, size, words);
	}
	if (level && !size)
		refuse_site(s, FIELD_REQUIRED, TOPOLOGY_KEY_SLICE_SIZE, NULL,
			    "must be set when '" TOPOLOGY_KEY_SLICE_LEVEL "' is specified");
	if (!level && size)
		refuse_site(s, FIELD_FORBIDDEN, TOPOLOGY_KEY_SLICE_SIZE, NULL,
			    "may not be set when '" TOPOLOGY_KEY_SLICE_LEVEL "' is not specified");
}

/* ---- layers ---- */

static void check_layer(const struct site *s, const struct cJSON *list, size_t i, int64_t *ret_size)
{
	const struct cJSON *one = json_at(list, i);
	const char *level = json_str(one, "topology");
	char words[160];
	int64_t above = *ret_size;

	*ret_size = 0;
	(void)json_int64(one, "size", ret_size);
	if (!level || !names_is_qualified(span_of(level)))
		refuse_text(s->errors, FIELD_INVALID, level ? level : "",
			    names_qualified_rule(span_of(level ? level : "")),
			    "%s[" TOPOLOGY_KEY_LAYERS "][%zu].topology", s->path, i);
	if (*ret_size < 1)
		refuse(s->errors, FIELD_INVALID, json_get(one, "size"),
		       "must be greater than or equal to 1",
		       "%s[" TOPOLOGY_KEY_LAYERS "][%zu].size", s->path, i);
	for (size_t k = 0; level && k < i; k++) {
		const char *other = json_str(json_at(list, k), "topology");
		if (!other || strcmp(other, level) != 0)
			continue;
		(void)snprintf(words, sizeof(words), "%.63s (also at index %zu)", level, k);
		refuse_text(s->errors, FIELD_DUPLICATE, words, "",
			    "%s[" TOPOLOGY_KEY_LAYERS "][%zu].topology", s->path, i);
		break;
	}
	if (above > 0 && *ret_size > 0 && above % *ret_size != 0) {
		(void)snprintf(words, sizeof(words),
			       "must evenly divide the parent layer size %lld", (long long)above);
		refuse(s->errors, FIELD_INVALID, json_get(one, "size"), words,
		       "%s[" TOPOLOGY_KEY_LAYERS "][%zu].size", s->path, i);
	}
}

static void check_layers(const struct site *s, int64_t count)
{
	const char *v = value_of(s, TOPOLOGY_KEY_LAYERS);
	auto_json *list = NULL;
	char words[96];
	int64_t size = 0, first = 0;

	if (!v)
		return;
	forbid_beside(s, TOPOLOGY_KEY_LAYERS, TOPOLOGY_KEY_SLICE_LEVEL);
	forbid_beside(s, TOPOLOGY_KEY_LAYERS, TOPOLOGY_KEY_SLICE_SIZE);
	if (value_of(s, TOPOLOGY_KEY_GROUP))
		forbid_beside(s, TOPOLOGY_KEY_GROUP, TOPOLOGY_KEY_LAYERS);
	if (json_parse(span_of(v), NULL, &list, NULL) < 0 || !json_is(list, JSON_ARRAY)) {
		refuse_site(s, FIELD_INVALID, TOPOLOGY_KEY_LAYERS, v, "must be a valid JSON array");
		return;
	}
	if (json_len(list) == 0 || json_len(list) > TOPOLOGY_MAX_LAYERS) {
		refuse_site(s, FIELD_INVALID, TOPOLOGY_KEY_LAYERS, v, "must have 1 to 3 layers");
		return;
	}
	for (size_t i = 0; i < json_len(list); i++) {
		check_layer(s, list, i, &size);
		first = i ? first : size;
	}
	if (first > count) {
		(void)snprintf(words, sizeof(words), "must not be greater than pod set count %lld",
			       (long long)count);
		refuse(s->errors, FIELD_INVALID, json_get(json_at(list, 0), "size"), words,
		       "%s[" TOPOLOGY_KEY_LAYERS "]", s->path);
	}
}

/* ---- groups ---- */

struct grouped {
	struct topology_request request;
	const struct job_template *from;
};

static bool agree(const struct topology_request *a, const struct topology_request *b)
{
	return span_eq(a->required, b->required) && span_eq(a->preferred, b->preferred);
}

static void refuse_group(const struct grouped *g, const char *words, struct field_errors *errors)
{
	char name[256];

	(void)snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(g->request.group));
	refuse_text(errors, FIELD_INVALID, name, words,
		    "%.300s.metadata.annotations[" TOPOLOGY_KEY_GROUP "]", g->from->path);
}

static void check_pair(const struct grouped *a, const struct grouped *b,
		       struct field_errors *errors)
{
	const struct grouped *both[] = {a, b};
	char words[REFUSE_PATH_MAX + 256];

	if (a->from->count != 1 && b->from->count != 1) {
		(void)snprintf(words, sizeof(words),
			       "can only define groups where at least one pod set has only 1 "
			       "replica, got: %lld replica(s) and %lld replica(s) in the group",
			       (long long)a->from->count, (long long)b->from->count);
		refuse_group(a, words, errors);
		refuse_group(b, words, errors);
	}
	for (size_t i = 0; !agree(&a->request, &b->request) && i < ARRAY_LEN(both); i++) {
		(void)snprintf(words, sizeof(words),
			       "must specify '" TOPOLOGY_KEY_REQUIRED
			       "' or '" TOPOLOGY_KEY_PREFERRED
			       "' topology consistent with '%.300s.metadata.annotations' in group "
			       "'%.*s'",
			       both[1 - i]->from->path, SPAN_ARGS(a->request.group));
		refuse(errors, FIELD_INVALID, NULL, words, "%.300s.metadata.annotations",
		       both[i]->from->path);
	}
}

/* All of the name of the i-th; those before it were looked at with an earlier one. */
static void check_group_of(const struct grouped *all, size_t n, size_t i,
			   struct field_errors *errors)
{
	size_t members = 0, second = i;
	char words[96];

	for (size_t k = 0; k < n; k++) {
		if (!span_eq(all[k].request.group, all[i].request.group))
			continue;
		if (k < i)
			return;
		second = members == 1 ? k : second;
		members++;
	}
	if (members == 2) {
		check_pair(&all[i], &all[second], errors);
		return;
	}
	(void)snprintf(words, sizeof(words),
		       "can only define groups of exactly 2 pod sets, got: %zu pod set(s)",
		       members);
	for (size_t k = i; k < n; k++)
		if (span_eq(all[k].request.group, all[i].request.group))
			refuse_group(&all[k], words, errors);
}

/* ---- the whole ---- */

static void check_template(const struct job_template *t, struct field_errors *errors)
{
	struct site s = {.annotations = json_path(t->node, "metadata", "annotations", NULL),
			 .errors = errors};

	if (!s.annotations)
		return;
	(void)snprintf(s.path, sizeof(s.path), "%.300s.metadata.annotations", t->path);
	check_one_of(&s);
	check_label(&s, TOPOLOGY_KEY_REQUIRED);
	check_label(&s, TOPOLOGY_KEY_PREFERRED);
	check_label(&s, TOPOLOGY_KEY_SLICE_LEVEL);
	check_group(&s);
	check_unconstrained(&s);
	check_slices(&s, t->count);
	check_offset(&s);
	check_layers(&s, t->count);
}

void topology_request_check_job(const struct kind *k, const struct cJSON *job,
				const struct kind_write *w, struct field_errors *errors)
{
	const struct job_shape *shape = job_shape_of(k->type);
	auto_arena mem = ARENA_INIT;
	struct job_templates all = {0};

	if (!shape || w->subresource[0])
		return;
	shape->templates(job, &mem, &all);
	struct grouped *groups = arena_array(&mem, struct grouped, all.n);
	size_t n = 0;
	for (size_t i = 0; i < all.n; i++) {
		const struct job_template *t = &all.items[i];
		struct topology_request request;
		if (!t->node || t->uncounted)
			continue;
		check_template(t, errors);
		topology_request_read(t->node, &mem, &request);
		if (t->topology && topology_request_asks(&request))
			refuse_warn(
			    w->warnings,
			    "%s: the exclusive topology of the job decides alone where its "
			    "pods go; the topology that the template asks for is not looked "
			    "at",
			    t->path);
		if (request.group.len)
			groups[n++] = (struct grouped){request, t};
	}
	for (size_t i = 0; i < n; i++)
		check_group_of(groups, n, i, errors);
}
