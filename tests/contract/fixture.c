#include "fixture.h"

#include "store/sealed.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

const char *fixture_backend_name(enum fixture_backend b)
{
	static const char *const names[] = {"memory",	   "lmdb",	    "faulty memory",
					    "faulty lmdb", "sealed memory", "sealed lmdb"};
	return names[b];
}

bool fixture_is_durable(const struct fixture *f)
{
	return f->backend == ON_LMDB || f->backend == ON_FAULTY_LMDB ||
	       f->backend == ON_SEALED_LMDB;
}

void fixture_init(struct fixture *f, enum fixture_backend b)
{
	*f = (struct fixture){.backend = b};
	f->options.map_bytes = (size_t)256 << 20;
	f->options.min_free_bytes = 1 << 20;
	if (!fixture_is_durable(f))
		return;
	const char *tmp = getenv("TMPDIR");
	char *path;
	if (asprintf(&path, "%s/store-test-XXXXXX", tmp ? tmp : "/tmp") < 0)
		abort();
	assert_non_null(mkdtemp(path));
	f->options.path = path;
}

/* All types that the tests use are sealed, but one. */
static void seal(struct fixture *f)
{
	static const uint16_t types[] = {1, 2, 3, 256, 300};
	struct sealed_keys *keys;
	struct err e = ERR_INIT;
	if (!f->key_file[0]) {
		snprintf(f->key_file, sizeof(f->key_file), "/tmp/store-keys-XXXXXX");
		int fd = mkstemp(f->key_file);
		assert_true(fd >= 0);
		close(fd);
		(void)unlink(f->key_file);
	}
	if (sealed_keys_open(f->key_file, true, &keys, &e) < 0)
		fail_msg("cannot open the keys: %s", e.text);
	f->store = sealed_open(f->store, keys, types, ARRAY_LEN(types));
}

void fixture_open(struct fixture *f)
{
	struct err e = ERR_INIT;
	int r = fixture_is_durable(f) ? store_open_lmdb(&f->options, &f->store, &e)
				      : store_open_memory(&f->options, &f->store, &e);
	if (r < 0)
		fail_msg("cannot open the store: %s", e.text);
	if (f->backend == ON_FAULTY_MEMORY || f->backend == ON_FAULTY_LMDB)
		f->store = store_open_faulty(f->store);
	if (f->backend == ON_SEALED_MEMORY || f->backend == ON_SEALED_LMDB)
		seal(f);
}

void fixture_close(struct fixture *f)
{
	f->store = store_close(f->store);
}

void fixture_remove_dir(const char *path)
{
	DIR *d = opendir(path);
	if (!d)
		return;
	for (struct dirent *e = readdir(d); e; e = readdir(d))
		if (e->d_name[0] != '.')
			(void)unlinkat(dirfd(d), e->d_name, 0);
	closedir(d);
	(void)rmdir(path);
}

void fixture_done(struct fixture *f)
{
	fixture_close(f);
	if (f->key_file[0])
		(void)unlink(f->key_file);
	f->key_file[0] = '\0';
	if (!f->options.path)
		return;
	fixture_remove_dir(f->options.path);
	free((char *)(uintptr_t)f->options.path);
	f->options.path = NULL;
}

/* ---- objects ---- */

static void copy_text(char *to, size_t size, const char *from)
{
	assert_true((size_t)snprintf(to, size, "%s", from) < size);
}

void made_put(struct made *m, uint16_t type, const char *ns, const char *name, const char *spec,
	      const char *status)
{
	auto_buf b = BUF_INIT;
	struct store_extents *x = &m->change.extents;

	*m = (struct made){.change = {.op = STORE_PUT, .flags = type + 7u}};
	copy_text(m->ns, sizeof(m->ns), ns);
	copy_text(m->name, sizeof(m->name), name);
	(void)snprintf(m->digest, sizeof(m->digest), "d%zu", strlen(spec));
	buf_add_str(&b, "{\"metadata\":");
	x->metadata.at = (uint32_t)b.len;
	buf_addf(&b, "{\"name\":\"%s\",\"resourceVersion\":\"", name);
	x->revision.at = (uint32_t)b.len;
	buf_add_str(&b, "\"}");
	x->metadata.len = (uint32_t)b.len - x->metadata.at;
	buf_add_str(&b, ",\"spec\":");
	x->spec = (struct store_extent){(uint32_t)b.len, (uint32_t)strlen(spec)};
	buf_addf(&b, "%s", spec);
	if (status) {
		buf_add_str(&b, ",\"status\":");
		x->status = (struct store_extent){(uint32_t)b.len, (uint32_t)strlen(status)};
		buf_addf(&b, "%s", status);
	}
	buf_add_char(&b, '}');
	size_t len;
	m->json = buf_steal(&b, &len);
	m->change.json = span_make(m->json, len);
	m->change.digest = span_of(m->digest);
	m->change.key = (struct store_key){type, span_of(m->ns), span_of(m->name)};
	memset(m->change.uid, (int)(name[0]), STORE_UID_LEN);
}

