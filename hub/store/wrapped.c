#include "store/wrapped.h"

static struct store *inner_of(const struct store *s)
{
	return ((const struct wrapped_store *)s)->inner;
}

uint64_t wrapped_revision(const struct store *s)
{
	return store_revision(inner_of(s));
}

uint64_t wrapped_floor(const struct store *s)
{
	return store_floor(inner_of(s));
}

const uint8_t *wrapped_incarnation(const struct store *s)
{
	return store_incarnation(inner_of(s));
}

bool wrapped_has_room(struct store *s)
{
	return store_has_room(inner_of(s));
}

void wrapped_stats(struct store *s, struct store_stats *ret)
{
	store_stats(inner_of(s), ret);
}

int wrapped_reader_get_aux(struct store_reader *r, uint8_t table, struct span key, struct span *ret)
{
	return wrapped_reader_inner(r)->ops->get_aux(wrapped_reader_inner(r), table, key, ret);
}

int wrapped_reader_iter_begin(struct store_reader *r, const struct store_range *range,
			      struct store_iter **ret, struct err *reterr)
{
	return wrapped_reader_inner(r)->ops->iter_begin(wrapped_reader_inner(r), range, ret,
							reterr);
}

int wrapped_reader_scan_aux(struct store_reader *r, uint8_t table, struct span prefix,
			    int (*each)(void *arg, struct span key, struct span value), void *arg)
{
	return wrapped_reader_inner(r)->ops->scan_aux(wrapped_reader_inner(r), table, prefix, each,
						      arg);
}

int wrapped_reader_dependents(struct store_reader *r, const uint8_t uid[STORE_UID_LEN],
			      int (*each)(void *arg, const struct store_key *key), void *arg)
{
	return wrapped_reader_inner(r)->ops->dependents(wrapped_reader_inner(r), uid, each, arg);
}

int wrapped_reader_count(struct store_reader *r, uint16_t type, struct span ns, size_t most,
			 size_t *ret)
{
	return wrapped_reader_inner(r)->ops->count(wrapped_reader_inner(r), type, ns, most, ret);
}

int wrapped_reader_log_scan(struct store_reader *r, uint64_t after, const uint16_t *only,
			    int (*each)(void *arg, const struct store_log_row *row), void *arg)
{
	return wrapped_reader_inner(r)->ops->log_scan(wrapped_reader_inner(r), after, only, each,
						      arg);
}

int wrapped_reader_log_old(struct store_reader *r, const struct store_log_row *row, struct buf *out)
{
	return wrapped_reader_inner(r)->ops->log_old(wrapped_reader_inner(r), row, out);
}
