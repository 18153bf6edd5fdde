/*
 * Standing of a member, and what may be sent:
 *
 *   STANDING_UNUSABLE  the kubeconfig is bad, or the identity changed: nothing, until a new JOIN
 *   STANDING_DOUBT     the identity is being proven: probes; streams and calls wait
 *   STANDING_DOWN      the last probe failed: probes, backing off; calls are refused
 *   STANDING_WELL      everything
 *
 * The standing changes in three functions: on_probe_done(), doubt() and give_up().
 */
#include "member-sync/member.h"

#include "base/log.h"
#include "kube/object.h"

#include "member-sync/fact_queue.h"
#include "member-sync/jitter.h"
#include "member-sync/member_call.h"
#include "member-sync/member_probe.h"
#include "member-sync/member_report.h"
#include "member-sync/member_streams.h"
#include "member-sync/stream_kind.h"

/* While a failure is younger than this, probes back off to five first steps only. */
#define FRESH_FAILURE (300 * USEC_PER_SEC)

enum standing { STANDING_UNUSABLE, STANDING_DOUBT, STANDING_DOWN, STANDING_WELL };

struct member {
	struct member_host *host;
	uint32_t number;
	uint64_t join; /* id of the order that made it, for its facts */
	char *name;
	uint64_t cursors[STREAM_MAX];
	struct kubeconfig k;
	struct client *c, *relay_client;
	struct fact_queue facts;
	struct member_streams *streams;
	struct member_probe *probe;
	struct {
		uv_timer_t timer;
		bool dead;
	} tick;
	enum standing standing;
	bool have_identity;
	uint8_t identity[STORE_UID_LEN];
	unsigned failures; /* of probes, in a row */
	usec failing_since;
	usec probe_at, discover_at; /* monotonic */
	uint64_t jitter;
	struct member_call_list waiting; /* calls that wait while the identity is in doubt */
	struct member_call_list calls;	 /* orders under way */
	struct member_call_list relays;	 /* relays under way, on connections of their own */
	struct member_report said;
};

static void arm(struct member *m);

/* ---- facts ---- */

static void emit(void *arg, struct fact *take_fact)
{
	struct member *m = arg;

	take_fact->member = m->number;
	take_fact->join = m->join;
	memcpy(take_fact->incarnation, m->identity, STORE_UID_LEN);
	fact_queue_add(&m->facts, take_fact);
}

static void emit_state(struct member *m)
{
	emit(m, member_report_fact(&m->said, m->number, m->identity, m->k.server));
}

/* Says it when it is news. */
static void say(struct member *m, enum member_condition condition, const char *message)
{
	if (!member_report_set(&m->said, condition, message))
		return;
	log_line(m->host->options.log,
		 condition == MEMBER_READY || condition == MEMBER_CONNECTING ? LOG_INFO : LOG_WARN,
		 "member state", "member=%s condition=%s message=\"%s\"", m->name,
		 member_report_name(condition), message);
	emit_state(m);
}

/* ---- calls ---- */

static void on_result(void *arg, struct fact *take_fact)
{
	emit(arg, take_fact);
}

static void doubt(struct member *m);

/* What the end of a request says about the connection to the member. */
static void judge(struct member *m, const struct client_result *r)
{
	bool broken = r->outcome != CLIENT_ANSWERED && !r->aborted && r->condition != MEMBER_READY;

	if (broken || (r->outcome == CLIENT_ANSWERED && r->http_code == 401))
		doubt(m);
}

static void on_call_ended(void *arg, struct member_call *c, const struct client_result *r)
{
	struct member *m = arg;

	member_call_list_remove(member_call_is_relay(c) ? &m->relays : &m->calls, c);
	judge(m, r);
}

static const struct member_call_ops call_ops = {.result = on_result, .ended = on_call_ended};

static void send_call(struct member *m, struct member_call *c)
{
	member_call_list_add(member_call_is_relay(c) ? &m->relays : &m->calls, c);
	member_call_send(c, member_call_is_relay(c) ? m->relay_client : m->c);
}

static bool is_stale(const struct member *m, const struct order *o)
{
	return o && memcmp(o->incarnation, m->identity, STORE_UID_LEN) != 0;
}

