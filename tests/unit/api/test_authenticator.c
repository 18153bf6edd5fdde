/* Whose credentials are good: certificates, tokens of each kind, and what ends them. */
#include "request.h"

#include "api/authenticator.h"
#include "base/json.h"
#include "kinds/kinds.h"
#include "kinds/types.h"
#include "kube/object.h"
#include <stdlib.h>

#include "../access/jwt_test.h"

#define NOW    ((usec)1800000000 * USEC_PER_SEC)
#define HOUR   (3600 * USEC_PER_SEC)
#define ISSUER "https://hub.test"
#define UID_A  "11111111-1111-4111-8111-111111111111"
#define UID_B  "22222222-2222-4222-8222-222222222222"
#define UID_S  "33333333-3333-4333-8333-333333333333"

static char dir[64], oidc_issuer[] = "https://id.test", oidc_client[] = "muster",
		     oidc_groups[] = "groups";
static const struct oidc_config oidc = {
    .issuer = oidc_issuer, .client_id = oidc_client, .groups_claim = oidc_groups};

static struct world {
	struct pki *pki;
	struct store *store;
	struct backend backend;
	struct authenticator *who;
	struct arena mem;
} w;

static int setup(void **state)
{
	struct authenticator_options o = {.issuer = ISSUER, .backend = &w.backend, .oidc = &oidc};
	struct pki_options pki = {.dir = dir, .now = clock_now()};
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/test-authenticator-XXXXXX");
	if (!mkdtemp(dir) || pki_open(&pki, &w.pki, NULL) < 0 ||
	    store_open_memory(&(struct store_options){0}, &w.store, NULL) < 0)
		return -1;
	w.backend = (struct backend){.kinds = kinds_hub(), .truth = w.store};
	o.pki = w.pki;
	return authenticator_create(&o, &w.who, NULL);
}

