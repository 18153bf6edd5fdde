/* What must hold for every served kind, and the cells that kinds compute. */
#include "kinds_test.h"

#include "kube/jsonpath.h"
#include "kube/table.h"

#include <errno.h>

static void check_columns(const struct kind *k)
{
	size_t computed = 0;
	struct span found;

	for (size_t i = 0; i < k->n_columns; i++) {
		const struct kind_column *c = &k->columns[i];
		if (!c->json_path)
			computed++;
		else
			assert_int_equal(jsonpath_first(c->json_path, SPAN("{}"), &found), -ENOENT);
	}
	assert_true((computed > 0) == (k->cells != NULL));
	if (k->cells) { /* an empty object has all its cells too */
		auto_json *object = json_object();
		auto_json *cells = json_array();
		k->cells(k, object, 0, cells);
		assert_int_equal(json_len(cells), computed);
	}
}

static void check_fields(const struct schema *s, int depth)
{
	assert_true(s->n_fields <= SCHEMA_MAX_FIELDS);
	for (size_t i = 0; i < s->n_fields; i++) {
		const struct schema_field *f = &s->fields[i];
		assert_ptr_equal(schema_field_find(s, f->name), f);
		assert_true((f->default_json != NULL) == ((s->defaulted >> i & 1) != 0));
		if (depth < 12)
			check_fields(f->schema, depth + 1);
	}
	if (s->items && depth < 12)
		check_fields(s->items, depth + 1);
}

/* How many kinds claim the first short name of `k`, versions of one counted once: kubectl warns
 * from two on. */
static size_t n_short_names(const struct kind_set *set, const struct kind *k)
{
	size_t n = 0;

	for (size_t i = 0; k->short_names && i < set->n_kinds; i++)
		for (const char *const *s = set->kinds[i]->short_names; s && *s; s++)
			n += strcmp(*s, k->short_names[0]) == 0 &&
			     (set->kinds[i] == k || strcmp(set->kinds[i]->group, k->group) != 0 ||
			      strcmp(set->kinds[i]->plural, k->plural) != 0);
	return n;
}

static void every_kind_is_well_formed(void **state)
{
	const struct kind_set *const sets[] = {kinds_hub(), kinds_sim()};
	(void)state;
	for (size_t s = 0; s < 2; s++) {
		for (size_t i = 0; i < sets[s]->n_kinds; i++) {
			const struct kind *k = sets[s]->kinds[i];
			char version[KIND_API_VERSION_MAX];
			kind_api_version(k, version);
			assert_ptr_equal(kind_by_resource(sets[s], span_of(k->group),
							  span_of(k->version), span_of(k->plural)),
					 k);
			assert_ptr_equal(kind_by_gvk(sets[s], span_of(k->group),
						     span_of(k->version), span_of(k->kind)),
					 k);
			assert_non_null(schema_field_find(k->schema, "metadata"));
			assert_true(!k->is_job || k->digest);
			assert_int_equal(n_short_names(sets[s], k), k->short_names ? 1 : 0);
			check_columns(k);
			check_fields(k->schema, 0);
		}
	}
}

