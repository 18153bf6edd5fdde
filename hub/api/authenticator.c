#include "api/authenticator.h"

#include "api/bootstrap_token.h"
#include "base/json.h"
#include "base/map.h"
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <pthread.h>
#include <stdatomic.h>
#include <strings.h>

#define CACHE_MAX    4096
#define OIDC_LEEWAY  (10 * USEC_PER_SEC)
#define EXTRA_PREFIX "authentication.kubernetes.io/"

/* What a verified token says. Its strings are in an arena beside it. */
struct verified {
	struct auth_user user;
	bool is_account;
	unsigned keys_age; /* of the issuer's keys that it was verified with */
	struct account_token account;
	usec expires;
	struct span *audiences; /* of account tokens */
	size_t n_audiences;
};

struct cached {
	struct arena mem;
	struct verified verified;
};

struct authenticator {
	const struct pki *pki;
	struct backend *backend;
	const struct oidc_config *oidc;
	const struct request_header_config *request_header;
	struct account_issuer *issuer;
	struct map cache; /* digest of the token -> struct cached; loop only */
	pthread_mutex_t lock;
	struct jwk_set *keys; /* under the lock; NULL until they came */
	_Atomic bool lacks_key;
	_Atomic unsigned keys_age; /* counts the sets that came */
};

static int unauthorized(struct err *reterr)
{
	return err_set(reterr, ERR_UNAUTHORIZED, "Unauthorized");
}

/* Room for `n` groups, and for system:authenticated. */
static void begin(struct auth_user *u, struct arena *mem, struct span name, size_t n)
{
	*u = (struct auth_user){.name = name, .groups = arena_array(mem, struct span, n + 1)};
}

static void add_group(struct auth_user *u, struct span g)
{
	u->groups[u->n_groups++] = g;
}

static void add_extra(struct auth_user *u, struct arena *mem, const char *key, struct span value)
{
	if (!u->extra)
		u->extra = arena_array(mem, struct auth_extra, AUTH_MAX_EXTRA);
	if (value.len && u->n_extra < AUTH_MAX_EXTRA)
		u->extra[u->n_extra++] = (struct auth_extra){span_of(key), value};
}

static struct span format(struct arena *mem, const char *head, struct span a, const char *mid,
			  struct span b)
{
	struct buf t = BUF_MAX(2048);
	struct span s;
	buf_addf(&t, "%s%.*s%s%.*s", head, SPAN_ARGS(a), mid, SPAN_ARGS(b));
	s = arena_span(mem, buf_span(&t));
	buf_done(&t);
	return s;
}

/* ---- certificates and the admin's token ---- */

static bool is_named(const struct http_peer *p)
{
	return p->presented && p->verified && p->common_name && p->common_name[0] &&
	       !p->uid_unreadable;
}

static void by_certificate(const struct http_peer *p, struct arena *mem, struct auth_user *ret)
{
	const char *group = p->organizations;
	size_t n = 0;
	for (; group && *group; group += strlen(group) + 1)
		n++;
	begin(ret, mem, arena_span(mem, span_of(p->common_name)), n);
	for (group = p->organizations; group && *group; group += strlen(group) + 1)
		add_group(ret, arena_span(mem, span_of(group)));
	add_group(ret, SPAN("system:authenticated"));
	if (p->uid)
		ret->uid = arena_span(mem, span_of(p->uid));
	if (p->digest[0])
		add_extra(ret, mem, EXTRA_PREFIX "credential-id",
			  format(mem, "X509SHA256=", span_of(p->digest), "", SPAN("")));
}

static bool is_admin(const struct authenticator *a, struct span given)
{
	struct span want = pki_admin_token(a->pki);
	return want.len && given.len == want.len &&
	       CRYPTO_memcmp(given.ptr, want.ptr, want.len) == 0;
}

static void be_admin(struct auth_user *ret, struct arena *mem)
{
	begin(ret, mem, SPAN("muster-admin"), 1);
	add_group(ret, SPAN(RBAC_MASTERS));
	add_group(ret, SPAN("system:authenticated"));
}

