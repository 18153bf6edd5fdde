#include "core/dispatch/dependency_record.h"

#include "core/dispatch/dependency_call.h"
#include "core/member.h"

/* ---- records ---- */

struct dependency *dependency_record_find(const struct member *m, const struct kind *kind,
					  const char *ns, const char *name)
{
	auto_buf path = BUF_INIT;

	member_path(kind, ns, name, &path);
	return map_get(&m->dependencies, buf_span(&path));
}

struct dependency *dependency_record_add(struct member *m, const struct kind *kind, struct span ns,
					 struct span name, const char *path)
{
	struct dependency *d = xcalloc(1, sizeof(*d));

	d->kind = kind;
	d->path = xstrdup(path);
	d->ns = xstrndup(ns.ptr ? ns.ptr : "", ns.len);
	d->name = xstrndup(name.ptr, name.len);
	map_put(&m->dependencies, span_of(path), d);
	return d;
}

struct dependency *dependency_record_of_path(const struct core *c, struct member *m,
					     struct span path)
{
	struct dependency *d = map_get(&m->dependencies, path);
	struct span ns, name;

	if (d)
		return d;
	const struct kind *kind = dependency_call_kind(c->kinds, path, &ns, &name);
	auto_free char *text = xstrndup(path.ptr, path.len);
	return kind ? dependency_record_add(m, kind, ns, name, text) : NULL;
}

static void record_free(struct dependency *d)
{
	vec_done(&d->waiting);
	free(d->path);
	free(d->ns);
	free(d->name);
	free(d->trouble);
	free(d->conflict);
	free(d);
}

void dependency_record_remove(struct member *m, struct dependency *d)
{
	(void)map_remove(&m->dependencies, span_of(d->path));
	record_free(d);
}

void dependency_record_free_all(struct member *m)
{
	map_foreach (&m->dependencies, e)
		record_free(e->value);
	map_done(&m->dependencies);
}

void dependency_record_due(struct member *m, struct dependency *d, usec when)
{
	d->retry_at = when;
	if (!m->dependencies_due || when < m->dependencies_due)
		m->dependencies_due = when;
}
/* ---- rows ---- */

static void row_key(const struct member *m, const char *path, struct buf *out)
{
	buf_addf(out, "made/%u%s", m->number, path);
}

void dependency_record_put_made(struct core *c, const struct member *m, struct dependency *d)
{
	auto_buf key = BUF_INIT;

	d->made = true;
	d->foreign = false;
	row_key(m, d->path, &key);
	registry_put_aux(c->batch, false, STORE_AUX_SETTING, buf_span(&key),
			 span_make((const char *)&d->synced, sizeof(d->synced)));
}

void dependency_record_drop_made(struct core *c, const struct member *m, struct dependency *d)
{
	auto_buf key = BUF_INIT;

	if (!d->made)
		return;
	d->made = false;
	d->synced = 0;
	row_key(m, d->path, &key);
	registry_delete_aux(c->batch, false, STORE_AUX_SETTING, buf_span(&key));
}
bool dependency_record_is_shared(const struct dependency *d)
{
	return d->kind->type == TYPE_NAMESPACE || d->kind->type == TYPE_PRIORITY_CLASS;
}

/* ---- restart ---- */

struct restore {
	struct core *c;
	struct member *m;
	size_t skip;
};

static int restore_made(void *arg, struct span key, struct span value)
{
	const struct restore *r = arg;
	struct span path = span_make(key.ptr + r->skip, key.len - r->skip);
	struct dependency *d = dependency_record_of_path(r->c, r->m, path);

	if (!d)
		return 0;
	d->made = true;
	if (value.len == sizeof(d->synced))
		memcpy(&d->synced, value.ptr, sizeof(d->synced));
	dependency_record_due(r->m, d, r->c->now);
	return 0;
}

static int restore_needs(void *arg, struct span key, struct span value)
{
	const struct restore *r = arg;

	(void)key;
	while (value.len) {
		struct dependency *d =
		    dependency_record_of_path(r->c, r->m, span_split(&value, '\n'));
		if (d)
			d->needed++;
	}
	return 0;
}

void dependency_record_restore(struct core *c, struct member *m)
{
	struct restore r = {.c = c, .m = m};
	struct store_reader *reader;
	auto_buf made = BUF_INIT, need = BUF_INIT;

	if (registry_reader(c->batch, kind_by_type(c->kinds, TYPE_CLUSTER), &reader, NULL) < 0)
		return;
	row_key(m, "/", &made);
	r.skip = made.len - 1;
	(void)store_scan_aux(reader, STORE_AUX_SETTING, buf_span(&made), restore_made, &r);
	buf_addf(&need, "need/%u/", m->number);
	(void)store_scan_aux(reader, STORE_AUX_SETTING, buf_span(&need), restore_needs, &r);
}
