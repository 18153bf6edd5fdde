#include "api/render.h"

#include "api/job_columns.h"
#include "base/json.h"
#include "kube/object.h"
#include "kube/schema.h"

/* Rows are stored as the first kind of their type (kind.h). */
static const struct kind *stored_kind(const struct render *r)
{
	const struct kind *k = r->stored ? r->stored : kind_by_type(r->kinds, r->kind->type);
	return k ? k : r->kind;
}

static void add_converted(const struct render *r, struct span json, struct buf *out)
{
	struct cJSON *tree = NULL;
	if (json_parse(json, NULL, &tree, NULL) < 0) {
		out->failed = true;
		return;
	}
	r->kind->convert(r->kind, tree, KIND_FROM_STORED);
	json_print(tree, out);
	json_free(tree);
}

/* Stored text begins {"apiVersion":"...", (object.h): only that value changes. */
static void add_spliced(const struct render *r, struct span json, struct buf *out)
{
	char version[KIND_API_VERSION_MAX];
	const char *comma = memchr(json.ptr, ',', json.len);
	if (!comma) {
		buf_add_span(out, json);
		return;
	}
	buf_addf(out, "{\"apiVersion\":\"%s\"", kind_api_version(r->kind, version));
	buf_add(out, comma, json.len - (size_t)(comma - json.ptr));
}

/* Whether the kind's schema may have more defaults than when the object was written. */
static bool is_older(const struct render *r, uint64_t revision)
{
	return revision && revision < r->kind->defaults_since;
}

/* As it would be written now: defaults of a schema that came later are in, fields that it does not
 * know any more are not (apiextensions does both when it reads from its store). */
static struct buf renew(const struct render *r, struct span json)
{
	auto_json *tree = NULL;
	struct field_errors ignored = {0};
	struct buf text = BUF_INIT;
	if (json_parse(json, NULL, &tree, NULL) < 0) {
		text.failed = true;
		return text;
	}
	schema_apply(r->kind->schema, tree, &ignored, NULL);
	json_print(tree, &text);
	field_errors_done(&ignored);
	return text;
}

static void add_json(const struct render *r, struct span json, struct buf *out)
{
	const struct kind *stored = stored_kind(r);
	if (stored == r->kind)
		buf_add_span(out, json);
	else if (r->kind->convert && !r->kind->same_shape)
		add_converted(r, json, out);
	else
		add_spliced(r, json, out);
}

static void add_object(const struct render *r, const struct store_object *o, struct buf *out)
{
	if (is_older(r, o->revision)) {
		auto_buf text = renew(r, o->json);
		out->failed = out->failed || text.failed;
		add_json(r, buf_span(&text), out);
	} else {
		add_json(r, o->json, out);
	}
}

void render_json(const struct render *r, const struct store_object *o, struct buf *out)
{
	add_object(r, o, out);
}

static struct span metadata_of(const struct store_object *o)
{
	const struct store_extent *e = &o->extents.metadata;
	struct span found;
	if (e->len && (size_t)e->at + e->len <= o->json.len)
		return span_make(o->json.ptr + e->at, e->len);
	return json_text_member(o->json, "metadata", &found) == 0 ? found : SPAN("{}");
}

static void add_partial(const struct render *r, struct span metadata, struct buf *out)
{
	buf_addf(out,
		 "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/%s\","
		 "\"metadata\":",
		 r->meta_version);
	buf_add_span(out, metadata);
	buf_add_char(out, '}');
}

static void add_row(const struct render *r, const struct store_object *o, bool first,
		    struct buf *out)
{
	struct span json = o->json;
	struct buf own = BUF_INIT;
	if (stored_kind(r) != r->kind || is_older(r, o->revision)) {
		add_object(r, o, &own);
		json = buf_span(&own);
	}
	table_row_begin(r->kind, json, r->now, first, out);
	if (r->bindings)
		job_columns_cells(r, json, out);
	table_row_end(r->meta_version, json, r->include, out);
	buf_done(&own);
}

