#include "request.h"

#include "api/metrics.h"
#include "api/process_metrics.h"

static const struct kind job = {.group = "batch", .version = "v1", .plural = "jobs"};

static struct request_info named(enum api_verb verb)
{
	return (struct request_info){.is_resource = true,
				     .verb = verb,
				     .ns = SPAN("default"),
				     .resource = SPAN("jobs"),
				     .name = SPAN("j")};
}

static char *text_of(const struct metrics *m)
{
	struct metrics_gauges g = {0};
	struct metrics_copy c;
	struct buf b = BUF_INIT;
	metrics_copy(m, &g, &c);
	metrics_print(&c, &b);
	metrics_copy_done(&c);
	return buf_steal(&b, NULL);
}

static void a_request_is_counted_with_its_labels(void **state)
{
	struct metrics m = {0};
	struct request_info i = named(API_GET);
	(void)state;
	metrics_count(metrics_series(&m, &i, HTTP_GET, &job), 200, 30 * USEC_PER_MS);
	metrics_count(metrics_series(&m, &i, HTTP_GET, &job), 404, USEC_PER_MS);
	auto_free char *text = text_of(&m);
	assert_non_null(strstr(
	    text, "apiserver_request_total{component=\"apiserver\",dry_run=\"\",group=\"batch\","
		  "resource=\"jobs\",scope=\"resource\",subresource=\"\",verb=\"GET\","
		  "version=\"v1\",code=\"404\"} 1\n"));
	assert_non_null(strstr(text, "version=\"v1\",le=\"0.005\"} 1\n"));
	assert_non_null(strstr(text, "version=\"v1\",le=\"0.05\"} 2\n"));
	assert_non_null(strstr(text, "version=\"v1\",le=\"+Inf\"} 2\n"));
	assert_non_null(strstr(text, "version=\"v1\"} 0.031000\n"));
	metrics_done(&m);
}

static void what_a_client_writes_is_no_label(void **state)
{
	struct metrics m = {0};
	struct request_info i = named(API_GET);
	(void)state;
	i.resource = i.group = SPAN("evil\"\n");
	i.subresource = SPAN("made-up");
	metrics_count(metrics_series(&m, &i, HTTP_GET, NULL), 404, 1);
	i = (struct request_info){.path = SPAN("/evil")};
	metrics_count(metrics_series(&m, &i, HTTP_GET, NULL), 404, 1);
	auto_free char *text = text_of(&m);
	assert_null(strstr(text, "evil"));
	assert_null(strstr(text, "made-up"));
	metrics_done(&m);
}

static void the_number_of_series_and_of_codes_is_bounded(void **state)
{
	struct metrics m = {0};
	struct request_info i = named(API_GET);
	struct metrics_series *s = NULL;
	(void)state;
	for (int k = 0; k < METRICS_MAX_SERIES + 100; k++) {
		char name[16];
		struct kind kind = job;
		snprintf(name, sizeof(name), "k%d", k);
		kind.plural = name;
		s = metrics_series(&m, &i, HTTP_GET, &kind);
	}
	assert_int_equal(m.series.len, METRICS_MAX_SERIES + 1);
	assert_string_equal(s->labels.verb, "other");
	for (int code = 100; code < 600; code++)
		metrics_count(s, code, 1);
	assert_int_equal(s->count, 500);
	assert_int_equal(s->codes[METRICS_CODES - 1].n, 500 - (METRICS_CODES - 1));
	metrics_done(&m);
}

static void the_process_is_described(void **state)
{
	auto_buf b = BUF_INIT;
	(void)state;
	process_metrics_print(&b);
	buf_add_char(&b, '\0');
	assert_non_null(strstr(b.ptr, "\nprocess_resident_memory_bytes "));
	assert_null(strstr(b.ptr, "\nprocess_resident_memory_bytes 0\n"));
	assert_null(strstr(b.ptr, "\nprocess_open_fds 0\n"));
	assert_non_null(strstr(b.ptr, "\nprocess_start_time_seconds 1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_request_is_counted_with_its_labels),
	    cmocka_unit_test(what_a_client_writes_is_no_label),
	    cmocka_unit_test(the_number_of_series_and_of_codes_is_bounded),
	    cmocka_unit_test(the_process_is_described),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
