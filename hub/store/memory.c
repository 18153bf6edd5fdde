#include "store/memory.h"

#include "store/splice.h"

#include <sys/random.h>

static struct memory_store *self(const struct store *s)
{
	return (struct memory_store *)(uintptr_t)s;
}

static void lock(const struct memory_store *m)
{
	pthread_mutex_lock((pthread_mutex_t *)(uintptr_t)&m->lock);
}

static void unlock(const struct memory_store *m)
{
	pthread_mutex_unlock((pthread_mutex_t *)(uintptr_t)&m->lock);
}

/* ---- tables ---- */

size_t memory_table_find(const struct memory_table *t, struct span key)
{
	size_t low = 0, high = t->rows.len;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (span_cmp(memory_entry_key(t->rows.items[mid]), key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct memory_entry *memory_table_get(const struct memory_table *t, struct span key)
{
	size_t i = memory_table_find(t, key);
	if (i == t->rows.len || !span_eq(memory_entry_key(t->rows.items[i]), key))
		return NULL;
	return t->rows.items[i];
}

static struct memory_entry *table_ensure(struct memory_table *t, struct span key)
{
	size_t i = memory_table_find(t, key);
	if (i < t->rows.len && span_eq(memory_entry_key(t->rows.items[i]), key))
		return t->rows.items[i];
	struct memory_entry *e = xcalloc(1, sizeof(*e));
	e->key = xstrndup(key.ptr, key.len);
	e->key_len = key.len;
	vec_push(&t->rows, e);
	memmove(&t->rows.items[i + 1], &t->rows.items[i],
		(t->rows.len - 1 - i) * sizeof(*t->rows.items));
	t->rows.items[i] = e;
	return e;
}

static void free_version(struct memory_version *v)
{
	free((char *)(uintptr_t)v->value.ptr);
	free((char *)(uintptr_t)v->object.digest.ptr);
	free((char *)(uintptr_t)v->object.json.ptr);
	free(v->owners);
	free(v);
}

static void free_versions(struct memory_version *v)
{
	while (v) {
		struct memory_version *older = v->older;
		free_version(v);
		v = older;
	}
}

static void free_entry(struct memory_entry *e)
{
	free_versions(e->newest);
	free(e->key);
	free(e);
}

static void table_remove(struct memory_table *t, struct memory_entry *e)
{
	size_t i = memory_table_find(t, memory_entry_key(e));
	memmove(&t->rows.items[i], &t->rows.items[i + 1],
		(t->rows.len - 1 - i) * sizeof(*t->rows.items));
	t->rows.len--;
	free_entry(e);
}

static void table_done(struct memory_table *t)
{
	vec_foreach (&t->rows, e)
		free_entry(*e);
	vec_done(&t->rows);
}

/* ---- writing ---- */

static struct span copy(struct span s)
{
	return span_make(xstrndup(s.ptr ? s.ptr : "", s.len), s.len);
}

static struct memory_version *add_version(struct memory_store *m, struct memory_entry *e)
{
	struct memory_version *v = xcalloc(1, sizeof(*v));
	v->older = e->newest;
	v->entry = e;
	v->commit = m->commit;
	e->newest = v;
	return v;
}

static void set_json(struct memory_version *v, struct span bare,
		     const struct store_extents *extents, uint64_t revision)
{
	char digits[STORE_REVISION_TEXT];
	size_t n = splice_digits(revision, digits);
	char *json = xcalloc(1, bare.len + n + 1);

	splice_in(bare, extents->revision.at, digits, n, json);
	v->object.json = span_make(json, bare.len + n);
	v->object.extents = splice_shift(extents, n);
	v->object.revision = revision;
}

static uint64_t row_bytes(const struct memory_version *v)
{
	return v->object.json.len + v->object.digest.len + v->entry->key_len + 128;
}

static void add_log(struct memory_store *m, struct memory_version *v, usec now)
{
	v->time = now;
	vec_push(&m->log, v);
	m->log_bytes += row_bytes(v);
	/* The entry owns the key bytes, and lives as long as its versions. */
	if (store_key_decode(memory_entry_key(v->entry), &v->object.key) < 0)
		abort();
}

static void put_object(struct memory_store *m, struct store_change *c, usec now)
{
	struct store_key_text key;
	store_key_encode(&c->key, &key);
	struct memory_entry *e = table_ensure(&m->objects, store_key_span(&key));
	const struct memory_version *old = e->newest && !e->newest->deleted ? e->newest : NULL;
	struct memory_version *v = add_version(m, e);

	v->op = old ? STORE_LOG_MODIFIED : STORE_LOG_ADDED;
	set_json(v, c->json, &c->extents, ++m->revision);
	v->object.create_revision = old ? old->object.create_revision : m->revision;
	memcpy(v->object.uid, c->uid, STORE_UID_LEN);
	v->object.flags = c->flags;
	v->object.digest = copy(c->digest);
	v->owners = xcalloc(c->n_owners, STORE_UID_LEN);
	if (c->n_owners)
		memcpy(v->owners, c->owners, c->n_owners * STORE_UID_LEN);
	v->n_owners = c->n_owners;
	add_log(m, v, now);
	m->live += !old;
	c->ret_revision = m->revision;
	c->ret_create_revision = v->object.create_revision;
}

static void delete_object(struct memory_store *m, struct store_change *c, usec now)
{
	struct store_key_text key;
	store_key_encode(&c->key, &key);
	struct memory_entry *e = memory_table_get(&m->objects, store_key_span(&key));
	const struct memory_version *old = e->newest;
	struct memory_version *v = add_version(m, e);
	size_t bare_len = old->object.json.len - old->object.extents.revision.len;
	auto_free char *bare = xcalloc(1, bare_len + 1);
	struct store_extents extents = splice_unshift(&old->object.extents);

	splice_out(old->object.json, &old->object.extents.revision, bare);
	v->op = STORE_LOG_DELETED;
	v->deleted = true;
	v->object = old->object;
	v->object.digest = copy(old->object.digest);
	set_json(v, span_make(bare, bare_len), &extents, ++m->revision);
	add_log(m, v, now);
	m->live--;
	c->ret_revision = m->revision;
}

static void change_aux(struct memory_store *m, struct store_change *c)
{
	char key[1 + STORE_MAX_AUX_KEY];
	key[0] = (char)c->aux_table;
	memcpy(key + 1, c->aux_key.ptr, c->aux_key.len);
	struct memory_entry *e = table_ensure(&m->aux, span_make(key, 1 + c->aux_key.len));
	struct memory_version *v = add_version(m, e);
	v->deleted = c->op == STORE_DELETE_AUX;
	if (!v->deleted)
		v->value = copy(c->aux_value);
	c->ret_revision = 0;
}

/* The only refusal that needs the store's content; before anything is changed. */
static int check_deletes(const struct memory_store *m, const struct store_change *changes, size_t n,
			 struct err *reterr)
{
	for (size_t i = 0; i < n; i++) {
		struct store_key_text key;
		if (changes[i].op != STORE_DELETE)
			continue;
		store_key_encode(&changes[i].key, &key);
		const struct memory_entry *e = memory_table_get(&m->objects, store_key_span(&key));
		if (!e || e->newest->deleted)
			return err_set(reterr, ERR_NOT_FOUND, "object %.*s is not there to delete",
				       SPAN_ARGS(changes[i].key.name));
	}
	return 0;
}

static void trim(struct memory_store *m, uint64_t before, size_t rows, usec now)
{
	for (size_t budget = rows * STORE_TRIM_PER_ROW; budget > 0; budget--) {
		if (m->log_trimmed == m->log.len)
			return;
		const struct memory_version *v = m->log.items[m->log_trimmed];
		bool over = m->log_bytes > m->options.log_max_bytes;
		bool old = v->time < now - m->options.log_max_age;
		if ((!over && !old) || v->object.revision > before)
			return;
		m->log_bytes -= row_bytes(v);
		m->floor = v->object.revision;
		m->log_trimmed++;
	}
}

/* Versions below the newest one at the floor answer no question any more. */
static void collect_objects(struct memory_store *m)
{
	for (size_t i = 0; i < m->log_trimmed; i++) {
		struct memory_version *v = m->log.items[i];
		free_versions(v->older);
		v->older = NULL;
		if (v->deleted && v->entry->newest == v)
			table_remove(&m->objects, v->entry);
	}
	m->log.len -= m->log_trimmed;
	memmove(m->log.items, m->log.items + m->log_trimmed, m->log.len * sizeof(*m->log.items));
	m->log_trimmed = 0;
}

static void collect_aux(struct memory_store *m)
{
	for (size_t i = m->aux.rows.len; i-- > 0;) {
		struct memory_entry *e = m->aux.rows.items[i];
		free_versions(e->newest->older);
		e->newest->older = NULL;
		if (e->newest->deleted)
			table_remove(&m->aux, e);
	}
}

void memory_collect(struct memory_store *m)
{
	if (m->log_trimmed)
		collect_objects(m);
	/* Aux rows have no log to say what changed: look at them when enough commits went by. */
	if (m->commit % 1024 == 0)
		collect_aux(m);
}

static int memory_apply(struct store *s, struct store_change *changes, size_t n, usec now,
			struct err *reterr)
{
	struct memory_store *m = self(s);
	size_t rows = 0;

	lock(m);
	uint64_t before = m->revision;
	int r = check_deletes(m, changes, n, reterr);
	if (r < 0) {
		unlock(m);
		return r;
	}
	m->commit++;
	for (size_t i = 0; i < n; i++) {
		if (changes[i].op == STORE_PUT)
			put_object(m, &changes[i], now);
		else if (changes[i].op == STORE_DELETE)
			delete_object(m, &changes[i], now);
		else
			change_aux(m, &changes[i]);
		rows += changes[i].op == STORE_PUT || changes[i].op == STORE_DELETE;
	}
	trim(m, before, rows, now);
	if (m->n_readers == 0)
		memory_collect(m);
	unlock(m);
	return 0;
}

/* ---- the rest ---- */

static void memory_close(struct store *s)
{
	struct memory_store *m = self(s);
	table_done(&m->objects);
	table_done(&m->aux);
	vec_done(&m->log);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

static uint64_t memory_revision(const struct store *s)
{
	const struct memory_store *m = self(s);
	lock(m);
	uint64_t r = m->revision;
	unlock(m);
	return r;
}

static uint64_t memory_floor(const struct store *s)
{
	const struct memory_store *m = self(s);
	lock(m);
	uint64_t r = m->floor;
	unlock(m);
	return r;
}

static const uint8_t *memory_incarnation(const struct store *s)
{
	return self(s)->incarnation;
}

static bool memory_has_room(struct store *s)
{
	(void)s;
	return true;
}

static void memory_stats(struct store *s, struct store_stats *ret)
{
	struct memory_store *m = self(s);
	lock(m);
	*ret = (struct store_stats){
	    .log_bytes = m->log_bytes,
	    .log_rows = m->log.len - m->log_trimmed,
	    .objects = m->live,
	    .free_bytes = UINT64_MAX,
	};
	vec_foreach (&m->objects.rows, e)
		if (!(*e)->newest->deleted)
			ret->data_bytes += row_bytes((*e)->newest);
	unlock(m);
}

static const struct store_ops ops = {
    .close = memory_close,
    .apply = memory_apply,
    .revision = memory_revision,
    .floor = memory_floor,
    .incarnation = memory_incarnation,
    .has_room = memory_has_room,
    .stats = memory_stats,
    .read_begin = memory_read_begin,
};

int store_open_memory(const struct store_options *o, struct store **ret, struct err *reterr)
{
	struct memory_store *m = xcalloc(1, sizeof(*m));
	pthread_mutexattr_t attr;

	if (getrandom(m->incarnation, sizeof(m->incarnation), 0) != sizeof(m->incarnation)) {
		free(m);
		return err_set(reterr, ERR_INTERNAL, "no random bytes for an incarnation");
	}
	m->base.ops = &ops;
	store_options_complete(o, &m->options);
	m->revision = m->options.first_revision;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&m->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	*ret = &m->base;
	return 0;
}
