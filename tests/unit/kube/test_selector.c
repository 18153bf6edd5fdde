#include "kube_test.h"

#include "kinds/types.h"
#include "kube/kind.h"
#include "kube/selector.h"

static const char object[] =
    "{'metadata':{'name':'p','namespace':'n','labels':{'a':'1','b':'','tier':'front',"
    "'x.io/k':'v'}},'spec':{'nodeName':'node-1','hostNetwork':true},'status':{'phase':"
    "'Running','succeeded':3},'reason':'a \\'b\\''}";

/* All three ways to match must agree; -1 when the text is refused. */
static int labels_match(const char *text)
{
	auto_selector s = SELECTOR_INIT;
	auto_arena mem = ARENA_INIT;
	struct err err = ERR_INIT;
	if (selector_add_labels(&s, span_of(text), &err) < 0) {
		assert_int_equal(err.kind, ERR_BAD_REQUEST);
		assert_true(err.text[0]);
		return -1;
	}
	auto_json *tree = tree_of(object);
	static const struct info_pair pairs[] = {{SPAN("a"), SPAN("1")},
						 {SPAN("b"), SPAN("")},
						 {SPAN("tier"), SPAN("front")},
						 {SPAN("x.io/k"), SPAN("v")}};
	bool m = selector_matches_text(&s, quoted(&mem, object));
	assert_int_equal(selector_matches_tree(&s, tree), m);
	assert_int_equal(selector_matches_pairs(&s, pairs, 4), m);
	return m;
}

static const struct kind job = {.type = TYPE_JOB, .group = "batch"},
			 pod = {.type = TYPE_POD, .group = ""};

static int fields_match(uint16_t type, const char *text)
{
	auto_selector s = SELECTOR_INIT;
	auto_arena mem = ARENA_INIT;
	const struct kind k = {.type = type, .group = ""};
	struct err err = ERR_INIT;
	if (selector_add_fields(&s, &k, span_of(text), &err) < 0) {
		assert_int_equal(err.kind, ERR_BAD_REQUEST);
		return -1;
	}
	auto_json *tree = tree_of(object);
	struct store_object row = {.key = {type, SPAN("n"), SPAN("p")},
				   .json = quoted(&mem, object)};
	bool m = selector_matches_text(&s, quoted(&mem, object));
	assert_int_equal(selector_matches_tree(&s, tree), m);
	assert_int_equal(selector_matches_row(&s, &row), m);
	return m;
}

