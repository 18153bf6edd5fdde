/*
 * Entries: reading, writing, and what a write that is no apply does to them.
 */
#include "kube/managed_fields.h"

#include "kube/managed_priv.h"

void managed_done(struct managed *m)
{
	vec_foreach (&m->trees, tree)
		json_free(*tree);
	vec_done(&m->trees);
	vec_done(&m->entries);
	arena_done(&m->mem);
}

/* ---- reading ---- */

static const char *text_of(const struct cJSON *entry, const char *key)
{
	const char *s = json_str(entry, key);
	return s ? s : "";
}

static bool same_owner(const struct managed_entry *a, const struct managed_entry *b)
{
	return a->applied == b->applied && strcmp(a->manager, b->manager) == 0 &&
	       strcmp(a->subresource, b->subresource) == 0 &&
	       (a->applied || strcmp(a->api_version, b->api_version) == 0);
}

static void add_entry(struct managed *m, const struct managed_entry *e)
{
	vec_foreach (&m->entries, other)
		if (same_owner(other, e)) {
			*other = *e;
			return;
		}
	vec_push(&m->entries, *e);
}

static int read_entry(struct managed *m, const struct cJSON *node, struct err *reterr)
{
	const struct cJSON *fields = json_get(node, "fieldsV1");
	const char *operation = text_of(node, "operation");
	struct managed_entry e = {
	    .manager = text_of(node, "manager"),
	    .api_version = text_of(node, "apiVersion"),
	    .subresource = text_of(node, "subresource"),
	    .time = json_str(node, "time"),
	    .applied = strcmp(operation, "Apply") == 0,
	    .stored = node,
	};
	int r = 0;

	if (!e.applied && strcmp(operation, "Update") != 0)
		return err_set(reterr, ERR_BAD_REQUEST, "operation must be `Apply` or `Update`");
	if (!e.api_version[0])
		return err_set(reterr, ERR_BAD_REQUEST, "apiVersion must not be empty");
	if (strcmp(text_of(node, "fieldsType"), "FieldsV1") != 0)
		return err_set(reterr, ERR_BAD_REQUEST, "fieldsType must be `FieldsV1`");
	if (fields && !json_is(fields, JSON_NULL))
		r = field_set_read(&m->mem, fields, &e.set, reterr);
	/* Of an Apply too: a client that read {} may hand the object over to an applier. */
	e.whole = (!e.subresource[0] || strcmp(e.subresource, "status") == 0) &&
		  json_is(fields, JSON_OBJECT) && !json_first(fields);
	if (r == 0)
		add_entry(m, &e);
	return r;
}

int managed_read(struct managed *m, const struct cJSON *list, struct err *reterr)
{
	int r = 0;

	*m = MANAGED_INIT;
	if (list && !json_is(list, JSON_ARRAY))
		r = err_set(reterr, ERR_BAD_REQUEST, "managedFields must be a list");
	else if (json_len(list) > MANAGED_MAX_ENTRIES)
		r = err_set(reterr, ERR_BAD_REQUEST, "more than %d entries", MANAGED_MAX_ENTRIES);
	if (r == 0)
		json_foreach (list, node) {
			r = read_entry(m, node, reterr);
			if (r < 0)
				break;
		}
	if (r < 0) {
		managed_done(m);
		*m = MANAGED_INIT;
	}
	return r;
}

/* ---- writing ---- */

static int compare_entries(const void *a, const void *b)
{
	const struct managed_entry *x = *(const struct managed_entry *const *)a;
	const struct managed_entry *y = *(const struct managed_entry *const *)b;
	int c;

	if (x->applied != y->applied)
		return x->applied ? -1 : 1; /* Apply before Update */
	/* RFC 3339 in UTC sorts as text. */
	c = strcmp(x->time ? x->time : "", y->time ? y->time : "");
	if (!c)
		c = strcmp(x->manager, y->manager);
	if (!c)
		c = strcmp(x->api_version, y->api_version);
	return c ? c : strcmp(x->subresource, y->subresource);
}

static struct cJSON *entry_tree(const struct managed_entry *e)
{
	struct cJSON *node;
	auto_buf fields = BUF_INIT;