static int teardown(void **state)
{
	char command[128];
	(void)state;
	authenticator_destroy(w.who);
	store_close(w.store);
	pki_close(w.pki);
	arena_done(&w.mem);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

/* ---- rows ---- */

static void put(uint16_t type, const char *ns, const char *name, const char *uid, const char *rest)
{
	const struct kind *k = kind_by_type(kinds_hub(), type);
	struct store_key key = {type, span_of(ns), span_of(name)};
	char version[KIND_API_VERSION_MAX];
	struct object_draft draft;
	struct store_change change;
	struct buf text = BUF_INIT;
	auto_json *tree = NULL;
	buf_addf(&text,
		 "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\","
		 "\"namespace\":\"%s\",\"uid\":\"%s\",\"creationTimestamp\":\"2026-11-21T00:00:00Z"
		 "\"}%s}",
		 kind_api_version(k, version), k->kind, name, ns, uid, rest);
	assert_int_equal(json_parse(buf_span(&text), NULL, &tree, NULL), 0);
	assert_int_equal(object_draft_from_tree(k, tree, &draft, NULL), 0);
	object_draft_change(&draft, &key, &change);
	assert_int_equal(store_apply(w.store, &change, 1, NOW, NULL), 0);
	object_draft_done(&draft);
	buf_done(&text);
}

static void delete (uint16_t type, const char *ns, const char *name)
{
	struct store_change change = {.op = STORE_DELETE,
				      .key = {type, span_of(ns), span_of(name)}};
	assert_int_equal(store_apply(w.store, &change, 1, NOW, NULL), 0);
}

/* ---- requests ---- */

static int ask(const char *token, usec now, struct auth_user *ret)
{
	struct http_request r = request_of(HTTP_GET, "/api", NULL);
	struct err e = ERR_INIT;
	char header[20000];
	int rc;
	snprintf(header, sizeof(header), "Bearer %s", token);
	r.authorization = span_of(header);
	rc = authenticator_request(w.who, &r, now, &w.mem, ret, &e);
	if (rc)
		assert_string_equal(e.text, "Unauthorized");
	return rc;
}

static bool good(const char *token, usec now)
{
	struct auth_user u;
	return ask(token, now, &u) == 0;
}

static char *account_token(struct account_token about, const char *audience)
{
	struct account_wish wish = {
	    .account = about, .audiences = &audience, .n_audiences = 1, .seconds = 3600};
	struct buf b = BUF_INIT;
	if (!about.ns.ptr) {
		wish.account.ns = SPAN("team");
		wish.account.name = SPAN("robot");
		wish.account.uid = SPAN(UID_A);
	}
	assert_int_equal(account_token_make(authenticator_issuer(w.who), &wish, NOW, &b, NULL), 0);
	return buf_steal(&b, NULL);
}

/* ---- certificates, the admin, nobody ---- */

static void a_certificate_names_user_and_groups(void **state)
{
	char name[] = "alice", groups[] = "dev\0ops\0";
	struct http_peer p = {
	    .presented = true, .verified = true, .common_name = name, .organizations = groups};
	struct http_request r = request_of(HTTP_GET, "/api/v1/pods", NULL);
	struct auth_user u;
	(void)state;
	r.peer = &p;
	assert_int_equal(authenticator_request(w.who, &r, NOW, &w.mem, &u, NULL), 0);
	assert_span(u.name, "alice");
	assert_true(auth_in_group(&u, "dev"));
	assert_true(auth_in_group(&u, "ops"));
	assert_true(auth_in_group(&u, "system:authenticated"));
	assert_false(auth_in_group(&u, "system:masters"));
}

static void a_certificate_has_a_digest_and_may_have_a_uid(void **state)
{
	char name[] = "alice", groups[] = "\0", uid[] = "42";
	struct http_peer p = {.presented = true,
			      .verified = true,
			      .common_name = name,
			      .organizations = groups,
			      .digest = "ab12"};
	struct http_request r = request_of(HTTP_GET, "/api/v1/pods", NULL);
	struct auth_user u;
	(void)state;
	r.peer = &p;
	assert_int_equal(authenticator_request(w.who, &r, NOW, &w.mem, &u, NULL), 0);
	assert_false(u.uid.len);
	assert_int_equal(u.n_extra, 1);
	assert_span(u.extra[0].key, "authentication.kubernetes.io/credential-id");
	assert_span(u.extra[0].value, "X509SHA256=ab12");
	p.uid = uid;
	assert_int_equal(authenticator_request(w.who, &r, NOW, &w.mem, &u, NULL), 0);
	assert_span(u.uid, "42");
	p.uid_unreadable = true;
	assert_int_equal(authenticator_request(w.who, &r, NOW, &w.mem, &u, NULL),
			 err_errno(ERR_UNAUTHORIZED));
}

static void an_unverified_certificate_is_nobody_s(void **state)
{
	char name[] = "alice", groups[] = "system:masters\0";
	struct http_peer p = {.presented = true, .common_name = name, .organizations = groups};
	struct http_request r = request_of(HTTP_GET, "/api/v1/pods", NULL);
	struct auth_user u;
	struct err e = ERR_INIT;
	(void)state;
	r.peer = &p;
	assert_true(authenticator_request(w.who, &r, NOW, &w.mem, &u, &e) < 0);
	assert_int_equal(e.kind, ERR_UNAUTHORIZED);
}

static void a_good_certificate_goes_before_a_token(void **state)
{
	char name[] = "alice", groups[] = "dev\0", header[128];
	struct http_peer p = {
	    .presented = true, .verified = true, .common_name = name, .organizations = groups};
	struct http_request r = request_of(HTTP_GET, "/api/v1/pods", NULL);
	struct auth_user u;
	(void)state;
	snprintf(header, sizeof(header), "Bearer %.*s", SPAN_ARGS(pki_admin_token(w.pki)));
	r.peer = &p;
	r.authorization = span_of(header);
	assert_int_equal(authenticator_request(w.who, &r, NOW, &w.mem, &u, NULL), 0);
	assert_span(u.name, "alice");
	assert_false(auth_in_group(&u, "system:masters"));
	p.verified = false; /* then the token is asked */
	assert_int_equal(authenticator_request(w.who, &r, NOW, &w.mem, &u, NULL), 0);
	assert_span(u.name, "muster-admin");
}

static void the_admin_token_is_checked_whole(void **state)
{
	struct http_request r = request_of(HTTP_GET, "/api", NULL);
	char token[128];
	struct auth_user u;
	(void)state;
	snprintf(token, sizeof(token), "%.*s", SPAN_ARGS(pki_admin_token(w.pki)));
	assert_int_equal(ask(token, NOW, &u), 0);
	assert_true(auth_in_group(&u, "system:masters"));
	token[strlen(token) - 1] = '\0';
	assert_false(good(token, NOW));
	assert_false(good("", NOW));
	r.authorization = SPAN("Basic YTpi");
	assert_true(authenticator_request(w.who, &r, NOW, &w.mem, &u, NULL) < 0);
}

static void without_credentials_one_is_anonymous(void **state)
{
	struct http_request r = request_of(HTTP_GET, "/version", NULL);
	struct auth_user u;
	(void)state;
	assert_int_equal(authenticator_request(w.who, &r, NOW, &w.mem, &u, NULL), 0);
	assert_true(u.anonymous);
	assert_span(u.name, "system:anonymous");
	assert_true(auth_in_group(&u, "system:unauthenticated"));
	assert_false(auth_in_group(&u, "system:authenticated"));
}

/* ---- ServiceAccounts ---- */

static void an_account_is_who_its_token_says(void **state)
{
	auto_free char *token = account_token((struct account_token){0}, ISSUER);
	struct auth_user u;
	(void)state;
	assert_false(good(token, NOW)); /* no such account yet */
	put(TYPE_SERVICE_ACCOUNT, "team", "robot", UID_A, "");
	for (int i = 0; i < 2; i++) { /* from the signature, then from memory */
		assert_int_equal(ask(token, NOW, &u), 0);
		assert_span(u.name, "system:serviceaccount:team:robot");
		assert_span(u.uid, UID_A);
		assert_int_equal(u.n_groups, 3);
		assert_span(u.groups[0], "system:serviceaccounts");
		assert_span(u.groups[1], "system:serviceaccounts:team");
		assert_span(u.groups[2], "system:authenticated");
		assert_int_equal(u.n_extra, 1);
		assert_span(u.extra[0].key, "authentication.kubernetes.io/credential-id");
	}
}

static void a_token_ends_with_its_hour_and_its_account(void **state)
{
	auto_free char *token = account_token((struct account_token){0}, ISSUER);
	(void)state;
	put(TYPE_SERVICE_ACCOUNT, "team", "robot", UID_A, "");
	assert_true(good(token, NOW));
	assert_true(good(token, NOW + HOUR - USEC_PER_SEC));
	assert_false(good(token, NOW + HOUR + 11 * USEC_PER_SEC));
	assert_true(good(token, NOW));
	delete (TYPE_SERVICE_ACCOUNT, "team", "robot");
	assert_false(good(token, NOW));
	put(TYPE_SERVICE_ACCOUNT, "team", "robot", UID_B, ""); /* another of that name */
	assert_false(good(token, NOW));
	put(TYPE_SERVICE_ACCOUNT, "team", "robot", UID_A,
	    ",\"secrets\":[]"); /* the same, changed */
	assert_true(good(token, NOW));
}

static void a_deleting_account_is_gone(void **state)
{
	auto_free char *token = account_token((struct account_token){0}, ISSUER);
	struct object_draft draft;
	struct store_key key = {TYPE_SERVICE_ACCOUNT, SPAN("team"), SPAN("robot")};
	struct store_change change;
	struct store_object o;
	auto_reader *reader = NULL;
	(void)state;
	put(TYPE_SERVICE_ACCOUNT, "team", "robot", UID_A, "");
	assert_true(good(token, NOW));
	assert_int_equal(store_read_begin(w.store, &reader, NULL), 0);
	assert_int_equal(store_get(reader, &key, &o), 0);
	object_draft_from_stored(&o, &draft);
	draft.flags |= OBJECT_DELETING;
	object_draft_change(&draft, &key, &change);
	assert_int_equal(store_apply(w.store, &change, 1, NOW, NULL), 0);
	object_draft_done(&draft);
	assert_false(good(token, NOW));
}

static void a_token_is_for_its_audience(void **state)
{
	auto_free char *vault = account_token((struct account_token){0}, "vault");
	struct span asked[] = {SPAN("other"), SPAN("vault")};
	struct auth_user u;
	struct span *audiences;
	size_t n;
	struct err e = ERR_INIT;
	(void)state;
	put(TYPE_SERVICE_ACCOUNT, "team", "robot", UID_A, "");
	assert_false(good(vault, NOW));
	assert_true(authenticator_review(w.who, span_of(vault), NULL, 0, NOW, &w.mem, &u,
					 &audiences, &n, &e) < 0);
	assert_string_equal(e.text, "the token is for another audience");
	assert_int_equal(authenticator_review(w.who, span_of(vault), asked, 2, NOW, &w.mem, &u,
					      &audiences, &n, &e),
			 0);
	assert_int_equal(n, 1);
	assert_span(audiences[0], "vault");
	assert_span(u.name, "system:serviceaccount:team:robot");
}

static void a_bound_token_ends_with_what_it_is_bound_to(void **state)
{
	struct account_token about = {.ns = SPAN("team"),
				      .name = SPAN("robot"),
				      .uid = SPAN(UID_A),
				      .bound_kind = SPAN("Secret"),
				      .bound_name = SPAN("s"),
				      .bound_uid = SPAN(UID_S)};
	auto_free char *token = account_token(about, ISSUER);
	(void)state;
	put(TYPE_SERVICE_ACCOUNT, "team", "robot", UID_A, "");
	assert_false(good(token, NOW));
	put(TYPE_SECRET, "team", "s", UID_S, ",\"type\":\"Opaque\"");
	assert_true(good(token, NOW));
	delete (TYPE_SECRET, "team", "s");
	assert_false(good(token, NOW));
}

static void a_pod_s_token_says_on_which_node(void **state)
{
	static const char *const want[][2] = {
	    {"pod-name", "p"}, {"pod-uid", UID_S}, {"node-name", "n"}, {"node-uid", UID_B}};
	struct account_token about = {.ns = SPAN("team"),
				      .name = SPAN("robot"),
				      .uid = SPAN(UID_A),
				      .bound_kind = SPAN("Pod"),
				      .bound_name = SPAN("p"),
				      .bound_uid = SPAN(UID_S),
				      .node_name = SPAN("n"),
				      .node_uid = SPAN(UID_B)};
	auto_free char *token = account_token(about, ISSUER);
	struct auth_user u;
	(void)state;
	put(TYPE_SERVICE_ACCOUNT, "team", "robot", UID_A, "");
	put(TYPE_POD, "team", "p", UID_S, "");
	assert_int_equal(ask(token, NOW, &u), 0);
	assert_int_equal(u.n_extra, 5); /* the first is the token's own */
	for (size_t i = 0; i < ARRAY_LEN(want); i++) {
		char key[64];
		snprintf(key, sizeof(key), "authentication.kubernetes.io/%s", want[i][0]);
		assert_span(u.extra[i + 1].key, key);
		assert_span(u.extra[i + 1].value, want[i][1]);
	}
	about.node_uid = SPAN(""); /* there is no such Node */
	free(token);
	token = account_token(about, ISSUER);
	assert_int_equal(ask(token, NOW, &u), 0);
	assert_int_equal(u.n_extra, 4);
	assert_span(u.extra[3].key, "authentication.kubernetes.io/node-name");
}

static void a_changed_token_is_worth_nothing(void **state)
{
	auto_free char *token = account_token((struct account_token){0}, ISSUER);
	char *dot = strrchr(token, '.');
	(void)state;
	put(TYPE_SERVICE_ACCOUNT, "team", "robot", UID_A, "");
	assert_true(good(token, NOW));
	dot[1] = dot[1] == 'A' ? 'B' : 'A';
	assert_false(good(token, NOW));
}

static void many_tokens_are_forgotten_not_kept(void **state)
{
	(void)state;
	put(TYPE_SERVICE_ACCOUNT, "team", "robot", UID_A, "");
	for (int i = 0; i < 4200; i++) { /* more than are remembered; all stay good */
		auto_free char *token = account_token((struct account_token){0}, ISSUER);
		assert_true(good(token, NOW));
		arena_reset(&w.mem);
	}
}

/* ---- bootstrap tokens ---- */

/* token-id abcdef, token-secret 0123456789abcdef */
#define BOOTSTRAP(more)                                                                            \
	",\"type\":\"bootstrap.kubernetes.io/token\",\"data\":{\"token-id\":\"YWJjZGVm\","         \
	"\"token-secret\":\"MDEyMzQ1Njc4OWFiY2RlZg==\"" more "}"
#define USABLE ",\"usage-bootstrap-authentication\":\"dHJ1ZQ==\""

static void a_bootstrap_token_introduces_an_agent(void **state)
{
	struct auth_user u;
	(void)state;
	/* system:bootstrappers:muster:agents,system:masters */
	put(TYPE_SECRET, "kube-system", "bootstrap-token-abcdef", UID_S,
	    BOOTSTRAP(USABLE ",\"auth-extra-groups\":\"c3lzdGVtOmJvb3RzdHJhcHBlcnM6bXVzdGVyOmFnZW50"
			     "cyxzeXN0ZW06bWFzdGVycw==\""));
	assert_int_equal(ask("abcdef.0123456789abcdef", NOW, &u), 0);
	assert_span(u.name, "system:bootstrap:abcdef");
	assert_int_equal(u.n_groups, 3);
	assert_span(u.groups[0], "system:bootstrappers");
	assert_span(u.groups[1], "system:bootstrappers:muster:agents");
	assert_span(u.groups[2], "system:authenticated");
	assert_false(good("abcdef.0123456789abcdeg", NOW));
	assert_false(good("abcdeg.0123456789abcdef", NOW));
	delete (TYPE_SECRET, "kube-system", "bootstrap-token-abcdef");
	assert_false(good("abcdef.0123456789abcdef", NOW));
}

static void a_bootstrap_token_expires_and_must_be_for_this_use(void **state)
{
	(void)state;
	put(TYPE_SECRET, "kube-system", "bootstrap-token-abcdef", UID_S, BOOTSTRAP(""));
	assert_false(good("abcdef.0123456789abcdef", NOW));
	/* 2027-01-15T08:00:01Z: a second after NOW */
	put(TYPE_SECRET, "kube-system", "bootstrap-token-abcdef", UID_S,
	    BOOTSTRAP(USABLE ",\"expiration\":\"MjAyNy0wMS0xNVQwODowMDowMVo=\""));
	assert_true(good("abcdef.0123456789abcdef", NOW));
	assert_false(good("abcdef.0123456789abcdef", NOW + USEC_PER_SEC));
	put(TYPE_SECRET, "kube-system", "bootstrap-token-abcdef", UID_S,
	    ",\"type\":\"Opaque\",\"data\":{}");
	assert_false(good("abcdef.0123456789abcdef", NOW));
}

/* ---- OpenID Connect ---- */

static char *id_token(EVP_PKEY *key, const char *aud, int64_t exp)
{
	char claims[512];
	snprintf(claims, sizeof(claims),
		 "{\"iss\":\"%s\",\"aud\":\"%s\",\"exp\":%lld,\"sub\":\"jo\",\"jti\":\"7\","
		 "\"groups\":[\"ml\"]}",
		 oidc_issuer, aud, (long long)exp);
	return test_token(key, "{\"alg\":\"RS256\",\"kid\":\"one\"}", claims, EVP_sha256(), false);
}

static void an_issuer_s_users_come_with_their_groups(void **state)
{
	EVP_PKEY *key = EVP_RSA_gen(2048), *other = EVP_RSA_gen(2048);
	int64_t until = NOW / USEC_PER_SEC + 60;
	auto_free char *token = id_token(key, "muster", until);
	auto_free char *elsewhere = id_token(key, "another", until);
	auto_free char *old = id_token(key, "muster", NOW / USEC_PER_SEC - 60);
	auto_free char *forged = id_token(other, "muster", until);
	struct auth_user u;
	(void)state;
	assert_false(good(token, NOW)); /* its key is not known yet */
	assert_true(authenticator_lacks_key(w.who));
	assert_false(authenticator_lacks_key(w.who));
	authenticator_set_keys(w.who, test_key_set(key, "one"));
	assert_int_equal(ask(token, NOW, &u), 0);
	assert_span(u.name, "https://id.test#jo");
	assert_int_equal(u.n_groups, 2);
	assert_span(u.groups[0], "ml");
	assert_span(u.groups[1], "system:authenticated");
	assert_int_equal(u.n_extra, 1);
	assert_span(u.extra[0].key, "authentication.kubernetes.io/credential-id");
	assert_span(u.extra[0].value, "JTI=7");
	assert_false(good(elsewhere, NOW));
	assert_false(good(old, NOW));
	assert_false(authenticator_lacks_key(w.who));
	/* Perhaps another key of the same name: it is asked for. */
	assert_false(good(forged, NOW));
	assert_true(authenticator_lacks_key(w.who));
	assert_false(good(token, NOW + 120 * USEC_PER_SEC));
	EVP_PKEY_free(key);
	EVP_PKEY_free(other);
}

static void a_key_that_the_issuer_withdrew_is_good_no_longer(void **state)
{
	EVP_PKEY *first = EVP_RSA_gen(2048), *second = EVP_RSA_gen(2048);
	int64_t until = NOW / USEC_PER_SEC + 60;
	auto_free char *before = id_token(first, "muster", until);
	auto_free char *after = id_token(second, "muster", until);
	(void)state;
	authenticator_set_keys(w.who, test_key_set(first, "one"));
	assert_true(good(before, NOW));
	assert_true(good(before, NOW)); /* from what was verified before */
	assert_false(good(after, NOW));
	/* The same name, another key. */
	authenticator_set_keys(w.who, test_key_set(second, "one"));
	assert_false(good(before, NOW));
	assert_true(good(after, NOW));
	authenticator_set_keys(w.who, test_key_set(first, "one"));
	assert_true(good(before, NOW));
	assert_false(good(after, NOW));
	EVP_PKEY_free(first);
	EVP_PKEY_free(second);
}

/* The world again, with a new key that signs, and `older` still trusted or not. */
static void reopen(const char *const *older)
{
	struct authenticator_options o = {.issuer = ISSUER, .backend = &w.backend, .oidc = &oidc};
	struct pki_options pki = {.dir = dir, .account_key_files = older, .now = clock_now()};
	authenticator_destroy(w.who);
	w.who = NULL;
	pki_close(w.pki);
	w.pki = NULL;
	assert_int_equal(pki_open(&pki, &w.pki, NULL), 0);
	o.pki = w.pki;
	assert_int_equal(authenticator_create(&o, &w.who, NULL), 0);
}

static void a_key_that_was_replaced_is_good_while_it_is_trusted(void **state)
{
	char key[128], old[128];
	const char *older[] = {old, NULL};
	struct buf set = BUF_INIT;
	(void)state;
	snprintf(key, sizeof(key), "%s/sa.key", dir);
	snprintf(old, sizeof(old), "%s/sa-2026.key", dir);
	put(TYPE_SERVICE_ACCOUNT, "team", "robot", UID_A, "");
	auto_free char *before = account_token((struct account_token){0}, ISSUER);
	assert_true(good(before, NOW));
	assert_int_equal(rename(key, old), 0);
	reopen(older);
	assert_true(good(before, NOW));
	auto_free char *after = account_token((struct account_token){0}, ISSUER);
	assert_true(good(after, NOW));
	assert_int_equal(account_issuer_keys(authenticator_issuer(w.who))->n, 2);
	/* Others that check tokens find both. */
	jwk_set_print(account_issuer_keys(authenticator_issuer(w.who)), &set);
	const char *first = strstr(set.ptr, "\"kid\"");
	assert_non_null(first);
	assert_non_null(strstr(first + 1, "\"kid\""));
	buf_done(&set);
	reopen(NULL);
	assert_false(good(before, NOW));
	assert_true(good(after, NOW));
}

static void a_file_without_a_key_is_refused(void **state)
{
	char path[128];
	const char *older[] = {path, NULL};
	struct pki_options o = {.dir = dir, .account_key_files = older, .now = clock_now()};
	struct pki *p = NULL;
	struct err e = ERR_INIT;
	(void)state;
	snprintf(path, sizeof(path), "%s/admin.token", dir);
	assert_int_equal(pki_open(&o, &p, &e), err_errno(ERR_INVALID));
	assert_non_null(strstr(e.text, "admin.token"));
	snprintf(path, sizeof(path), "%s/nothing", dir);
	assert_true(pki_open(&o, &p, &e) < 0);
	assert_non_null(strstr(e.text, "nothing"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
	    TEST(a_certificate_names_user_and_groups),
	    TEST(a_certificate_has_a_digest_and_may_have_a_uid),
	    TEST(an_unverified_certificate_is_nobody_s),
	    TEST(a_good_certificate_goes_before_a_token),
	    TEST(the_admin_token_is_checked_whole),
	    TEST(without_credentials_one_is_anonymous),
	    TEST(an_account_is_who_its_token_says),
	    TEST(a_token_ends_with_its_hour_and_its_account),
	    TEST(a_deleting_account_is_gone),
	    TEST(a_token_is_for_its_audience),
	    TEST(a_key_that_was_replaced_is_good_while_it_is_trusted),
	    TEST(a_file_without_a_key_is_refused),
	    TEST(a_bound_token_ends_with_what_it_is_bound_to),
	    TEST(a_pod_s_token_says_on_which_node),
	    TEST(a_changed_token_is_worth_nothing),
	    TEST(many_tokens_are_forgotten_not_kept),
	    TEST(a_bootstrap_token_introduces_an_agent),
	    TEST(a_bootstrap_token_expires_and_must_be_for_this_use),
	    TEST(an_issuer_s_users_come_with_their_groups),
	    TEST(a_key_that_the_issuer_withdrew_is_good_no_longer),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
