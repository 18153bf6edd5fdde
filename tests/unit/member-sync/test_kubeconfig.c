#include "base/yaml.h"
#include "member-sync/credentials.h"
#include "member-sync/kubeconfig.h"
#include "test_pki.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#define DAY (86400 * USEC_PER_SEC)

struct pki {
	struct test_authority ca;
	struct test_certificate client, other, old;
};

static int make(void **state)
{
	struct pki *p = xcalloc(1, sizeof(*p));

	test_authority_make(&p->ca, "authority");
	test_certificate_make(&p->ca, "hub", NULL, -DAY, DAY, &p->client);
	test_certificate_make(&p->ca, "other", NULL, -DAY, DAY, &p->other);
	test_certificate_make(&p->ca, "old", NULL, -2 * DAY, -DAY, &p->old);
	*state = p;
	return 0;
}

static int unmake(void **state)
{
	struct pki *p = *state;

	test_certificate_done(&p->client);
	test_certificate_done(&p->other);
	test_certificate_done(&p->old);
	test_authority_done(&p->ca);
	free(p);
	return 0;
}

static void a_full_kubeconfig_is_read_and_printed_back(void **state)
{
	struct pki *p = *state;
	auto_kubeconfig k = {0}, again = {0};
	auto_buf text = BUF_INIT;
	auto_free char *yaml = test_kubeconfig("https://10.0.0.1:6443/k8s/", p->ca.pem, &p->client,
					       "tok", "tls-server-name: api.example");

	assert_int_equal(kubeconfig_parse(span_of(yaml), NULL, &k, NULL), 0);
	assert_string_equal(k.server, "https://10.0.0.1:6443/k8s");
	assert_string_equal(k.tls_server_name, "api.example");
	assert_string_equal(k.ca.ptr, p->ca.pem);
	assert_string_equal(k.cert.ptr, p->client.cert);
	assert_string_equal(k.key.ptr, p->client.key);
	assert_string_equal(k.token.ptr, "tok");
	assert_int_equal(kubeconfig_check_time(&k, clock_now(), NULL), 0);
	kubeconfig_print(&k, &text);
	assert_int_equal(kubeconfig_parse(buf_span(&text), NULL, &again, NULL), 0);
	assert_string_equal(again.server, k.server);
	assert_string_equal(again.key.ptr, k.key.ptr);
	assert_string_equal(again.tls_server_name, "api.example");
}

static void times_outside_the_validity_are_named(void **state)
{
	struct pki *p = *state;
	auto_kubeconfig k = {0};
	struct err why = ERR_INIT;
	auto_free char *yaml = test_kubeconfig("https://a", p->ca.pem, &p->old, NULL, NULL);

	assert_int_equal(kubeconfig_parse(span_of(yaml), NULL, &k, NULL), 0);
	assert_true(kubeconfig_check_time(&k, clock_now(), &why) < 0);
	assert_non_null(strstr(why.text, "client certificate expired on 20"));
	assert_true(kubeconfig_check_time(&k, clock_now() - 3 * DAY, &why) < 0);
	assert_non_null(strstr(why.text, "is not valid before"));
	assert_int_equal(kubeconfig_check_time(&k, k.not_after - 1, &why), 0);
	assert_true(kubeconfig_check_time(&k, k.not_after, &why) < 0);
}

static void the_expiry_of_a_token_is_read_when_it_tells(void **state)
{
	/* {"exp":1700000000} */
	assert_int_equal(credentials_token_expiry(SPAN("e30.eyJleHAiOjE3MDAwMDAwMDB9.x")),
			 1700000000 * USEC_PER_SEC);
	assert_int_equal(credentials_token_expiry(SPAN("plain-token")), 0);
	assert_int_equal(credentials_token_expiry(SPAN("a.b.c")), 0);
	assert_int_equal(credentials_token_expiry(SPAN("e30.e30.x")), 0);
	assert_int_equal(credentials_token_expiry(SPAN("..")), 0);
}

static void refuses(const char *yaml, const char *field, const char *words)
{
	auto_kubeconfig k = {0};
	struct err why = ERR_INIT;

	if (kubeconfig_parse(span_of(yaml), NULL, &k, &why) == 0)
		fail_msg("accepted: %s", yaml);
	assert_string_equal(why.field, field);
	if (!strstr(why.text, words))
		fail_msg("\"%s\" does not say \"%s\"", why.text, words);
	assert_null(strstr(why.text, "hush"));
}

#define CONFIG(cluster, user)                                                                      \
	"{current-context: x, contexts: [{name: x, context: {cluster: c, user: u}}], clusters: "   \
	"[{name: z, cluster: {}}, {name: c, cluster: {" cluster "}}], users: [{name: u, user: "    \
	"{" user "}}]}"