static void label_selectors_match_as_upstream(void **state)
{
	static const struct {
		const char *text;
		int want;
	} rows[] = {
	    {"", 1},
	    {"   ", 1},
	    {"a=1", 1},
	    {"a==1", 1},
	    {" a = 1 ", 1},
	    {"a=2", 0},
	    {"a!=2", 1},
	    {"a!=1", 0},
	    {"zz!=1", 1},
	    {"a", 1},
	    {"zz", 0},
	    {"!a", 0},
	    {"!zz", 1},
	    {"! zz", 1},
	    {"b=", 1},
	    {"a=", 0},
	    {"b=,a=1", 1},
	    {"tier in (front, back)", 1},
	    {"tier in (back)", 0},
	    {"tier notin (back)", 1},
	    {"zz notin (back)", 1},
	    {"zz in (back)", 0},
	    {"b in ()", 1},
	    {"b in (,x)", 1},
	    {"tier in (back),a=1", 0},
	    {"tier in (front),a=1,!q,x.io/k=v", 1},
	    {"a>0", 1},
	    {"a<1", 0},
	    {"a<2,a>0", 1},
	    {"tier>0", 0},
	    {"in in (x)", 0},
	    {"in", 0},
	    {"notin!=x", 1},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (labels_match(rows[i].text) != rows[i].want)
			fail_msg("%s: want %d", rows[i].text, rows[i].want);
}

static void malformed_label_selectors_are_refused(void **state)
{
	static const char *const rows[] = {
	    "=",      ",",	 "a,",	       "a=1,",	    "a=b=c",	   "a in",
	    "a in (", "a in (x", "a in x",     "a in (x))", "a b",	   "!",
	    "!!a",    "!a=1",	 "a!",	       "a notin",   "a=(x)",	   "a/b/c",
	    "-a",     "a=-x",	 "a>x",	       "a>",	    "a=b c",	   "a in (x y)",
	    "a===b",  "a=>b",	 "\xc3\xa4=1", "(a)",	    "a in (b),,c",
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (labels_match(rows[i]) != -1)
			fail_msg("%s was taken", rows[i]);
}

static void selectors_over_the_bounds_are_refused(void **state)
{
	auto_buf many = BUF_INIT, wide = BUF_INIT;
	for (int i = 0; i <= SELECTOR_MAX_REQUIREMENTS; i++)
		buf_add_str(&many, i ? ",a" : "a");
	assert_int_equal(labels_match(many.ptr), -1);
	buf_add_str(&wide, "a in (x");
	for (int i = 0; i < SELECTOR_MAX_VALUES; i++)
		buf_add_str(&wide, ",x");
	buf_add_str(&wide, ")");
	assert_int_equal(labels_match(wide.ptr), -1);
	buf_clear(&wide);
	for (int i = 0; i <= SELECTOR_MAX_BYTES; i++)
		buf_add_str(&wide, " ");
	assert_int_equal(labels_match(wide.ptr), -1);
}

static void field_selectors_match_what_their_kind_supports(void **state)
{
	static const struct {
		uint16_t type;
		const char *text;
		int want;
	} rows[] = {
	    {TYPE_PYTORCH_JOB, "metadata.name=p", 1},
	    {TYPE_PYTORCH_JOB, "metadata.name==p,metadata.namespace=n", 1},
	    {TYPE_PYTORCH_JOB, "metadata.name!=p", 0},
	    {TYPE_PYTORCH_JOB, "metadata.namespace=other", 0},
	    {TYPE_PYTORCH_JOB, "spec.nodeName=node-1", -1},
	    {TYPE_PYTORCH_JOB, "metadata.labels=x", -1},
	    {TYPE_POD, "spec.nodeName=node-1,status.phase!=Succeeded", 1},
	    {TYPE_POD, "spec.nodeName=", 0},
	    {TYPE_POD, "status.podIP=", 1},
	    {TYPE_POD, "spec.hostNetwork=true", 1},
	    {TYPE_POD, "spec.schedulerName!=x", 1},
	    {TYPE_NODE, "spec.unschedulable=false", 1},
	    {TYPE_JOB, "status.successful=3", 1},
	    {TYPE_EVENT, "reason=a \"b\"", 1},
	    {TYPE_EVENT, "involvedObject.uid=", 1},
	    {TYPE_EVENT, "type!=Warning,involvedObject.name!=x", 1},
	    {TYPE_EVENT, "regarding.name!=x", -1},
	    {TYPE_NAMESPACE, "metadata.namespace=n", -1},
	    {TYPE_EVENT, "spec.nodeName=x", -1},
	    {TYPE_EVENT, "reason=a\\,b", 0},
	    {TYPE_EVENT, "reason=a\\", -1},
	    {TYPE_EVENT, "reason=a\\n", -1},
	    {TYPE_EVENT, "reason=a=b", -1},
	    {TYPE_EVENT, "reason", -1},
	    {TYPE_EVENT, "=x", -1},
	    {TYPE_EVENT, "", 1},
	    {TYPE_EVENT, ",", 1},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (fields_match(rows[i].type, rows[i].text) != rows[i].want)
			fail_msg("%s: want %d", rows[i].text, rows[i].want);
}

static void an_unsupported_field_is_named(void **state)
{
	static const struct {
		struct kind kind;
		const char *text, *want;
	} rows[] = {
	    {{.type = TYPE_PYTORCH_JOB, .group = "kubeflow.org"},
	     "spec.x=1",
	     "field label not supported: spec.x"},
	    {{.type = TYPE_POD, .group = "", .strategic = true},
	     "status.phase=x,spec.x=1",
	     "field label not supported: spec.x"},
	    {{.type = TYPE_JOB, .group = "batch", .strategic = true},
	     "spec.x=1",
	     "field label \"spec.x\" not supported for Job"},
	    {{.type = TYPE_CONFIG_MAP, .group = "", .strategic = true},
	     "metadata.name=a,\\x=1",
	     "\"\\\\x\" is not a known field selector: only \"metadata.name\", "
	     "\"metadata.namespace\""},
	    {{.type = TYPE_EVENT, .group = "events.k8s.io", .strategic = true},
	     "regarding.name=x,source=y",
	     "field label not supported: source"},
	    {{.type = TYPE_CONFIG_MAP, .group = "", .strategic = true},
	     "metadata.name=a\\q",
	     "invalid field selector: invalid escape sequence: \\q"},
	    {{.type = TYPE_CONFIG_MAP, .group = "", .strategic = true},
	     "metadata.name=a\\",
	     "invalid field selector: invalid escape sequence: \\"},
	    {{.type = TYPE_CONFIG_MAP, .group = "", .strategic = true},
	     "metadata.name=a=b",
	     "invalid field selector: unescaped character in value: 61"},
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		auto_selector s = SELECTOR_INIT;
		struct err err = ERR_INIT;
		assert_true(selector_add_fields(&s, &rows[i].kind, span_of(rows[i].text), &err) <
			    0);
		assert_string_equal(err.text, rows[i].want);
	}
}

static void the_exact_name_of_a_selector_is_known(void **state)
{
	auto_selector s = SELECTOR_INIT;
	struct err err = ERR_INIT;
	assert_int_equal(
	    selector_add_fields(&s, &job, SPAN("metadata.name=a\\=b,metadata.namespace!=q"), &err),
	    0);
	assert_text(selector_name(&s), "a=b");
	assert_null(selector_namespace(&s).ptr);
}

static void labels_and_fields_of_one_selector_must_both_hold(void **state)
{
	auto_selector s = SELECTOR_INIT;
	auto_arena mem = ARENA_INIT;
	struct err err = ERR_INIT;
	struct span json = quoted(&mem, object);
	const char *at = strstr(json.ptr, "{\"name\"");
	struct store_object row = {.key = {TYPE_POD, SPAN("n"), SPAN("p")}, .json = json};
	row.extents.metadata.at = (uint32_t)(at - json.ptr);
	row.extents.metadata.len = (uint32_t)(strstr(json.ptr, "}},\"spec\"") + 2 - at);
	assert_int_equal(selector_add_labels(&s, SPAN("tier=front"), &err), 0);
	assert_int_equal(selector_add_fields(&s, &pod, SPAN("status.phase=Running"), &err), 0);
	assert_true(selector_matches_row(&s, &row));
	assert_int_equal(selector_add_labels(&s, SPAN("a=2"), &err), 0);
	assert_false(selector_matches_row(&s, &row));
}

static void an_object_without_labels_matches_only_absence(void **state)
{
	auto_selector s = SELECTOR_INIT, t = SELECTOR_INIT;
	struct err err = ERR_INIT;
	struct span o = SPAN("{\"metadata\":{\"name\":\"x\"}}");
	assert_int_equal(selector_add_labels(&s, SPAN("!a,b!=c,d notin (e)"), &err), 0);
	assert_true(selector_matches_text(&s, o));
	assert_int_equal(selector_add_labels(&t, SPAN("a"), &err), 0);
	assert_false(selector_matches_text(&t, o));
	assert_false(selector_matches_text(&t, SPAN("{\"metadata\":{\"labels\":[\"a\"]}}")));
}

static void label_selector_objects_are_read(void **state)
{
	auto_selector s = SELECTOR_INIT;
	auto_json *tree = tree_of("{'matchLabels':{'a':'1'},'matchExpressions':[{'key':'tier',"
				  "'operator':'In','values':['front','x']},{'key':'q','operator':"
				  "'DoesNotExist'}]}");
	struct field_errors e = {0};
	auto_arena mem = ARENA_INIT;
	assert_int_equal(selector_add_label_selector(&s, tree, "spec.selector", &e), 0);
	assert_int_equal(s.n, 3);
	assert_true(selector_matches_text(&s, quoted(&mem, object)));
	assert_int_equal(selector_add_label_selector(&s, NULL, "x", &e), 0);
	assert_int_equal(s.n, 3);
}

static void bad_label_selector_objects_name_every_field(void **state)
{
	auto_selector s = SELECTOR_INIT;
	auto_json *tree = tree_of(
	    "{'matchLabels':{'-a':'1','b':7},'matchExpressions':[{'key':'t','operator':'In'},"
	    "{'key':'t','operator':'Exists','values':['x']},{'key':'t','operator':'Is'},{},"
	    "{'key':'t','operator':'In','values':['-']}]}");
	struct field_errors e = {0};
	assert_true(selector_add_label_selector(&s, tree, "spec.s", &e) < 0);
	assert_int_equal(e.n, 7);
	assert_string_equal(e.items[2].field, "spec.s.matchExpressions[0].values");
	assert_int_equal(e.items[2].reason, FIELD_REQUIRED);
	assert_string_equal(e.items[3].field, "spec.s.matchExpressions[1].values");
	assert_int_equal(e.items[3].reason, FIELD_FORBIDDEN);
	assert_string_equal(e.items[4].field, "spec.s.matchExpressions[2].operator");
	field_errors_done(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(label_selectors_match_as_upstream),
	    cmocka_unit_test(malformed_label_selectors_are_refused),
	    cmocka_unit_test(selectors_over_the_bounds_are_refused),
	    cmocka_unit_test(field_selectors_match_what_their_kind_supports),
	    cmocka_unit_test(an_unsupported_field_is_named),
	    cmocka_unit_test(the_exact_name_of_a_selector_is_known),
	    cmocka_unit_test(labels_and_fields_of_one_selector_must_both_hold),
	    cmocka_unit_test(an_object_without_labels_matches_only_absence),
	    cmocka_unit_test(label_selector_objects_are_read),
	    cmocka_unit_test(bad_label_selector_objects_name_every_field),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