/* ---- signed tokens ---- */

static void be_account(const struct account_token *t, struct arena *mem, struct auth_user *u)
{
	begin(u, mem, format(mem, "system:serviceaccount:", t->ns, ":", t->name), 2);
	u->uid = t->uid;
	add_group(u, SPAN("system:serviceaccounts"));
	add_group(u, format(mem, "system:serviceaccounts:", t->ns, "", SPAN("")));
	add_group(u, SPAN("system:authenticated"));
	if (t->id.len)
		add_extra(u, mem, EXTRA_PREFIX "credential-id",
			  format(mem, "JTI=", t->id, "", SPAN("")));
	if (span_is(t->bound_kind, "Pod")) {
		add_extra(u, mem, EXTRA_PREFIX "pod-name", t->bound_name);
		add_extra(u, mem, EXTRA_PREFIX "pod-uid", t->bound_uid);
		add_extra(u, mem, EXTRA_PREFIX "node-name", t->node_name);
		add_extra(u, mem, EXTRA_PREFIX "node-uid", t->node_uid);
	}
	if (span_is(t->bound_kind, "Node")) {
		add_extra(u, mem, EXTRA_PREFIX "node-name", t->bound_name);
		add_extra(u, mem, EXTRA_PREFIX "node-uid", t->bound_uid);
	}
}

static void read_audiences(const struct jwt *t, struct arena *mem, struct verified *v)
{
	const struct cJSON *aud = json_get(t->claims, "aud");
	if (!json_is(aud, JSON_ARRAY) || !json_len(aud))
		return;
	v->audiences = arena_array(mem, struct span, json_len(aud));
	json_foreach (aud, item)
		if (json_value_str(item))
			v->audiences[v->n_audiences++] =
			    arena_span(mem, span_of(json_value_str(item)));
}

static struct jwk_set *take_keys(struct authenticator *a)
{
	struct jwk_set *keys;
	pthread_mutex_lock(&a->lock);
	keys = a->keys ? jwk_set_ref(a->keys) : NULL;
	pthread_mutex_unlock(&a->lock);
	return keys;
}

static int verify_oidc(struct authenticator *a, const struct jwt *t, usec now, struct arena *mem,
		       struct verified *v, struct err *reterr)
{
	struct oidc_identity id;
	struct jwk_set *keys;
	int r = jwt_check_claims(t, a->oidc->issuer, now, OIDC_LEEWAY, reterr);
	if (!r && !jwt_is_for(t, a->oidc->client_id))
		r = err_set(reterr, ERR_UNAUTHORIZED, "the token is for another audience");
	if (r)
		return r;
	v->keys_age = atomic_load(&a->keys_age); /* before the keys: rather too old than too new */
	keys = take_keys(a);
	r = keys ? jwt_verify(t, keys, reterr) : -ENOENT;
	jwk_set_unref(keys);
	if (r) /* an issuer may change a key and keep its name, or give it none */
		atomic_store(&a->lacks_key, true);
	if (r == -ENOENT)
		return err_set(reterr, ERR_UNAUTHORIZED, "the token's key is not known");
	if (!r)
		r = oidc_identify(a->oidc, t, mem, &id, reterr);
	if (r)
		return r;
	begin(&v->user, mem, id.name, id.n_groups);
	for (size_t i = 0; i < id.n_groups; i++)
		add_group(&v->user, id.groups[i]);
	add_group(&v->user, SPAN("system:authenticated"));
	if (id.token_id.len)
		add_extra(&v->user, mem, EXTRA_PREFIX "credential-id",
			  format(mem, "JTI=", id.token_id, "", SPAN("")));
	return 0;
}

