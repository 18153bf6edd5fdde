#include "request.h"

#include "api/pki.h"
#include "api/x509.h"
#include "base/buf.h"
#include <sys/stat.h>
#include <unistd.h>

#define DAY ((usec)24 * 3600 * USEC_PER_SEC)

static char dir[64];

static int make_dir(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/test-pki-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
	char command[128];
	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static struct pki *open_at(usec now, const char *const *names)
{
	struct pki_options o = {.dir = dir, .names = names, .now = now};
	struct pki *p = NULL;
	struct err e = ERR_INIT;
	if (pki_open(&o, &p, &e) < 0)
		fail_msg("%s", e.text);
	return p;
}

static void a_second_open_finds_the_first_one_s_credentials(void **state)
{
	struct pki *a = open_at(clock_now(), NULL), *b = open_at(clock_now(), NULL);
	(void)state;
	assert_true(span_eq(pki_ca_pem(a), pki_ca_pem(b)));
	assert_true(span_eq(pki_serving_cert_pem(a), pki_serving_cert_pem(b)));
	assert_true(span_eq(pki_admin_token(a), pki_admin_token(b)));
	assert_int_equal(pki_admin_token(a).len, 64);
	/* Java's clients tell the algorithm by this line. */
	assert_true(span_starts(pki_serving_key_pem(a), SPAN("-----BEGIN EC PRIVATE KEY-----\n")));
	pki_close(a);
	pki_close(b);
}

static void a_new_name_renews_the_serving_certificate_alone(void **state)
{
	static const char *const names[] = {"hub.example.com", "10.1.2.3", NULL};
	struct pki *a = open_at(clock_now(), NULL), *b = open_at(clock_now(), names);
	(void)state;
	assert_true(span_eq(pki_ca_pem(a), pki_ca_pem(b)));
	assert_false(span_eq(pki_serving_cert_pem(a), pki_serving_cert_pem(b)));
	assert_true(x509_is_fit(pki_serving_cert_pem(b), pki_serving_key_pem(b), pki_ca_pem(b),
				names, clock_now()));
	pki_close(a);
	pki_close(b);
}

static void a_certificate_near_its_end_is_renewed(void **state)
{
	usec now = clock_now();
	struct pki *a = open_at(now, NULL), *b = open_at(now + 600 * DAY, NULL);
	struct pki *c = open_at(now + 720 * DAY, NULL);
	(void)state;
	assert_true(span_eq(pki_serving_cert_pem(a), pki_serving_cert_pem(b)));
	assert_false(span_eq(pki_serving_cert_pem(b), pki_serving_cert_pem(c)));
	pki_close(a);
	pki_close(b);
	pki_close(c);
}

static void a_lost_certificate_is_made_again(void **state)
{
	struct pki *a = open_at(clock_now(), NULL), *b;
	char path[128];
	(void)state;
	snprintf(path, sizeof(path), "%s/serving.crt", dir);
	assert_int_equal(unlink(path), 0);
	b = open_at(clock_now(), NULL);
	assert_true(span_eq(pki_ca_pem(a), pki_ca_pem(b)));
	assert_true(x509_is_fit(pki_serving_cert_pem(b), pki_serving_key_pem(b), pki_ca_pem(b),
				NULL, clock_now()));
	pki_close(a);
	pki_close(b);
}

static void a_kubeconfig_is_for_its_owner_and_replaces_the_old_one(void **state)
{
	struct pki *p = open_at(clock_now(), NULL);
	char path[128];
	struct stat st;
	(void)state;
	snprintf(path, sizeof(path), "%s/kubeconfig", dir);
	assert_int_equal(pki_write_kubeconfig(p, "https://127.0.0.1:1", "muster", path, NULL), 0);
	assert_int_equal(pki_write_kubeconfig(p, "https://127.0.0.1:2", "muster", path, NULL), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_true(pki_write_kubeconfig(p, "https://h", "muster", "/nonexistent/x", NULL) < 0);
	pki_close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_second_open_finds_the_first_one_s_credentials,
					    make_dir, remove_dir),
	    cmocka_unit_test_setup_teardown(a_new_name_renews_the_serving_certificate_alone,
					    make_dir, remove_dir),
	    cmocka_unit_test_setup_teardown(a_certificate_near_its_end_is_renewed, make_dir,
					    remove_dir),
	    cmocka_unit_test_setup_teardown(a_lost_certificate_is_made_again, make_dir, remove_dir),
	    cmocka_unit_test_setup_teardown(a_kubeconfig_is_for_its_owner_and_replaces_the_old_one,
					    make_dir, remove_dir),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