void render_table_begin(const struct render *r, const struct table_meta *meta, bool columns,
			struct buf *out)
{
	table_begin_more(r->kind, r->meta_version, meta, columns,
			 r->bindings ? &job_columns_more : NULL, out);
}

static void add_table(const struct render *r, const struct store_object *o, bool columns,
		      struct buf *out)
{
	struct table_meta meta = {.revision = o->revision, .remaining = -1};
	render_table_begin(r, &meta, columns, out);
	add_row(r, o, true, out);
	table_end(out);
}

void render_object(const struct render *r, const struct store_object *o, struct buf *out)
{
	if (r->form == FORM_TABLE)
		add_table(r, o, true, out);
	else if (r->form == FORM_PARTIAL)
		add_partial(r, metadata_of(o), out);
	else
		add_object(r, o, out);
}

void render_text(const struct render *r, struct span json, struct buf *out)
{
	struct store_object o = {.json = json};
	render_object(r, &o, out);
}

void render_event_object(const struct render *r, const struct store_object *o, bool columns,
			 struct buf *out)
{
	if (r->form == FORM_TABLE)
		add_table(r, o, columns, out);
	else
		render_object(r, o, out);
}

void render_bookmark(const struct render *r, uint64_t revision, bool initial_end, struct buf *out)
{
	char version[KIND_API_VERSION_MAX];
	const char *kind = r->kind->kind;
	if (r->form == FORM_JSON) {
		kind_api_version(r->kind, version);
	} else {
		snprintf(version, sizeof(version), "meta.k8s.io/%s", r->meta_version);
		kind = r->form == FORM_TABLE ? "Table" : "PartialObjectMetadata";
	}
	buf_addf(out, "{\"kind\":\"%s\",\"apiVersion\":\"%s\",", kind, version);
	if (r->form == FORM_TABLE)
		buf_add_str(out, "\"columnDefinitions\":[],\"rows\":[],");
	buf_addf(out, "\"metadata\":{\"resourceVersion\":\"%llu\"", (unsigned long long)revision);
	if (r->form != FORM_TABLE)
		buf_add_str(out, ",\"creationTimestamp\":null");
	if (initial_end)
		buf_add_str(out, ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}");
	buf_add_str(out, "}}");
}

void render_list_begin(const struct render *r, uint64_t revision, struct buf *out)
{
	char version[KIND_API_VERSION_MAX];
	(void)revision;
	if (r->form == FORM_TABLE) {
		struct table_meta meta = {.revision = revision, .remaining = -1};
		render_table_begin(r, &meta, true, out);
		return;
	}
	if (r->form == FORM_PARTIAL)
		buf_addf(out,
			 "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":"
			 "\"meta.k8s.io/%s\",\"items\":[",
			 r->meta_version);
	else
		buf_addf(out, "{\"kind\":\"%sList\",\"apiVersion\":\"%s\",\"items\":[",
			 r->kind->kind, kind_api_version(r->kind, version));
}

void render_list_item(const struct render *r, const struct store_object *o, bool first,
		      struct buf *out)
{
	if (r->form == FORM_TABLE) {
		add_row(r, o, first, out);
		return;
	}
	if (!first)
		buf_add_char(out, ',');
	if (r->form == FORM_PARTIAL)
		add_partial(r, metadata_of(o), out);
	else
		add_object(r, o, out);
}

void render_list_end(const struct render *r, const struct table_meta *meta, struct buf *out)
{
	if (r->form == FORM_TABLE) {
		table_end(out);
		return;
	}
	buf_addf(out, "],\"metadata\":{\"resourceVersion\":\"%llu\"",
		 (unsigned long long)meta->revision);
	if (meta->continue_token.len)
		buf_addf(out, ",\"continue\":\"%.*s\"", SPAN_ARGS(meta->continue_token));
	if (meta->remaining >= 0)
		buf_addf(out, ",\"remainingItemCount\":%lld", (long long)meta->remaining);
	buf_add_str(out, "}}\n");
}
