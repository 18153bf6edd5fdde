#include "kinds/topology_request.h"

#include "base/num.h"

enum {
	PACKED_REQUIRED = 1,
	PACKED_PREFERRED = 2,
	PACKED_UNCONSTRAINED = 4,
	PACKED_GROUP = 8,
	PACKED_LAYERS = 16, /* from here on their number */
};

bool topology_request_asks(const struct topology_request *t)
{
	return t->required.len || t->preferred.len || t->unconstrained || t->n_layers;
}

static void add_level(struct span out[TOPOLOGY_MAX_LAYERS + 1], size_t *n, struct span level)
{
	for (size_t i = 0; i < *n; i++)
		if (span_eq(out[i], level))
			return;
	out[(*n)++] = level;
}

size_t topology_request_levels(const struct topology_request *t,
			       struct span out[TOPOLOGY_MAX_LAYERS + 1])
{
	size_t n = 0;

	if (t->required.len)
		add_level(out, &n, t->required);
	else if (t->preferred.len)
		add_level(out, &n, t->preferred);
	for (size_t i = 0; i < t->n_layers; i++)
		add_level(out, &n, t->layers[i].level);
	return n;
}

/* ---- from JSON ---- */

static const char *annotation(const struct cJSON *pod_template, const char *key)
{
	const char *v =
	    json_value_str(json_path(pod_template, "metadata", "annotations", key, NULL));
	return v && v[0] ? v : NULL;
}

static struct span text(const char *s)
{
	return s ? span_of(s) : SPAN_NONE;
}

static bool is_true(const char *s)
{
	static const char *const words[] = {"1", "t", "T", "true", "TRUE", "True"};

	for (size_t i = 0; s && i < ARRAY_LEN(words); i++)
		if (strcmp(s, words[i]) == 0)
			return true;
	return false;
}

static void add_layer(struct topology_request *t, const char *level, int64_t size)
{
	if (!level || !level[0] || size < 1 || size > INT32_MAX ||
	    t->n_layers == TOPOLOGY_MAX_LAYERS)
		return;
	t->layers[t->n_layers++] = (struct topology_layer){span_of(level), (int32_t)size};
}

static void read_layers(const struct cJSON *list, struct arena *mem, struct topology_request *t)
{
	json_foreach (list, one) {
		const char *level = json_str(one, "topology");
		int64_t size = 0;
		(void)json_int64(one, "size", &size);
		add_layer(t, level && mem ? arena_strndup(mem, level, strlen(level)) : level, size);
	}
}

static void read_slices(const struct cJSON *pod_template, struct arena *mem,
			struct topology_request *t)
{
	const char *level = annotation(pod_template, TOPOLOGY_KEY_SLICE_LEVEL);
	const char *size = annotation(pod_template, TOPOLOGY_KEY_SLICE_SIZE);
	const char *layers = annotation(pod_template, TOPOLOGY_KEY_LAYERS);
	auto_json *tree = NULL;
	uint64_t n;

	if (level && size && num_parse_u64(span_of(size), INT32_MAX, &n) == 0)
		add_layer(t, level, (int64_t)n);
	else if (layers && json_parse(span_of(layers), NULL, &tree, NULL) == 0 &&
		 json_is(tree, JSON_ARRAY))
		read_layers(tree, mem, t);
}

void topology_request_read(const struct cJSON *pod_template, struct arena *mem,
			   struct topology_request *ret)
{
	struct topology_request t = {.required =
					 text(annotation(pod_template, TOPOLOGY_KEY_REQUIRED))};

	if (!t.required.len)
		t.preferred = text(annotation(pod_template, TOPOLOGY_KEY_PREFERRED));
	if (!t.required.len && !t.preferred.len)
		t.unconstrained = is_true(annotation(pod_template, TOPOLOGY_KEY_UNCONSTRAINED));
	read_slices(pod_template, mem, &t);
	if (t.required.len || t.preferred.len)
		t.group = text(annotation(pod_template, TOPOLOGY_KEY_GROUP));
	*ret = t;
}

static struct span member(const struct cJSON *object, const char *key)
{
	const char *v = json_str(object, key);
	return v && v[0] ? span_of(v) : SPAN_NONE;
}

