#include "secrets.h"

#include "base/vec.h"
#include "kinds/types.h"
#include "kube/object.h"
#include "store/sealed.h"

#include <errno.h>

#define BATCH 32

struct stale {
	struct object_draft draft;
	char ns[STORE_MAX_NAMESPACE + 1], name[STORE_MAX_NAME + 1];
};

struct stale_list VEC(struct stale);

static int add_stale(const struct store_object *o, struct stale_list *list)
{
	struct stale s = {0};
	object_draft_from_stored(o, &s.draft);
	(void)snprintf(s.ns, sizeof(s.ns), "%.*s", SPAN_ARGS(o->key.ns));
	(void)snprintf(s.name, sizeof(s.name), "%.*s", SPAN_ARGS(o->key.name));
	vec_push(list, s);
	return 0;
}

/* Up to BATCH stale Secrets after *last, which moves on. False at the end. */
static int find_stale(struct store *s, struct stale *last, bool *ret_more, struct stale_list *list,
		      struct err *reterr)
{
	struct store_key after = {TYPE_SECRET, span_of(last->ns), span_of(last->name)};
	struct store_range range = {.type = TYPE_SECRET, .after = last->name[0] ? &after : NULL};
	auto_reader *reader = NULL;
	struct store_iter *it;
	struct store_object o;
	int r = store_read_begin(s, &reader, reterr), e = 0;
	if (!r)
		r = store_iter_begin(reader, &range, &it, reterr);
	if (r)
		return r;
	*ret_more = false;
	while (!e && store_iter_next(it, &o, &e)) {
		bool stale = false;
		e = sealed_is_stale(s, &o.key, &stale);
		if (!e && stale)
			e = add_stale(&o, list);
		if (list->len == BATCH) {
			*ret_more = true;
			*last = list->items[BATCH - 1];
			break;
		}
	}
	store_iter_end(it);
	return e ? err_set(reterr, ERR_INVALID,
			   "a Secret in the store cannot be opened with the keys there are")
		 : 0;
}

static int write_again(struct store *s, struct stale_list *list, usec now, struct err *reterr)
{
	struct store_change changes[BATCH];
	struct store_key keys[BATCH];
	for (size_t i = 0; i < list->len; i++) {
		struct stale *one = &list->items[i];
		keys[i] = (struct store_key){TYPE_SECRET, span_of(one->ns), span_of(one->name)};
		object_draft_change(&one->draft, &keys[i], &changes[i]);
	}
	return store_apply(s, changes, list->len, now, reterr);
}

static int rewrite(struct store *s, usec now, size_t *ret_rewritten, struct err *reterr)
{
	struct stale last = {0};
	bool more = true;
	int r = 0;
	*ret_rewritten = 0;
	while (!r && more) {
		struct stale_list list = {0};
		r = find_stale(s, &last, &more, &list, reterr);
		if (!r)
			r = write_again(s, &list, now, reterr);
		*ret_rewritten += list.len;
		vec_foreach (&list, one)
			object_draft_done(&one->draft);
		vec_done(&list);
	}
	return r;
}

int secrets_seal(struct store **store, const char *key_file, usec now, size_t *ret_rewritten,
		 struct err *reterr)
{
	static const uint16_t types[] = {TYPE_SECRET};
	struct sealed_keys *keys;
	int r = sealed_keys_open(key_file, true, &keys, reterr);
	if (r)
		return r;
	*store = sealed_open(*store, keys, types, ARRAY_LEN(types));
	return rewrite(*store, now, ret_rewritten, reterr);
}
