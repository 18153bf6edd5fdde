/* The section kueue: of the configuration, and what resources: makes of a pod's requests. */
#include "../kube/kube_test.h"

#include "core/kueue/settings.h"

static void read_text(const char *text, struct kueue_settings *s, struct arena *mem,
		      const char *want)
{
	/* Texts are borrowed from the tree: it must live as long as the settings. */
	static struct cJSON *tree;
	struct err e = ERR_INIT;

	json_free(tree);
	tree = NULL;
	*s = kueue_settings_default();
	if (!text)
		return;
	tree = tree_of(text);
	int r = kueue_settings_read(tree, mem, s, &e);
	assert_string_equal(e.text, want);
	assert_int_equal(r, want[0] ? err_errno(ERR_INVALID) : 0);
}

static void refused(const char *text, const char *want)
{
	auto_arena mem = ARENA_INIT;
	struct kueue_settings s;

	read_text(text, &s, &mem, want);
	read_text(NULL, &s, &mem, "");
}

static void an_empty_section_is_kueues_defaults(void **state)
{
	(void)state;
	auto_arena mem = ARENA_INIT;
	struct kueue_settings s;

	read_text("{}", &s, &mem, "");
	assert_false(s.engine.fair_sharing);
	assert_true(s.engine.partial_admission && s.engine.equivalence_hashing);
	assert_false(s.engine.prioritize_preemptors);
	assert_true(s.wait_for_pods_ready);
	assert_int_equal(s.pods_ready_timeout, 1800 * USEC_PER_SEC);
	assert_int_equal(s.backoff_limit, -1);
	assert_int_equal(s.retain_finished, -1);
	assert_false(s.ray_submitter);
	assert_false(s.block_admission || s.manage_unqueued);
	assert_int_equal(s.recovery_timeout, -1);
	assert_null(s.managed_namespaces);
	assert_int_equal(s.engine.usage_sampling_interval, 0);
	assert_true(s.priority_class_defaulting && s.reclaimable_pods && s.observability);
	read_text(NULL, &s, &mem, "");
}

static void every_setting_is_taken(void **state)
{
	(void)state;
	auto_arena mem = ARENA_INIT;
	struct kueue_settings s;

	read_text("{'fairSharing':{'preemptionStrategies':['LessThanInitialShare']},"
		  "'admissionFairSharing':{'usageHalfLifeTime':'168h','usageSamplingInterval':"
		  "'1m30s'},'waitForPodsReady':{'enable':false,'timeout':'10m','requeuingStrategy':"
		  "{'timestamp':'Creation','backoffLimitCount':5,'backoffBaseSeconds':10,"
		  "'backoffMaxSeconds':600}},'resources':{'quotaCheckStrategy':"
		  "'IgnoreUndeclared'},'objectRetentionPolicies':{'workloads':{'afterFinished':"
		  "'0'}},'manageJobsWithoutQueueName':false,'countRaySubmitter':true,"
		  "'featureGates':{'PartialAdmission':false,'PrioritizePreemptorWorkloads':true,"
		  "'MultiKueue':true,"
		  "'PriorityBoost':true,'ShortWorkloadNames':true,"
		  "'UnadmittedWorkloadsExplicitStatus':true}}",
		  &s, &mem, "");
	assert_true(s.engine.fair_sharing);
	assert_int_equal(s.engine.n_fair_strategies, 1);
	assert_int_equal(s.engine.fair_strategies[0], KUEUE_LESS_THAN_INITIAL_SHARE);
	assert_int_equal(s.engine.usage_half_life, 168 * 3600 * USEC_PER_SEC);
	assert_int_equal(s.engine.usage_sampling_interval, 90 * USEC_PER_SEC);
	assert_false(s.wait_for_pods_ready);
	assert_int_equal(s.pods_ready_timeout, 600 * USEC_PER_SEC);
	assert_true(s.requeue_by_creation);
	assert_int_equal(s.backoff_limit, 5);
	assert_int_equal(s.backoff_base, 10 * USEC_PER_SEC);
	assert_int_equal(s.backoff_max, 600 * USEC_PER_SEC);
	assert_true(s.engine.ignore_undeclared);
	assert_int_equal(s.retain_finished, 0);
	assert_true(s.ray_submitter);
	assert_false(s.engine.partial_admission);
	assert_true(s.engine.prioritize_preemptors);
	assert_true(s.priority_boost && s.short_names && s.explicit_status);
	read_text(NULL, &s, &mem, "");
}

