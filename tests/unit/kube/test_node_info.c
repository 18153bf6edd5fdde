#include "kube_test.h"

#include "kube/node_info.h"

#include <errno.h>

static const char node[] =
    "{'metadata':{'name':'n1','resourceVersion':'9007199254740993','labels':{'zone':'a',"
    "'k\\u00e4':'v\\n'}},'spec':{'unschedulable':true,'taints':[{'key':'gpu','value':'yes',"
    "'effect':'NoSchedule'},{'key':'x','effect':'NoExecute'},{'key':'y','effect':'Later'},"
    "{'effect':'NoSchedule'}]},'status':{'capacity':{'cpu':'64'},'allocatable':{'cpu':'63500m',"
    "'memory':'256Gi','pods':'110','nvidia.com/gpu':8,'broken':'lots','huge':'1e30',"
    "'less':'-1'},'conditions':[{'type':'DiskPressure','status':'False'},{'type':'Ready',"
    "'status':'True'}]}}";

static int64_t amount(const struct node_info *n, const char *resource)
{
	for (size_t i = 0; i < n->n_allocatable; i++)
		if (span_is(n->allocatable[i].resource, resource))
			return n->allocatable[i].value;
	return -1;
}

static void check_node(const struct node_info *n)
{
	assert_text(n->name, "n1");
	assert_true(n->revision == 9007199254740993u);
	assert_true(n->ready);
	assert_true(n->unschedulable);
	assert_int_equal(n->n_labels, 2);
	assert_text(n->labels[0].key, "zone");
	assert_text(n->labels[1].key, "k\xc3\xa4");
	assert_text(n->labels[1].value, "v\n");
	assert_int_equal(n->n_taints, 2);
	assert_text(n->taints[0].key, "gpu");
	assert_text(n->taints[0].value, "yes");
	assert_int_equal(n->taints[0].effect, INFO_NO_SCHEDULE);
	assert_text(n->taints[1].value, "");
	assert_int_equal(n->taints[1].effect, INFO_NO_EXECUTE);
	assert_int_equal(amount(n, "cpu"), 63500);
	assert_true(amount(n, "memory") == (int64_t)256 << 30);
	assert_int_equal(amount(n, "pods"), 110);
	assert_int_equal(amount(n, "nvidia.com/gpu"), 8);
	assert_int_equal(n->n_allocatable, 4);
}

static void decode(const char *text, struct arena *mem, struct node_info *n)
{
	struct err err = ERR_INIT;
	if (node_info_decode(quoted(mem, text), mem, n, &err) < 0)
		fail_msg("%s", err.text);
}

static void a_node_is_decoded_and_bad_quantities_count_as_absent(void **state)
{
	auto_arena mem = ARENA_INIT;
	struct node_info n;
	decode(node, &mem, &n);
	check_node(&n);
}

static void a_packed_node_comes_back_the_same(void **state)
{
	auto_arena mem = ARENA_INIT;
	auto_buf b = BUF_INIT;
	struct node_info n, back;
	decode(node, &mem, &n);
	node_info_pack(&n, &b);
	assert_true(b.len < 200);
	assert_int_equal(node_info_unpack(buf_span(&b), &mem, &back), 0);
	check_node(&back);
}

static void a_cut_or_longer_digest_is_refused(void **state)
{
	auto_arena mem = ARENA_INIT;
	auto_buf b = BUF_INIT;
	struct node_info n, back;
	decode(node, &mem, &n);
	node_info_pack(&n, &b);
	for (size_t len = 0; len < b.len; len++)
		assert_int_equal(node_info_unpack(span_make(b.ptr, len), &mem, &back), -EINVAL);
	buf_add_char(&b, 0);
	assert_int_equal(node_info_unpack(buf_span(&b), &mem, &back), -EINVAL);
	assert_int_equal(node_info_unpack(SPAN_NONE, &mem, &back), -EINVAL);
}

static void a_node_with_nothing_to_say_has_nothing_to_give(void **state)
{
	auto_arena mem = ARENA_INIT;
	struct node_info n;
	decode("{'metadata':{'name':'n'}}", &mem, &n);
	assert_int_equal(n.n_allocatable, 0);
	assert_false(n.ready);
	assert_false(n.unschedulable);
	decode("{'metadata':{'name':'n'},'spec':[],'status':{'allocatable':7,'conditions':{}}}",
	       &mem, &n);
	assert_int_equal(n.n_allocatable, 0);
	decode("{'metadata':{'name':'n'},'status':{'conditions':[[],7,{'type':'Ready','status':"
	       "'Unknown'}]}}",
	       &mem, &n);
	assert_false(n.ready);
}

static void capacity_stands_in_for_allocatable(void **state)
{
	auto_arena mem = ARENA_INIT;
	struct node_info n;
	decode("{'metadata':{'name':'n'},'status':{'capacity':{'cpu':'2'}}}", &mem, &n);
	assert_int_equal(amount(&n, "cpu"), 2000);
}

static void a_node_without_a_name_is_refused(void **state)
{
	auto_arena mem = ARENA_INIT;
	struct node_info n;
	struct err err = ERR_INIT;
	assert_int_equal(node_info_decode(SPAN("{}"), &mem, &n, &err), -EDOM);
	assert_int_equal(node_info_decode(SPAN("[1]"), &mem, &n, &err), -EDOM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_node_is_decoded_and_bad_quantities_count_as_absent),
	    cmocka_unit_test(a_packed_node_comes_back_the_same),
	    cmocka_unit_test(a_cut_or_longer_digest_is_refused),
	    cmocka_unit_test(a_node_with_nothing_to_say_has_nothing_to_give),
	    cmocka_unit_test(capacity_stands_in_for_allocatable),
	    cmocka_unit_test(a_node_without_a_name_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