static int verify(struct authenticator *a, struct span token, usec now, struct arena *mem,
		  struct verified *v, struct err *reterr)
{
	struct jwt t;
	int r = jwt_parse(token, &t, reterr);
	if (r)
		return r;
	if (account_token_is_ours(a->issuer, &t)) {
		r = account_token_verify(a->issuer, &t, now, mem, &v->account, reterr);
		if (!r) {
			v->is_account = true;
			if (v->account.expires == ACCOUNT_TOKEN_LASTS)
				v->account.text = arena_span(mem, token);
			be_account(&v->account, mem, &v->user);
			read_audiences(&t, mem, v);
		}
	} else if (a->oidc) {
		r = verify_oidc(a, &t, now, mem, v, reterr);
	} else {
		r = err_set(reterr, ERR_UNAUTHORIZED, "the token is of an unknown issuer");
	}
	v->expires = v->is_account ? v->account.expires : jwt_expires(&t);
	jwt_done(&t);
	return r;
}

static bool is_for(const struct verified *v, struct span audience)
{
	for (size_t i = 0; i < v->n_audiences; i++)
		if (span_eq(v->audiences[i], audience))
			return true;
	return false;
}

/* ---- what was verified before ---- */

static void cached_destroy(struct cached *e)
{
	arena_done(&e->mem);
	free(e);
}

/* Makes room: what has ended goes, and when nothing has, everything. */
static void cache_sweep(struct authenticator *a, usec now)
{
	map_foreach (&a->cache, e) {
		struct cached *entry = e->value;
		if (entry->verified.expires <= now) {
			map_remove(&a->cache, span_make(e->key, e->key_len));
			cached_destroy(entry);
		}
	}
	if (a->cache.len < CACHE_MAX)
		return;
	map_foreach (&a->cache, e)
		cached_destroy(e->value);
	map_done(&a->cache);
	a->cache = MAP_INIT;
}

/* A key that its issuer has withdrawn is good no longer, nor what was verified with it. */
static bool is_current(struct authenticator *a, const struct verified *v)
{
	return v->is_account || v->keys_age == atomic_load(&a->keys_age);
}

static int look_up(struct authenticator *a, struct span token, usec now,
		   const struct verified **ret, struct err *reterr)
{
	unsigned char digest[SHA256_DIGEST_LENGTH];
	struct span key = {(const char *)digest, sizeof(digest)};
	struct cached *e;
	int r;
	SHA256((const unsigned char *)token.ptr, token.len, digest);
	e = map_get(&a->cache, key);
	if (e && (e->verified.expires + OIDC_LEEWAY <= now || !is_current(a, &e->verified))) {
		map_remove(&a->cache, key);
		cached_destroy(e);
		e = NULL;
	}
	if (!e) {
		e = xcalloc(1, sizeof(*e));
		r = verify(a, token, now, &e->mem, &e->verified, reterr);
		if (!r && e->verified.is_account &&
		    !is_for(&e->verified, span_of(account_issuer_name(a->issuer))))
			r = err_set(reterr, ERR_UNAUTHORIZED, "the token is for another audience");
		if (r) {
			cached_destroy(e);
			return r;
		}
		if (a->cache.len >= CACHE_MAX)
			cache_sweep(a, now);
		map_put(&a->cache, key, e);
	}
	*ret = &e->verified;
	return 0;
}

static int by_signed_token(struct authenticator *a, struct span token, usec now, struct arena *mem,
			   struct auth_user *ret, struct err *reterr)
{
	const struct verified *v;
	int r = look_up(a, token, now, &v, reterr);
	if (!r && v->is_account)
		r = account_token_check_live(&v->account, a->backend, reterr);
	if (!r)
		auth_user_copy(&v->user, mem, ret);
	return r;
}

/* ---- the request ---- */

static bool bearer(struct span header, struct span *ret)
{
	struct span t = header;
	if (t.len < 7 || strncasecmp(t.ptr, "Bearer ", 7) != 0)
		return false;
	t = span_make(t.ptr + 7, t.len - 7);
	while (t.len && t.ptr[0] == ' ')
		t = span_make(t.ptr + 1, t.len - 1);
	*ret = t;
	return true;
}

