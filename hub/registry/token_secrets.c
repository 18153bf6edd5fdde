#include "registry/token_secrets.h"

#include "base/base64.h"
#include "base/json.h"
#include "registry/registry_priv.h"
#include <errno.h>

#define TYPE	    "kubernetes.io/service-account-token"
#define ACCOUNT	    "kubernetes.io/service-account.name"
#define ACCOUNT_UID "kubernetes.io/service-account.uid"
#define ROWS_EACH   2
/* Secrets looked at per step. */
#define STEP_SECRETS 64

void token_secrets_done(struct token_secrets *t)
{
	vec_foreach (&t->namespaces, it)
		free(*it);
	vec_done(&t->namespaces);
	free(t->after_ns);
	free(t->after);
}

void token_secrets_batch_clear(struct token_secrets_batch *tb)
{
	free(tb->after_ns);
	free(tb->after);
	*tb = (struct token_secrets_batch){0};
}

bool token_secrets_is_due(const struct token_secrets *t)
{
	return t->maker.make && t->namespaces.len;
}

static bool is_one(struct span json)
{
	struct span type;

	return json_text_member(json, "type", &type) == 0 && span_is(json_text_plain(type), TYPE);
}

/* ---- one Secret ---- */

/* Sets an entry; false when it stands there already. */
static bool set_entry(struct cJSON *data, const char *key, struct span value)
{
	const char *was = json_str(data, key);
	auto_buf text = BUF_INIT;

	base64_add(&text, value);
	if (was && strcmp(was, text.ptr ? text.ptr : "") == 0)
		return false;
	json_set(data, key, json_new_span(buf_span(&text)));
	return true;
}

static bool set_token(struct registry_batch *b, const struct token_subject *s, struct cJSON *data)
{
	const struct token_maker *m = &b->reg->token_secrets.maker;
	const char *was = json_str(data, "token");
	struct buf token = BUF_INIT;
	bool made = false;

	if (!was || !was[0])
		made = m->make(m->arg, s, b->now, &token) == 0 &&
		       set_entry(data, "token", buf_span(&token));
	if (token.ptr)
		explicit_bzero(token.ptr, token.cap);
	buf_done(&token);
	return made;
}

static int fill(struct registry_batch *b, const struct store_object *o,
		const struct token_subject *s)
{
	const struct kind *k = b->reg->secret_kind;
	const char *root_ca = b->reg->belongings.root_ca;
	auto_json *tree = NULL, *before = NULL;
	struct object_draft draft;
	struct err why = ERR_INIT;
	bool changed;

	if (object_tree(o, &tree, NULL) < 0)
		return 0;
	before = json_dup(tree);
	struct cJSON *data = json_ensure_object(tree, "data");
	struct cJSON *notes = json_path(tree, "metadata", "annotations", NULL);
	const char *uid = json_str(notes, ACCOUNT_UID);
	if (!data || !notes)
		return 0;
	changed = set_token(b, s, data);
	changed |= root_ca && set_entry(data, "ca.crt", span_of(root_ca));
	changed |= set_entry(data, "namespace", s->ns);
	if (!uid || !uid[0]) {
		json_set(notes, ACCOUNT_UID, json_new_span(s->account_uid));
		changed = true;
	}
	if (!changed)
		return 0;
	registry_record(b, k, "", before, tree);
	int rc = object_draft_from_tree(k, tree, &draft, &why);
	if (rc) /* it has no room for them */
		return rc == err_errno(ERR_TOO_LARGE) ? 0 : rc;
	return registry_put(b, k, o->key.ns, o->key.name, &draft);
}

static struct span note_of(const struct store_object *o, const char *key)
{
	struct span notes, value;

	if (json_text_path(o->json, &notes, "metadata", "annotations", NULL) < 0 ||
	    json_text_type(notes) != JSON_OBJECT || json_text_member(notes, key, &value) < 0)
		return SPAN("");
	return json_text_plain(value);
}

static int settle(struct registry_batch *b, const struct store_object *o)
{
	char uid[OBJECT_UID_TEXT], secret_uid[OBJECT_UID_TEXT];
	struct span wanted = note_of(o, ACCOUNT_UID);
	struct token_subject s = {.ns = o->key.ns,
				  .account = note_of(o, ACCOUNT),
				  .secret = o->key.name,
				  .secret_uid = span_of(object_uid_format(o->uid, secret_uid))};
	struct store_object account;
	int rc = s.account.len
		     ? registry_get(b, b->reg->service_account_kind, o->key.ns, s.account, &account)
		     : -ENOENT;

	if (rc && rc != -ENOENT)
		return rc;
	if (!rc)
		s.account_uid = span_of(object_uid_format(account.uid, uid));
	if (rc == -ENOENT || (wanted.len && !span_eq(wanted, s.account_uid)))
		return registry_remove(b, b->reg->secret_kind, o->key.ns, o->key.name,
				       PROPAGATE_BACKGROUND);
	return fill(b, o, &s);
}