void topology_request_from_object(const struct cJSON *request, struct topology_request *ret)
{
	struct topology_request t = {.required = member(request, "required")};
	int64_t size = 0;

	if (!t.required.len)
		t.preferred = member(request, "preferred");
	if (!t.required.len && !t.preferred.len)
		t.unconstrained = json_bool(request, "unconstrained", false);
	if (json_int64(request, "podSetSliceSize", &size) == 0)
		add_layer(&t, json_str(request, "podSetSliceRequiredTopology"), size);
	if (!t.n_layers)
		read_layers(json_get(request, "podsetSliceRequiredTopologyConstraints"), NULL, &t);
	t.group = member(request, "podSetGroupName");
	*ret = t;
}

/* ---- to JSON ---- */

static void print_text(struct buf *out, const char **sep, const char *key, struct span value)
{
	if (!value.len)
		return;
	buf_addf(out, "%s\"%s\":", *sep, key);
	buf_add_json_str(out, value);
	*sep = ",";
}

static void print_layers(const struct topology_request *t, const char *sep, struct buf *out)
{
	if (t->n_layers == 1) {
		print_text(out, &sep, "podSetSliceRequiredTopology", t->layers[0].level);
		buf_addf(out, ",\"podSetSliceSize\":%d", t->layers[0].size);
		return;
	}
	buf_addf(out, "%s\"podsetSliceRequiredTopologyConstraints\":[", sep);
	for (size_t i = 0; i < t->n_layers; i++) {
		buf_add_str(out, i ? ",{\"topology\":" : "{\"topology\":");
		buf_add_json_str(out, t->layers[i].level);
		buf_addf(out, ",\"size\":%d}", t->layers[i].size);
	}
	buf_add_char(out, ']');
}

void topology_request_print(const struct topology_request *t, struct buf *out)
{
	const char *sep = "";

	buf_add_char(out, '{');
	print_text(out, &sep, "required", t->required);
	print_text(out, &sep, "preferred", t->preferred);
	print_text(out, &sep, "podSetGroupName", t->group);
	if (t->unconstrained) {
		buf_addf(out, "%s\"unconstrained\":true", sep);
		sep = ",";
	}
	if (t->n_layers)
		print_layers(t, sep, out);
	buf_add_char(out, '}');
}

/* ---- rows ---- */

void topology_request_pack(const struct topology_request *t, struct buf *out)
{
	info_put_u64(out, (t->required.len ? PACKED_REQUIRED : 0u) |
			      (t->preferred.len ? PACKED_PREFERRED : 0u) |
			      (t->unconstrained ? PACKED_UNCONSTRAINED : 0u) |
			      (t->group.len ? PACKED_GROUP : 0u) | t->n_layers * PACKED_LAYERS);
	if (t->required.len)
		info_put_span(out, t->required);
	if (t->preferred.len)
		info_put_span(out, t->preferred);
	if (t->group.len)
		info_put_span(out, t->group);
	for (size_t i = 0; i < t->n_layers; i++) {
		info_put_span(out, t->layers[i].level);
		info_put_i64(out, t->layers[i].size);
	}
}

void topology_request_unpack(struct info_reader *r, struct topology_request *ret)
{
	struct topology_request t = {0};
	uint64_t word = info_get_u64(r);

	t.unconstrained = word & PACKED_UNCONSTRAINED;
	if (word & PACKED_REQUIRED)
		t.required = info_get_span(r);
	if (word & PACKED_PREFERRED)
		t.preferred = info_get_span(r);
	if (word & PACKED_GROUP)
		t.group = info_get_span(r);
	if (word / PACKED_LAYERS > TOPOLOGY_MAX_LAYERS)
		r->failed = true;
	else
		t.n_layers = (size_t)(word / PACKED_LAYERS);
	for (size_t i = 0; i < t.n_layers; i++) {
		int64_t size;
		t.layers[i].level = info_get_span(r);
		size = info_get_i64(r);
		if (size < 1 || size > INT32_MAX)
			r->failed = true;
		else
			t.layers[i].size = (int32_t)size;
	}
	*ret = r->failed ? (struct topology_request){0} : t;
}
