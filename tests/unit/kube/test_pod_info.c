#include "kube_test.h"

#include "kube/field_errors.h"
#include "kube/pod_info.h"

#include <errno.h>

static int64_t find(const struct info_amount *a, size_t n, const char *resource)
{
	for (size_t i = 0; i < n; i++)
		if (span_is(a[i].resource, resource))
			return a[i].value;
	return -1;
}

static void decode(const char *text, struct arena *mem, struct pod_info *p)
{
	struct err err = ERR_INIT;
	if (pod_info_decode(quoted(mem, text), mem, p, &err) < 0)
		fail_msg("%s", err.text);
}

/* The same pod spec as a pod's text and as a template's tree must ask for the same. */
static void expect(const char *spec, const char *resource, int64_t want)
{
	auto_arena mem = ARENA_INIT;
	auto_buf pod = BUF_INIT, template = BUF_INIT;
	struct field_errors errors = {0};
	struct template_info t;
	struct pod_info p;

	buf_addf(&pod, "{'metadata':{'name':'p'},'spec':%s}", spec);
	decode(pod.ptr, &mem, &p);
	int64_t got = find(p.requests, p.n_requests, resource);
	if (got != want)
		fail_msg("pod: %s: %lld, want %lld", resource, (long long)got, (long long)want);
	buf_addf(&template, "{'spec':%s}", spec);
	auto_json *tree = tree_of(template.ptr);
	assert_int_equal(template_info_decode(tree, "template", &mem, &t, &errors), 0);
	got = find(t.requests, t.n_requests, resource);
	if (got != want)
		fail_msg("template: %s: %lld, want %lld", resource, (long long)got,
			 (long long)want);
}

#define R(cpu) "'resources':{'requests':{'cpu':'" cpu "'}}"

static void containers_add_up(void **state)
{
	expect("{'containers':[{" R("1") "},{" R("500m") "},{}]}", "cpu", 1500);
	expect("{'containers':[{" R("1") "}]}", "memory", -1);
	expect("{'containers':[{" R("0") "}]}", "cpu", -1);
}

static void an_init_container_counts_when_it_needs_more(void **state)
{
	expect("{'initContainers':[{" R("4") "},{" R("2") "}],'containers':[{" R("1") "},{" R(
		   "1") "}]}",
	       "cpu", 4000);
	expect("{'initContainers':[{" R("1") "}],'containers':[{" R("1") "},{" R("1") "}]}", "cpu",
	       2000);
}

static void sidecars_run_beside_what_starts_after_them(void **state)
{
	/* sidecar 1 then init 3: 4 at its turn; init 3 before the sidecar: 3; running: 1 + 2 */
	expect("{'initContainers':[{'restartPolicy':'Always'," R("1") "},{" R(
		   "3") "}],"
			"'containers':[{" R("2") "}]}",
	       "cpu", 4000);
	expect("{'initContainers':[{" R("3") "},{'restartPolicy':'Always'," R(
		   "1") "}],"
			"'containers':[{" R("2") "}]}",
	       "cpu", 3000);
	expect("{'initContainers':[{'restartPolicy':'Always'," R(
		   "1") "},{'restartPolicy':'Always'," R("2") "}],'containers':[{" R("1") "}]}",
	       "cpu", 4000);
}

static void overhead_comes_on_top(void **state)
{
	expect("{'overhead':{'cpu':'250m','memory':'1Mi'},'containers':[{" R("1") "}]}", "cpu",
	       1250);
	expect("{'overhead':{'cpu':'250m','memory':'1Mi'},'containers':[{" R("1") "}]}", "memory",
	       1 << 20);
}

static void a_limit_stands_in_for_a_request_that_is_not_there(void **state)
{
	expect("{'containers':[{'resources':{'limits':{'nvidia.com/gpu':8,'cpu':'4'},'requests':"
	       "{'cpu':'1'}}}]}",
	       "nvidia.com/gpu", 8);
	expect("{'containers':[{'resources':{'limits':{'nvidia.com/gpu':8,'cpu':'4'},'requests':"
	       "{'cpu':'1'}}}]}",
	       "cpu", 1000);
}

static void a_request_of_the_whole_pod_replaces_the_sum(void **state)
{
	expect("{'resources':{'requests':{'cpu':'3'}},'overhead':{'cpu':'1'},'containers':[{" R(
		   "1") "},{'resources':{'requests':{'cpu':'1','x/y':'2'}}}]}",
	       "cpu", 4000);
	expect(
	    "{'resources':{'requests':{'cpu':'3'}},'containers':[{'resources':{'requests':{'cpu':"
	    "'1','x/y':'2'}}}]}",
	    "x/y", 2);
}

