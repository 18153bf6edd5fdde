/*
 * Messages own what the headers say they own: a sanitizer sees a leak or a second free.
 */
#include "wire/backend.h"
#include "wire/command.h"
#include "wire/fact.h"
#include "wire/order.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka wants the three above first. */
#include <cmocka.h>

static void destroying_nothing_is_fine(void **state)
{
	(void)state;
	assert_null(command_destroy(NULL));
	assert_null(fact_destroy(NULL));
	assert_null(order_destroy(NULL));
}

static void a_command_copies_its_key_and_frees_the_rest(void **state)
{
	char name[] = "job-1";
	struct command *c = command_create(COMMAND_CREATE, NULL, SPAN("team"), span_of(name));
	(void)state;
	name[0] = 'x';
	assert_string_equal(c->ns, "team");
	assert_string_equal(c->name, "job-1");
	assert_string_equal(c->subresource, "");
	assert_true(c->bytes >= sizeof(*c));
	c->user = xstrdup("alice");
	c->query = xstrdup("/why");
	c->query_body = xstrdup("{}");
	c->warnings = xstrdup("w\n");
	c->result = xstrdup("{}");
	c->draft.json = xstrdup("{}");
	c->draft.digest = xstrdup("d");
	c->draft.owners = xcalloc(1, STORE_UID_LEN);
	c->causes = xcalloc(1, sizeof(*c->causes));
	field_errors_add(c->causes, FIELD_REQUIRED, "spec.a", NULL, "missing");
	command_destroy(c);
	c = command_create(COMMAND_QUERY, NULL, SPAN_NONE, SPAN_NONE);
	assert_string_equal(c->ns, "");
	command_destroy(c);
}

static void a_fact_owns_its_arena(void **state)
{
	struct fact *f = fact_create(FACT_EVENT, 3);
	(void)state;
	assert_int_equal(f->member, 3);
	f->json = arena_span(&f->mem, SPAN("{}"));
	fact_destroy(f);
}

static void an_order_frees_what_it_carries(void **state)
{
	struct order *o = order_create(ORDER_JOIN, 4);
	(void)state;
	o->name = xstrdup("c1");
	o->kubeconfig = xstrdup("secret");
	o->kubeconfig_len = 6;
	o->path = xstrdup("/api");
	o->body = xstrdup("{}");
	o->body_len = 2;
	order_destroy(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(destroying_nothing_is_fine),
	    cmocka_unit_test(a_command_copies_its_key_and_frees_the_rest),
	    cmocka_unit_test(a_fact_owns_its_arena),
	    cmocka_unit_test(an_order_frees_what_it_carries),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
