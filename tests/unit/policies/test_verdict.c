#include "fixture.h"

static const struct verdict *verdict_of(struct world *w, struct ask *a, const char *cluster,
					struct verdict *v, size_t cap)
{
	size_t n = placement_explain(w->p, a, NULL, 0, 0, v, cap);

	for (size_t i = 0; i < n; i++)
		if (span_is(cluster_view_spec(w->f, v[i].cluster)->name, cluster))
			return &v[i];
	return NULL;
}

static void expect(struct world *w, struct ask *a, const char *cluster, const char *reason,
		   const char *sentence, const char *remedy, const char *decider)
{
	struct verdict all[8];
	const struct verdict *v = verdict_of(w, a, cluster, all, 8);
	char text[400];
	size_t len;

	assert_non_null(v);
	assert_string_equal(verdict_reason(v->code), reason);
	len = verdict_sentence(w->f, v, 300000000, text, sizeof(text));
	assert_int_equal(len, strlen(text));
	assert_string_equal(text, sentence);
	len = verdict_remedy(w->f, v, text, sizeof(text));
	assert_int_equal(len, strlen(text));
	assert_string_equal(text, remedy);
	assert_string_equal(verdict_decider_to_string(verdict_decider(v->code)), decider);
}

static void every_cluster_says_why_with_numbers(void **state)
{
	static const struct taint maintenance = {SPAN("maintenance"), SPAN("now"),
						 TAINT_NO_SCHEDULE};
	static const struct span not_h[] = {SPAN("h-unselected")};
	static const struct cluster_affinity aff = {.exclude = not_h, .n_exclude = 1};
	static const struct placement_spec p = {.affinities = &aff, .n_affinities = 1};
	static const struct api_kind kinds[] = {{SPAN("kubeflow.org/v1"), SPAN("PyTorchJob")}};
	static const char *const names[] = {"a-empty",	 "b-full",  "c-holes",	 "d-small",
					    "e-unready", "f-stale", "g-tainted", "h-unselected"};
	struct world w = world_create();
	struct request buf[2][2];
	struct pod_set sets[] = {pods(&w, "master", 1, 1000, 0, buf[0]),
				 pods(&w, "worker", 8, 1000, 4, buf[1])};
	struct shape *s = shape_of(&w, sets, 2, NULL);
	struct ask *a;
	uint32_t c[8];

	for (int i = 0; i < 8; i++) {
		struct cluster_spec spec = {.name = span_of(names[i]),
					    .kinds = kinds,
					    .n_kinds = 1,
					    .ready = true,
					    .fresh = true,
					    .taints = &maintenance,
					    .n_taints = i == 6};
		assert_int_equal(cluster_view_upsert(w.f, &spec, &c[i], &w.err), 0);
	}
	add_nodes(&w, c[1], 5, 64000, 8);
	add_nodes(&w, c[2], 8, 64000, 8);
	add_nodes(&w, c[3], 3, 64000, 8);
	for (uint32_t n = 0; n < 2; n++)
		charge_pod(&w, c[1], n, 0, 7, true);
	for (uint32_t n = 0; n < 5; n++)
		charge_pod(&w, c[2], n, 0, 5, true);
	cluster_view_set_health(w.f, c[4], false, true, 60000000);
	cluster_view_set_health(w.f, c[5], true, false, 290000000);
	assert_int_equal(placer_ask_ref(w.p, s, &p, &kinds[0], &a, &w.err), 0);

	expect(&w, a, "a-empty", "NoNodes", "the cluster reports no nodes",
	       "nodes that join the cluster", "cluster admin");
	expect(&w, a, "b-full", "InsufficientFree",
	       "worker: needs 32 nvidia.com/gpu, 26 free on 5 matching nodes",
	       "6 more nvidia.com/gpu free", "wait");
	expect(&w, a, "c-holes", "GangFragmented",
	       "worker: needs room for 8 pods of 4 nvidia.com/gpu, nodes have room for 6; the most "
	       "free on one node is 8 nvidia.com/gpu",
	       "room for 2 more pods: 4 nvidia.com/gpu free on one node for each", "wait");
	expect(&w, a, "d-small", "TooSmall",
	       "worker: needs 32 nvidia.com/gpu, all matching nodes together have 24: never fits",
	       "larger or more nodes, or a smaller gang", "user");
	expect(&w, a, "e-unready", "NotReady", "the cluster is not ready for 4m",
	       "the cluster answering again", "cluster admin");
	expect(&w, a, "f-stale", "Stale", "the view of its nodes and pods is not current for 10s",
	       "the hub catching up with the cluster", "wait");
	expect(&w, a, "g-tainted", "Tainted",
	       "the cluster has taint {maintenance=now:NoSchedule}, which the policy does not "
	       "tolerate",
	       "a clusterToleration in the policy, or the taint removed", "policy owner");
	expect(&w, a, "h-unselected", "AffinityMismatch",
	       "the policy, or the clusters of its queue, leave this cluster out",
	       "another cluster affinity in the policy", "policy owner");

	struct verdict all[8];
	char text[600];
	size_t len;
	assert_int_equal(placement_explain(w.p, a, NULL, 0, 0, all, 8), 8);
	assert_false(placement_never_fits(all, 8));
	len = verdict_summary(w.f, all, 8, text, sizeof(text));
	assert_int_equal(len, strlen(text));
	assert_string_equal(
	    text, "0/8 clusters are available: 1 Insufficient nvidia.com/gpu, 1 cluster(s) did not "
		  "match the placement cluster affinity constraint, 1 cluster(s) had no current "
		  "status, 1 cluster(s) had no nodes, 1 cluster(s) had untolerated taint "
		  "{maintenance=now:NoSchedule}, 1 cluster(s) too fragmented for the gang, 1 "
		  "cluster(s) too small in nvidia.com/gpu, 1 cluster(s) were not ready.");
	assert_int_equal(verdict_top(all, 8), 2);
	placer_ask_unref(w.p, a);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static void holes_are_told_from_too_little(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct shape *s = gang(&w, 4, 1000, 4);
	struct ask *a = ask_of(&w, s, NULL);

	add_nodes(&w, c, 6, 64000, 8);
	for (uint32_t n = 0; n < 6; n++)
		charge_pod(&w, c, n, 0, 5, true);
	charge_pod(&w, c, 0, 0, 5, false);
	expect(&w, a, "c", "GangFragmented",
	       "needs room for 4 pods of 4 nvidia.com/gpu, nodes have room for 2; the most free on "
	       "one node is 8 nvidia.com/gpu",
	       "room for 2 more pods: 4 nvidia.com/gpu free on one node for each", "wait");
	struct shape *large = gang(&w, 1, 1000, 16);
	struct ask *b = ask_of(&w, large, NULL);
	expect(
	    &w, b, "c", "TooSmall",
	    "needs room for 1 pod of 16 nvidia.com/gpu, empty nodes have room for 0; the largest "
	    "has 8 nvidia.com/gpu: never fits",
	    "larger or more nodes, or a smaller gang", "user");
	struct verdict v;
	assert_int_equal(placement_explain(w.p, b, NULL, 0, 0, &v, 1), 1);
	assert_true(placement_never_fits(&v, 1));
	assert_false(placement_never_fits(&v, 0));
	for (uint32_t n = 1; n < 6; n++)
		charge_pod(&w, c, n, 0, 5, false);
	placer_ask_unref(w.p, a);
	placer_ask_unref(w.p, b);
	fleet_shape_unref(w.f, s);
	fleet_shape_unref(w.f, large);
	world_done(&w);
}

static void clusters_that_fit_say_which_is_better_and_why(void **state)
{
	struct world w = world_create();
	uint32_t a = add_cluster(&w, "a"), b = add_cluster(&w, "b");
	struct shape *s = gang(&w, 2, 1000, 1);
	struct ask *ask = ask_of(&w, s, NULL);
	struct verdict v[2];
	char text[200];
	const struct placement_exclusion x = {b, 25000000};

	add_nodes(&w, a, 2, 16000, 8);
	add_nodes(&w, b, 1, 16000, 8);
	expect(&w, ask, "b", "Fits", "the whole gang fits, and this is the best cluster for it", "",
	       "nobody");
	expect(&w, ask, "a", "LowerScore", "fits, but b is preferred: it is a tighter fit", "",
	       "nobody");
	assert_int_equal(placement_explain(w.p, ask, &x, 1, 5000000, v, 2), 2);
	assert_int_equal(v[0].code, VERDICT_FITS);
	assert_string_equal(verdict_reason(v[1].code), "Backoff");
	verdict_sentence(w.f, &v[1], 5000000, text, sizeof(text));
	assert_string_equal(text, "the job was refused or taken back here; next try in 20s");
	verdict_summary(w.f, v, 2, text, sizeof(text));
	assert_string_equal(
	    text, "1/2 clusters are available: 1 cluster(s) fit, 1 cluster(s) were backed off.");
	placer_ask_unref(w.p, ask);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static void nodes_that_are_off_or_tainted_are_named(void **state)
{
	static const struct taint taint = {SPAN("gpu"), SPAN(""), TAINT_NO_SCHEDULE};
	static const struct label gold = {SPAN("tier"), SPAN("gold")};
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct request buf[2];
	struct pod_set set = pods(&w, "w", 1, 1000, 0, buf);
	struct node_spec more = {.taints = &taint, .n_taints = 1, .ready = true};

	struct shape *s = shape_of(&w, &set, 1, NULL);
	struct ask *a = ask_of(&w, s, NULL);
	add_node(&w, c, "n", 4000, 0, &more);
	expect(&w, a, "c", "Tainted",
	       "the only matching node has an untolerated taint such as {gpu:NoSchedule}",
	       "a toleration in the pod template, or an untainted node", "user");
	more = (struct node_spec){.ready = false};
	add_node(&w, c, "n", 4000, 0, &more);
	add_node(&w, c, "m", 4000, 0, &more);
	expect(&w, a, "c", "Cordoned", "all 2 matching nodes are cordoned or not ready",
	       "uncordon the nodes or bring them back", "cluster admin");
	set.selector = &gold;
	set.n_selector = 1;
	struct shape *g = shape_of(&w, &set, 1, NULL);
	struct ask *b = ask_of(&w, g, NULL);
	expect(&w, b, "c", "AffinityMismatch", "no node has the labels that its pods require",
	       "a node with those labels, or another node selector", "user");
	cluster_view_set_cordoned(w.f, c, true);
	expect(&w, a, "c", "Cordoned", "the cluster is cordoned", "uncordon the cluster",
	       "cluster admin");
	placer_ask_unref(w.p, a);
	placer_ask_unref(w.p, b);
	fleet_shape_unref(w.f, s);
	fleet_shape_unref(w.f, g);
	world_done(&w);
}

static void whole_gangs_domains_and_long_waits_have_words_too(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct request buf[2][2];
	struct pod_set sets[] = {pods(&w, "a", 1, 5000, 0, buf[0]),
				 pods(&w, "b", 1, 3000, 0, buf[1])};
	struct label rack = {SPAN("rack"), SPAN("r1")};
	struct node_spec more = {.labels = &rack, .n_labels = 1, .ready = true};
	struct shape *s = shape_of(&w, sets, 2, NULL);
	struct ask *a = ask_of(&w, s, NULL);
	struct verdict v = {.code = VERDICT_NOT_READY, .cluster = c, .since_us = 1};
	char text[200];

	/* Either fits on the first node, and 8 cpu are free in sum, on two nodes. */
	add_node(&w, c, "n1", 7000, 0, &more);
	add_node(&w, c, "n2", 1000, 0, &more);
	expect(&w, a, "c", "GangFragmented",
	       "needs room for 2 pods, nodes have room for 1 together", "room for 1 more pod",
	       "wait");
	sets[0].count = 2;
	sets[0].groups = 2;
	sets[0].requests = NULL;
	sets[0].n_requests = 0;
	struct shape *t = shape_of(&w, sets, 1, "rack");
	struct ask *b = ask_of(&w, t, NULL);
	expect(&w, b, "c", "GangFragmented", "2 groups need a rack each for themselves, 1 find one",
	       "1 more free domain of rack", "wait");
	static const struct {
		int64_t seconds;
		const char *text;
	} rows[] = {
	    {119, "the cluster is not ready for 119s"},
	    {7199, "the cluster is not ready for 119m"},
	    {86400 * 2 - 1, "the cluster is not ready for 47h"},
	    {86400 * 3, "the cluster is not ready for 3d"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		verdict_sentence(w.f, &v, 1 + rows[i].seconds * 1000000, text, sizeof(text));
		assert_string_equal(text, rows[i].text);
	}
	v.since_us = 0;
	verdict_sentence(w.f, &v, 5000000, text, sizeof(text));
	assert_string_equal(text, "the cluster is not ready");
	v = (struct verdict){.code = VERDICT_MAX};
	assert_int_equal(verdict_sentence(w.f, &v, 0, text, sizeof(text)), 0);
	assert_int_equal(verdict_remedy(w.f, &v, text, sizeof(text)), 0);
	assert_string_equal(verdict_reason(VERDICT_INVALID), "Unknown");
	assert_int_equal(verdict_top(NULL, 0), 0);
	placer_ask_unref(w.p, a);
	placer_ask_unref(w.p, b);
	fleet_shape_unref(w.f, s);
	fleet_shape_unref(w.f, t);
	world_done(&w);
}

static void a_kind_that_is_missing_is_named(void **state)
{
	static const struct api_kind kind = {SPAN("jobset.x-k8s.io/v1alpha2"), SPAN("JobSet")};
	static const struct placement_spec anywhere;
	struct world w = world_create();
	struct shape *s = gang(&w, 1, 1, 0);
	struct ask *a;
	char text[80];
	size_t len;

	add_cluster(&w, "c");
	assert_int_equal(placer_ask_ref(w.p, s, &anywhere, &kind, &a, &w.err), 0);
	expect(&w, a, "c", "APIMissing",
	       "the cluster does not serve jobset.x-k8s.io/v1alpha2 JobSet",
	       "the operator of this kind installed on the cluster", "cluster admin");
	len = verdict_summary(w.f, NULL, 0, text, sizeof(text));
	assert_int_equal(len, strlen(text));
	assert_string_equal(text, "0/0 clusters are available: no cluster has joined.");
	placer_ask_unref(w.p, a);
	fleet_shape_unref(w.f, s);
	world_done(&w);
}

static void texts_are_cut_to_their_size_and_never_inside_a_character(void **state)
{
	struct world w = world_create();
	uint32_t c = add_cluster(&w, "c");
	struct verdict v = {
	    .code = VERDICT_TAINTED,
	    .cluster = c,
	    .taint = {SPAN("schl\xc3\xbcssel\xe2\x82\xac"), SPAN(""), TAINT_NO_EXECUTE}};
	char text[200];

	for (size_t size = 0; size < sizeof(text); size++) {
		memset(text, '#', sizeof(text));
		size_t len = verdict_sentence(w.f, &v, 0, text, size);
		assert_true(size == 0 ? text[0] == '#' && len == 0 : len < size && !text[len]);
		size_t at = 0;
		while (at < len) {
			unsigned char b = (unsigned char)text[at];
			at += b < 0x80 ? 1 : b < 0xe0 ? 2 : 3;
		}
		assert_int_equal(at, len);
		len = verdict_summary(w.f, &v, 1, text, size);
		assert_true(size == 0 || (len < size && !text[len]));
	}
	verdict_summary(w.f, &v, 1, text, 40);
	assert_string_equal(text + strlen(text) - 4, " ...");
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_cluster_says_why_with_numbers),
	    cmocka_unit_test(holes_are_told_from_too_little),
	    cmocka_unit_test(clusters_that_fit_say_which_is_better_and_why),
	    cmocka_unit_test(nodes_that_are_off_or_tainted_are_named),
	    cmocka_unit_test(whole_gangs_domains_and_long_waits_have_words_too),
	    cmocka_unit_test(a_kind_that_is_missing_is_named),
	    cmocka_unit_test(texts_are_cut_to_their_size_and_never_inside_a_character),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
