#include "core/provisioning/request.h"

#include "base/num.h"
#include "core/provisioning/request_claim.h"
#include "core/provisioning/request_share.h"

static struct span number_key(const uint64_t *number)
{
	return span_make((const char *)number, sizeof(*number));
}

static struct span name_key(struct span ns, struct span name, struct buf *b)
{
	buf_addf(b, "%.*s/%.*s", SPAN_ARGS(ns), SPAN_ARGS(name));
	return buf_span(b);
}

struct provisioning_request *request_find(const struct core *c, struct span ns, struct span name)
{
	auto_buf key = BUF_INIT;

	return map_get(&c->provisioning->by_name, name_key(ns, name, &key));
}

struct provisioning_request *request_by_uid(const struct core *c, struct span uid_text)
{
	return uid_text.len ? map_get(&c->provisioning->by_uid, uid_text) : NULL;
}

struct provisioning_request *request_by_number(const struct core *c, uint64_t number)
{
	return map_get(&c->provisioning->by_number, number_key(&number));
}

struct provisioning_request *request_add(struct core *c, struct span ns, struct span name,
					 const uint8_t uid[STORE_UID_LEN])
{
	struct provisioning *p = c->provisioning;
	struct provisioning_request *r = xcalloc(1, sizeof(*r));
	auto_buf key = BUF_INIT;

	r->number = ++p->next_number;
	r->ns = xstrndup(ns.ptr, ns.len);
	r->name = xstrndup(name.ptr, name.len);
	r->class = xstrdup("");
	r->max_run = REQUEST_MAX_RUN;
	r->again = INT64_MAX;
	memcpy(r->uid, uid, STORE_UID_LEN);
	object_uid_format(uid, r->uid_text);
	map_put(&p->by_number, number_key(&r->number), r);
	map_put(&p->by_uid, span_of(r->uid_text), r);
	map_put(&p->by_name, name_key(ns, name, &key), r);
	return r;
}

static void drop_from(struct provisioning_request **items, size_t *len,
		      const struct provisioning_request *r)
{
	size_t at = 0;

	while (at < *len && items[at] != r)
		at++;
	if (at == *len)
		return;
	memmove(items + at, items + at + 1, (--*len - at) * sizeof(struct provisioning_request *));
}

void request_destroy(struct core *c, struct provisioning_request *r)
{
	struct provisioning *p = c->provisioning;
	auto_buf key = BUF_INIT;
	struct span name = name_key(span_of(r->ns), span_of(r->name), &key);

	(void)map_remove(&p->by_number, number_key(&r->number));
	if (map_get(&p->by_uid, span_of(r->uid_text)) == r)
		(void)map_remove(&p->by_uid, span_of(r->uid_text));
	if (map_get(&p->by_name, name) == r)
		(void)map_remove(&p->by_name, name);
	request_claim_forget(c, r);
	drop_from(p->dirty.items, &p->dirty.len, r);
	drop_from(p->flushed.items, &p->flushed.len, r);
	vec_foreach (&r->tries, t) {
		free((*t)->nodes);
		free((*t)->status);
		free((*t)->message);
		free(*t);
	}
	vec_done(&r->tries);
	request_share_done(r);
	free(r->ns);
	free(r->name);
	free(r->class);
	free(r->workload);
	free(r);
}

struct request_try *request_try_add(struct provisioning_request *r, uint32_t member)
{
	struct request_try *t = xcalloc(1, sizeof(*t));

	t->member = member;
	t->dispatch.epoch = r->epoch;
	vec_push(&r->tries, t);
	return t;
}

struct request_try *request_try_on(const struct provisioning_request *r, uint32_t member)
{
	vec_foreach (&r->tries, t)
		if ((*t)->member == member)
			return *t;
	return NULL;
}

struct request_try *request_winner(const struct provisioning_request *r)
{
	vec_foreach (&r->tries, t)
		if ((*t)->phase == PROVISION_PROVISIONED ||
		    (r->kept && (*t)->provisioned_at && (*t)->phase == PROVISION_BOOKING_EXPIRED))
			return *t;
	return NULL;
}

struct request_try *request_shown(const struct provisioning_request *r)
{
	struct request_try *winner = request_winner(r);

	if (winner || r->tries.len == 0)
		return winner;
	vec_foreach (&r->tries, t)
		if ((*t)->phase < PROVISION_FAILED)
			return *t;
	/* One that failed says more than one that was given up. */
	for (size_t i = r->tries.len; i-- > 0;)
		if (r->tries.items[i]->phase != PROVISION_CANCELLED)
			return r->tries.items[i];
	return r->tries.items[r->tries.len - 1];
}

void request_dirty(struct core *c, struct provisioning_request *r)
{
	if (r->dirty)
		return;
	r->dirty = true;
	vec_push(&c->provisioning->dirty, r);
}

void request_due(struct core *c, struct provisioning_request *r, usec when)
{
	r->again = num_min(r->again, when);
	c->provisioning->due = num_min(c->provisioning->due, when);
}