static void take_call(struct member *m, struct order *take_order, struct relay *take_relay)
{
	struct err why = ERR_INIT;

	if (m->standing == STANDING_DOWN || m->standing == STANDING_UNUSABLE)
		err_set(&why, ERR_UNAVAILABLE, "member %s is not available: %s", m->name,
			m->said.message);
	else if (m->have_identity && is_stale(m, take_order))
		err_set(&why, ERR_CONFLICT, "member %s has another identity than the order",
			m->name);
	else if (take_relay && client_load(m->relay_client) >= MEMBER_MAX_RELAYS)
		err_set(&why, ERR_TOO_MANY, "member %s answers %d requests through the hub already",
			m->name, MEMBER_MAX_RELAYS);
	if (why.kind) {
		member_call_refuse(take_order, take_relay, &why, &call_ops, m);
		return;
	}
	if (take_order && take_order->build) {
		int (*build)(struct order * o, struct err * reterr) = take_order->build;
		take_order->build = NULL;
		if (build(take_order, &why) < 0) {
			member_call_refuse(take_order, NULL, &why, &call_ops, m);
			return;
		}
	}
	struct member_call *c = member_call_create(take_order, take_relay, &call_ops, m);
	if (m->standing == STANDING_WELL) {
		send_call(m, c);
	} else {
		member_call_list_add(&m->waiting, c);
		arm(m);
	}
}

void member_submit(struct member *m, struct order *take_call_order)
{
	take_call(m, take_call_order, NULL);
}

void member_forward(struct member *m, struct relay *take_relay)
{
	take_call(m, NULL, take_relay);
}

void member_attend(struct member *m, struct relay *r)
{
	struct err gone = ERR_INIT;
	struct member_call *c = relay_local(r);

	if (relay_attended(r)) {
		member_call_attend(c);
		return;
	}
	err_set(&gone, ERR_UNAVAILABLE, "the client went away");
	member_call_list_remove(member_call_is_waiting(c) ? &m->waiting : &m->relays, c);
	member_call_end(c, &gone);
}

static void send_waiting(struct member *m)
{
	struct err why = ERR_INIT;

	err_set(&why, ERR_CONFLICT, "member %s has another identity than the order", m->name);
	while (m->waiting.head) {
		struct member_call *c = m->waiting.head;
		member_call_list_remove(&m->waiting, c);
		if (is_stale(m, member_call_order(c)))
			member_call_end(c, &why);
		else
			send_call(m, c);
	}
}

static void expire_waiting(struct member *m, usec now)
{
	struct err why = ERR_INIT;

	err_set(&why, ERR_TIMEOUT, "the deadline passed before member %s was known to be well",
		m->name);
	member_call_list_expire(&m->waiting, now, &why);
}

/* ---- standing ---- */

/* Something broke: who is at the other end now? */
static void doubt(struct member *m)
{
	if (m->standing != STANDING_WELL)
		return;
	m->standing = STANDING_DOUBT;
	member_streams_allow(m->streams, false);
	m->probe_at = clock_monotonic();
	arm(m);
}

/* Nothing may be sent until a new JOIN. */
static void give_up(struct member *m, enum member_condition condition, const char *message)
{
	m->standing = STANDING_UNUSABLE;
	m->probe_at = m->discover_at = 0;
	say(m, condition, message);
	if (m->streams) {
		member_streams_allow(m->streams, false);
		member_streams_stop(m->streams);
	}
	member_call_list_end(&m->waiting, ERR_UNAVAILABLE, message);
	member_call_list_end(&m->calls, ERR_UNAVAILABLE, message);
	member_call_list_end(&m->relays, ERR_UNAVAILABLE, message);
}

static void go_down(struct member *m, enum member_condition condition, const char *message)
{
	const struct net_times *t = &m->host->options.times;
	usec now = clock_monotonic();

	if (m->failures++ == 0)
		m->failing_since = now;
	bool fresh = now - m->failing_since < FRESH_FAILURE;
	usec most = fresh && t->backoff * 5 < t->backoff_max ? t->backoff * 5 : t->backoff_max;
	m->standing = STANDING_DOWN;
	m->probe_at = now + jitter_backoff(&m->jitter, m->failures, t->backoff, most);
	member_streams_allow(m->streams, false);
	say(m, condition, message);
	member_call_list_end(&m->waiting, ERR_UNAVAILABLE, message);
}

/* The member serves the kind in another version too, whose stream has the same objects. */
static bool is_doubled(const struct member *m, enum member_stream s)
{
	return s == STREAM_MPIJOBS_V2BETA1 && m->said.apis & (uint32_t)1 << STREAM_MPIJOBS;
}

static void start_streams(struct member *m)
{
	for (int i = 0; i < STREAM_MAX; i++) {
		enum member_stream s = (enum member_stream)i;
		uint32_t bit = (uint32_t)1 << i;
		if (!(m->said.known & bit))
			continue;
		if (!(m->said.apis & bit) || is_doubled(m, s)) {
			member_streams_set_absent(m->streams, s);
		} else if (!member_streams_is_running(m->streams, s)) {
			member_streams_start(m->streams, s, m->cursors[s]);
			/* A kind that goes and comes back has other objects: list then. */
			m->cursors[s] = 0;
		}
	}
}