int authenticator_request(struct authenticator *a, const struct http_request *r, usec now,
			  struct arena *mem, struct auth_user *ret, struct err *reterr)
{
	struct span token;
	int rc = 0;
	*ret = (struct auth_user){0};
	if (a->request_header)
		rc = request_header_authenticate(a->request_header, r, mem, ret, NULL);
	if (rc)
		return rc < 0 ? unauthorized(reterr) : 0;
	/* Of a good certificate and a token the certificate counts, as with kube-apiserver. */
	if (is_named(r->peer)) {
		by_certificate(r->peer, mem, ret);
		return 0;
	}
	if (bearer(r->authorization, &token)) {
		if (is_admin(a, token))
			be_admin(ret, mem);
		else if (bootstrap_token_has_form(token))
			rc = bootstrap_token_authenticate(token, a->backend, now, mem, ret, NULL);
		else
			rc = by_signed_token(a, token, now, mem, ret, NULL);
		return rc ? unauthorized(reterr) : 0;
	}
	if (r->authorization.len || r->peer->presented)
		return unauthorized(reterr);
	begin(ret, mem, SPAN("system:anonymous"), 0);
	ret->anonymous = true;
	add_group(ret, SPAN("system:unauthenticated"));
	return 0;
}

/* ---- reviews ---- */

int authenticator_review(struct authenticator *a, struct span token, const struct span *audiences,
			 size_t n_audiences, usec now, struct arena *mem, struct auth_user *ret,
			 struct span **ret_audiences, size_t *ret_n, struct err *reterr)
{
	struct span own = span_of(account_issuer_name(a->issuer));
	struct verified v = {0};
	int r = 0;
	if (is_admin(a, token))
		be_admin(&v.user, mem);
	else if (bootstrap_token_has_form(token))
		r = bootstrap_token_authenticate(token, a->backend, now, mem, &v.user, reterr);
	else
		r = verify(a, token, now, mem, &v, reterr);
	if (!r && v.is_account)
		r = account_token_check_live(&v.account, a->backend, reterr);
	if (r)
		return r;
	if (!v.is_account) { /* as good as a token for this server */
		v.audiences = &own;
		v.n_audiences = 1;
	}
	if (!n_audiences) {
		audiences = &own;
		n_audiences = 1;
	}
	*ret_audiences = arena_array(mem, struct span, n_audiences);
	*ret_n = 0;
	for (size_t i = 0; i < n_audiences; i++)
		if (is_for(&v, audiences[i]))
			(*ret_audiences)[(*ret_n)++] = audiences[i];
	if (!*ret_n)
		return err_set(reterr, ERR_UNAUTHORIZED, "the token is for another audience");
	*ret = v.user;
	return 0;
}

const struct account_issuer *authenticator_issuer(const struct authenticator *a)
{
	return a->issuer;
}

void authenticator_set_keys(struct authenticator *a, struct jwk_set *keys)
{
	struct jwk_set *old;
	pthread_mutex_lock(&a->lock);
	old = a->keys;
	a->keys = keys;
	atomic_fetch_add(&a->keys_age, 1);
	pthread_mutex_unlock(&a->lock);
	jwk_set_unref(old);
}

bool authenticator_lacks_key(struct authenticator *a)
{
	return atomic_exchange(&a->lacks_key, false);
}

int authenticator_create(const struct authenticator_options *o, struct authenticator **ret,
			 struct err *reterr)
{
	struct authenticator *a = xcalloc(1, sizeof(*a));
	int r =
	    account_issuer_create(pki_account_key_pem(o->pki), pki_older_account_keys_pem(o->pki),
				  o->issuer, &a->issuer, reterr);
	if (r) {
		free(a);
		return r;
	}
	a->pki = o->pki;
	a->backend = o->backend;
	a->oidc = o->oidc;
	a->request_header = o->request_header;
	pthread_mutex_init(&a->lock, NULL);
	*ret = a;
	return 0;
}

struct authenticator *authenticator_destroy(struct authenticator *a)
{
	if (!a)
		return NULL;
	map_foreach (&a->cache, e)
		cached_destroy(e->value);
	map_done(&a->cache);
	account_issuer_destroy(a->issuer);
	jwk_set_unref(a->keys);
	pthread_mutex_destroy(&a->lock);
	free(a);
	return NULL;
}
