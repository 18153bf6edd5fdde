#include "api/turns.h"

#include "api/documents.h"
#include "api/route.h"

#define DEFAULT_SEATS	256 /* two batches of the core */
#define DEFAULT_WATCHES 10000
#define FLOW_WAITING	1000
#define FLOW_BYTES	((size_t)16 << 20)
#define WAITING_BYTES	((size_t)64 << 20) /* as the core's inbox */
#define LIST_COST	64 /* a list takes that part of all seats, and one at least */
#define PUMP_TIME	USEC_PER_MS

bool turns_is_long_running(const struct call *c)
{
	static const char *const streams[] = {"proxy", "log", "exec", "attach", "portforward"};
	if (!c->info.is_resource)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(streams); i++)
		if (span_is(c->info.subresource, streams[i]))
			return true;
	return c->info.verb == API_WATCH;
}

/* As Kubernetes' exempt level: administrators; and whoever asks how the server is. */
static bool is_exempt(const struct call *c)
{
	return auth_in_group(&c->user, "system:masters") ||
	       (!c->info.is_resource && !documents_has(&c->info));
}

#define FLOW_SCHEMA    "X-Kubernetes-PF-FlowSchema-UID: "
#define PRIORITY_LEVEL "X-Kubernetes-PF-PriorityLevel-UID: "

struct span turns_headers(const struct call *c)
{
	static const char users[] =
	    FLOW_SCHEMA "6f9e2b64-3c1d-4b8a-9d0e-7a5c41f2e801\r\n" PRIORITY_LEVEL
			"c2d7a0f3-58be-4e16-8f49-1b6e93d5a702\r\n";
	static const char exempt[] =
	    FLOW_SCHEMA "0d4b8e17-92fa-4c63-b5d1-e83f6a207c03\r\n" PRIORITY_LEVEL
			"a71c5f38-e40d-4927-8a6b-34d9f0b2ce04\r\n";

	if (!c->user.name.len || (turns_is_long_running(c) && c->info.verb != API_WATCH))
		return SPAN("");
	return is_exempt(c) ? span_make(exempt, sizeof(exempt) - 1)
			    : span_make(users, sizeof(users) - 1);
}

static void refuse_busy(struct call *c)
{
	call_failf(c, ERR_TOO_MANY, "Too many requests, please try again later.");
	call_finish(c);
}

static void leave_queue(struct call *c)
{
	turns_release(c);
	kind_set_unref(c->kinds);
	c->kinds = NULL;
	http_abort(c->x);
}

void turns_enter(struct call *c)
{
	struct api *a = call_api(c);
	bool lists = c->info.is_resource &&
		     (c->info.verb == API_LIST || c->info.verb == API_DELETE_COLLECTION);
	c->seat.cost = lists ? (uint32_t)(a->fair.limits.seats / LIST_COST) : 1;
	c->seat.cost += !c->seat.cost;
	c->seat.write = c->request->method != HTTP_GET && c->request->method != HTTP_HEAD;
	c->seat.bytes = c->request->body.len;
	if (turns_is_long_running(c)) {
		if (fair_queue_add_long(&a->fair, c->user.name, is_exempt(c), &c->seat))
			route_begin(c);
		else
			refuse_busy(c);
		return;
	}
	if (is_exempt(c))
		fair_queue_add_exempt(&a->fair, &c->seat);
	else
		(void)fair_queue_add(&a->fair, c->user.name, &c->seat);
	if (c->seat.state == FAIR_NONE)
		refuse_busy(c);
	else if (c->seat.state == FAIR_WAITING)
		c->on_gone = leave_queue;
	else
		route_begin(c);
}

static void post_pump(struct api *a)
{
	if (!a->fair.n_waiting || a->pump_posted)
		return;
	a->pump_posted = true;
	mailbox_post(&a->mailbox, &a->pump_task);
}

static void on_pump(struct task *t)
{
	struct api *a = (struct api *)((char *)t - offsetof(struct api, pump_task));
	usec until = clock_monotonic() + PUMP_TIME;
	struct fair_request *r;
	a->pump_posted = false;
	while (!a->ended && (r = fair_queue_next(&a->fair))) {
		struct call *c = (struct call *)((char *)r - offsetof(struct call, seat));
		c->on_gone = NULL;
		route_begin(c);
		if (clock_monotonic() > until) {
			post_pump(a);
			break;
		}
	}
}

void turns_release(struct call *c)
{
	struct api *a = call_api(c);
	if (c->seat.state == FAIR_NONE)
		return;
	fair_queue_remove(&a->fair, &c->seat);
	post_pump(a);
}

void turns_init(struct api *a)
{
	const struct api_options *o = &a->options;
	struct fair_limits limits = {
	    .seats = o->seats > 0 ? (size_t)o->seats : DEFAULT_SEATS,
	    .flow_waiting = o->queue_per_user > 0 ? (size_t)o->queue_per_user : FLOW_WAITING,
	    .flow_bytes = o->queue_bytes_per_user ? o->queue_bytes_per_user : FLOW_BYTES,
	    .max_bytes = o->queue_bytes ? o->queue_bytes : WAITING_BYTES,
	    .long_running = o->max_watches > 0 ? (size_t)o->max_watches : DEFAULT_WATCHES};
	fair_queue_init(&a->fair, &limits);
	a->pump_task.run = on_pump;
}