void made_done(struct made *m)
{
	free(m->json);
	m->json = NULL;
}

char *made_expected(const char *name, uint64_t revision, const char *spec, const char *status)
{
	auto_buf b = BUF_INIT;
	buf_addf(&b,
		 "{\"metadata\":{\"name\":\"%s\",\"resourceVersion\":\"%" PRIu64 "\"},\"spec\":",
		 name, revision);
	buf_add_str(&b, spec);
	if (status) {
		buf_add_str(&b, ",\"status\":");
		buf_add_str(&b, status);
	}
	buf_add_char(&b, '}');
	return buf_steal(&b, NULL);
}

struct store_key key_of(uint16_t type, const char *ns, const char *name)
{
	return (struct store_key){type, span_of(ns), span_of(name)};
}

static uint64_t apply_one(struct fixture *f, struct store_change *c, usec now)
{
	struct err e = ERR_INIT;
	if (store_apply(f->store, c, 1, now, &e) < 0)
		fail_msg("cannot apply: %s", e.text);
	return c->ret_revision;
}

uint64_t put_at(struct fixture *f, usec now, uint16_t type, const char *ns, const char *name,
		const char *spec, const char *status)
{
	struct made m;
	made_put(&m, type, ns, name, spec, status);
	uint64_t revision = apply_one(f, &m.change, now);
	made_done(&m);
	return revision;
}

uint64_t put(struct fixture *f, const char *name, const char *spec)
{
	return put_at(f, 1000, 1, "ns", name, spec, NULL);
}

uint64_t delete_at(struct fixture *f, usec now, uint16_t type, const char *ns, const char *name)
{
	struct store_change c = {.op = STORE_DELETE, .key = key_of(type, ns, name)};
	return apply_one(f, &c, now);
}

uint64_t delete (struct fixture *f, const char *name)
{
	return delete_at(f, 1000, 1, "ns", name);
}

int put_aux(struct fixture *f, uint8_t table, const char *key, const char *value)
{
	struct store_change c = {
	    .op = value ? STORE_PUT_AUX : STORE_DELETE_AUX,
	    .aux_table = table,
	    .aux_key = span_of(key),
	    .aux_value = span_of(value),
	};
	return store_apply(f->store, &c, 1, 1000, NULL);
}

struct store_reader *begin(struct fixture *f)
{
	struct store_reader *r = NULL;
	struct err e = ERR_INIT;
	if (store_read_begin(f->store, &r, &e) < 0)
		fail_msg("cannot begin a read: %s", e.text);
	return r;
}

void list_names(struct store_reader *r, const struct store_range *range, struct buf *out)
{
	struct store_iter *it;
	struct store_object o;
	int e;

	assert_int_equal(store_iter_begin(r, range, &it, NULL), 0);
	while (store_iter_next(it, &o, &e)) {
		buf_add_span(out, o.key.name);
		buf_add_char(out, ' ');
	}
	assert_int_equal(e, 0);
	store_iter_end(it);
	buf_add(out, "", 0);
}

void assert_names(struct store_reader *r, const struct store_range *range, const char *want)
{
	auto_buf names = BUF_INIT;
	list_names(r, range, &names);
	assert_string_equal(names.ptr, want);
}

void assert_object(const struct store_object *o, uint64_t revision, const char *spec,
		   const char *status)
{
	auto_free char *name = xstrndup(o->key.name.ptr, o->key.name.len);
	auto_free char *want = made_expected(name, revision, spec, status);
	auto_free char *got = xstrndup(o->json.ptr, o->json.len);
	assert_string_equal(got, want);
	assert_int_equal(o->revision, revision);
}
