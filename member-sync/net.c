#include "member-sync/net.h"

#include "base/log.h"
#include "base/map.h"
#include "base/vec.h"

#include "member-sync/client_gate.h"
#include "member-sync/jitter.h"
#include "member-sync/member.h"
#include "member-sync/member_call.h"

#include <curl/curl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/random.h>

struct taken_note {
	uint32_t member;
	size_t bytes;
};

struct taken_notes VEC(struct taken_note);
struct relay_list VEC(struct relay *);

struct net_thread {
	struct net base; /* first: what the core holds */
	struct member_host host;
	char *hub_uid;
	uv_loop_t loop;
	uv_async_t wake;
	pthread_t thread;
	struct map members;   /* number (4 bytes) -> struct member */
	pthread_mutex_t lock; /* over what follows: */
	struct order *orders, *orders_tail;
	struct relay_list asked;    /* new ones */
	struct relay_list attended; /* a reference each */
	struct taken_notes taken;
	bool stopping;
};

static struct span key_of(const uint32_t *number)
{
	return span_make((const char *)number, sizeof(*number));
}

static struct member *find_member(struct net_thread *n, uint32_t number)
{
	return map_get(&n->members, key_of(&number));
}

/* ---- refusals: nobody to ask ---- */

static void push_result(void *arg, struct fact *take_fact)
{
	struct net_thread *n = arg;

	n->host.options.sink->push(n->host.options.sink, take_fact);
}

static const struct member_call_ops refusal_ops = {.result = push_result};

static void refuse(struct net_thread *n, struct order *take_order, struct relay *take_relay,
		   enum err_kind kind, const char *words)
{
	struct err why = ERR_INIT;

	err_set(&why, kind, "%s", words);
	member_call_refuse(take_order, take_relay, &why, &refusal_ops, n);
}

/* ---- orders ---- */

static void leave(struct net_thread *n, uint32_t number)
{
	struct member *m = map_remove(&n->members, key_of(&number));

	if (m)
		log_info(n->host.options.log, "member left", "member=%s", member_name(m));
	member_destroy(m);
}

static void join(struct net_thread *n, struct order *take_join)
{
	uint32_t number = take_join->member;
	struct member *old = map_remove(&n->members, key_of(&number));

	member_destroy(old);
	map_put(&n->members, key_of(&number), member_create(&n->host, take_join));
}

static void carry_out(struct net_thread *n, struct order *take_order)
{
	struct member *m;

	switch (take_order->op) {
	case ORDER_JOIN:
		join(n, take_order);
		return;
	case ORDER_LEAVE:
		leave(n, take_order->member);
		order_destroy(take_order);
		return;
	case ORDER_CALL:
		m = find_member(n, take_order->member);
		if (m)
			member_submit(m, take_order);
		else
			refuse(n, take_order, NULL, ERR_NOT_FOUND, "no such member");
		return;
	case ORDER_OP_MAX:
		break;
	}
	order_destroy(take_order);
}

static void forward(struct net_thread *n, struct relay *take_relay)
{
	const char *cluster = relay_question(take_relay)->cluster;

	map_foreach (&n->members, e) {
		struct member *m = e->value;
		if (cluster && strcmp(member_name(m), cluster) == 0) {
			member_forward(m, take_relay);
			return;
		}
	}
	refuse(n, NULL, take_relay, ERR_NOT_FOUND, "no such member");
}

static void attend(struct relay *r)
{
	struct member_call *c = relay_local(r);

	if (c)
		member_attend(member_call_owner(c), r);
	relay_unref(r);
}

/* ---- the thread ---- */

static void stop(struct net_thread *n)
{
	map_foreach (&n->members, e)
		member_destroy(e->value);
	map_done(&n->members);
	n->members = MAP_INIT;
	n->host.gate = client_gate_destroy(n->host.gate);
	uv_close((uv_handle_t *)&n->wake, NULL);
}

static void on_wake(uv_async_t *wake)
{
	struct net_thread *n = wake->data;

	pthread_mutex_lock(&n->lock);
	struct order *orders = n->orders;
	struct relay_list asked = n->asked, attended = n->attended;
	struct taken_notes taken = n->taken;
	bool stopping = n->stopping;
	n->orders = n->orders_tail = NULL;
	n->asked = n->attended = (struct relay_list){0};
	n->taken = (struct taken_notes){0};
	pthread_mutex_unlock(&n->lock);

	vec_foreach (&taken, t) {
		struct member *m = find_member(n, t->member);
		if (m)
			member_taken(m, t->bytes);
	}
	vec_done(&taken);
	while (orders) {
		struct order *o = orders;
		orders = o->next;
		o->next = NULL;
		if (stopping)
			order_destroy(o);
		else
			carry_out(n, o);
	}
	vec_foreach (&asked, r) {
		if (stopping)
			refuse(n, NULL, *r, ERR_UNAVAILABLE, "the hub is stopping");
		else
			forward(n, *r);
	}
	vec_foreach (&attended, r)
		attend(*r);
	vec_done(&asked);
	vec_done(&attended);
	if (stopping && !uv_is_closing((uv_handle_t *)&n->wake))
		stop(n);
}

static void *run(void *arg)
{
	struct net_thread *n = arg;

	uv_run(&n->loop, UV_RUN_DEFAULT);
	return NULL;
}

