#include "request.h"

#include "api/auth.h"

/* Without RBAC kinds the built-in roles are all there is. */
static const struct kind_set no_kinds;
static struct backend backend = {.kinds = &no_kinds};
static struct authorizer *authorizer;

static int setup(void **state)
{
	(void)state;
	authorizer = authorizer_create(&backend, NULL, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	authorizer_destroy(authorizer);
	return 0;
}

static int judge(const char *user, const char *group, enum http_method method, const char *path,
		 const char *query, struct err *e)
{
	struct http_request r = request_of(method, path, query);
	struct span groups[] = {span_of(group)};
	struct auth_user u = {.name = span_of(user), .groups = groups, .n_groups = 1};
	struct request_info i;
	struct rbac_request q;
	request_info_parse(&r, &i);
	auth_request(&i, &r, &q);
	return auth_authorize(authorizer, &u, &q, e);
}

static void others_are_refused_in_kubernetes_words(void **state)
{
	static const struct {
		enum http_method method;
		const char *path, *query, *words;
	} cases[] = {
	    {HTTP_GET, "/apis/jobset.x-k8s.io/v1alpha2/namespaces/n/jobsets/x", NULL,
	     "jobsets.jobset.x-k8s.io \"x\" is forbidden: User \"u\" cannot get resource "
	     "\"jobsets\" in API group \"jobset.x-k8s.io\" in the namespace \"n\""},
	    {HTTP_GET, "/api/v1/nodes", "watch=1",
	     "nodes is forbidden: User \"u\" cannot watch resource \"nodes\" in API group \"\" at "
	     "the cluster scope"},
	    {HTTP_GET, "/api/v1/namespaces/n/pods/p/log", NULL,
	     "pods \"p\" is forbidden: User \"u\" cannot get resource \"pods/log\" in API group "
	     "\"\" in the namespace \"n\""},
	    {HTTP_DELETE, "/api/v1/namespaces/n", NULL,
	     "namespaces \"n\" is forbidden: User \"u\" cannot delete resource \"namespaces\" in "
	     "API group \"\" in the namespace \"n\""},
	    {HTTP_DELETE, "/api/v1/namespaces/n/pods", NULL,
	     "pods is forbidden: User \"u\" cannot deletecollection resource \"pods\" in API "
	     "group \"\" in the namespace \"n\""},
	    {HTTP_POST, "/metrics", NULL, "forbidden: User \"u\" cannot post path \"/metrics\""},
	    {HTTP_GET, "/a<b>&c", NULL,
	     "forbidden: User \"u\" cannot get path \"/a&lt;b&gt;&amp;c\""},
	};
	(void)state;
	for (size_t n = 0; n < ARRAY_LEN(cases); n++) {
		struct err e = ERR_INIT;
		assert_true(judge("u", "dev", cases[n].method, cases[n].path, cases[n].query, &e) <
			    0);
		assert_int_equal(e.kind, ERR_FORBIDDEN);
		assert_string_equal(e.text, cases[n].words);
	}
}

static void authenticated_users_may_look_round(void **state)
{
	static const char *const g = "system:authenticated";
	(void)state;
	assert_int_equal(judge("u", g, HTTP_GET, "/apis/batch/v1", NULL, NULL), 0);
	assert_int_equal(judge("u", g, HTTP_GET, "/openapi/v3", NULL, NULL), 0);
	assert_int_equal(judge("u", g, HTTP_POST,
			       "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", NULL,
			       NULL),
			 0);
	assert_true(judge("u", g, HTTP_POST, "/apis/authorization.k8s.io/v1/subjectaccessreviews",
			  NULL, NULL) < 0);
	assert_true(judge("u", g, HTTP_GET, "/metrics", NULL, NULL) < 0);
	assert_int_equal(judge("u", "system:masters", HTTP_DELETE, "/api/v1/nodes", NULL, NULL), 0);
}

static void a_field_selector_names_the_object(void **state)
{
	static const struct {
		const char *query, *name;
	} cases[] = {{"fieldSelector=metadata.name=x", "x"},
		     {"fieldSelector=metadata.name==x", "x"},
		     {"fieldSelector=a=b,metadata.name=x,c=d", "x"},
		     {"fieldSelector=metadata.name!=x", ""},
		     {"fieldSelector=metadata.name=a/b", ""},
		     {"fieldSelector=metadata.name=..", ""},
		     {"fieldSelector=spec.name=x", ""},
		     {"labelSelector=metadata.name=x", ""}};
	(void)state;
	for (size_t n = 0; n < ARRAY_LEN(cases); n++) {
		/* the first '=' parts name and value, as in a URL */
		struct http_request r = request_of(HTTP_GET, "/api/v1/pods", cases[n].query);
		struct request_info i;
		struct rbac_request q;
		request_info_parse(&r, &i);
		auth_request(&i, &r, &q);
		assert_span(q.name, cases[n].name);
	}
}

static void anonymous_may_only_look_at_health(void **state)
{
	static const struct {
		const char *path;
		bool may;
	} cases[] = {{"/version", true},  {"/healthz", true},	 {"/readyz/store", true},
		     {"/livez", true},	  {"/versions", false},	 {"/api/v1/pods", false},
		     {"/metrics", false}, {"/openapi/v2", false}};
	(void)state;
	for (size_t n = 0; n < ARRAY_LEN(cases); n++) {
		struct http_request r = request_of(HTTP_GET, cases[n].path, NULL);
		struct span groups[] = {SPAN("system:unauthenticated")};
		struct auth_user u = {.name = SPAN("system:anonymous"),
				      .groups = groups,
				      .n_groups = 1,
				      .anonymous = true};
		struct request_info i;
		struct rbac_request q;
		struct err e = ERR_INIT;
		request_info_parse(&r, &i);
		auth_request(&i, &r, &q);
		assert_int_equal(auth_authorize(authorizer, &u, &q, &e) == 0, cases[n].may);
		if (!cases[n].may)
			assert_int_equal(e.kind, ERR_UNAUTHORIZED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(others_are_refused_in_kubernetes_words),
	    cmocka_unit_test(authenticated_users_may_look_round),
	    cmocka_unit_test(a_field_selector_names_the_object),
	    cmocka_unit_test(anonymous_may_only_look_at_health),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
