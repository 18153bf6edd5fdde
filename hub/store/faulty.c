/*
 * A store whose n-th call fails: the seam for tests of what stands above. A call that is made to
 * fail does not reach the wrapped store, so it changed nothing, as the contract says.
 */
#include "store/backend.h"
#include "store/wrapped.h"

#include <pthread.h>

struct fault {
	uint64_t left; /* calls until the failing one; 0: healthy */
	enum err_kind kind;
	bool sticky;
};

struct faulty_store {
	struct wrapped_store wrapped;
	pthread_mutex_t lock;
	struct fault faults[STORE_CALL_MAX];
};

struct faulty_reader {
	struct wrapped_reader wrapped;
	struct faulty_store *store;
};

static struct faulty_store *self(const struct store *s)
{
	return (struct faulty_store *)(uintptr_t)s;
}

/* Counts one call: 0, or the errno it fails with. */
static int count_call(struct faulty_store *f, enum store_call call, struct err *reterr)
{
	struct fault *fault = &f->faults[call];
	enum err_kind kind = ERR_NONE;

	pthread_mutex_lock(&f->lock);
	if (fault->left > 1) {
		fault->left--;
	} else if (fault->left == 1) {
		kind = fault->kind;
		fault->left = fault->sticky;
	}
	pthread_mutex_unlock(&f->lock);
	return kind == ERR_NONE ? 0 : err_set(reterr, kind, "injected fault");
}

/* ---- reader ---- */

static void reader_end(struct store_reader *r)
{
	store_read_end(wrapped_reader_inner(r));
	free(r);
}

static int reader_get(struct store_reader *r, const struct store_key *key, uint64_t at,
		      struct store_object *ret)
{
	int e = count_call(((struct faulty_reader *)r)->store, STORE_CALL_GET, NULL);
	return e < 0 ? e : wrapped_reader_inner(r)->ops->get(wrapped_reader_inner(r), key, at, ret);
}

static int reader_get_aux(struct store_reader *r, uint8_t table, struct span key, struct span *ret)
{
	int e = count_call(((struct faulty_reader *)r)->store, STORE_CALL_GET, NULL);
	return e < 0 ? e
		     : wrapped_reader_inner(r)->ops->get_aux(wrapped_reader_inner(r), table, key,
							     ret);
}

static const struct store_reader_ops reader_ops = {
    .end = reader_end,
    .get = reader_get,
    .get_aux = reader_get_aux,
    .iter_begin = wrapped_reader_iter_begin,
    .scan_aux = wrapped_reader_scan_aux,
    .dependents = wrapped_reader_dependents,
    .count = wrapped_reader_count,
    .log_scan = wrapped_reader_log_scan,
    .log_old = wrapped_reader_log_old,
};

/* ---- store ---- */

static int faulty_read_begin(struct store *s, struct store_reader **ret, struct err *reterr)
{
	struct store_reader *inner;
	int e = count_call(self(s), STORE_CALL_READ_BEGIN, reterr);
	if (e == 0)
		e = store_read_begin(self(s)->wrapped.inner, &inner, reterr);
	if (e < 0)
		return e;
	struct faulty_reader *r = xcalloc(1, sizeof(*r));
	r->wrapped.base = (struct store_reader){&reader_ops, inner->revision, inner->floor};
	r->wrapped.inner = inner;
	r->store = self(s);
	*ret = &r->wrapped.base;
	return 0;
}

static int faulty_apply(struct store *s, struct store_change *changes, size_t n, usec now,
			struct err *reterr)
{
	int e = count_call(self(s), STORE_CALL_APPLY, reterr);
	return e < 0 ? e : store_apply(self(s)->wrapped.inner, changes, n, now, reterr);
}

static void faulty_close(struct store *s)
{
	store_close(self(s)->wrapped.inner);
	pthread_mutex_destroy(&self(s)->lock);
	free(s);
}

static const struct store_ops ops = {
    .close = faulty_close,
    .apply = faulty_apply,
    .revision = wrapped_revision,
    .floor = wrapped_floor,
    .incarnation = wrapped_incarnation,
    .has_room = wrapped_has_room,
    .stats = wrapped_stats,
    .read_begin = faulty_read_begin,
};

struct store *store_open_faulty(struct store *take_inner)
{
	struct faulty_store *f = xcalloc(1, sizeof(*f));
	f->wrapped.base.ops = &ops;
	f->wrapped.inner = take_inner;
	pthread_mutex_init(&f->lock, NULL);
	return &f->wrapped.base;
}

void store_faulty_fail(struct store *s, enum store_call call, uint64_t n, enum err_kind kind,
		       bool sticky)
{
	struct faulty_store *f = self(s);
	pthread_mutex_lock(&f->lock);
	f->faults[call] = (struct fault){.left = n, .kind = kind, .sticky = sticky};
	pthread_mutex_unlock(&f->lock);
}