	if (e->stored)
		return json_dup(e->stored);
	field_set_print(&e->set, &fields);
	node = json_object();
	json_add(node, "manager", json_new_str(e->manager));
	json_add(node, "operation", json_new_str(e->applied ? "Apply" : "Update"));
	json_add(node, "apiVersion", json_new_str(e->api_version));
	if (e->time)
		json_add(node, "time", json_new_str(e->time));
	json_add(node, "fieldsType", json_new_str("FieldsV1"));
	json_add(node, "fieldsV1", json_new_text(buf_span(&fields)));
	if (e->subresource[0])
		json_add(node, "subresource", json_new_str(e->subresource));
	return node;
}

void managed_write_to(const struct managed *m, struct cJSON *object)
{
	struct cJSON *metadata = json_ensure_object(object, "metadata"), *list;
	const struct managed_entry **order;
	size_t n = 0;

	if (!metadata)
		return;
	if (!m->entries.len) {
		(void)json_remove(metadata, "managedFields");
		return;
	}
	list = json_array();
	order = xcalloc(m->entries.len, sizeof(*order));
	vec_foreach (&m->entries, e)
		order[n++] = e;
	qsort(order, n, sizeof(*order), compare_entries);
	for (size_t i = 0; i < n; i++)
		json_append(list, entry_tree(order[i]));
	free(order);
	json_set(metadata, "managedFields", list);
}

/* ---- one entry ---- */

static struct managed_entry identity(struct managed *m, const struct managed_write *w, bool applied)
{
	char version[KIND_API_VERSION_MAX];
	const char *text = kind_api_version(w->kind, version);

	return (struct managed_entry){
	    .manager = w->manager[0] ? w->manager : "unknown",
	    .api_version = arena_strndup(&m->mem, text, strlen(text)),
	    .subresource = w->subresource,
	    .applied = applied,
	};
}

struct managed_entry *managed_own(struct managed *m, const struct managed_write *w, bool applied)
{
	struct managed_entry own = identity(m, w, applied);

	vec_foreach (&m->entries, e)
		if (same_owner(e, &own))
			return e;
	return NULL;
}

struct managed_entry *managed_add(struct managed *m, const struct managed_write *w, bool applied)
{
	vec_push(&m->entries, identity(m, w, applied));
	return &m->entries.items[m->entries.len - 1];
}

void managed_set(struct managed_entry *e, struct field_set set)
{
	if (!field_set_equal(&e->set, &set))
		e->stored = NULL;
	e->set = set;
}

void managed_drop_empty(struct managed *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->entries.len; i++)
		if (m->entries.items[i].whole || !field_set_is_empty(&m->entries.items[i].set))
			m->entries.items[n++] = m->entries.items[i];
	m->entries.len = n;
}

const char *managed_time(struct managed *m, usec now)
{
	char text[CLOCK_TEXT_MAX];
	const char *t = clock_format(now, text);
	return arena_strndup(&m->mem, t, strlen(t));
}

/* ---- the cap ---- */

#define ANCIENT "ancient-changes"

static int compare_age(const void *a, const void *b)
{
	const struct managed_entry *x = *(const struct managed_entry *const *)a;
	const struct managed_entry *y = *(const struct managed_entry *const *)b;
	int c = strcmp(x->time ? x->time : "", y->time ? y->time : "");
	if (!c)
		c = strcmp(x->manager, y->manager);
	return c ? c : strcmp(x->api_version, y->api_version);
}

static struct managed_entry *bucket_of(struct managed_entry **list, size_t n,
				       const struct managed_entry *e)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i]->manager, ANCIENT) == 0 && !list[i]->subresource[0] &&
		    strcmp(list[i]->api_version, e->api_version) == 0)
			return list[i];
	return NULL;
}

/* The oldest entry of a version waits for a second one; then both are that version's bucket. */
static struct managed_entry *first_of(struct managed_entry **list, size_t n,
				      const struct managed_entry *e)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i]->api_version, e->api_version) == 0 &&
		    !field_set_is_empty(&list[i]->set))
			return list[i];
	return NULL;
}

static size_t count_updaters(const struct managed *m)
{
	size_t n = 0;

	vec_foreach (&m->entries, e)
		n += !e->applied;
	return n;
}