static void whose_jobs_are_managed_and_how_they_are_weighed(void **state)
{
	(void)state;
	auto_arena mem = ARENA_INIT;
	struct kueue_settings s;

	read_text("{'manageJobsWithoutQueueName':true,'managedJobsNamespaceSelector':"
		  "{'matchExpressions':[{'key':'kueue','operator':'Exists'}]},"
		  "'admissionFairSharing':{'resourceWeights':{'cpu':2,'memory':'0.5'}},"
		  "'waitForPodsReady':{'blockAdmission':true,'recoveryTimeout':'3m'}}",
		  &s, &mem, "");
	assert_true(s.manage_unqueued && s.managed_namespaces && s.block_admission);
	assert_int_equal(s.recovery_timeout, 180 * USEC_PER_SEC);
	assert_int_equal(s.n_usage_weights, 2);
	assert_true(s.usage_weights[1].weight > 0.49 && s.usage_weights[1].weight < 0.51);
	/* Kueue's default, once the section is there */
	assert_int_equal(s.engine.usage_sampling_interval, 300 * USEC_PER_SEC);
	read_text("{'waitForPodsReady':{'blockAdmission':true},'featureGates':"
		  "{'DisableWaitForPodsReady':true}}",
		  &s, &mem, "");
	assert_false(s.wait_for_pods_ready);
	read_text(NULL, &s, &mem, "");
}

static void what_is_unknown_or_has_no_effect_is_refused(void **state)
{
	(void)state;
	refused("[]", "kueue: must be a mapping");
	refused("{'bogus':1}", "kueue.bogus: unknown setting");
	refused("{'waitForPodsReady':{'bogus':1}}",
		"kueue.waitForPodsReady.bogus: unknown setting");
	refused("{'waitForPodsReady':{'timeout':5}}",
		"kueue.waitForPodsReady.timeout: must be a duration such as 30s, 5m or 1h30m");
	refused("{'waitForPodsReady':{'blockAdmission':1}}",
		"kueue.waitForPodsReady.blockAdmission: must be true or false");
	refused("{'waitForPodsReady':{'recoveryTimeout':-1}}",
		"kueue.waitForPodsReady.recoveryTimeout: must be a duration such as 30s, 5m or "
		"1h30m");
	refused("{'admissionFairSharing':{'resourceWeights':{'cpu':-1}}}",
		"kueue.admissionFairSharing.resourceWeights: weights must be numbers of at least "
		"0");
	refused("{'admissionFairSharing':{'resourceWeights':[]}}",
		"kueue.admissionFairSharing.resourceWeights: must map at most 64 resources to "
		"weights");
	refused("{'managedJobsNamespaceSelector':{}}",
		"kueue.managedJobsNamespaceSelector: must not match the namespaces kube-system and "
		"kueue-system");
	refused("{'managedJobsNamespaceSelector':{'matchLabels':{'-':'x'}}}",
		"kueue.managedJobsNamespaceSelector: must be a label selector");
	refused("{'managedJobsNamespaceSelector':'all'}",
		"kueue.managedJobsNamespaceSelector: must be a label selector");
	refused("{'resources':{'quotaCheckStrategy':'IgnoreUndeclared'},'featureGates':"
		"{'QuotaCheckStrategy':false}}",
		"quotaCheckStrategy needs the feature gate QuotaCheckStrategy");
	refused("{'waitForPodsReady':{'requeuingStrategy':{'backoffLimitCount':-1}}}",
		"kueue.waitForPodsReady.requeuingStrategy.backoffLimitCount: must be a number, or "
		"null for no limit");
	refused("{'fairSharing':{'preemptionStrategies':['LessThanInitialShare',"
		"'LessThanOrEqualToFinalShare']}}",
		"kueue.fairSharing.preemptionStrategies: must be LessThanOrEqualToFinalShare, "
		"LessThanInitialShare, or both in this order");
	refused("{'fairSharing':{'preemptionStrategies':[]}}",
		"kueue.fairSharing.preemptionStrategies: must be specified");
	refused("{'fairSharing':{'preemptionStrategies':['LessThanInitialShare',"
		"'LessThanInitialShare']}}",
		"kueue.fairSharing.preemptionStrategies: must be LessThanOrEqualToFinalShare, "
		"LessThanInitialShare, or both in this order");
	refused("{'featureGates':{'Bogus':true}}",
		"kueue.featureGates.Bogus: unknown feature gate Bogus");
	refused("{'featureGates':{'MultiKueue':false}}",
		"kueue.featureGates.MultiKueue: MultiKueue is always on here: an AdmissionCheck of "
		"MultiKueue names a job's members here");
	refused(
	    "{'featureGates':{'ConcurrentAdmission':true}}",
	    "kueue.featureGates.ConcurrentAdmission: ConcurrentAdmission is always off here: this "
	    "is not built here");
	refused("{'featureGates':{'UnadmittedWorkloadsExplicitStatus':true,"
		"'UnadmittedWorkloadsObservability':false}}",
		"UnadmittedWorkloadsExplicitStatus needs UnadmittedWorkloadsObservability");
	refused("{'featureGates':{'PartialAdmission':'yes'}}",
		"kueue.featureGates.PartialAdmission: must be true or false");
	refused("{'featureGates':{'FlavorFungibility':false}}",
		"FlavorFungibilityPreserveScanProgress needs FlavorFungibility: switch it off too");
	refused("{'resources':{'quotaCheckStrategy':'IgnoreUndeclared',"
		"'excludeResourcePrefixes':['a/']}}",
		"kueue.resources: excludeResourcePrefixes and quotaCheckStrategy IgnoreUndeclared "
		"exclude each other");
	refused("{'resources':{'transformations':[{'input':'a'},{'input':'a'}]}}",
		"kueue.resources.transformations[1]: the input has a transformation already");
	refused("{'resources':{'transformations':[{'input':'a','outputs':{'b':'x'}}]}}",
		"kueue.resources.transformations[0]: outputs must map at most 16 resources to "
		"quantities");
	refused("{'resources':{'transformations':[{'strategy':'Replace'}]}}",
		"kueue.resources.transformations[0]: needs an input");
}

