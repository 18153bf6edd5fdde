/*
 * Secrets of ServiceAccounts: filled, kept, and gone with the account.
 */
#include "fixture.h"

static struct fixture f;
static int n_made;

static int make(void *arg, const struct token_subject *s, usec now, struct buf *out)
{
	(void)arg;
	(void)now;
	n_made++;
	assert_true(s->account_uid.len && s->secret_uid.len);
	buf_addf(out, "%.*s/%.*s/%.*s", SPAN_ARGS(s->ns), SPAN_ARGS(s->account),
		 SPAN_ARGS(s->secret));
	return 0;
}

static void set_maker(void)
{
	registry_set_token_maker(f.reg, &(struct token_maker){.make = make});
}

static int setup(void **state)
{
	n_made = 0;
	fixture_open(&f);
	registry_set_root_ca(f.reg, SPAN("pem"));
	set_maker();
	fixture_work(&f, 64);
	return 0;
}

static int teardown(void **state)
{
	fixture_close(&f);
	return 0;
}

static void account(const char *name, int uid)
{
	char text[256];

	(void)snprintf(text, sizeof(text),
		       "{'apiVersion':'v1','kind':'ServiceAccount','metadata':{'name':'%s',"
		       "'namespace':'team','uid':'%s'}}",
		       name, fixture_uid(uid));
	fixture_create(&f, &kind_account, "team", name, text);
}

static void secret(const char *name, const char *of, int uid, const char *more)
{
	char text[512];

	(void)snprintf(text, sizeof(text),
		       "{'apiVersion':'v1','kind':'Secret','metadata':{'name':'%s','namespace':"
		       "'team','uid':'%s','annotations':{'kubernetes.io/service-account.name':"
		       "'%s'%s}},'type':'kubernetes.io/service-account-token'}",
		       name, fixture_uid(uid), of, more);
	fixture_create(&f, &kind_secret, "team", name, text);
}

static bool holds(const char *name, const char *words)
{
	return fixture_contains(&f, &kind_secret, "team", name, words);
}

static void it_gets_token_certificate_and_namespace(void **state)
{
	account("a", 5);
	secret("s", "a", 6, "");
	fixture_work(&f, 64);
	assert_true(holds("s", "'token':'dGVhbS9hL3M='")); /* team/a/s */
	assert_true(holds("s", "'ca.crt':'cGVt'"));
	assert_true(holds("s", "'namespace':'dGVhbQ=='"));
	assert_true(holds("s", "'kubernetes.io/service-account.uid':'00000000-0000-4000-8000-"
			       "000000000005'"));
	assert_int_equal(n_made, 1);
}

static void a_full_one_is_left_alone(void **state)
{
	account("a", 5);
	secret("s", "a", 6, "");
	fixture_work(&f, 64);
	uint64_t before = fixture_revision(&f, &kind_secret, "team", "s");
	fixture_reopen(&f);
	registry_set_root_ca(f.reg, SPAN("pem"));
	set_maker();
	fixture_work(&f, 64);
	assert_int_equal(fixture_revision(&f, &kind_secret, "team", "s"), before);
	assert_int_equal(n_made, 1);
	assert_true(registry_due(f.reg) > f.now);
}

static void a_new_certificate_goes_into_all(void **state)
{
	account("a", 5);
	secret("s", "a", 6, "");
	fixture_work(&f, 64);
	fixture_reopen(&f);
	registry_set_root_ca(f.reg, SPAN("two"));
	set_maker();
	fixture_work(&f, 64);
	assert_true(holds("s", "'ca.crt':'dHdv'"));
	assert_int_equal(n_made, 1);
}

static void it_goes_with_its_account_alone(void **state)
{
	account("a", 5);
	account("b", 7);
	secret("s", "a", 6, "");
	secret("t", "b", 8, "");
	fixture_work(&f, 64);
	fixture_delete(&f, &kind_account, "team", "a", PROPAGATE_DEFAULT);
	fixture_work(&f, 64);
	assert_int_equal(fixture_revision(&f, &kind_secret, "team", "s"), 0);
	assert_true(holds("t", "'token'"));
}

static void one_of_another_account_of_the_name_goes(void **state)
{
	account("a", 5);
	secret("s", "a", 6, ",'kubernetes.io/service-account.uid':'other'");
	secret("t", "absent", 8, "");
	fixture_work(&f, 64);
	assert_int_equal(fixture_count(&f, &kind_secret, "team"), 0);
}

static void many_are_filled_in_small_steps(void **state)
{
	char name[16];

	account("a", 5);
	for (int i = 0; i < 150; i++) {
		(void)snprintf(name, sizeof(name), "s-%d", i);
		secret(name, "a", 100 + i, "");
	}
	assert_true(fixture_work(&f, 8) > 10);
	assert_int_equal(n_made, 150);
}

static void other_secrets_are_nobodys_business(void **state)
{
	fixture_create(&f, &kind_secret, "team", "o",
		       "{'apiVersion':'v1','kind':'Secret','metadata':{'name':'o','namespace':"
		       "'team','uid':'00000000-0000-4000-8000-000000000009','annotations':{"
		       "'kubernetes.io/service-account.name':'absent'}},'type':'Opaque'}");
	assert_true(registry_due(f.reg) > f.now);
	fixture_delete(&f, &kind_account, "team", "default", PROPAGATE_DEFAULT);
	fixture_work(&f, 64);
	assert_true(holds("o", "'Opaque'"));
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(it_gets_token_certificate_and_namespace), T(a_full_one_is_left_alone),
	    T(a_new_certificate_goes_into_all),		T(it_goes_with_its_account_alone),
	    T(one_of_another_account_of_the_name_goes), T(many_are_filled_in_small_steps),
	    T(other_secrets_are_nobodys_business),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
