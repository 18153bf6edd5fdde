/*
 * One pass over the list's text finds out whether the status is the manager's alone. If so its
 * entry is put anew where it belongs in the order; if not, trees are compared.
 */
#include "kube/managed_draft.h"

#include "base/json.h"

#define STATUS "status"

/* An entry as it stands in the text; values without their quotes. */
struct entry {
	struct span text, manager, operation, version, time, fields, subresource;
};

struct standing {
	struct span list;
	bool has_others;	 /* somebody else, or in more words than the short form */
	struct span own;	 /* the short entry of the status; absent when there is none */
	struct span own_time;	 /* in it */
	size_t own_place, place; /* others that stand before it, and that should */
};

static void read_entry(struct span text, struct entry *ret)
{
	struct span key, value;

	*ret = (struct entry){.text = text};
	for (size_t pos = 0; json_text_next(text, &pos, &key, &value);) {
		if (span_is(key, "fieldsV1"))
			ret->fields = value;
		else if (span_is(key, "manager"))
			ret->manager = json_text_plain(value);
		else if (span_is(key, "operation"))
			ret->operation = json_text_plain(value);
		else if (span_is(key, "apiVersion"))
			ret->version = json_text_plain(value);
		else if (span_is(key, "time"))
			ret->time = json_text_plain(value);
		else if (span_is(key, "subresource"))
			ret->subresource = json_text_plain(value);
	}
}

static bool is_short(struct span fields)
{
	struct span key, value;
	size_t pos = 0;

	return fields.len && json_text_type(fields) == JSON_OBJECT &&
	       !json_text_next(fields, &pos, &key, &value);
}

/* The order of managed_write_to: Apply first, then by time, manager, version, subresource. */
static bool stands_before(const struct entry *e, const char *manager, const char *version,
			  const char *time, const char *subresource)
{
	int c;

	if (!span_is(e->operation, "Update"))
		return true;
	c = span_cmp(e->time, span_of(time));
	if (!c)
		c = span_cmp(e->manager, span_of(manager));
	if (!c)
		c = span_cmp(e->version, span_of(version));
	return c ? c < 0 : span_cmp(e->subresource, span_of(subresource)) < 0;
}

static void look(struct span list, const char *manager, const char *version, const char *time,
		 struct standing *ret)
{
	struct span one;
	struct entry e;
	size_t n = 0;

	*ret = (struct standing){.list = list};
	for (size_t pos = 0; json_text_next(list, &pos, NULL, &one);) {
		read_entry(one, &e);
		if (span_is(e.subresource, STATUS)) {
			ret->has_others |=
			    ret->own.len || !is_short(e.fields) || !span_is(e.manager, manager) ||
			    !span_is(e.operation, "Update") || !span_is(e.version, version);
			ret->own = one;
			ret->own_time = e.time;
			ret->own_place = n;
			continue;
		}
		if (++n && stands_before(&e, manager, version, time, STATUS))
			ret->place = n;
	}
}

static bool list_of(const struct object_draft *d, struct span *ret)
{
	struct store_extent at = d->extents.metadata;

	return json_text_member(span_make(d->json + at.at, at.len), "managedFields", ret) == 0 &&
	       json_text_type(*ret) == JSON_ARRAY;
}

/* Whatever is in the list stays when there is no room for another. */
static void replace_list(struct object_draft *d, struct span list, const struct buf *text)
{
	if (!buf_ok(text) || d->len - list.len + text->len > STORE_MAX_OBJECT - STORE_REVISION_TEXT)
		return;
	object_draft_replace(d, (size_t)(list.ptr - d->json), list.len, text->ptr);
}

static void add_entry(const struct managed_write *w, const char *version, const char *time,
		      const char *fields, bool status, struct buf *out)
{
	buf_add_str(out, "{\"manager\":");
	buf_add_json_str(out, span_of(w->manager));
	buf_addf(out,
		 ",\"operation\":\"Update\",\"apiVersion\":\"%s\",\"time\":\"%s\","
		 "\"fieldsType\":\"FieldsV1\",\"fieldsV1\":%s%s}",
		 version, time, fields, status ? ",\"subresource\":\"" STATUS "\"" : "");
}