static void both_sets_serve_what_they_should(void **state)
{
	static const uint16_t hub[] = {
	    TYPE_NAMESPACE,
	    TYPE_CONFIG_MAP,
	    TYPE_SECRET,
	    TYPE_SERVICE_ACCOUNT,
	    TYPE_PERSISTENT_VOLUME_CLAIM,
	    TYPE_POD_TEMPLATE,
	    TYPE_EVENT,
	    TYPE_NODE,
	    TYPE_POD,
	    TYPE_LEASE,
	    TYPE_PRIORITY_CLASS,
	    TYPE_JOB,
	    TYPE_PYTORCH_JOB,
	    TYPE_TF_JOB,
	    TYPE_MPI_JOB,
	    TYPE_JOB_SET,
	    TYPE_RAY_JOB,
	    TYPE_PROPAGATION_POLICY,
	    TYPE_CLUSTER_PROPAGATION_POLICY,
	    TYPE_CLUSTER,
	    TYPE_RESOURCE_BINDING,
	    TYPE_ELASTIC_QUOTA_TREE,
	    TYPE_QUEUE,
	    TYPE_QUEUE_UNIT,
	    TYPE_ROLE,
	    TYPE_ROLE_BINDING,
	    TYPE_CLUSTER_ROLE,
	    TYPE_CLUSTER_ROLE_BINDING,
	    TYPE_CUSTOM_RESOURCE_DEFINITION,
	    TYPE_SELF_SUBJECT_REVIEW,
	    TYPE_TOKEN_REVIEW,
	    TYPE_SUBJECT_ACCESS_REVIEW,
	    TYPE_LOCAL_SUBJECT_ACCESS_REVIEW,
	    TYPE_SELF_SUBJECT_ACCESS_REVIEW,
	    TYPE_SELF_SUBJECT_RULES_REVIEW,
	    TYPE_PROVISIONING_REQUEST,
	    TYPE_XGBOOST_JOB,
	    TYPE_PADDLE_JOB,
	    TYPE_JAX_JOB,
	    TYPE_RAY_CLUSTER,
	    TYPE_RESOURCE_FLAVOR,
	    TYPE_CLUSTER_QUEUE,
	    TYPE_LOCAL_QUEUE,
	    TYPE_COHORT,
	    TYPE_WORKLOAD,
	    TYPE_WORKLOAD_PRIORITY_CLASS,
	    TYPE_ADMISSION_CHECK,
	    TYPE_PROVISIONING_REQUEST_CONFIG,
	    TYPE_TOPOLOGY,
	    TYPE_MULTI_KUEUE_CONFIG,
	    TYPE_MULTI_KUEUE_CLUSTER,
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(hub); i++)
		assert_non_null(kind_by_type(kinds_hub(), hub[i]));
	assert_int_equal(kinds_hub()->n_kinds, ARRAY_LEN(hub) + 4 + 11 + 30 + 4 + 1);
	/* Event, both policies, ProvisioningRequest; v1beta1 of Kueue's kinds; not run; the
	 * mpi-operator's MPIJob */
	assert_int_equal(kind_by_type(kinds_hub(), TYPE_POD)->verbs, KIND_VERBS_READ);
	assert_int_equal(kind_by_type(kinds_sim(), TYPE_POD)->verbs, KIND_VERBS_ALL);
	assert_non_null(kind_by_type(kinds_sim(), TYPE_SERVICE));
	assert_null(kind_by_type(kinds_sim(), TYPE_CLUSTER));
	assert_string_equal(kind_by_type(kinds_hub(), TYPE_EVENT)->group, "");
	assert_string_equal(kind_by_type(kinds_hub(), TYPE_PROPAGATION_POLICY)->group,
			    "policy.one.alibabacloud.com");
	assert_true(kind_by_resource(kinds_hub(), SPAN("policy.karmada.io"), SPAN("v1alpha1"),
				     SPAN("propagationpolicies"))
			->same_shape);
}

/* The names of the columns, those of -o wide in brackets. */
static void expect_columns(uint16_t type, const char *want)
{
	const struct kind *k = hub_kind(type);
	auto_buf got = BUF_INIT;

	buf_add_str(&got, "NAME");
	for (size_t i = 0; i < k->n_columns; i++)
		buf_addf(&got, k->columns[i].priority ? " (%s)" : " %s", k->columns[i].name);
	assert_true(strcasecmp(got.ptr, want) == 0 || (print_error("%s\n", got.ptr), false));
}