static void go_well(struct member *m, const struct member_probe_result *r)
{
	bool healed = m->failures > 0;

	m->failures = 0;
	m->standing = STANDING_WELL;
	m->probe_at = clock_monotonic() + m->host->options.times.probe;
	if (r->discovered) {
		m->discover_at = clock_monotonic() + m->host->options.times.discovery;
		member_report_learn(&m->said, r);
	}
	say(m, MEMBER_READY, "the member answers");
	start_streams(m);
	if (healed)
		member_streams_retry(m->streams);
	member_streams_allow(m->streams, true);
	send_waiting(m);
}

static void on_probe_done(void *arg, const struct member_probe_result *r)
{
	struct member *m = arg;
	char was[OBJECT_UID_TEXT], is[OBJECT_UID_TEXT], words[256];

	m->probe = NULL;
	if (r->condition != MEMBER_READY) {
		/* What hangs on the old connections hangs for good: cut it, so that a healed
		 * member is met on new ones. */
		if (r->transport) {
			client_reset(m->c);
			client_reset(m->relay_client);
		}
		go_down(m, r->condition, r->err.text);
	} else if (m->have_identity && memcmp(m->identity, r->incarnation, STORE_UID_LEN) != 0) {
		snprintf(words, sizeof(words),
			 "the cluster at this address is another one: its kube-system uid is %s, "
			 "that of the member is %s",
			 object_uid_format(r->incarnation, is),
			 object_uid_format(m->identity, was));
		give_up(m, MEMBER_CHANGED_IDENTITY, words);
	} else {
		m->have_identity = true;
		memcpy(m->identity, r->incarnation, STORE_UID_LEN);
		go_well(m, r);
	}
	arm(m);
}

static void start_probe(struct member *m, usec now)
{
	const struct net_options *o = &m->host->options;
	struct err why = ERR_INIT;
	struct member_probe_options po = {
	    .discover = now >= m->discover_at,
	    .streams = o->streams,
	    .timeout = o->times.probe_timeout,
	    .done = on_probe_done,
	    .arg = m,
	};

	/* An expired certificate would only be refused in less clear words. */
	if (kubeconfig_check_time(&m->k, clock_now(), &why) < 0) {
		go_down(m, MEMBER_CREDENTIAL_EXPIRED, why.text);
		return;
	}
	m->probe = member_probe_start(m->c, &po);
}

/* ---- streams ---- */

static void on_stream_ended(void *arg, enum member_stream s, const struct client_result *r)
{
	struct member *m = arg;
	uint32_t bit = (uint32_t)1 << s;

	judge(m, r);
	if (r->outcome != CLIENT_ANSWERED || (r->http_code != 404 && r->http_code != 403) ||
	    !stream_kind_of(s)->optional || !(m->said.apis & bit))
		return;
	/* The reflector goes absent; the next discovery may start it anew. */
	m->said.apis &= ~bit;
	m->discover_at = clock_monotonic() + m->host->options.times.discovery;
	emit_state(m);
	arm(m);
}

static void on_stream_silent(void *arg, enum member_stream s)
{
	doubt(arg);
}

static void on_stream_trouble(void *arg, enum member_stream s, const struct err *err)
{
	struct member *m = arg;
	const struct stream_kind *k = stream_kind_of(s);

	if (err)
		log_warn(m->host->options.log, "stream fails",
			 "member=%s stream=%s/%s error=\"%s\", retrying", m->name, k->root,
			 k->resource, err->text);
	else
		log_info(m->host->options.log, "stream works again", "member=%s stream=%s/%s",
			 m->name, k->root, k->resource);
}

static void on_rescheduled(void *arg)
{
	arm(arg);
}

static const struct member_streams_ops streams_ops = {
    .emit = emit,
    .ended = on_stream_ended,
    .silent = on_stream_silent,
    .trouble = on_stream_trouble,
    .rescheduled = on_rescheduled,
};

void member_taken(struct member *m, size_t bytes)
{
	fact_queue_taken(&m->facts, bytes);
	if (m->streams)
		member_streams_resume(m->streams);
}

/* ---- time ---- */

static usec earlier(usec a, usec b)
{
	return !a || (b && b < a) ? b : a;
}