/* ---- work ---- */

static void remember(struct token_secrets_batch *tb, const struct store_key *key)
{
	free(tb->after_ns);
	free(tb->after);
	tb->after_ns = xstrndup(key->ns.ptr, key->ns.len);
	tb->after = xstrndup(key->name.ptr, key->name.len);
}

/* As this batch has it by now; rows that were read stay where they are until it ends. */
static int look_at(struct registry_batch *b, const struct store_object *o, size_t *rows)
{
	struct store_object now;
	int rc;

	if (!is_one(o->json))
		return 0;
	rc = registry_get(b, b->reg->secret_kind, o->key.ns, o->key.name, &now);
	if (rc || (now.flags & OBJECT_DELETING) || !is_one(now.json))
		return rc == -ENOENT ? 0 : rc;
	now.key = (struct store_key){o->key.type, arena_span(&b->mem, o->key.ns),
				     arena_span(&b->mem, o->key.name)};
	*rows -= ROWS_EACH;
	return settle(b, &now);
}

bool token_secrets_work(struct registry_batch *b, size_t *rows)
{
	const struct token_secrets *t = &b->reg->token_secrets;
	const struct kind *k = b->reg->secret_kind;
	struct store_key after = {k ? k->type : 0, span_of(t->after_ns), span_of(t->after)};
	struct token_secrets_batch *tb = &b->token_secrets;
	struct store_reader *reader;
	struct store_iter *it;
	struct store_object o;
	int failed = 0, looked = 0, rc;

	token_secrets_batch_clear(tb);
	if (!k || !token_secrets_is_due(t))
		return false;
	const char *ns = t->namespaces.items[0];
	struct store_range range = {.type = k->type,
				    .ns = ns[0] ? span_of(ns) : SPAN_NONE,
				    .after = t->after ? &after : NULL};
	rc = registry_reader(b, k, &reader, NULL);
	if (!rc)
		rc = store_iter_begin(reader, &range, &it, NULL);
	if (rc)
		return false;
	tb->ended = true;
	while (store_iter_next(it, &o, &failed)) {
		if (*rows <= ROWS_EACH || registry_batch_full(b) || looked++ == STEP_SECRETS) {
			tb->ended = false;
			break;
		}
		struct store_key key = {k->type, arena_span(&b->mem, o.key.ns),
					arena_span(&b->mem, o.key.name)};
		rc = look_at(b, &o, rows);
		if (rc)
			break;
		remember(tb, &key);
	}
	store_iter_end(it);
	tb->ended = tb->ended && !rc && !failed;
	tb->moved = true;
	return !rc && !failed;
}

/* ---- what a commit changes ---- */

static void add(struct token_secrets *t, struct span ns)
{
	if (!t->namespaces.len || !span_is(ns, t->namespaces.items[t->namespaces.len - 1]) ||
	    t->namespaces.len == 1 /* which may be half walked */)
		vec_push(&t->namespaces, xstrndup(ns.ptr, ns.len));
}

void registry_set_token_maker(struct registry *r, const struct token_maker *m)
{
	r->token_secrets.maker = *m;
	add(&r->token_secrets, SPAN(""));
}

void token_secrets_committed(struct registry_batch *b)
{
	struct token_secrets *t = &b->reg->token_secrets;
	struct token_secrets_batch *tb = &b->token_secrets;

	if (tb->moved) {
		free(t->after_ns);
		free(t->after);
		t->after_ns = tb->ended ? NULL : tb->after_ns;
		t->after = tb->ended ? NULL : tb->after;
		if (!tb->ended)
			tb->after_ns = tb->after = NULL;
	}
	if (tb->moved && tb->ended) {
		free(t->namespaces.items[0]);
		t->namespaces.len--;
		memmove(t->namespaces.items, t->namespaces.items + 1,
			t->namespaces.len * sizeof(*t->namespaces.items));
	}
	token_secrets_batch_clear(tb);
	if (!t->maker.make)
		return;
	vec_foreach (&b->changes, c) {
		if (c->kind == b->reg->service_account_kind ? c->op == STORE_DELETE
		    : c->kind == b->reg->secret_kind ? c->op == STORE_PUT && is_one(c->object.json)
						     : false)
			add(t, c->object.key.ns);
	}
}
