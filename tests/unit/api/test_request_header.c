/* Whom a front proxy speaks for: its headers as kube-apiserver reads them, and nobody else's. */
#include "request.h"

#include "api/request_header.h"
#include "api/x509.h"

#define HEADERS 8

static char cn[] = "front", other[] = "back";
static char *front_only[] = {cn, NULL}, *back_only[] = {other, NULL}, *nobody[] = {NULL};
static char x_user[] = "X-User", x_login[] = "X-Login", x_uid[] = "X-Uid", x_team[] = "X-Team",
	    x_role[] = "x-role", x_more[] = "X-More-", x_also[] = "X-Also-";
static char *users[] = {x_user, x_login, NULL}, *uids[] = {x_uid, NULL},
	    *groups[] = {x_team, x_role, NULL}, *extras[] = {x_more, x_also, NULL};

static const struct request_header_config plain, named = {.allowed_names = front_only},
						 others = {.allowed_names = back_only},
						 none_named = {.allowed_names = nobody},
						 own = {.user_headers = users,
							.uid_headers = uids,
							.group_headers = groups,
							.extra_prefixes = extras};

static int ask(const struct request_header_config *c, bool proxy, const char *const *headers,
	       bool unreadable, struct arena *mem, struct auth_user *ret)
{
	struct http_param all[HEADERS];
	struct http_proxied h = {.headers = all, .unreadable = unreadable};
	struct http_peer p = {.presented = true, .proxy = proxy, .common_name = cn};
	struct http_request r = request_of(HTTP_GET, "/api", NULL);
	for (; headers[2 * h.n]; h.n++)
		all[h.n] =
		    (struct http_param){span_of(headers[2 * h.n]), span_of(headers[2 * h.n + 1])};
	r.peer = &p;
	r.proxied = &h;
	*ret = (struct auth_user){0};
	return request_header_authenticate(c, &r, mem, ret, NULL);
}

/* "name#uid|group,group|key=value,key=value" */
static void print(const struct auth_user *u, struct buf *out)
{
	buf_addf(out, "%.*s#%.*s|", SPAN_ARGS(u->name), SPAN_ARGS(u->uid));
	for (size_t i = 0; i < u->n_groups; i++)
		buf_addf(out, "%s%.*s", i ? "," : "", SPAN_ARGS(u->groups[i]));
	buf_add_char(out, '|');
	for (size_t i = 0; i < u->n_extra; i++)
		buf_addf(out, "%s%.*s=%.*s", i ? "," : "", SPAN_ARGS(u->extra[i].key),
			 SPAN_ARGS(u->extra[i].value));
}