/* The member is alive without being asked: bytes came, or we are the ones who do not read. */
static bool shows_life(struct member *m, usec now)
{
	if (m->standing != STANDING_WELL || now >= m->discover_at)
		return false;
	return member_streams_paused(m->streams) ||
	       now - client_last_byte(m->c) < m->host->options.times.probe;
}

static void on_tick(uv_timer_t *timer)
{
	struct member *m = timer->data;
	usec now = clock_monotonic();

	expire_waiting(m, now);
	if (m->streams)
		member_streams_tick(m->streams, now);
	if (m->standing != STANDING_UNUSABLE && !m->probe &&
	    (now >= m->probe_at || (m->standing == STANDING_WELL && now >= m->discover_at))) {
		if (shows_life(m, now))
			m->probe_at = now + m->host->options.times.probe;
		else
			start_probe(m, now);
	}
	arm(m);
}

static void arm(struct member *m)
{
	usec now = clock_monotonic(), due = 0;

	if (m->tick.dead)
		return;
	if (m->streams)
		due = member_streams_due(m->streams);
	if (m->standing != STANDING_UNUSABLE && !m->probe)
		due = earlier(due, m->probe_at);
	if (m->standing == STANDING_WELL && !m->probe)
		due = earlier(due, m->discover_at);
	due = earlier(due, member_call_list_due(&m->waiting));
	if (due)
		uv_timer_start(&m->tick.timer, on_tick,
			       due > now ? (uint64_t)((due - now) / USEC_PER_MS) + 1 : 0, 0);
	else
		uv_timer_stop(&m->tick.timer);
}

/* ---- life ---- */

static void start(struct member *m, struct span kubeconfig)
{
	struct err why = ERR_INIT;

	if (kubeconfig_parse(kubeconfig, NULL, &m->k, &why) < 0) {
		char words[sizeof(why.text) + sizeof(why.field) + 8];
		snprintf(words, sizeof(words), "%s%s%s", why.field, why.field[0] ? " " : "",
			 why.text);
		give_up(m, MEMBER_BAD_KUBECONFIG, words);
		return;
	}
	if (client_create(m->host->loop, m->host->gate, &m->k, &m->c, &why) < 0 ||
	    client_create(m->host->loop, m->host->gate, &m->k, &m->relay_client, &why) < 0) {
		give_up(m, MEMBER_BAD_KUBECONFIG, why.text);
		return;
	}
	client_use_connections(m->relay_client, MEMBER_MAX_RELAYS);
	m->streams =
	    member_streams_create(&m->host->options, &m->jitter, m->c, &m->facts, &streams_ops, m);
	m->standing = STANDING_DOUBT;
	m->probe_at = m->discover_at = clock_monotonic();
	say(m, MEMBER_CONNECTING, "the member has not answered yet");
}

struct member *member_create(struct member_host *host, struct order *take_join)
{
	static const uint8_t unknown[STORE_UID_LEN];
	struct member *m = xcalloc(1, sizeof(*m));

	m->host = host;
	m->number = take_join->member;
	m->join = take_join->id;
	m->name = xstrdup(take_join->name ? take_join->name : "");
	m->jitter = jitter_next(&host->jitter);
	memcpy(m->cursors, take_join->cursors, sizeof(m->cursors));
	memcpy(m->identity, take_join->incarnation, STORE_UID_LEN);
	m->have_identity = memcmp(m->identity, unknown, STORE_UID_LEN) != 0;
	fact_queue_init(&m->facts, host->options.sink);
	uv_timer_init(host->loop, &m->tick.timer);
	m->tick.timer.data = m;
	start(m, span_make(take_join->kubeconfig, take_join->kubeconfig_len));
	order_destroy(take_join);
	arm(m);
	return m;
}

static void on_closed(uv_handle_t *h)
{
	free(h->data);
}

struct member *member_destroy(struct member *m)
{
	if (!m)
		return NULL;
	m->tick.dead = true;
	member_call_list_end(&m->waiting, ERR_UNAVAILABLE, "the member is being left");
	member_call_list_end(&m->calls, ERR_UNAVAILABLE, "the member is being left");
	member_call_list_end(&m->relays, ERR_UNAVAILABLE, "the member is being left");
	member_probe_cancel(m->probe);
	member_streams_destroy(m->streams);
	client_destroy(m->relay_client);
	client_destroy(m->c);
	fact_queue_done(&m->facts);
	kubeconfig_done(&m->k);
	free(m->name);
	uv_close((uv_handle_t *)&m->tick.timer, on_closed);
	return NULL;
}

uint32_t member_number(const struct member *m)
{
	return m->number;
}

const char *member_name(const struct member *m)
{
	return m->name;
}
