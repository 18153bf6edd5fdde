/*
 * The front of every backend: checks a batch and a range against the contract, then hands on.
 */
#include "store/backend.h"
#include "store/splice.h"
#include "store/store_key.h"

#include <errno.h>

/* Owners of one object: what an apiserver would ever see in ownerReferences, and then some. */
#define MAX_OWNERS 256

void store_options_complete(const struct store_options *o, struct store_options *ret)
{
	*ret = *o;
	if (!ret->map_bytes)
		ret->map_bytes = STORE_DEFAULT_MAP_BYTES;
	if (!ret->log_max_bytes)
		ret->log_max_bytes = STORE_DEFAULT_LOG_MAX_BYTES;
	if (!ret->log_max_age)
		ret->log_max_age = STORE_DEFAULT_LOG_MAX_AGE;
	if (!ret->resident_bytes)
		ret->resident_bytes = STORE_DEFAULT_RESIDENT;
	if (!ret->resident_every)
		ret->resident_every = STORE_DEFAULT_RESIDENT_EVERY;
	if (!ret->min_free_bytes)
		ret->min_free_bytes = STORE_DEFAULT_MIN_FREE;
}

struct store *store_close(struct store *s)
{
	if (s)
		s->ops->close(s);
	return NULL;
}

static int check_object(const struct store_change *c, struct err *reterr)
{
	if (!store_key_check(&c->key))
		return err_set(reterr, ERR_INVALID,
			       "bad key of type %u: namespace or name too long, "
			       "empty or with NUL",
			       c->key.type);
	if (c->op == STORE_DELETE)
		return 0;
	if (c->json.len > STORE_MAX_OBJECT || c->digest.len > STORE_MAX_OBJECT)
		return err_set(reterr, ERR_TOO_LARGE,
			       "object %.*s of %zu bytes is over the limit of %zu",
			       SPAN_ARGS(c->key.name), c->json.len, STORE_MAX_OBJECT);
	if (c->n_owners > MAX_OWNERS)
		return err_set(reterr, ERR_INVALID,
			       "object %.*s has %zu owners, over the limit of %d",
			       SPAN_ARGS(c->key.name), c->n_owners, MAX_OWNERS);
	if (!splice_check(&c->extents, c->json.len))
		return err_set(reterr, ERR_INVALID, "object %.*s: an extent is outside its bytes",
			       SPAN_ARGS(c->key.name));
	return 0;
}

static int check_aux(const struct store_change *c, struct err *reterr)
{
	if (c->aux_table == 0 || c->aux_table >= STORE_AUX_MAX)
		return err_set(reterr, ERR_INVALID, "no auxiliary table %u", c->aux_table);
	if (c->aux_key.len == 0 || c->aux_key.len > STORE_MAX_AUX_KEY)
		return err_set(reterr, ERR_INVALID, "auxiliary key of %zu bytes", c->aux_key.len);
	if (c->op == STORE_PUT_AUX && c->aux_value.len > STORE_MAX_OBJECT)
		return err_set(reterr, ERR_TOO_LARGE,
			       "auxiliary value of %zu bytes is over the limit of %zu",
			       c->aux_value.len, STORE_MAX_OBJECT);
	return 0;
}

static bool is_aux(const struct store_change *c)
{
	return c->op == STORE_PUT_AUX || c->op == STORE_DELETE_AUX;
}

static bool same_key(const struct store_change *a, const struct store_change *b)
{
	if (is_aux(a) != is_aux(b))
		return false;
	if (is_aux(a))
		return a->aux_table == b->aux_table && span_eq(a->aux_key, b->aux_key);
	return a->key.type == b->key.type && span_eq(a->key.name, b->key.name) &&
	       span_eq(a->key.ns, b->key.ns);
}

static uint32_t key_hash(const struct store_change *c)
{
	struct span s = is_aux(c) ? c->aux_key : c->key.name;
	uint32_t h = 2166136261u;
	for (size_t i = 0; i < s.len; i++)
		h = (h ^ (uint8_t)s.ptr[i]) * 16777619u;
	return h;
}

static int check_batch(const struct store_change *changes, size_t n, struct err *reterr)
{
	uint32_t hashes[STORE_MAX_CHANGES];

	if (n > STORE_MAX_CHANGES)
		return err_set(reterr, ERR_TOO_LARGE,
			       "a batch of %zu changes is over the limit of %d", n,
			       STORE_MAX_CHANGES);
	for (size_t i = 0; i < n; i++) {
		const struct store_change *c = &changes[i];
		int r = is_aux(c) ? check_aux(c, reterr) : check_object(c, reterr);
		if (r < 0)
			return r;
		hashes[i] = key_hash(c);
		for (size_t j = 0; j < i; j++)
			if (hashes[j] == hashes[i] && same_key(c, &changes[j]))
				return err_set(reterr, ERR_INVALID,
					       "two changes of one key in a batch");
	}
	return 0;
}