static const char pod[] =
    "{'metadata':{'namespace':'ns','name':'p','resourceVersion':'12','deletionTimestamp':"
    "'2026-01-01T00:00:00Z','labels':{'a':'b','muster.dev/hub-uid':'H','muster.dev/job-uid':'J',"
    "'muster.dev/pod-set':'worker'}},'spec':{'nodeName':'n1','containers':[{" R(
	"1") "}]},"
	     "'status':{'phase':'Running','conditions':[{'type':'Ready','status':'True'}]}}";

static void check_pod(const struct pod_info *p)
{
	assert_text(p->ns, "ns");
	assert_text(p->name, "p");
	assert_text(p->node, "n1");
	assert_text(p->hub_uid, "H");
	assert_text(p->job_uid, "J");
	assert_text(p->pod_set, "worker");
	assert_int_equal(p->revision, 12);
	assert_int_equal(p->phase, POD_RUNNING);
	assert_true(p->ready);
	assert_true(p->deleting);
	assert_int_equal(find(p->requests, p->n_requests, "cpu"), 1000);
}

static void a_pod_is_decoded_packed_and_unpacked(void **state)
{
	auto_arena mem = ARENA_INIT;
	auto_buf b = BUF_INIT;
	struct pod_info p, back;
	decode(pod, &mem, &p);
	check_pod(&p);
	pod_info_pack(&p, &b);
	assert_int_equal(pod_info_unpack(buf_span(&b), &mem, &back), 0);
	check_pod(&back);
	for (size_t len = 0; len < b.len; len++)
		assert_int_equal(pod_info_unpack(span_make(b.ptr, len), &mem, &back), -EINVAL);
}

static void a_foreign_pod_keeps_absent_things_absent(void **state)
{
	auto_arena mem = ARENA_INIT;
	auto_buf b = BUF_INIT;
	struct pod_info p, back;
	decode("{'metadata':{'name':'p'},'spec':{'nodeName':''},'status':{'phase':'Odd'}}", &mem,
	       &p);
	pod_info_pack(&p, &b);
	assert_int_equal(pod_info_unpack(buf_span(&b), &mem, &back), 0);
	assert_null(back.node.ptr);
	assert_null(back.hub_uid.ptr);
	assert_null(back.ns.ptr);
	assert_int_equal(back.phase, POD_PENDING);
	assert_int_equal(back.n_requests, 0);
}

static void a_foreign_pod_may_ask_for_nonsense(void **state)
{
	auto_arena mem = ARENA_INIT;
	struct pod_info p;
	decode(
	    "{'metadata':{'name':'p'},'spec':{'containers':[{'resources':{'requests':{'cpu':'x',"
	    "'memory':'-1','a/b':'9223372036854775807'}}},{'resources':{'requests':{'a/b':'5'}}},"
	    "7,[],{'resources':[]}],'initContainers':{}}}",
	    &mem, &p);
	assert_int_equal(p.n_requests, 1);
	assert_true(find(p.requests, p.n_requests, "a/b") == INT64_MAX);
}

/* ---- templates ---- */

static void a_template_says_where_its_pods_may_run(void **state)
{
	auto_arena mem = ARENA_INIT;
	struct field_errors e = {0};
	struct template_info t;
	auto_json *tree = tree_of(
	    "{'spec':{'priorityClassName':'high','nodeSelector':{'pool':'gpu'},'tolerations':["
	    "{'operator':'Exists'},{'key':'k','value':'v','effect':'NoExecute'},{'key':'z','operator':"
	    "'Exists','effect':'NoSchedule'}],'affinity':{'nodeAffinity':{"
	    "'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{"
	    "'matchExpressions':[{'key':'zone','operator':'In','values':['a','b']},{'key':'n',"
	    "'operator':'Gt','values':['5']}]},{'matchFields':[{'key':'metadata.name','operator':"
	    "'NotIn','values':['n1']}]},{}]}}}}}");
	assert_int_equal(template_info_decode(tree, "t", &mem, &t, &e), 0);
	assert_text(t.priority_class, "high");
	assert_int_equal(t.n_node_selector, 1);
	assert_text(t.node_selector[0].value, "gpu");
	assert_int_equal(t.n_tolerations, 3);
	assert_null(t.tolerations[0].key.ptr);
	assert_int_equal(t.tolerations[0].op, TOLERATE_EXISTS);
	assert_true(t.tolerations[0].any_effect);
	assert_int_equal(t.tolerations[1].op, TOLERATE_EQUAL);
	assert_int_equal(t.tolerations[1].effect, INFO_NO_EXECUTE);
	assert_int_equal(t.n_affinity, 3);
	assert_int_equal(t.affinity[0].n_requirements, 2);
	assert_int_equal(t.affinity[0].requirements[1].op, MATCH_GT);
	assert_int_equal(t.affinity[0].requirements[0].n_values, 2);
	assert_false(t.affinity[0].requirements[0].is_field);
	assert_true(t.affinity[1].requirements[0].is_field);
	assert_int_equal(t.affinity[2].n_requirements, 0);
}

