#include "request.h"

#include "api/request_info.h"
#include "base/buf.h"

static struct request_info parse(enum http_method m, const char *path, const char *query)
{
	struct http_request r = request_of(m, path, query);
	struct request_info i;
	request_info_parse(&r, &i);
	return i;
}

static void a_core_object_has_an_empty_group(void **state)
{
	struct request_info i = parse(HTTP_GET, "/api/v1/namespaces/team/configmaps/a", NULL);
	(void)state;
	assert_true(i.is_resource);
	assert_int_equal(i.verb, API_GET);
	assert_span(i.group, "");
	assert_span(i.version, "v1");
	assert_span(i.ns, "team");
	assert_span(i.resource, "configmaps");
	assert_span(i.name, "a");
	assert_null(i.subresource.ptr);
}

static void a_group_comes_from_its_path(void **state)
{
	struct request_info i =
	    parse(HTTP_PUT, "/apis/kubeflow.org/v1/namespaces/a/pytorchjobs/x/status", NULL);
	(void)state;
	assert_int_equal(i.verb, API_UPDATE);
	assert_span(i.group, "kubeflow.org");
	assert_span(i.resource, "pytorchjobs");
	assert_span(i.subresource, "status");
}

static void a_namespace_is_an_object_and_a_scope(void **state)
{
	struct request_info i = parse(HTTP_DELETE, "/api/v1/namespaces/team", NULL);
	(void)state;
	assert_int_equal(i.verb, API_DELETE);
	assert_span(i.resource, "namespaces");
	assert_span(i.name, "team");
	assert_null(i.ns.ptr);
	i = parse(HTTP_PUT, "/api/v1/namespaces/team/finalize", NULL);
	assert_span(i.resource, "namespaces");
	assert_span(i.subresource, "finalize");
	i = parse(HTTP_GET, "/api/v1/namespaces/team/status", NULL);
	assert_span(i.resource, "namespaces");
	assert_span(i.subresource, "status");
	i = parse(HTTP_GET, "/api/v1/namespaces", NULL);
	assert_int_equal(i.verb, API_LIST);
}

static void collections_have_verbs_of_their_own(void **state)
{
	static const struct {
		enum http_method method;
		const char *query;
		enum api_verb verb;
	} cases[] = {
	    {HTTP_GET, NULL, API_LIST},
	    {HTTP_GET, "watch=true", API_WATCH},
	    {HTTP_GET, "watch=1", API_WATCH},
	    {HTTP_GET, "watch=True", API_WATCH},
	    {HTTP_GET, "watch=false", API_LIST},
	    {HTTP_GET, "watch=0", API_LIST},
	    {HTTP_GET, "watch=", API_WATCH},
	    {HTTP_POST, NULL, API_CREATE},
	    {HTTP_DELETE, NULL, API_DELETE_COLLECTION},
	};
	(void)state;
	for (size_t n = 0; n < ARRAY_LEN(cases); n++)
		assert_int_equal(parse(cases[n].method, "/api/v1/pods", cases[n].query).verb,
				 cases[n].verb);
}

static void the_older_path_of_a_watch_is_one(void **state)
{
	struct request_info i = parse(HTTP_GET, "/api/v1/watch/configmaps", NULL);
	(void)state;
	assert_true(i.is_resource && i.watch_path);
	assert_int_equal(i.verb, API_WATCH);
	assert_span(i.resource, "configmaps");
	assert_null(i.ns.ptr);
	assert_null(i.name.ptr);
	i = parse(HTTP_GET, "/apis/batch/v1/watch/namespaces/team/jobs/x", NULL);
	assert_int_equal(i.verb, API_WATCH);
	assert_span(i.group, "batch");
	assert_span(i.ns, "team");
	assert_span(i.resource, "jobs");
	assert_span(i.name, "x");
	i = parse(HTTP_GET, "/api/v1/watch/namespaces/team", NULL);
	assert_span(i.resource, "namespaces");
	assert_span(i.name, "team");
	/* The right that is asked for is that of a watch whatever the method. */
	i = parse(HTTP_DELETE, "/api/v1/watch/namespaces/team/configmaps/x", NULL);
	assert_int_equal(i.verb, API_WATCH);
	assert_false(parse(HTTP_GET, "/api/v1/watch", NULL).is_resource);
	assert_false(parse(HTTP_GET, "/apis/watch/v1/jobs", NULL).watch_path);
}

static void what_follows_a_proxy_is_kept(void **state)
{
	struct request_info i = parse(
	    HTTP_GET, "/apis/cluster.karmada.io/v1alpha1/clusters/c1/proxy/api/v1/nodes", NULL);
	(void)state;
	assert_span(i.name, "c1");
	assert_span(i.subresource, "proxy");
	assert_span(i.rest, "/api/v1/nodes");
}

static void other_paths_are_no_resources(void **state)
{
	static const char *const paths[] = {"/",     "/version",    "/api",	      "/api/v1",
					    "/apis", "/apis/batch", "/apis/batch/v1", "/healthz",
					    "",	     "//"};
	(void)state;
	for (size_t n = 0; n < ARRAY_LEN(paths); n++)
		assert_false(parse(HTTP_GET, paths[n], NULL).is_resource);
}

static void what_needs_it_is_encoded(void **state)
{
	struct http_request r = request_of(HTTP_GET, "/a b/c%", "x=1 2&y=a/b=c&z=");
	struct buf out = BUF_INIT;
	(void)state;
	request_encode_path(r.path, &out);
	request_encode_query(&r, &out);
	assert_string_equal(out.ptr, "/a%20b/c%25?x=1%202&y=a%2Fb%3Dc&z=");
	buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_core_object_has_an_empty_group),
	    cmocka_unit_test(a_group_comes_from_its_path),
	    cmocka_unit_test(a_namespace_is_an_object_and_a_scope),
	    cmocka_unit_test(collections_have_verbs_of_their_own),
	    cmocka_unit_test(the_older_path_of_a_watch_is_one),
	    cmocka_unit_test(what_follows_a_proxy_is_kept),
	    cmocka_unit_test(other_paths_are_no_resources),
	    cmocka_unit_test(what_needs_it_is_encoded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
