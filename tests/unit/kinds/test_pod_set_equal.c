/*
 * What makes a job another one for its Workload: the cases of Kueue's own comparison.
 */
#include "kinds/pod_set_equal.h"
#include "kinds_test.h"

#define C(more) "{'containers':[{'name':'c','image':'i'" more "}]"

static const struct {
	const char *what, *a, *b;
	bool equal, but_for_tolerations;
} cases[] = {
    {"nothing", C("") "}", C("") "}", true, true},
    {"an image", C("") "}", "{'containers':[{'name':'c','image':'other'}]}", false, false},
    {"a command", C("") "}", C(",'command':['a']") "}", false, false},
    {"an init container", C("") "}", C("") ",'initContainers':[{'name':'x'}]}", false, false},
    {"one container more", C("") "}",
     "{'containers':[{'name':'c','image':'i'},{'name':'d','image':'i'}]}", false, false},
    {"requests", C(",'resources':{'requests':{'cpu':'1'}}") "}",
     C(",'resources':{'requests':{'cpu':'2'}}") "}", false, false},
    {"requests written otherwise", C(",'resources':{'requests':{'cpu':'1','memory':'1Gi'}}") "}",
     C(",'resources':{'requests':{'cpu':'1000m','memory':'1024Mi'}}") "}", true, true},
    {"what is empty instead of absent", C("") "}",
     C(",'env':[],'resources':{},'workingDir':''") ",'initContainers':null}", true, true},
    {"a node selector", C("") "}", C("") ",'nodeSelector':{'a':'b'}}", true, true},
    {"what an API server defaults", C("") "}",
     C("") ",'dnsPolicy':'ClusterFirst','restartPolicy':'Always'}", true, true},
    {"tolerations", C("") "}", C("") ",'tolerations':[{'key':'a'}]}", false, true},
    {"resources of the pod", C("") "}", C("") ",'resources':{'requests':{'cpu':'1'}}}", false,
     false},
    {"resource claims", C("") "}", C("") ",'resourceClaims':[{'name':'a'}]}", false, false},
    {"resource claims in another order",
     C("") ",'resourceClaims':[{'name':'a','resourceClaimName':'x'},{'name':'b'}]}",
     C("") ",'resourceClaims':[{'name':'b'},{'name':'a','resourceClaimName':'x'}]}", true, true},
};

static void templates_are_compared_as_kueue_does(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		auto_json *a = json_object();
		auto_json *b = json_object();
		json_add(a, "spec", tree_of(cases[i].a));
		json_add(b, "spec", tree_of(cases[i].b));
		if (pod_set_equal(a, b, true) != cases[i].equal ||
		    pod_set_equal(b, a, true) != cases[i].equal ||
		    pod_set_equal(a, b, false) != cases[i].but_for_tolerations)
			fail_msg("%s", cases[i].what);
	}
}

static void texts_that_are_none_differ(void **state)
{
	(void)state;
	assert_true(pod_set_equal_text(SPAN("{\"spec\":{}}"), SPAN("{\"spec\":{}}"), true));
	assert_true(pod_set_equal_text(SPAN("{\"spec\":{}}"), SPAN("{}"), true));
	assert_false(pod_set_equal_text(SPAN("{\"spec\":{}}"), SPAN("{"), true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(templates_are_compared_as_kueue_does),
	    cmocka_unit_test(texts_that_are_none_differ),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