static void a_required_affinity_without_terms_matches_no_node(void **state)
{
	auto_arena mem = ARENA_INIT;
	struct field_errors e = {0};
	struct template_info t;
	auto_json *tree = tree_of("{'spec':{'affinity':{'nodeAffinity':{"
				  "'requiredDuringSchedulingIgnoredDuringExecution':{}}}}}");
	assert_int_equal(template_info_decode(tree, "t", &mem, &t, &e), 0);
	assert_int_equal(t.n_affinity, 1);
	assert_int_equal(t.affinity[0].n_requirements, 0);
}

#define TERM                                                                                       \
	"w.template.spec.affinity.nodeAffinity."                                                   \
	"requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"

static void bad_quantities_of_a_template_are_named_by_path(void **state)
{
	auto_arena mem = ARENA_INIT;
	struct field_errors e = {0};
	struct template_info t;
	auto_json *tree = tree_of(
	    "{'spec':{'containers':[{'resources':{'requests':{'cpu':'x','memory':'1e30'},'limits':"
	    "{'cpu':'-1'}}}],'initContainers':[{},{'resources':{'requests':{'a/b':true}}}],"
	    "'overhead':{'cpu':{}},'tolerations':[{'operator':'Is'},{'effect':'Never'}],'affinity':{"
	    "'nodeAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':{'nodeSelectorTerms':[{"
	    "'matchExpressions':[{'key':'a','operator':'Near'}]}]}}}}}");
	static const char *const want[] = {
	    "w.template.spec.containers[0].resources.requests[cpu]",
	    "w.template.spec.containers[0].resources.requests[memory]",
	    "w.template.spec.containers[0].resources.limits[cpu]",
	    "w.template.spec.initContainers[1].resources.requests[a/b]",
	    "w.template.spec.overhead[cpu]",
	    TERM,
	    "w.template.spec.tolerations[0]",
	    "w.template.spec.tolerations[1]",
	};
	assert_int_equal(template_info_decode(tree, "w.template", &mem, &t, &e), -EDOM);
	assert_int_equal(e.n, ARRAY_LEN(want));
	for (size_t i = 0; i < e.n; i++)
		assert_string_equal(e.items[i].field, want[i]);
	assert_string_equal(e.items[1].value, "\"1e30\"");
	assert_string_equal(e.items[1].detail, "must fit in 64 bits");
	assert_string_equal(e.items[2].detail, "must be greater than or equal to 0");
	field_errors_done(&e);
}

static void requests_that_overflow_together_are_refused(void **state)
{
	auto_arena mem = ARENA_INIT;
	struct field_errors e = {0};
	struct template_info t;
	auto_json *tree =
	    tree_of("{'spec':{'containers':[{'resources':{'requests':{'memory':'5E'}}},"
		    "{'resources':{'requests':{'memory':'5E'}}}]}}");
	assert_int_equal(template_info_decode(tree, "t", &mem, &t, &e), -EDOM);
	assert_string_equal(e.items[0].field, "t.spec.containers");
	field_errors_done(&e);
}

static void too_many_resources_are_refused_for_a_template(void **state)
{
	auto_arena mem = ARENA_INIT;
	struct field_errors e = {0};
	struct template_info t;
	auto_buf b = BUF_INIT;
	buf_add_str(&b, "{'spec':{'containers':[{'resources':{'requests':{");
	for (int i = 0; i < 65; i++)
		buf_addf(&b, "%s'r/%d':'1'", i ? "," : "", i);
	buf_add_str(&b, "}}}]}}");
	auto_json *tree = tree_of(b.ptr);
	assert_int_equal(template_info_decode(tree, "t", &mem, &t, &e), -EDOM);
	assert_int_equal(e.items[0].reason, FIELD_TOO_MANY);
	field_errors_done(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(containers_add_up),
	    cmocka_unit_test(an_init_container_counts_when_it_needs_more),
	    cmocka_unit_test(sidecars_run_beside_what_starts_after_them),
	    cmocka_unit_test(overhead_comes_on_top),
	    cmocka_unit_test(a_limit_stands_in_for_a_request_that_is_not_there),
	    cmocka_unit_test(a_request_of_the_whole_pod_replaces_the_sum),
	    cmocka_unit_test(a_pod_is_decoded_packed_and_unpacked),
	    cmocka_unit_test(a_foreign_pod_keeps_absent_things_absent),
	    cmocka_unit_test(a_foreign_pod_may_ask_for_nonsense),
	    cmocka_unit_test(a_template_says_where_its_pods_may_run),
	    cmocka_unit_test(a_required_affinity_without_terms_matches_no_node),
	    cmocka_unit_test(bad_quantities_of_a_template_are_named_by_path),
	    cmocka_unit_test(requests_that_overflow_together_are_refused),
	    cmocka_unit_test(too_many_resources_are_refused_for_a_template),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