/* ---- the door ---- */

static void submit(struct net *net, struct order *take_order)
{
	struct net_thread *n = (struct net_thread *)net;

	take_order->next = NULL;
	pthread_mutex_lock(&n->lock);
	if (n->orders_tail)
		n->orders_tail->next = take_order;
	else
		n->orders = take_order;
	n->orders_tail = take_order;
	pthread_mutex_unlock(&n->lock);
	uv_async_send(&n->wake);
}

static void taken(struct net *net, uint32_t member, size_t bytes)
{
	struct net_thread *n = (struct net_thread *)net;

	pthread_mutex_lock(&n->lock);
	vec_push(&n->taken, (struct taken_note){member, bytes});
	pthread_mutex_unlock(&n->lock);
	uv_async_send(&n->wake);
}

/* On the asker's thread, under the relay's lock. */
static void on_attend(void *answerer, struct relay *r)
{
	struct net_thread *n = answerer;

	pthread_mutex_lock(&n->lock);
	vec_push(&n->attended, relay_ref(r));
	pthread_mutex_unlock(&n->lock);
	uv_async_send(&n->wake);
}

void net_proxy(struct net *net, struct relay *r)
{
	struct net_thread *n = (struct net_thread *)net;

	relay_accept(r, on_attend, n);
	pthread_mutex_lock(&n->lock);
	vec_push(&n->asked, relay_ref(r));
	pthread_mutex_unlock(&n->lock);
	uv_async_send(&n->wake);
}

static const struct net_ops ops = {.submit = submit, .taken = taken};

static void set_default(usec *value, usec otherwise)
{
	if (*value <= 0)
		*value = otherwise;
}

static void complete(struct net_thread *n, const struct net_options *options)
{
	struct net_options *o = &n->host.options;
	uint64_t seed = 0;

	*o = *options;
	n->hub_uid = xstrdup(options->hub_uid ? options->hub_uid : "");
	o->hub_uid = n->hub_uid;
	if (!o->streams)
		o->streams = NET_DEFAULT_STREAMS;
	set_default(&o->times.probe, 10 * USEC_PER_SEC);
	set_default(&o->times.probe_timeout, 5 * USEC_PER_SEC);
	set_default(&o->times.discovery, 30 * USEC_PER_SEC);
	set_default(&o->times.silence, 180 * USEC_PER_SEC);
	set_default(&o->times.watch, 300 * USEC_PER_SEC);
	set_default(&o->times.backoff, 800 * USEC_PER_MS);
	set_default(&o->times.backoff_max, 30 * USEC_PER_SEC);
	if (!o->seed && getrandom(&seed, sizeof(seed), 0) == (ssize_t)sizeof(seed))
		o->seed = seed;
	n->host.jitter = o->seed;
}

static int start_thread(struct net_thread *n, struct err *reterr)
{
	sigset_t all, old;

	/* Signals are the main thread's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int r = pthread_create(&n->thread, NULL, run, n);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r != 0)
		return err_set(reterr, ERR_INTERNAL, "cannot start the net thread: %s",
			       strerror(r));
	pthread_setname_np(n->thread, "net");
	return 0;
}

static void net_free(struct net_thread *n)
{
	pthread_mutex_destroy(&n->lock);
	vec_done(&n->taken);
	vec_done(&n->asked);
	vec_done(&n->attended);
	map_done(&n->members);
	free(n->hub_uid);
	free(n);
	curl_global_cleanup();
}

int net_create(const struct net_options *options, struct net **ret, struct err *reterr)
{
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return err_set(reterr, ERR_INTERNAL, "libcurl cannot be initialised");
	struct net_thread *n = xcalloc(1, sizeof(*n));
	n->base.ops = &ops;
	n->members = MAP_INIT;
	pthread_mutex_init(&n->lock, NULL);
	complete(n, options);
	if (uv_loop_init(&n->loop) < 0) {
		net_free(n);
		return err_set(reterr, ERR_INTERNAL, "cannot make the net thread's loop");
	}
	n->host.loop = &n->loop;
	uv_async_init(&n->loop, &n->wake, on_wake);
	n->wake.data = n;
	n->host.gate = client_gate_create(&n->loop, CLIENT_HANDSHAKES);
	int r = start_thread(n, reterr);
	if (r < 0) {
		stop(n);
		uv_run(&n->loop, UV_RUN_DEFAULT);
		uv_loop_close(&n->loop);
		net_free(n);
		return r;
	}
	*ret = &n->base;
	return 0;
}

struct net *net_stop(struct net *net)
{
	struct net_thread *n = (struct net_thread *)net;

	if (!n)
		return NULL;
	pthread_mutex_lock(&n->lock);
	n->stopping = true;
	pthread_mutex_unlock(&n->lock);
	uv_async_send(&n->wake);
	pthread_join(n->thread, NULL);
	uv_loop_close(&n->loop);
	while (n->orders) { /* came while the loop was ending */
		struct order *o = n->orders;
		n->orders = o->next;
		order_destroy(o);
	}
	vec_foreach (&n->asked, r)
		refuse(n, NULL, *r, ERR_UNAVAILABLE, "the hub is stopping");
	vec_foreach (&n->attended, r)
		relay_unref(*r);
	net_free(n);
	return NULL;
}
