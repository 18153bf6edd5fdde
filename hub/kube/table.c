#include "kube/table.h"

#include "base/json.h"
#include "kube/jsonpath.h"

#include <errno.h>

static const struct kind_column age_column = {
    "Age", "date", "", ".metadata.creationTimestamp", "Time since the object was created", 0};

static size_t n_columns(const struct kind *k)
{
	return k->n_columns ? k->n_columns : 1;
}

static const struct kind_column *column_at(const struct kind *k, size_t i)
{
	return k->n_columns ? &k->columns[i] : &age_column;
}

int table_include_parse(struct span text, enum table_include *ret)
{
	if (text.len == 0 || span_is(text, "Metadata"))
		*ret = TABLE_METADATA;
	else if (span_is(text, "Object"))
		*ret = TABLE_OBJECT;
	else if (span_is(text, "None"))
		*ret = TABLE_NONE;
	else
		return -EINVAL;
	return 0;
}

static void add_str(struct buf *out, const char *key, const char *value)
{
	buf_addf(out, "\"%s\":", key);
	buf_add_json_str(out, span_of(value ? value : ""));
}

static void add_definition(const struct kind_column *c, struct buf *out)
{
	buf_add_char(out, '{');
	add_str(out, "name", c->name);
	buf_add_char(out, ',');
	add_str(out, "type", c->type);
	buf_add_char(out, ',');
	add_str(out, "format", c->format);
	buf_add_char(out, ',');
	add_str(out, "description", c->description);
	buf_addf(out, ",\"priority\":%d}", c->priority);
}

/* The columns of Events are not about their names; one that is comes last. */
static bool names_itself(const struct kind *k)
{
	for (size_t i = 0; i < k->n_columns; i++)
		if (strcmp(k->columns[i].format, "name") == 0)
			return k->strategic;
	return false;
}

static void add_definitions(const struct kind *k, const struct table_more *more, struct buf *out)
{
	static const struct kind_column name = {
	    "Name", "string", "name", NULL, "Name of the object, unique within its namespace", 0};

	buf_add_str(out, ",\"columnDefinitions\":[");
	if (!names_itself(k))
		add_definition(&name, out);
	for (size_t i = 0; i < n_columns(k); i++) {
		if (i || !names_itself(k))
			buf_add_char(out, ',');
		add_definition(column_at(k, i), out);
	}
	for (size_t i = 0; more && i < more->n; i++) {
		buf_add_char(out, ',');
		add_definition(&more->columns[i], out);
	}
	buf_add_char(out, ']');
}

void table_begin_more(const struct kind *k, const char *version, const struct table_meta *meta,
		      bool columns, const struct table_more *more, struct buf *out)
{
	const char *sep = "";

	buf_addf(out, "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/%s\",\"metadata\":{",
		 version);
	if (meta && meta->revision) {
		buf_addf(out, "\"resourceVersion\":\"%llu\"", (unsigned long long)meta->revision);
		sep = ",";
	}
	if (meta && meta->continue_token.ptr) {
		buf_addf(out, "%s\"continue\":", sep);
		buf_add_json_str(out, meta->continue_token);
		sep = ",";
	}
	if (meta && meta->remaining >= 0 && meta->continue_token.ptr)
		buf_addf(out, "%s\"remainingItemCount\":%lld", sep, (long long)meta->remaining);
	buf_add_char(out, '}');
	if (columns)
		add_definitions(k, more, out);
	else
		buf_add_str(out, ",\"columnDefinitions\":null");
	buf_add_str(out, ",\"rows\":[");
}

void table_end(struct buf *out)
{
	buf_add_str(out, "]}");
}

static void add_date(struct span value, usec now, struct buf *out)
{
	char human[CLOCK_TEXT_MAX];
	usec then;

	if (clock_parse(json_text_plain(value), &then) < 0)
		buf_add_str(out, "\"<invalid>\"");
	else
		buf_addf(out, "\"%s\"", clock_human(now - then, human));
}

static bool is_integer(struct span value)
{
	int64_t v;
	return json_text_int64(value, &v) == 0;
}

/* As apiextensions' table convertor: a value of another type is shown as nothing, except that a
 * string column shows whatever it finds as text. */
static void add_value(const char *type, struct span value, usec now, struct buf *out)
{
	enum json_type is = json_text_type(value);
	bool shown = true;

	if (is == JSON_NULL)
		shown = false;
	else if (strcmp(type, "date") == 0)
		add_date(value, now, out);
	else if (strcmp(type, "string") == 0 && is == JSON_STRING)
		buf_add_span(out, value);
	else if (strcmp(type, "string") == 0)
		buf_add_json_str(out, value);
	else if ((strcmp(type, "integer") == 0 && is_integer(value)) ||
		 (strcmp(type, "number") == 0 && is == JSON_NUMBER) ||
		 (strcmp(type, "boolean") == 0 && is == JSON_BOOL))
		buf_add_span(out, value);
	else
		shown = false;
	if (!shown)
		buf_add_str(out, "null");
}

/* NULL when the kind computes none, or the object is no JSON tree. */
static struct cJSON *computed_cells(const struct kind *k, struct span object, usec now)
{
	auto_json *tree = NULL;
	struct cJSON *cells;

	if (!k->cells || json_parse(object, NULL, &tree, NULL) < 0)
		return NULL;
	cells = json_array();
	k->cells(k, tree, now, cells);
	return cells;
}

static void add_cells(const struct kind *k, struct span object, usec now, struct buf *out)
{
	auto_json *computed = computed_cells(k, object, now);
	const struct cJSON *next = json_first(computed);
	struct span value;

	if (names_itself(k))
		; /* its place is among the others */
	else if (json_text_path(object, &value, "metadata", "name", NULL) == 0)
		buf_add_span(out, value);
	else
		buf_add_str(out, "\"\"");
	for (size_t i = 0; i < n_columns(k); i++) {
		const struct kind_column *c = column_at(k, i);
		if (i || !names_itself(k))
			buf_add_char(out, ',');
		if (c->json_path && jsonpath_first(c->json_path, object, &value) == 0) {
			add_value(c->type, value, now, out);
		} else if (!c->json_path && next) {
			json_print(next, out);
			next = json_next(next);
		} else {
			buf_add_str(out, "null");
		}
	}
}

static void add_object(const char *version, struct span object, enum table_include include,
		       struct buf *out)
{
	struct span meta;

	buf_add_str(out, ",\"object\":");
	if (include == TABLE_NONE) {
		buf_add_str(out, "null");
		return;
	}
	if (include == TABLE_OBJECT) {
		buf_add_span(out, object);
		return;
	}
	buf_addf(
	    out,
	    "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/%s\",\"metadata\":",
	    version);
	if (json_text_member(object, "metadata", &meta) == 0)
		buf_add_span(out, meta);
	else
		buf_add_str(out, "{}");
	buf_add_char(out, '}');
}

void table_row_begin(const struct kind *k, struct span object, usec now, bool first,
		     struct buf *out)
{
	buf_add_str(out, first ? "{\"cells\":[" : ",{\"cells\":[");
	add_cells(k, object, now, out);
}

void table_row_end(const char *version, struct span object, enum table_include include,
		   struct buf *out)
{
	buf_add_char(out, ']');
	add_object(version, object, include, out);
	buf_add_char(out, '}');
}