static void bad_configs_are_refused_with_the_field(void **state)
{
	static const struct {
		const char *yaml, *field, *words;
	} cases[] = {
	    {"a", "", "object"},
	    {"{}", "current-context", "required"},
	    {"{current-context: x}", "contexts", "named \"x\""},
	    {CONFIG("", "token: hush"), "clusters[1].cluster.server", "required"},
	    {CONFIG("server: 'http://a'", "token: hush"), "clusters[1].cluster.server", "https://"},
	    {CONFIG("server: 'https://'", "token: hush"), "clusters[1].cluster.server", "host"},
	    {CONFIG("server: 'https://a/?x'", "token: hush"), "clusters[1].cluster.server",
	     "query"},
	    {CONFIG("server: 'https://u:hush@a'", "token: t"), "clusters[1].cluster.server",
	     "credentials"},
	    {CONFIG("server: \"https://a\\nX\"", "token: t"), "clusters[1].cluster.server",
	     "control"},
	    {CONFIG("server: 7", "token: t"), "clusters[1].cluster.server", "string"},
	    {CONFIG("server: 'https://a', certificate-authority: /etc/ca.pem", "token: hush"),
	     "clusters[1].cluster.certificate-authority", "inline data only"},
	    {CONFIG("server: 'https://a', certificate-authority-data: '%%%'", "token: hush"),
	     "clusters[1].cluster.certificate-authority-data", "base64"},
	    {CONFIG("server: 'https://a', certificate-authority-data: aHVzaA==", "token: hush"),
	     "clusters[1].cluster.certificate-authority-data", "PEM"},
	    {CONFIG("server: 'https://a', insecure-skip-tls-verify: maybe", "token: hush"),
	     "clusters[1].cluster.insecure-skip-tls-verify", "true or false"},
	    {CONFIG("server: 'https://a'", ""), "users[0].user.client-certificate-data", "neither"},
	    {CONFIG("server: 'https://a'", "exec: {command: hush}"), "users[0].user.exec",
	     "plugins"},
	    {CONFIG("server: 'https://a'", "auth-provider: {name: hush}"),
	     "users[0].user.auth-provider", "not supported"},
	    {CONFIG("server: 'https://a'", "username: a, password: hush"), "users[0].user.username",
	     "not supported"},
	    {CONFIG("server: 'https://a'", "token: hush, as: root"), "users[0].user.as",
	     "impersonation"},
	    {CONFIG("server: 'https://a'", "token: \"hush hush\""), "users[0].user.token",
	     "spaces"},
	    {CONFIG("server: 'https://a'", "tokenFile: /run/token"), "users[0].user.tokenFile",
	     "inline data only"},
	    {CONFIG("server: 'https://a'", "client-key-data: aHVzaA=="),
	     "users[0].user.client-certificate-data", "required"},
	    {CONFIG("server: 'https://a'", "client-certificate-data: aHVzaA=="),
	     "users[0].user.client-key-data", "required"},
	    {CONFIG("server: 'https://a'",
		    "client-certificate-data: aHVzaA==, client-key-data: aHVzaA=="),
	     "users[0].user.client-certificate-data", "PEM certificate"},
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		refuses(cases[i].yaml, cases[i].field, cases[i].words);
	refuses("a: [", "", "line");
}

static void a_key_must_belong_to_its_certificate(void **state)
{
	struct pki *p = *state;
	struct test_certificate mixed = {p->client.cert, p->other.key};
	auto_free char *yaml = test_kubeconfig("https://a", p->ca.pem, &mixed, NULL, NULL);

	refuses(yaml, "users[0].user.client-key-data", "not the key of");
}

static void write_file(const char *dir, const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void remove_file(const char *dir, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	unlink(path);
}

static void files_are_read_in_relative_to_the_given_folder(void **state)
{
	struct pki *p = *state;
	auto_kubeconfig k = {0};
	struct err why = ERR_INIT;
	char dir[] = "/tmp/kubeconfig-XXXXXX";

	assert_non_null(mkdtemp(dir));
	write_file(dir, "ca.pem", p->ca.pem);
	write_file(dir, "c.pem", p->client.cert);
	write_file(dir, "k.pem", p->client.key);
	write_file(dir, "token", "tok\n");
	int r = kubeconfig_parse(
	    SPAN(CONFIG("server: 'https://a', certificate-authority: ca.pem",
			"client-certificate: c.pem, client-key: k.pem, tokenFile: token")),
	    dir, &k, &why);
	assert_string_equal(why.text, "");
	assert_int_equal(r, 0);
	assert_string_equal(k.key.ptr, p->client.key);
	assert_string_equal(k.token.ptr, "tok");
	kubeconfig_done(&k);
	r = kubeconfig_parse(
	    SPAN(CONFIG("server: 'https://a', certificate-authority: none.pem", "token: t")), dir,
	    &k, &why);
	assert_true(r < 0);
	assert_non_null(strstr(why.text, "No such file"));
	remove_file(dir, "ca.pem");
	remove_file(dir, "c.pem");
	remove_file(dir, "k.pem");
	remove_file(dir, "token");
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_full_kubeconfig_is_read_and_printed_back),
	    cmocka_unit_test(times_outside_the_validity_are_named),
	    cmocka_unit_test(the_expiry_of_a_token_is_read_when_it_tells),
	    cmocka_unit_test(bad_configs_are_refused_with_the_field),
	    cmocka_unit_test(a_key_must_belong_to_its_certificate),
	    cmocka_unit_test(files_are_read_in_relative_to_the_given_folder),
	};
	return cmocka_run_group_tests_name("kubeconfig", tests, make, unmake);
}
