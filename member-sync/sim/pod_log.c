#include "member-sync/sim/pod_log.h"

#include "base/num.h"
#include "member-sync/sim/query_text.h"

/* ---- options ---- */

static int read_number(const char *name, struct span value, int64_t least, int64_t *ret,
		       struct err *reterr)
{
	uint64_t n;

	if (num_parse_u64(value, INT64_MAX / USEC_PER_SEC, &n) < 0 || (int64_t)n < least)
		return err_set_field(reterr, ERR_INVALID, name,
				     "%s: Invalid value: \"%.*s\": must be greater than or equal "
				     "to %lld",
				     name, SPAN_ARGS(value), (long long)least);
	*ret = (int64_t)n;
	return 0;
}

static int read_option(struct span name, struct span value, struct pod_log_options *o,
		       struct err *reterr)
{
	if (span_is(name, "follow"))
		o->follow = query_text_bool(value);
	else if (span_is(name, "previous"))
		o->previous = query_text_bool(value);
	else if (span_is(name, "timestamps"))
		o->timestamps = query_text_bool(value);
	else if (span_is(name, "container"))
		snprintf(o->container, sizeof(o->container), "%.*s", SPAN_ARGS(value));
	else if (span_is(name, "tailLines"))
		return read_number("tailLines", value, 0, &o->tail, reterr);
	else if (span_is(name, "limitBytes"))
		return read_number("limitBytes", value, 1, &o->limit, reterr);
	else if (span_is(name, "sinceSeconds"))
		return read_number("sinceSeconds", value, 1, &o->since_seconds, reterr);
	else if (span_is(name, "sinceTime") && clock_parse(value, &o->since_time) < 0)
		return err_set_field(reterr, ERR_INVALID, "sinceTime",
				     "sinceTime: Invalid value: \"%.*s\": must be a time of "
				     "RFC 3339",
				     SPAN_ARGS(value));
	return 0;
}

int pod_log_parse(struct span query, struct pod_log_options *ret, struct err *reterr)
{
	int r = 0;

	*ret = (struct pod_log_options){.tail = -1};
	while (query.len && r == 0) {
		auto_buf text = BUF_MAX(256);
		struct span name = query_text_next(&query, &text);
		r = read_option(name, buf_span(&text), ret, reterr);
	}
	if (r == 0 && ret->since_seconds && ret->since_time)
		r = err_set(reterr, ERR_INVALID,
			    "sinceSeconds: Forbidden: at most one of sinceTime or sinceSeconds may "
			    "be specified");
	return r;
}

/* ---- lines ---- */

static usec period(const struct pod_log_run *r)
{
	usec p = POD_LOG_PERIOD / (r->time_scale > 0 ? r->time_scale : 1);
	return p > 0 ? p : 1;
}

/* Lines of a run that is not cut short: the first, the steps, the last. */
static int64_t whole(const struct pod_log_run *r)
{
	return r->forever ? INT64_MAX : r->duration / POD_LOG_PERIOD + 2;
}

static bool ended_well(const struct pod_log_run *r)
{
	return r->ended && !r->killed && !r->forever;
}

int64_t pod_log_count(const struct pod_log_run *r, usec now)
{
	usec until = r->ended ? r->ended : now;

	if (ended_well(r))
		return whole(r);
	if (until < r->started)
		return 0;
	int64_t n = (until - r->started) / period(r) + 1;
	return n < whole(r) - 1 ? n : whole(r) - 1;
}

usec pod_log_time(const struct pod_log_run *r, int64_t k)
{
	usec at = r->started + k * period(r);
	return ended_well(r) && k == whole(r) - 1 ? r->ended : at;
}

int64_t pod_log_first(const struct pod_log_run *r, const struct pod_log_options *o, usec now)
{
	int64_t n = pod_log_count(r, now), first = 0;
	usec since = o->since_time;

	if (o->since_seconds)
		since = now - o->since_seconds * USEC_PER_SEC;
	if (since > r->started)
		first = (since - r->started + period(r) - 1) / period(r);
	if (first > n)
		first = n;
	if (o->tail >= 0 && n - first > o->tail)
		first = n - o->tail;
	return first;
}

/* splitmix64's last step: figures that look like measured ones, the same each time. */
static uint64_t noise(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

void pod_log_line(const struct pod_log_run *r, int64_t k, bool timestamps, struct buf *out)
{
	char time[CLOCK_TEXT_MAX];

	if (timestamps)
		buf_addf(out, "%s ", clock_format_micro(pod_log_time(r, k), time));
	if (k == 0) {
		buf_addf(out,
			 "muster-sim: a simulated run of container %.*s, pod %.*s, node %.*s\n",
			 SPAN_ARGS(r->container), SPAN_ARGS(r->pod), SPAN_ARGS(r->node));
	} else if (ended_well(r) && k == whole(r) - 1) {
		buf_addf(out, "muster-sim: the simulated run is over, exit code %d\n",
			 r->exit_code);
	} else {
		uint64_t milli = 4000 / (uint64_t)(1 + k / 4) + noise(r->seed + (uint64_t)k) % 50;
		buf_addf(out, "step %lld loss %llu.%03llu\n", (long long)k,
			 (unsigned long long)(milli / 1000), (unsigned long long)(milli % 1000));
	}
}