void managed_draft_add(const struct managed_write *w, bool with_status, struct buf *out)
{
	char version[KIND_API_VERSION_MAX], time[CLOCK_TEXT_MAX];

	(void)kind_api_version(w->kind, version);
	(void)clock_format(w->now, time);
	buf_add_str(out, "\"managedFields\":[");
	add_entry(w, version, time, "{}", false, out);
	if (with_status) {
		buf_add_char(out, ',');
		add_entry(w, version, time, "{}", true, out);
	}
	buf_add_char(out, ']');
}

/* ---- the short form ---- */

static void add_separated(struct buf *out, struct span entry)
{
	if (out->len > 1)
		buf_add_char(out, ',');
	buf_add_span(out, entry);
}

/* Most writes: only the time changes. */
static bool write_time(const struct standing *s, const char *time, struct object_draft *d)
{
	if (!s->own_time.len || s->own_place != s->place || s->own_time.len != strlen(time))
		return false;
	memcpy(d->json + (s->own_time.ptr - d->json), time, s->own_time.len);
	return true;
}

/* The list with the manager's entry in its place; without it when there is no status any more. */
static void write_short(const struct standing *s, struct span entry, struct buf *out)
{
	struct span one;
	size_t n = 0;

	buf_add_char(out, '[');
	if (!s->place && entry.len)
		add_separated(out, entry);
	for (size_t pos = 0; json_text_next(s->list, &pos, NULL, &one);) {
		if (s->own.len && one.ptr == s->own.ptr)
			continue;
		add_separated(out, one);
		if (++n == s->place && entry.len)
			add_separated(out, entry);
	}
	buf_add_char(out, ']');
}

/* ---- trees ---- */

/* What managed_update looks at of an object; the rest stays unparsed. */
static struct cJSON *status_tree(struct span status)
{
	auto_buf text = BUF_INIT;
	struct cJSON *tree = NULL;

	buf_add_str(&text, "{");
	if (status.len) {
		buf_add_str(&text, "\"" STATUS "\":");
		buf_add_span(&text, status);
	}
	buf_add_char(&text, '}');
	return json_parse(buf_span(&text), NULL, &tree, NULL) == 0 ? tree : NULL;
}

static void update(struct managed *m, const struct managed_write *w, const char *subresource,
		   const struct cJSON *old, const struct cJSON *now)
{
	struct managed_write through = *w;

	through.subresource = subresource;
	managed_update(m, &through, old, now);
}

/* Reads `list`, records the change, puts the result in the place of `d`'s own list. `whole`: of
 * the object and its status, else of the status alone. */
static void record(const struct managed_write *w, struct span list, const struct cJSON *old,
		   const struct cJSON *now, bool whole, struct object_draft *d)
{
	auto_json *stored = NULL, *holder = json_object();
	auto_buf text = BUF_MAX(STORE_MAX_OBJECT);
	struct managed m = MANAGED_INIT;
	struct span place;

	if (!old || !now || !list_of(d, &place) || json_parse(list, NULL, &stored, NULL) < 0 ||
	    managed_read(&m, stored, NULL) < 0)
		return;
	if (whole)
		update(&m, w, "", old, now);
	update(&m, w, STATUS, old, now);
	managed_write_to(&m, holder);
	const struct cJSON *made = json_path(holder, "metadata", "managedFields", NULL);
	if (made)
		json_print(made, &text);
	else
		buf_add_str(&text, "[]");
	replace_list(d, place, &text);
	managed_done(&m);
}

static struct span status_of(const struct object_draft *d)
{
	return span_make(d->json + d->extents.status.at, d->extents.status.len);
}

