#include "net_harness.h"

#include "base/log.h"
#include "kube/object.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void record(struct fact_sink *sink, struct fact *take_fact)
{
	struct harness *h = (struct harness *)sink;
	uint32_t member = take_fact->member;
	size_t bytes = take_fact->bytes;

	pthread_mutex_lock(&h->lock);
	vec_push(&h->facts, take_fact);
	bool hold = h->hold;
	if (hold)
		h->held_bytes += bytes;
	pthread_cond_broadcast(&h->changed);
	pthread_mutex_unlock(&h->lock);
	if (!hold && h->net)
		h->net->ops->taken(h->net, member, bytes);
}

struct harness *harness_create(void)
{
	struct harness *h = xcalloc(1, sizeof(*h));
	struct net_options o = {
	    .hub_uid = HUB_UID,
	    .sink = &h->sink,
	    .times = {.probe = USEC_PER_SEC,
		      .discovery = 2 * USEC_PER_SEC,
		      .backoff = 100 * USEC_PER_MS,
		      .backoff_max = USEC_PER_SEC},
	    .seed = 42,
	};
	static const struct log verbose = {LOG_DEBUG, 2};
	usec day = 86400 * USEC_PER_SEC;

	if (getenv("MUSTER_TEST_LOG"))
		o.log = &verbose;
	h->sink.push = record;
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->changed, NULL);
	test_authority_make(&h->ca, "member authority");
	test_authority_make(&h->other_ca, "another authority");
	test_certificate_make(&h->ca, "server", "IP:127.0.0.1,DNS:localhost,DNS:member.example",
			      -day, day, &h->server_cert);
	test_certificate_make(&h->ca, "hub", NULL, -day, day, &h->client_cert);
	test_certificate_make(&h->ca, "hub", NULL, -2 * day, -day, &h->old_cert);
	assert_int_equal(net_create(&o, &h->net, NULL), 0);
	return h;
}

void harness_destroy(struct harness *h)
{
	h->net = net_stop(h->net);
	fake_member_stop(h->member);
	vec_foreach (&h->facts, f)
		fact_destroy(*f);
	vec_done(&h->facts);
	test_certificate_done(&h->server_cert);
	test_certificate_done(&h->client_cert);
	test_certificate_done(&h->old_cert);
	test_authority_done(&h->ca);
	test_authority_done(&h->other_ca);
	free(h);
}

void harness_start_member(struct harness *h, const struct fake_member_options *o)
{
	struct fake_member_options own = o ? *o : (struct fake_member_options){0};

	if (!own.certificate)
		own.certificate = &h->server_cert;
	h->member = fake_member_start(&own);
}

static void submit_join(struct harness *h, uint32_t number, const char *name,
			const char *kubeconfig, const uint64_t cursors[STREAM_MAX], const char *uid)
{
	struct order *o = order_create(ORDER_JOIN, number);

	o->name = xstrdup(name);
	o->kubeconfig = kubeconfig ? xstrdup(kubeconfig)
				   : test_kubeconfig(fake_member_url(h->member), h->ca.pem,
						     &h->client_cert, NULL, NULL);
	o->kubeconfig_len = strlen(o->kubeconfig);
	if (cursors)
		memcpy(o->cursors, cursors, sizeof(o->cursors));
	if (uid)
		assert_int_equal(object_uid_parse(span_of(uid), o->incarnation), 0);
	h->net->ops->submit(h->net, o);
}

void harness_join(struct harness *h, uint32_t number, const char *name, const char *kubeconfig,
		  const uint64_t cursors[STREAM_MAX])
{
	submit_join(h, number, name, kubeconfig, cursors, NULL);
}

void harness_join_as(struct harness *h, uint32_t number, const char *uid)
{
	submit_join(h, number, "m1", NULL, NULL, uid);
}

uint64_t harness_call(struct harness *h, uint32_t number, const char *method, const char *path,
		      const char *body, usec timeout)
{
	struct order *o = order_create(ORDER_CALL, number);

	o->id = ++h->next_id;
	o->method = method;
	o->path = xstrdup(path);
	o->content_type = body ? "application/json" : NULL;
	o->body = xstrdup(body);
	o->body_len = body ? strlen(body) : 0;
	o->timeout = timeout;
	assert_int_equal(object_uid_parse(SPAN(FAKE_UID), o->incarnation), 0);
	uint64_t id = o->id;
	h->net->ops->submit(h->net, o);
	return id;
}

