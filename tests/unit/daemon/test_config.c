/* musterd's configuration file: what each key sets, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../../hub/config.h"
#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Reads the text into *c; the words of the refusal, or "". */
static const char *read_text(const char *text, struct config *c)
{
	static struct err e;
	char path[] = "/tmp/test-config-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	config_init(c);
	e = (struct err)ERR_INIT;
	if (config_read(c, path, &e) == 0)
		e.text[0] = 0;
	unlink(path);
	return e.text;
}

static void requests_that_wait_have_their_limits(void **state)
{
	struct config c;
	(void)state;
	assert_string_equal(read_text("api:\n"
				      "  seats: 40\n"
				      "  workers: 3\n"
				      "  maxWatches: 12000\n"
				      "  maxConnections: 9000\n"
				      "  queuePerUser: 17\n"
				      "  queueBytesPerUser: 2Mi\n"
				      "  queueBytes: 64M\n",
				      &c),
			    "");
	assert_int_equal(c.seats, 40);
	assert_int_equal(c.workers, 3);
	assert_int_equal(c.max_watches, 12000);
	assert_int_equal(c.max_connections, 9000);
	assert_int_equal(c.queue_per_user, 17);
	assert_int_equal(c.queue_bytes_per_user, 2 << 20);
	assert_int_equal(c.queue_bytes, 64000000);
	config_done(&c);
	assert_string_equal(read_text("{}", &c), "");
	assert_int_equal(c.queue_per_user, 0); /* the front's own default */
	assert_int_equal(c.queue_bytes_per_user + c.queue_bytes, 0);
	config_done(&c);
}

static void what_is_no_limit_is_refused_by_name(void **state)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
	    {"api: {queuePerUser: 0}", "api.queuePerUser: 0 is not a valid value"},
	    {"api: {queuePerUser: -3}", "api.queuePerUser: -3 is not a valid value"},
	    {"api: {queuePerUser: many}", "api.queuePerUser: \"many\" is not a valid value"},
	    {"api: {queuePerUser: 99999999999}",
	     "api.queuePerUser: 99999999999 is not a valid value"},
	    {"api: {queueBytes: -1}", "api.queueBytes: -1 is not a valid value"},
	    {"api: {queueBytesPerUser: 1X}", "api.queueBytesPerUser: \"1X\" is not a valid value"},
	    {"api: {queueBytesPerUser: [1]}", "api.queueBytesPerUser: [1] is not a valid value"},
	    {"api: {queueperuser: 1}", "api.queueperuser: unknown setting"},
	    {"api: 7", "api: must be a mapping"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct config c;
		const char *words = read_text(cases[i].text, &c);
		if (!strstr(words, cases[i].words))
			fail_msg("%s: %s", cases[i].text, words);
		config_done(&c);
	}
}

static void an_issuer_needs_its_url_and_a_client(void **state)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
	    {"oidc: {clientId: a}", "oidc.issuer: is missing"},
	    {"oidc: {requiredClaims: [a=b]}", "oidc.issuer: is missing"},
	    {"oidc: {issuer: 'http://a', clientId: a}", "oidc.issuer: must be an https URL"},
	    {"oidc: {issuer: 'https://a'}", "oidc.clientId: is missing"},
	    {"oidc: {issuer: 'https://a', clientId: a, requiredClaims: [a]}",
	     "oidc.requiredClaims: must be claim=value, each"},
	    {"oidc: {issuer: 'https://a', clientId: a, requiredClaims: ['=a']}",
	     "oidc.requiredClaims: must be claim=value, each"},
	};
	struct config c;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *words = read_text(cases[i].text, &c);
		if (!strstr(words, cases[i].words))
			fail_msg("%s: %s", cases[i].text, words);
		config_done(&c);
	}
	assert_string_equal(read_text("oidc:\n"
				      "  issuer: https://id.example\n"
				      "  clientId: muster\n"
				      "  requiredClaims: [hd=x.example, e=]\n",
				      &c),
			    "");
	assert_string_equal(c.oidc.required_claims[0], "hd=x.example");
	assert_string_equal(c.oidc.required_claims[1], "e=");
	assert_null(c.oidc.required_claims[2]);
	config_done(&c);
}

static void front_proxies_need_their_ca(void **state)
{
	struct config c;
	const char *words = read_text("requestHeader: {allowedNames: [front]}", &c);
	(void)state;
	assert_non_null(strstr(words, "requestHeader.clientCAFile: is missing"));
	config_done(&c);
	assert_string_equal(
	    read_text("requestHeader: {clientCAFile: /ca, groupHeaders: [X-G]}", &c), "");
	assert_string_equal(c.request_header.client_ca_file, "/ca");
	assert_string_equal(c.request_header.group_headers[0], "X-G");
	assert_null(c.request_header.allowed_names);
	config_done(&c);
}

static void a_change_of_a_limit_wants_a_restart(void **state)
{
	struct config a, b;
	(void)state;
	assert_string_equal(read_text("api: {queueBytes: 1Mi}", &a), "");
	assert_string_equal(read_text("api: {queueBytes: 2Mi}", &b), "");
	assert_string_equal(config_fixed_difference(&a, &b), "queueBytes");
	config_done(&b);
	assert_string_equal(read_text("{api: {queueBytes: 1Mi}, log: {level: debug}}", &b), "");
	assert_null(config_fixed_difference(&a, &b));
	config_done(&a);
	config_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(requests_that_wait_have_their_limits),
	    cmocka_unit_test(what_is_no_limit_is_refused_by_name),
	    cmocka_unit_test(an_issuer_needs_its_url_and_a_client),
	    cmocka_unit_test(front_proxies_need_their_ca),
	    cmocka_unit_test(a_change_of_a_limit_wants_a_restart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