static void durations_are_gos(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		usec want; /* -1: refused */
	} cases[] = {{"0", 0},
		     {"0s", 0},
		     {"500ms", 500 * USEC_PER_MS},
		     {"2m", 120 * USEC_PER_SEC},
		     {"1h30m5s", 5405 * USEC_PER_SEC},
		     {"", -1},
		     {"5", -1},
		     {"m", -1},
		     {"5d", -1},
		     {"-5m", -1},
		     {"1.5h", -1},
		     {"9223372036854775807h", -1}};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		usec got = -1;
		int r = kueue_settings_duration(cases[i].text, &got);
		assert_int_equal(r < 0 ? -1 : got, cases[i].want);
	}
}

/* ---- resources ---- */

static const struct kueue_request pod[] = {
    {{"cpu", 3}, 1500}, {{"memory", 6}, 64}, {{"example.com/mig", 15}, 2}};

static void expect_requests(const char *resources, const char *want)
{
	auto_arena mem = ARENA_INIT;
	auto_buf got = BUF_INIT;
	struct kueue_settings s;
	size_t n = 0;

	read_text(resources, &s, &mem, "");
	struct kueue_request *out = transform_requests(&s.resources, pod, ARRAY_LEN(pod), &mem, &n);
	buf_add_str(&got, "");
	for (size_t i = 0; i < n; i++)
		buf_addf(&got, "%.*s=%lld ", SPAN_ARGS(out[i].resource), (long long)out[i].value);
	assert_string_equal(got.ptr, want);
	read_text(NULL, &s, &mem, "");
}

static void excluded_prefixes_do_not_count(void **state)
{
	(void)state;
	expect_requests("{}", "cpu=1500 memory=64 example.com/mig=2 ");
	expect_requests("{'resources':{'excludeResourcePrefixes':['example.com/']}}",
			"cpu=1500 memory=64 ");
	expect_requests("{'resources':{'excludeResourcePrefixes':['mem','c','e']}}", "");
}

static void inputs_become_their_outputs(void **state)
{
	(void)state;
	/* 2 x 5Gi beside 64 bytes of memory; 2 x 1 slice. */
	expect_requests("{'resources':{'transformations':[{'input':'example.com/mig','strategy':"
			"'Replace','outputs':{'memory':'5','example.com/slices':1}}]}}",
			"cpu=1500 memory=74 example.com/slices=2 ");
	/* Kept by default; 1500m of cpu are two units. */
	expect_requests("{'resources':{'transformations':[{'input':'cpu','outputs':{'credits':"
			"'3'}}]}}",
			"cpu=1500 credits=6 memory=64 example.com/mig=2 ");
	/* Half a credit for each of 2 slices and each of 64 bytes: 64. cpu counts in thousandths.
	 */
	expect_requests(
	    "{'resources':{'transformations':[{'input':'example.com/mig','strategy':"
	    "'Replace','multiplyBy':'memory','outputs':{'credits':'500m','cpu':'1m'}}]}}",
	    "cpu=1628 memory=64 credits=64 ");
	/* 0.3 of a unit for two: rounded up once, at the end. Too much is no limit, not a wrap. */
	expect_requests("{'resources':{'transformations':[{'input':'example.com/mig','strategy':"
			"'Replace','outputs':{'a':'300m','b':'9223372036854775807'}}]}}",
			"cpu=1500 memory=64 a=1 b=9223372036854775807 ");
	/* Replaced by nothing. */
	expect_requests("{'resources':{'transformations':[{'input':'memory','strategy':'Replace'}]"
			"}}",
			"cpu=1500 example.com/mig=2 ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_empty_section_is_kueues_defaults),
	    cmocka_unit_test(every_setting_is_taken),
	    cmocka_unit_test(whose_jobs_are_managed_and_how_they_are_weighed),
	    cmocka_unit_test(what_is_unknown_or_has_no_effect_is_refused),
	    cmocka_unit_test(durations_are_gos),
	    cmocka_unit_test(excluded_prefixes_do_not_count),
	    cmocka_unit_test(inputs_become_their_outputs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