static void columns_are_those_of_upstream(void **state)
{
	(void)state;
	expect_columns(TYPE_PYTORCH_JOB, "NAME STATE AGE");
	expect_columns(TYPE_MPI_JOB, "NAME AGE STATE");
	expect_columns(TYPE_JOB_SET, "NAME TERMINALSTATE RESTARTS COMPLETED SUSPENDED AGE");
	expect_columns(TYPE_JOB,
		       "NAME STATUS COMPLETIONS DURATION AGE (CONTAINERS) (IMAGES) (SELECTOR)");
	expect_columns(TYPE_RAY_JOB,
		       "NAME JOB STATUS DEPLOYMENT STATUS RAY CLUSTER NAME START TIME "
		       "END TIME AGE");
	expect_columns(TYPE_XGBOOST_JOB, "NAME STATE AGE");
	expect_columns(TYPE_PADDLE_JOB, "NAME STATE AGE");
	expect_columns(TYPE_JAX_JOB, "NAME STATE AGE");
	expect_columns(TYPE_RAY_CLUSTER,
		       "NAME DESIRED WORKERS AVAILABLE WORKERS CPUS MEMORY GPUS (TPUS) STATUS AGE "
		       "(HEAD POD IP) (HEAD SERVICE IP)");
	expect_columns(TYPE_PROPAGATION_POLICY, "NAME CONFLICT-RESOLUTION PRIORITY AGE");
	expect_columns(TYPE_CLUSTER, "NAME VERSION MODE READY AGE (ZONES) (REGION) (PROVIDER) "
				     "(API-ENDPOINT) (PROXY-URL)");
	expect_columns(TYPE_RESOURCE_BINDING, "NAME SCHEDULED FULLYAPPLIED AGE");
	expect_columns(TYPE_QUEUE, "NAME AGE");
	expect_columns(TYPE_QUEUE_UNIT, "NAME PHASE PRIORITY ADMISSIONS JOBTYPE");
	expect_columns(TYPE_CLUSTER_QUEUE,
		       "NAME COHORT (STRATEGY) PENDING WORKLOADS (ADMITTED WORKLOADS)");
	expect_columns(TYPE_LOCAL_QUEUE, "NAME CLUSTERQUEUE PENDING WORKLOADS ADMITTED WORKLOADS");
	expect_columns(TYPE_WORKLOAD, "NAME QUEUE RESERVED IN ADMITTED FINISHED AGE");
	expect_columns(TYPE_WORKLOAD_PRIORITY_CLASS, "NAME VALUE");
	expect_columns(TYPE_MULTI_KUEUE_CLUSTER, "NAME CONNECTED AGE");
	expect_columns(TYPE_PROVISIONING_REQUEST, "NAME AGE");
}

static void expect_cells(const struct kind *k, const char *object, const char *want)
{
	auto_arena mem = ARENA_INIT;
	auto_buf row = BUF_INIT, wanted = BUF_INIT;
	usec now = 0;

	assert_int_equal(clock_parse(SPAN("2026-01-01T01:00:00Z"), &now), 0);
	table_row(k, "v1", quoted(&mem, object), TABLE_NONE, now, true, &row);
	buf_addf(&wanted, "%.*s,'object':null}", (int)strlen(want) - 1, want);
	if (!span_eq(buf_span(&row), quoted(&mem, wanted.ptr)))
		fail_msg("got  %s\nwant %s", row.ptr, wanted.ptr);
}

static void a_jobs_cells_tell_its_state(void **state)
{
	(void)state;
	const struct kind *k = hub_kind(TYPE_JOB);
	expect_cells(k,
		     "{'metadata':{'name':'j','creationTimestamp':'2026-01-01T00:00:00Z'},'spec':{"
		     "'completions':3,'template':{'spec':{'containers':[{'name':'a','image':'x'},"
		     "{'name':'b','image':'y'}]}},'selector':{'matchLabels':{'k':'v'}}},"
		     "'status':{'succeeded':3,'startTime':'2026-01-01T00:00:00Z','completionTime':"
		     "'2026-01-01T00:05:00Z','conditions':[{'type':'Complete','status':'True'}]}}",
		     "{'cells':['j','Complete','3/3','5m','60m','a,b','x,y','k=v']}");
	expect_cells(k,
		     "{'metadata':{'name':'j'},'spec':{'parallelism':4},'status':{'conditions':["
		     "{'type':'Suspended','status':'True'}]}}",
		     "{'cells':['j','Suspended','0/1 of 4','',null,'','','<none>']}");
	expect_cells(k, "{'metadata':{'name':'j','deletionTimestamp':'2026-01-01T00:00:00Z'}}",
		     "{'cells':['j','Terminating','0/1','',null,'','','<none>']}");
	expect_cells(k, "{'metadata':{'name':'j'},'status':{'startTime':'2026-01-01T00:59:30Z'}}",
		     "{'cells':['j','Running','0/1','30s',null,'','','<none>']}");
}

#define TAIL ",null,'<none>','<none>','<none>','<none>']}"

