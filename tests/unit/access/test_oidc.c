#include "access/oidc.h"
#include "access_test.h"

#define ISSUER "https://id.example"

/* "name: group group", or "" when refused. */
static void expect(const struct oidc_config *o, const char *claims, const char *want)
{
	struct jwt t = {.claims = json_of(claims)};
	auto_arena mem = ARENA_INIT;
	auto_buf got = BUF_INIT;
	struct oidc_identity id;
	buf_add_str(&got, "");
	if (oidc_identify(o, &t, &mem, &id, NULL) == 0) {
		buf_addf(&got, "%.*s:", SPAN_ARGS(id.name));
		for (size_t i = 0; i < id.n_groups; i++)
			buf_addf(&got, " %.*s", SPAN_ARGS(id.groups[i]));
	}
	assert_string_equal(got.ptr ? got.ptr : "", want);
	jwt_done(&t);
}

static void names_get_the_issuer_before_them(void **state)
{
	char issuer[] = ISSUER, email[] = "email", none[] = "-", prefix[] = "x:";
	struct oidc_config o = {.issuer = issuer};
	(void)state;
	expect(&o, "{'sub':'jo'}", ISSUER "#jo:");
	expect(&o, "{}", "");
	expect(&o, "{'sub':''}", "");
	expect(&o, "{'sub':5}", "");
	o.username_prefix = prefix;
	expect(&o, "{'sub':'jo'}", "x:jo:");
	o.username_prefix = none;
	expect(&o, "{'sub':'jo'}", "jo:");
	expect(&o, "{'sub':'system:admin'}", "");
	o.username_prefix = NULL;
	o.username_claim = email;
	expect(&o, "{'email':'jo@x'}", "jo@x:");
	expect(&o, "{'email':'jo@x','email_verified':true}", "jo@x:");
	expect(&o, "{'email':'jo@x','email_verified':false}", "");
	expect(&o, "{'email':'jo@x','email_verified':'true'}", "");
}

static void groups_are_one_or_many_and_never_the_system_s(void **state)
{
	char issuer[] = ISSUER, none[] = "-", groups[] = "roles", prefix[] = "g:";
	struct oidc_config o = {.issuer = issuer, .username_prefix = none, .groups_claim = groups};
	(void)state;
	expect(&o, "{'sub':'jo','roles':'a'}", "jo: a");
	expect(&o, "{'sub':'jo','roles':['a','system:masters','',7,'b']}", "jo: a b");
	expect(&o, "{'sub':'jo','groups':['a']}", "jo:");
	o.groups_prefix = prefix;
	expect(&o, "{'sub':'jo','roles':['system:masters']}", "jo: g:system:masters");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_get_the_issuer_before_them),
	    cmocka_unit_test(groups_are_one_or_many_and_never_the_system_s),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