void managed_draft_status(const struct managed_write *w, const struct store_object *old,
			  struct object_draft *d)
{
	char version[KIND_API_VERSION_MAX], time[CLOCK_TEXT_MAX];
	auto_buf entry = BUF_INIT, text = BUF_MAX(STORE_MAX_OBJECT);
	struct span list, status = status_of(d);
	struct standing s;

	if (!w->kind->has_status || !list_of(d, &list) || list.len <= strlen("[]"))
		return;
	(void)kind_api_version(w->kind, version);
	(void)clock_format(w->now, time);
	look(list, w->manager, version, time, &s);
	if (s.has_others) {
		auto_json *before =
		    status_tree(old ? store_object_part(old, old->extents.status) : SPAN_NONE);
		auto_json *now = status_tree(status);
		record(w, list, before, now, false, d);
		return;
	}
	bool has_status = status.len && !is_short(status);
	if (has_status && write_time(&s, time, d))
		return;
	if (has_status)
		add_entry(w, version, time, "{}", true, &entry);
	write_short(&s, buf_span(&entry), &text);
	replace_list(d, list, &text);
}

/* ---- the whole object ---- */

/* Nobody but the manager, in short. */
static bool is_made_alone(struct span list, const char *manager)
{
	struct span one;
	struct entry e;

	for (size_t pos = 0; json_text_next(list, &pos, NULL, &one);) {
		read_entry(one, &e);
		if (!is_short(e.fields) || !span_is(e.manager, manager))
			return false;
	}
	return true;
}

void managed_draft_edited(const struct managed_write *w, const struct store_object *old,
			  struct object_draft *d)
{
	struct span list;
	auto_json *before = NULL, *now = NULL;

	if (json_text_path(old->json, &list, "metadata", "managedFields", NULL) < 0 ||
	    json_text_type(list) != JSON_ARRAY || is_made_alone(list, w->manager))
		return;
	if (object_tree(old, &before, NULL) == 0 &&
	    json_parse(span_make(d->json, d->len), NULL, &now, NULL) == 0)
		record(w, list, before, now, true, d);
}

/* ---- one field ---- */

/* Whether the entry is the manager's of this one field, which `ret_own` then is, or leaves it to
 * whoever takes it: one of another manager that owns all that is not taken. */
static bool leaves_room(const struct managed_write *w, const struct entry *e, const char *version,
			const char *fields, size_t *n_whole, struct span *ret_own)
{
	if (!span_is(e->operation, "Update") || !span_is(e->version, version))
		return false;
	if (span_is(e->manager, w->manager) && span_is(e->fields, fields)) {
		*ret_own = e->text;
		return true;
	}
	return !e->subresource.len && is_short(e->fields) && !span_is(e->manager, w->manager) &&
	       ++*n_whole == 1;
}

void managed_draft_field(const struct managed_write *w, const struct store_object *old,
			 const char *fields, struct object_draft *d)
{
	char version[KIND_API_VERSION_MAX], time[CLOCK_TEXT_MAX];
	auto_buf entry = BUF_INIT, text = BUF_MAX(STORE_MAX_OBJECT);
	struct standing s = {0};
	size_t n = 0, n_whole = 0;
	struct span one;
	struct entry e;

	if (!list_of(d, &s.list) || s.list.len <= strlen("[]"))
		return;
	(void)kind_api_version(w->kind, version);
	(void)clock_format(w->now, time);
	for (size_t pos = 0; json_text_next(s.list, &pos, NULL, &one);) {
		read_entry(one, &e);
		if (!span_is(e.subresource, STATUS) &&
		    !leaves_room(w, &e, version, fields, &n_whole, &s.own)) {
			managed_draft_edited(w, old, d);
			return;
		}
		if (one.ptr != s.own.ptr && ++n && stands_before(&e, w->manager, version, time, ""))
			s.place = n;
	}
	add_entry(w, version, time, fields, false, &entry);
	write_short(&s, buf_span(&entry), &text);
	replace_list(d, s.list, &text);
}