static void a_pods_status_is_what_its_containers_say(void **state)
{
	(void)state;
	const struct kind *k = hub_kind(TYPE_POD);
	expect_cells(k,
		     "{'metadata':{'name':'p'},'spec':{'containers':[{},{}]},'status':{'phase':"
		     "'Running','containerStatuses':[{'ready':true,'restartCount':2,'lastState':"
		     "{'terminated':{'finishedAt':'2026-01-01T00:55:00Z'}},'state':{'running':{}}},"
		     "{'restartCount':0,'state':{'waiting':{'reason':'CrashLoopBackOff'}}}]}}",
		     "{'cells':['p','1/2','CrashLoopBackOff','2 (5m ago)'" TAIL);
	expect_cells(
	    k,
	    "{'metadata':{'name':'p'},'spec':{'containers':[{}]},'status':{'phase':'Succeeded',"
	    "'containerStatuses':[{'state':{'terminated':{'exitCode':0,'reason':'Completed'}}}"
	    "]}}",
	    "{'cells':['p','0/1','Completed','0'" TAIL);
	expect_cells(
	    k,
	    "{'metadata':{'name':'p'},'spec':{'containers':[{}]},'status':{'phase':'Failed',"
	    "'containerStatuses':[{'state':{'terminated':{'exitCode':137,'signal':9}}}]}}",
	    "{'cells':['p','0/1','Signal:9','0'" TAIL);
	expect_cells(
	    k,
	    "{'metadata':{'name':'p'},'spec':{'initContainers':[{'name':'i'},{'name':'j'}],"
	    "'containers':[{}]},'status':{'phase':'Pending','initContainerStatuses':["
	    "{'name':'i','state':{'terminated':{'exitCode':0}}},{'name':'j','state':"
	    "{'running':{}}}]}}",
	    "{'cells':['p','0/1','Init:1/2','0'" TAIL);
	expect_cells(
	    k,
	    "{'metadata':{'name':'p'},'spec':{'initContainers':[{'name':'s','restartPolicy':"
	    "'Always'}],'containers':[{}]},'status':{'phase':'Running',"
	    "'initContainerStatuses':[{'name':'s','started':true,'ready':true,'state':"
	    "{'running':{}}}],'containerStatuses':[{'ready':true,'state':{'running':{}}}]}}",
	    "{'cells':['p','2/2','Running','0'" TAIL);
	expect_cells(k,
		     "{'metadata':{'name':'p','deletionTimestamp':'2026-01-01T00:00:00Z'},'spec':"
		     "{'containers':[{}],'nodeName':'n','readinessGates':[{'conditionType':'g'}]},"
		     "'status':{'phase':'Running','podIP':'1.2.3.4'}}",
		     "{'cells':['p','0/1','Terminating','0',null,'1.2.3.4','n','<none>','0/1']}");
	expect_cells(
	    k,
	    "{'metadata':{'name':'p'},'spec':{'containers':[{}]},'status':{'phase':'Pending',"
	    "'conditions':[{'type':'PodScheduled','status':'False','reason':"
	    "'SchedulingGated'}]}}",
	    "{'cells':['p','0/1','SchedulingGated','0'" TAIL);
}

static void a_node_tells_health_roles_and_addresses(void **state)
{
	(void)state;
	const struct kind *k = hub_kind(TYPE_NODE);
	expect_cells(
	    k,
	    "{'metadata':{'name':'n','labels':{'node-role.kubernetes.io/gpu':'',"
	    "'kubernetes.io/role':'x'}},'spec':{'unschedulable':true},'status':{'conditions':["
	    "{'type':'Ready','status':'True'}],'addresses':[{'type':'InternalIP','address':"
	    "'10.0.0.1'}],'nodeInfo':{'kubeletVersion':'v1','osImage':'Debian'}}}",
	    "{'cells':['n','Ready,SchedulingDisabled','gpu,x',null,'v1','10.0.0.1','<none>',"
	    "'Debian','<unknown>','<unknown>']}");
	expect_cells(k, "{'metadata':{'name':'n'}}",
		     "{'cells':['n','Unknown','<none>',null,null,'<none>','<none>','<unknown>',"
		     "'<unknown>','<unknown>']}");
}