static void a_proxy_names_users(void **state)
{
	static const struct {
		const struct request_header_config *config;
		const char *headers[2 * HEADERS]; /* names in lower case, as the engine has them */
		const char *want;		  /* NULL: nobody is named */
	} cases[] = {
	    {&plain, {"x-remote-user", "eve"}, "eve#|system:authenticated|"},
	    {&plain, {"x-remote-user", ""}, NULL},
	    {&plain, {"x-user", "eve"}, NULL},
	    {&plain, {"x-remote-group", "system:masters"}, NULL},
	    {&plain,
	     {"x-remote-user", "eve", "x-remote-user", "ann"},
	     "eve#|system:authenticated|"},
	    {&plain, {"x-remote-user", "", "x-remote-user", "ann"}, NULL},
	    {&plain, {"x-remote-user", "eve", "x-remote-uid", "7"}, "eve#|system:authenticated|"},
	    {&plain,
	     {"x-remote-group", "a", "x-remote-user", "eve", "x-remote-group", "", "x-remote-group",
	      "b, c"},
	     "eve#|a,b, c,system:authenticated|"},
	    {&plain,
	     {"x-remote-user", "eve", "x-remote-group", "system:authenticated"},
	     "eve#|system:authenticated|"},
	    {&plain, {"x-remote-user", "system:anonymous"}, "system:anonymous#||"},
	    {&plain,
	     {"x-remote-user", "eve", "x-remote-extra-scopes", "v", "x-remote-extra-", "none",
	      "x-remote-extra-acme.com%2fteam", "t", "x-remote-extra-scopes", "w",
	      "x-remote-extra-50%", "raw", "x-remote-extra-%2f%zz", "raw"},
	     "eve#|system:authenticated|scopes=v,=none,acme.com/team=t,scopes=w,50%=raw,%2f%zz=raw"},
	    {&named, {"x-remote-user", "eve"}, "eve#|system:authenticated|"},
	    {&none_named, {"x-remote-user", "eve"}, "eve#|system:authenticated|"},
	    {&others, {"x-remote-user", "eve"}, NULL},
	    {&own, {"x-remote-user", "eve"}, NULL},
	    {&own,
	     {"x-login", "ann", "x-role", "r", "x-team", "t", "x-uid", "7", "x-also-b", "2",
	      "x-more-a", "1", "x-user", ""},
	     "ann#7|t,r,system:authenticated|a=1,b=2"},
	    {&own, {"x-login", "ann", "x-user", "eve"}, "eve#|system:authenticated|"},
	};
	struct arena mem = {0};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct auth_user u;
		auto_buf text = BUF_INIT;
		int r = ask(cases[i].config, true, cases[i].headers, false, &mem, &u);
		if (r == 1)
			print(&u, &text);
		if (r != (cases[i].want ? 1 : 0) ||
		    (cases[i].want && strcmp(text.ptr, cases[i].want) != 0))
			fail_msg("case %zu: %d %s", i, r, text.len ? text.ptr : "");
		assert_int_equal(ask(cases[i].config, false, cases[i].headers, false, &mem, &u), 0);
		assert_null(u.name.ptr);
	}
	arena_done(&mem);
}

static void headers_that_cannot_be_read_name_nobody(void **state)
{
	const char *headers[] = {"x-remote-user", "eve", NULL};
	struct arena mem = {0};
	struct auth_user u;
	(void)state;
	assert_true(ask(&plain, true, headers, true, &mem, &u) < 0);
	assert_int_equal(ask(&plain, false, headers, true, &mem, &u), 0);
	assert_int_equal(ask(&others, true, headers, true, &mem, &u), 0);
	arena_done(&mem);
}

static void make_ca(const char *name, struct buf *cert)
{
	struct x509_request r = {
	    .use = X509_CA, .common_name = name, .not_after = (usec)1900000000 * USEC_PER_SEC};
	auto_buf key = BUF_INIT;
	assert_int_equal(x509_make(&r, cert, &key, NULL), 0);
}

static void a_ca_of_users_takes_names(void **state)
{
	auto_buf hub = BUF_INIT, front = BUF_INIT, both = BUF_INIT;
	struct err e = ERR_INIT;
	(void)state;
	make_ca("hub", &hub);
	make_ca("front", &front);
	buf_add_span(&both, buf_span(&front));
	buf_add_span(&both, buf_span(&hub));
	assert_int_equal(request_header_check(&plain, buf_span(&front), buf_span(&hub), &e), 0);
	assert_int_equal(request_header_check(&named, buf_span(&hub), buf_span(&hub), &e), 0);
	assert_int_equal(request_header_check(&plain, buf_span(&both), buf_span(&hub), &e),
			 err_errno(ERR_INVALID));
	assert_string_equal(e.field, "requestHeader.allowedNames");
	assert_int_equal(request_header_check(&none_named, buf_span(&hub), buf_span(&hub), &e),
			 err_errno(ERR_INVALID));
	assert_int_equal(request_header_check(&named, SPAN("nothing"), buf_span(&hub), &e),
			 err_errno(ERR_INVALID));
	assert_string_equal(e.field, "requestHeader.clientCAFile");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_proxy_names_users),
	    cmocka_unit_test(headers_that_cannot_be_read_name_nobody),
	    cmocka_unit_test(a_ca_of_users_takes_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