static void deadline(struct timespec *ret)
{
	clock_gettime(CLOCK_REALTIME, ret);
	ret->tv_sec += AWAIT_USEC / USEC_PER_SEC;
}

size_t harness_await(struct harness *h, size_t from,
		     bool (*match)(const struct fact *f, const void *arg), const void *arg,
		     const char *what)
{
	struct timespec end;
	int r = 0;

	deadline(&end);
	pthread_mutex_lock(&h->lock);
	for (size_t i = from; r == 0;) {
		while (i < h->facts.len) {
			if (match(h->facts.items[i], arg)) {
				pthread_mutex_unlock(&h->lock);
				return i;
			}
			i++;
		}
		r = pthread_cond_timedwait(&h->changed, &h->lock, &end);
	}
	pthread_mutex_unlock(&h->lock);
	fail_msg("no such fact came in time: %s", what);
	return 0;
}

const struct fact *harness_fact(struct harness *h, size_t index)
{
	pthread_mutex_lock(&h->lock);
	const struct fact *f = h->facts.items[index];
	pthread_mutex_unlock(&h->lock);
	return f;
}

size_t harness_count(struct harness *h)
{
	pthread_mutex_lock(&h->lock);
	size_t n = h->facts.len;
	pthread_mutex_unlock(&h->lock);
	return n;
}

static bool is_condition(const struct fact *f, const void *arg)
{
	return f->op == FACT_MEMBER &&
	       f->member_state.condition == *(const enum member_condition *)arg;
}

size_t await_condition(struct harness *h, size_t from, enum member_condition condition)
{
	char what[64];

	snprintf(what, sizeof(what), "condition %d", (int)condition);
	return harness_await(h, from, is_condition, &condition, what);
}

struct op_match {
	enum fact_op op;
	enum member_stream stream;
};

static bool is_op(const struct fact *f, const void *arg)
{
	const struct op_match *m = arg;
	return f->op == m->op && f->stream == m->stream;
}

size_t await_op(struct harness *h, size_t from, enum fact_op op, enum member_stream stream)
{
	struct op_match m = {op, stream};
	char what[64];

	snprintf(what, sizeof(what), "op %d of stream %d", (int)op, (int)stream);
	return harness_await(h, from, is_op, &m, what);
}

struct node_match {
	const char *name;
	uint64_t revision;
};

static bool is_node(const struct fact *f, const void *arg)
{
	const struct node_match *m = arg;
	return f->op == FACT_NODE && f->revision == m->revision && span_is(f->node.name, m->name);
}

size_t await_node(struct harness *h, size_t from, const char *name, uint64_t revision)
{
	struct node_match m = {name, revision};
	return harness_await(h, from, is_node, &m, name);
}

static bool is_result(const struct fact *f, const void *arg)
{
	return f->op == FACT_RESULT && f->result.order_id == *(const uint64_t *)arg;
}

const struct fact *await_result(struct harness *h, uint64_t id)
{
	return harness_fact(h, harness_await(h, 0, is_result, &id, "the order's result"));
}

void await_requests(struct harness *h, const char *a, const char *b, size_t n)
{
	if (!fake_member_await(h->member, a, b, n, AWAIT_USEC))
		fail_msg("%zu requests with %s and %s did not come", n, a, b);
}

void harness_release(struct harness *h)
{
	pthread_mutex_lock(&h->lock);
	size_t bytes = h->held_bytes;
	h->held_bytes = 0;
	h->hold = false;
	pthread_mutex_unlock(&h->lock);
	h->net->ops->taken(h->net, 1, bytes);
}

const char *node_json(const char *name, unsigned revision)
{
	static _Thread_local char text[512];

	snprintf(text, sizeof(text),
		 "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"%s\","
		 "\"uid\":\"00000000-0000-4000-8000-00000000000%u\",\"resourceVersion\":\"%u\"},"
		 "\"status\":{\"allocatable\":{\"cpu\":\"4\",\"memory\":\"8Gi\",\"pods\":\"110\"},"
		 "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
		 name, revision % 10, revision);
	return text;
}

const char *node_event(const char *type, const char *name, unsigned revision)
{
	static _Thread_local char text[700];

	snprintf(text, sizeof(text), "{\"type\":\"%s\",\"object\":%s}", type,
		 node_json(name, revision));
	return text;
}