static void cap_updaters(struct managed *m, const struct managed_write *w, const struct cJSON *now)
{
	struct managed_entry *list[MANAGED_MAX_ENTRIES + 1];
	size_t n = 0, left;

	if (count_updaters(m) <= MANAGED_MAX_UPDATERS)
		return;
	managed_spell_out(m, w, now);
	vec_foreach (&m->entries, e)
		if (!e->applied && n < ARRAY_LEN(list))
			list[n++] = e;
	qsort(list, n, sizeof(*list), compare_age);
	left = n;
	for (size_t i = 0; i < n && left > MANAGED_MAX_UPDATERS; i++) {
		struct managed_entry *first = first_of(list, i, list[i]);
		struct managed_entry *bucket = bucket_of(list, n, list[i]);
		if (!first || bucket == list[i])
			continue;
		if (!bucket) {
			bucket = first;
			bucket->manager = ANCIENT;
			bucket->subresource = "";
		}
		bucket->set = field_set_union(&m->mem, &bucket->set, &list[i]->set);
		bucket->time = list[i]->time;
		bucket->stored = NULL;
		list[i]->set = FIELD_SET_EMPTY;
		left--;
	}
	managed_drop_empty(m);
}

/* ---- update ---- */

void managed_take(struct managed_versions *v, const struct managed_entry *except)
{
	struct arena *mem = &v->m->mem;

	vec_foreach (&v->m->entries, e) {
		const struct typed_change *c;
		if (e == except)
			continue;
		c = managed_change(v, e->api_version);
		if (!c) {
			e->set = FIELD_SET_EMPTY;
			e->whole = false;
			continue;
		}
		struct field_set left = field_set_difference(mem, &e->set, &c->modified);
		left = field_set_difference(mem, &left, &c->added);
		left = field_set_difference(mem, &left, &c->removed);
		managed_set(e, left);
	}
}

static void own_taken(struct managed *m, const struct managed_write *w,
		      const struct field_set *taken)
{
	struct managed_entry *own = managed_own(m, w, false);

	if (!own)
		own = managed_add(m, w, false);
	if (!own->whole)
		own->set = field_set_union(&m->mem, &own->set, taken);
	own->time = managed_time(m, w->now);
	own->stored = NULL;
}

void managed_update(struct managed *m, const struct managed_write *w, const struct cJSON *old,
		    const struct cJSON *now)
{
	struct managed_versions v = {.m = m, .w = w, .before = old, .now = now};
	char version[KIND_API_VERSION_MAX];
	const struct typed_change *c;
	struct field_set taken;

	if (!old && !m->entries.len && !w->subresource[0]) {
		struct managed_entry *own = managed_add(m, w, false);
		own->whole = true;
		own->time = managed_time(m, w->now);
		return;
	}
	managed_open(m, w, old ? old : now, true);
	c = managed_change(&v, kind_api_version(w->kind, version));
	taken = field_set_union(&m->mem, &c->modified, &c->added);
	managed_take(&v, NULL);
	taken = managed_strip(&m->mem, &taken);
	if (!field_set_is_empty(&taken))
		own_taken(m, w, &taken);
	managed_drop_empty(m);
	managed_versions_done(&v);
	managed_close(m, w, now);
	cap_updaters(m, w, now);
}

/* ---- all of it ---- */

static bool is_reset(const struct cJSON *list)
{
	const struct cJSON *first = json_first(list);
	return json_is(list, JSON_ARRAY) &&
	       (!first || (!json_next(first) && json_is(first, JSON_OBJECT) && !json_first(first)));
}

void managed_record(const struct managed_write *w, const struct cJSON *old, struct cJSON *object,
		    const struct cJSON *sent)
{
	const struct cJSON *stored = json_path(old, "metadata", "managedFields", NULL);
	struct cJSON *kept = json_take(json_get(object, "metadata"), "managedFields");
	struct managed m = MANAGED_INIT;
	/* Through a subresource nobody sets the list itself. */
	bool reset = !w->subresource[0] && is_reset(sent);
	bool done = !reset && !w->subresource[0] && sent && managed_read(&m, sent, NULL) == 0 &&
		    m.entries.len;

	if (!done && !reset) {
		managed_done(&m);
		if (managed_read(&m, stored, NULL) < 0)
			m = MANAGED_INIT;
	}
	/* An object without entries gets none by an update: what it was is nobody's. */
	if (!old || m.entries.len)
		managed_update(&m, w, old, object);
	managed_write_to(&m, object);
	managed_done(&m);
	json_free(kept);
}

const char *managed_name_from_agent(struct span user_agent, char out[MANAGED_MAX_NAME + 1])
{
	struct span rest = user_agent, head = span_split(&rest, '/');
	size_t n = 0;

	/* What is stored must be UTF-8; a header may be anything. */
	for (size_t i = 0; i < head.len && n < MANAGED_MAX_NAME; i++)
		if (head.ptr[i] >= 0x20 && head.ptr[i] < 0x7f)
			out[n++] = head.ptr[i];
	out[n] = '\0';
	return out;
}