static void an_event_tells_its_object_in_both_shapes(void **state)
{
	(void)state;
	const struct kind *core = hub_kind(TYPE_EVENT);
	const struct kind *newer =
	    kind_by_resource(kinds_hub(), SPAN("events.k8s.io"), SPAN("v1"), SPAN("events"));
	static const char want[] = "{'cells':['10m','Normal','Started','pytorchjob/j',null,"
				   "'kubelet, n1','it started','60m',3,'e']}";
	expect_cells(
	    core,
	    "{'metadata':{'name':'e'},'type':'Normal','reason':'Started','involvedObject':"
	    "{'kind':'PyTorchJob','name':'j'},'source':{'component':'kubelet','host':'n1'},"
	    "'message':'it started\\n','firstTimestamp':'2026-01-01T00:00:00Z',"
	    "'lastTimestamp':'2026-01-01T00:50:00Z','count':3}",
	    want);
	expect_cells(
	    newer,
	    "{'metadata':{'name':'e'},'type':'Normal','reason':'Started','regarding':"
	    "{'kind':'PyTorchJob','name':'j'},'deprecatedSource':{'component':'kubelet','host':"
	    "'n1'},'note':'it started','deprecatedFirstTimestamp':'2026-01-01T00:00:00Z',"
	    "'deprecatedLastTimestamp':'2026-01-01T00:50:00Z','deprecatedCount':3}",
	    want);
}

static void the_small_core_kinds_count_their_entries(void **state)
{
	(void)state;
	expect_cells(hub_kind(TYPE_CONFIG_MAP),
		     "{'metadata':{'name':'c'},'data':{'a':'','b':''},'binaryData':{'c':''}}",
		     "{'cells':['c',3,null]}");
	expect_cells(hub_kind(TYPE_SECRET),
		     "{'metadata':{'name':'s'},'type':'Opaque','data':{'a':''}}",
		     "{'cells':['s','Opaque',1,null]}");
	expect_cells(hub_kind(TYPE_PRIORITY_CLASS), "{'metadata':{'name':'p'},'value':5}",
		     "{'cells':['p',5,false,null,null]}");
	expect_cells(hub_kind(TYPE_PERSISTENT_VOLUME_CLAIM),
		     "{'metadata':{'name':'v'},'status':{'phase':'Bound','accessModes':"
		     "['ReadWriteOnce','ReadOnlyMany']}}",
		     "{'cells':['v','Bound',null,null,'RWO,ROX',null,'<unset>',null,null]}");
	expect_cells(
	    kind_by_type(kinds_sim(), TYPE_SERVICE),
	    "{'metadata':{'name':'s'},'spec':{'type':'ClusterIP','clusterIP':'None','ports':[{"
	    "'port':80,'protocol':'TCP'},{'port':53,'protocol':'UDP','nodePort':30053}],"
	    "'selector':{'a':'b'}}}",
	    "{'cells':['s','ClusterIP','None','<none>','80/TCP,53:30053/UDP',null,'a=b']}");
}

static void job_kinds_show_what_their_members_report(void **state)
{
	(void)state;
	expect_cells(hub_kind(TYPE_PYTORCH_JOB),
		     "{'metadata':{'name':'j','creationTimestamp':'2026-01-01T00:56:16Z'},'status':"
		     "{'conditions':[{'type':'Created'},{'type':'Running'}]}}",
		     "{'cells':['j','Running','3m44s']}");
	expect_cells(
	    hub_kind(TYPE_JOB_SET),
	    "{'metadata':{'name':'s'},'spec':{'suspend':false},'status':{'restarts':0,"
	    "'conditions':[{'type':'Completed','status':'True'}],'terminalState':'Completed'}}",
	    "{'cells':['s','Completed','0','True','false',null]}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_kind_is_well_formed),
	    cmocka_unit_test(both_sets_serve_what_they_should),
	    cmocka_unit_test(columns_are_those_of_upstream),
	    cmocka_unit_test(a_jobs_cells_tell_its_state),
	    cmocka_unit_test(a_pods_status_is_what_its_containers_say),
	    cmocka_unit_test(a_node_tells_health_roles_and_addresses),
	    cmocka_unit_test(an_event_tells_its_object_in_both_shapes),
	    cmocka_unit_test(the_small_core_kinds_count_their_entries),
	    cmocka_unit_test(job_kinds_show_what_their_members_report),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