int store_apply(struct store *s, struct store_change *changes, size_t n, usec now,
		struct err *reterr)
{
	int r = check_batch(changes, n, reterr);
	return r < 0 || n == 0 ? r : s->ops->apply(s, changes, n, now, reterr);
}

uint64_t store_revision(const struct store *s)
{
	return s->ops->revision(s);
}

uint64_t store_floor(const struct store *s)
{
	return s->ops->floor(s);
}

const uint8_t *store_incarnation(const struct store *s)
{
	return s->ops->incarnation(s);
}

bool store_has_room(struct store *s)
{
	return s->ops->has_room(s);
}

void store_stats(struct store *s, struct store_stats *ret)
{
	s->ops->stats(s, ret);
}

int store_read_begin(struct store *s, struct store_reader **ret, struct err *reterr)
{
	return s->ops->read_begin(s, ret, reterr);
}

struct store_reader *store_read_end(struct store_reader *r)
{
	if (r)
		r->ops->end(r);
	return NULL;
}

uint64_t store_reader_revision(const struct store_reader *r)
{
	return r->revision;
}

/* What a snapshot answers at a revision of 0 or beyond itself is what it answers now. */
static int effective_revision(const struct store_reader *r, uint64_t *at)
{
	if (*at != 0 && *at < r->floor)
		return -ETIME;
	if (*at >= r->revision)
		*at = 0;
	return 0;
}

int store_get(struct store_reader *r, const struct store_key *key, struct store_object *ret)
{
	return store_key_check(key) ? r->ops->get(r, key, 0, ret) : -ENOENT;
}

int store_get_at(struct store_reader *r, const struct store_key *key, uint64_t revision,
		 struct store_object *ret)
{
	int e = effective_revision(r, &revision);
	if (e < 0)
		return e;
	return store_key_check(key) ? r->ops->get(r, key, revision, ret) : -ENOENT;
}

int store_get_aux(struct store_reader *r, uint8_t table, struct span key, struct span *ret)
{
	if (key.len == 0 || key.len > STORE_MAX_AUX_KEY)
		return -ENOENT;
	return r->ops->get_aux(r, table, key, ret);
}

int store_iter_begin(struct store_reader *r, const struct store_range *range,
		     struct store_iter **ret, struct err *reterr)
{
	struct store_range effective = *range;
	if (effective_revision(r, &effective.at_revision) < 0)
		return err_set(
		    reterr, ERR_EXPIRED, "revision %llu is below the oldest that is kept, %llu",
		    (unsigned long long)range->at_revision, (unsigned long long)r->floor);
	if (range->ns.len > STORE_MAX_NAMESPACE || (range->after && !store_key_check(range->after)))
		return err_set(reterr, ERR_INVALID, "bad key in a range");
	return r->ops->iter_begin(r, &effective, ret, reterr);
}

bool store_iter_next(struct store_iter *it, struct store_object *ret, int *ret_err)
{
	*ret_err = 0;
	return it->ops->next(it, ret, ret_err);
}

struct store_iter *store_iter_end(struct store_iter *it)
{
	if (it)
		it->ops->end(it);
	return NULL;
}

int store_scan_aux(struct store_reader *r, uint8_t table, struct span prefix,
		   int (*each)(void *arg, struct span key, struct span value), void *arg)
{
	if (prefix.len > STORE_MAX_AUX_KEY)
		return 0;
	return r->ops->scan_aux(r, table, prefix, each, arg);
}

int store_dependents(struct store_reader *r, const uint8_t uid[STORE_UID_LEN],
		     int (*each)(void *arg, const struct store_key *key), void *arg)
{
	return r->ops->dependents(r, uid, each, arg);
}

int store_count(struct store_reader *r, uint16_t type, struct span ns, size_t most, size_t *ret)
{
	if (ns.len > STORE_MAX_NAMESPACE)
		return err_errno(ERR_INVALID);
	return r->ops->count(r, type, ns, most, ret);
}

int store_log_scan(struct store_reader *r, uint64_t after,
		   int (*each)(void *arg, const struct store_log_row *row), void *arg)
{
	return after < r->floor ? -ETIME : r->ops->log_scan(r, after, NULL, each, arg);
}

int store_log_scan_type(struct store_reader *r, uint64_t after, uint16_t type,
			int (*each)(void *arg, const struct store_log_row *row), void *arg)
{
	return after < r->floor ? -ETIME : r->ops->log_scan(r, after, &type, each, arg);
}

int store_log_old(struct store_reader *r, const struct store_log_row *row, struct buf *out)
{
	return row->has_old ? r->ops->log_old(r, row, out) : -ENOENT;
}
