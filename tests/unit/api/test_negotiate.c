#include "request.h"

#include "api/negotiate.h"

#define OBJECTS (FORM_BIT(FORM_JSON) | FORM_BIT(FORM_TABLE) | FORM_BIT(FORM_PARTIAL))

static enum answer_form form(const char *accept, unsigned forms)
{
	return negotiate_accept(span_of(accept), forms).form;
}

static void json_is_the_default(void **state)
{
	(void)state;
	assert_int_equal(form(NULL, OBJECTS), FORM_JSON);
	assert_int_equal(form("*/*", OBJECTS), FORM_JSON);
	assert_int_equal(form("application/json, */*;q=0.8", OBJECTS), FORM_JSON);
	assert_int_equal(form("application/json;stream=watch", OBJECTS), FORM_JSON);
	assert_int_equal(form("application/vnd.kubernetes.protobuf,application/json", OBJECTS),
			 FORM_JSON);
}

static void kubectl_gets_its_table(void **state)
{
	struct negotiated n = negotiate_accept(
	    SPAN("application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;"
		 "g=meta.k8s.io,application/json"),
	    OBJECTS);
	(void)state;
	assert_int_equal(n.form, FORM_TABLE);
	assert_string_equal(n.version, "v1");
	assert_int_equal(form("application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
			      FORM_BIT(FORM_JSON)),
			 FORM_JSON);
}

static void metadata_alone_can_be_asked_for(void **state)
{
	(void)state;
	assert_int_equal(
	    form("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", OBJECTS),
	    FORM_PARTIAL);
	assert_int_equal(form("application/json;as=PartialObjectMetadata;g=other;v=v1", OBJECTS),
			 FORM_NONE);
}

static void discovery_is_given_in_its_newest_form(void **state)
{
	unsigned forms =
	    FORM_BIT(FORM_JSON) | FORM_BIT(FORM_DISCOVERY_V2) | FORM_BIT(FORM_DISCOVERY_V2BETA1);
	(void)state;
	assert_int_equal(
	    form("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
		 "application/json;g=apidiscovery.k8s.io;v=v2beta1;as="
		 "APIGroupDiscoveryList,application/json",
		 forms),
	    FORM_DISCOVERY_V2);
}

static void what_nobody_can_give_is_none(void **state)
{
	(void)state;
	assert_int_equal(form("text/html", OBJECTS), FORM_NONE);
	assert_int_equal(form("application/json;q=0", OBJECTS), FORM_NONE);
	assert_int_equal(form(",;,=;", OBJECTS), FORM_NONE);
}

static void bodies_are_known_by_their_type(void **state)
{
	(void)state;
	assert_int_equal(negotiate_body(SPAN_NONE), BODY_JSON);
	assert_int_equal(negotiate_body(SPAN("application/json; charset=utf-8")), BODY_JSON);
	assert_int_equal(negotiate_body(SPAN("APPLICATION/YAML")), BODY_YAML);
	assert_int_equal(negotiate_body(SPAN("application/vnd.kubernetes.protobuf")),
			 BODY_PROTOBUF);
	assert_int_equal(negotiate_body(SPAN("application/cbor")), BODY_UNKNOWN);
}

static void gzip_is_used_when_it_is_taken(void **state)
{
	(void)state;
	assert_true(negotiate_gzip(SPAN("deflate, gzip;q=0.5")));
	assert_false(negotiate_gzip(SPAN("gzip;q=0, identity")));
	assert_false(negotiate_gzip(SPAN_NONE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(json_is_the_default),
	    cmocka_unit_test(kubectl_gets_its_table),
	    cmocka_unit_test(metadata_alone_can_be_asked_for),
	    cmocka_unit_test(discovery_is_given_in_its_newest_form),
	    cmocka_unit_test(what_nobody_can_give_is_none),
	    cmocka_unit_test(bodies_are_known_by_their_type),
	    cmocka_unit_test(gzip_is_used_when_it_is_taken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
