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
	expect(&o, "{'sub':'jo','roles':['a','system:masters','','b']}", "jo: a b");
	expect(&o, "{'sub':'jo','roles':[]}", "jo:");
	expect(&o, "{'sub':'jo','roles':null}", "jo:");
	expect(&o, "{'sub':'jo','groups':['a']}", "jo:");
	/* Elsewhere, and fetched by nobody. */
	expect(&o, "{'sub':'jo','_claim_names':{'roles':'src1'}}", "");
	expect(&o, "{'sub':'jo','roles':'a','_claim_names':{'roles':'src1'}}", "jo: a");
	expect(&o, "{'sub':'jo','_claim_names':{'address':'src1'}}", "jo:");
	o.groups_prefix = prefix;
	expect(&o, "{'sub':'jo','roles':['system:masters']}", "jo: g:system:masters");
}

static void groups_that_are_no_texts_are_refused(void **state)
{
	static const char *const wrong[] = {
	    "{'sub':'jo','roles':['a',7]}",	  "{'sub':'jo','roles':[['a']]}",
	    "{'sub':'jo','roles':{'x':'admin'}}", "{'sub':'jo','roles':7}",
	    "{'sub':'jo','roles':true}",	  "{'sub':'jo','roles':['a',null]}",
	};
	char issuer[] = ISSUER, none[] = "-", groups[] = "roles";
	struct oidc_config o = {.issuer = issuer, .username_prefix = none, .groups_claim = groups};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		expect(&o, wrong[i], "");
}

static void more_groups_than_a_token_has_room_for_are_not_taken(void **state)
{
	char issuer[] = ISSUER, groups[] = "roles";
	struct oidc_config o = {.issuer = issuer, .groups_claim = groups};
	struct buf claims = BUF_INIT;
	auto_arena mem = ARENA_INIT;
	struct oidc_identity id;
	struct jwt t = {0};
	(void)state;
	buf_add_str(&claims, "{'sub':'jo','roles':['g'");
	for (int i = 0; i < OIDC_MAX_GROUPS + 44; i++)
		buf_addf(&claims, ",'g%d'", i);
	buf_add_str(&claims, "]}");
	t.claims = json_of(claims.ptr);
	assert_int_equal(oidc_identify(&o, &t, &mem, &id, NULL), 0);
	assert_int_equal(id.n_groups, OIDC_MAX_GROUPS);
	jwt_done(&t);
	buf_done(&claims);
}

static void required_claims_have_just_their_value(void **state)
{
	char issuer[] = ISSUER, none[] = "-", org[] = "hd=x.example", eq[] = "q=a=b",
	     empty[] = "e=";
	char *required[] = {org, NULL}, *more[] = {org, eq, empty, NULL};
	struct oidc_config o = {
	    .issuer = issuer, .username_prefix = none, .required_claims = required};
	(void)state;
	expect(&o, "{'sub':'jo','hd':'x.example'}", "jo:");
	expect(&o, "{'sub':'jo','hd':'x.exampl'}", "");
	expect(&o, "{'sub':'jo','hd':'x.example.evil'}", "");
	expect(&o, "{'sub':'jo','hd':['x.example']}", "");
	expect(&o, "{'sub':'jo','hd':true}", "");
	expect(&o, "{'sub':'jo'}", "");
	o.required_claims = more;
	expect(&o, "{'sub':'jo','hd':'x.example','q':'a=b','e':''}", "jo:");
	expect(&o, "{'sub':'jo','hd':'x.example','q':'a=b'}", "");
	expect(&o, "{'sub':'jo','hd':'x.example','q':'a','e':''}", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_get_the_issuer_before_them),
	    cmocka_unit_test(groups_are_one_or_many_and_never_the_system_s),
	    cmocka_unit_test(groups_that_are_no_texts_are_refused),
	    cmocka_unit_test(more_groups_than_a_token_has_room_for_are_not_taken),
	    cmocka_unit_test(required_claims_have_just_their_value),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
