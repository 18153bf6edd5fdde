#include "member-sync/member_streams.h"

/* A list that stops dripping is cut long before the quiet of a watch would be. */
#define LIST_SILENCE (30 * USEC_PER_SEC)
#define LIST_LIMIT   500

struct slot {
	struct member_streams *owner;
	struct reflector *reflector; /* NULL: not wanted */
	struct client_request *request;
	char *wanted; /* path that waits for permission */
	bool paused;
	unsigned troubles; /* in a row */
};

struct member_streams {
	struct slot slots[STREAM_MAX];
	struct client *c;
	struct fact_queue *facts;
	const struct member_streams_ops *ops;
	void *arg;
	bool allowed;
};

static void send_wanted(struct slot *s);

/* ---- the request behind a reflector ---- */

static void on_sent(void *arg, struct client_request *q)
{
	struct slot *s = arg;
	reflector_sent(s->reflector, clock_monotonic());
	s->owner->ops->rescheduled(s->owner->arg);
}

static void on_headers(void *arg, struct client_request *q, int http_code)
{
	struct slot *s = arg;
	reflector_opened(s->reflector, clock_monotonic());
}

static enum client_take on_data(void *arg, struct client_request *q, struct span bytes)
{
	struct slot *s = arg;

	if (fact_queue_full(s->owner->facts)) {
		s->paused = true;
		reflector_pause(s->reflector, true, clock_monotonic());
		return CLIENT_PAUSE;
	}
	return reflector_data(s->reflector, bytes, clock_monotonic()) < 0 ? CLIENT_ABORT
									  : CLIENT_TAKEN;
}

static void unpause(struct slot *s)
{
	if (!s->paused)
		return;
	s->paused = false;
	reflector_pause(s->reflector, false, clock_monotonic());
}

static void on_done(void *arg, struct client_request *q, const struct client_result *r)
{
	struct slot *s = arg;
	struct reflector_end end = {.err = r->err, .retry_after = r->retry_after};

	s->request = NULL;
	unpause(s);
	if (r->outcome == CLIENT_ANSWERED)
		end.code = r->http_code;
	/* First the owner: it may close the gate that the reflector's next request would use. */
	s->owner->ops->ended(s->owner->arg, reflector_stream(s->reflector), r);
	reflector_end(s->reflector, &end, clock_monotonic());
	s->owner->ops->rescheduled(s->owner->arg);
}

static void send_wanted(struct slot *s)
{
	struct member_streams *owner = s->owner;
	struct client_spec spec = {
	    .method = "GET",
	    .path = s->wanted,
	    .on_sent = on_sent,
	    .on_headers = on_headers,
	    .on_data = on_data,
	    .done = on_done,
	    .arg = s,
	};

	if (!s->wanted || !owner->allowed || fact_queue_full(owner->facts))
		return;
	s->request = client_send(owner->c, &spec);
	free(s->wanted);
	s->wanted = NULL;
}

/* ---- what a reflector asks for ---- */

static void reflector_wants(void *arg, struct reflector *r, const char *path)
{
	struct slot *s = arg;

	free(s->wanted);
	s->wanted = xstrdup(path);
	send_wanted(s);
}

static void reflector_closes(void *arg, struct reflector *r)
{
	struct slot *s = arg;

	free(s->wanted);
	s->wanted = NULL;
	unpause(s);
	if (s->request)
		client_cancel(s->request);
	s->request = NULL;
}

static void reflector_emits(void *arg, struct reflector *r, struct fact *take_fact)
{
	struct slot *s = arg;
	s->owner->ops->emit(s->owner->arg, take_fact);
}

static void reflector_troubles(void *arg, struct reflector *r, const struct err *err)
{
	struct slot *s = arg;

	s->troubles = err ? s->troubles + 1 : 0;
	if (!err || s->troubles == 1)
		s->owner->ops->trouble(s->owner->arg, reflector_stream(r), err);
}

static const struct reflector_ops slot_ops = {
    .open = reflector_wants,
    .close = reflector_closes,
    .emit = reflector_emits,
    .trouble = reflector_troubles,
};

/* ---- the interface ---- */

struct member_streams *member_streams_create(const struct net_options *o, uint64_t *jitter,
					     struct client *c, struct fact_queue *facts,
					     const struct member_streams_ops *ops, void *arg)
{
	struct member_streams *s = xcalloc(1, sizeof(*s));

	s->c = c;
	s->facts = facts;
	s->ops = ops;
	s->arg = arg;
	for (int i = 0; i < STREAM_MAX; i++) {
		struct reflector_options ro = {
		    .stream = (enum member_stream)i,
		    .hub_uid = o->hub_uid,
		    .ops = &slot_ops,
		    .arg = &s->slots[i],
		    .seed = (*jitter += 0x9e3779b97f4a7c15ULL),
		    .silence = o->times.silence,
		    .list_silence =
			o->times.silence < LIST_SILENCE ? o->times.silence : LIST_SILENCE,
		    .watch = o->times.watch,
		    .backoff = o->times.backoff,
		    .backoff_max = o->times.backoff_max,
		    .limit = LIST_LIMIT,
		};
		s->slots[i].owner = s;
		if (o->streams & (uint32_t)1 << i)
			s->slots[i].reflector = reflector_create(&ro);
	}
	return s;
}

struct member_streams *member_streams_destroy(struct member_streams *s)
{
	if (!s)
		return NULL;
	for (int i = 0; i < STREAM_MAX; i++)
		s->slots[i].reflector = reflector_destroy(s->slots[i].reflector);
	free(s);
	return NULL;
}

void member_streams_start(struct member_streams *s, enum member_stream which, uint64_t cursor)
{
	if (s->slots[which].reflector)
		reflector_start(s->slots[which].reflector, cursor, clock_monotonic());
}

void member_streams_set_absent(struct member_streams *s, enum member_stream which)
{
	if (s->slots[which].reflector)
		reflector_set_absent(s->slots[which].reflector, clock_monotonic());
}

bool member_streams_is_running(const struct member_streams *s, enum member_stream which)
{
	const struct reflector *r = s->slots[which].reflector;

	return r && reflector_state(r) != REFLECTOR_IDLE && reflector_state(r) != REFLECTOR_ABSENT;
}

void member_streams_stop(struct member_streams *s)
{
	for (int i = 0; i < STREAM_MAX; i++)
		if (s->slots[i].reflector)
			reflector_stop(s->slots[i].reflector, clock_monotonic());
}

void member_streams_allow(struct member_streams *s, bool allowed)
{
	s->allowed = allowed;
	for (int i = 0; allowed && i < STREAM_MAX; i++)
		send_wanted(&s->slots[i]);
}

void member_streams_retry(struct member_streams *s)
{
	for (int i = 0; i < STREAM_MAX; i++)
		if (s->slots[i].reflector)
			reflector_retry(s->slots[i].reflector, clock_monotonic());
}

void member_streams_resume(struct member_streams *s)
{
	for (int i = 0; i < STREAM_MAX && fact_queue_roomy(s->facts); i++) {
		struct slot *slot = &s->slots[i];
		if (slot->paused && slot->request) {
			unpause(slot);
			client_resume(slot->request);
		}
		send_wanted(slot);
	}
}

bool member_streams_paused(const struct member_streams *s)
{
	for (int i = 0; i < STREAM_MAX; i++)
		if (s->slots[i].paused)
			return true;
	return false;
}

usec member_streams_due(const struct member_streams *s)
{
	usec earliest = 0;

	for (int i = 0; i < STREAM_MAX; i++) {
		usec due = s->slots[i].reflector ? reflector_due(s->slots[i].reflector) : 0;
		if (due && (!earliest || due < earliest))
			earliest = due;
	}
	return earliest;
}

void member_streams_tick(struct member_streams *s, usec now)
{
	for (int i = 0; i < STREAM_MAX; i++) {
		struct reflector *r = s->slots[i].reflector;
		usec due = r ? reflector_due(r) : 0;
		if (!due || due > now)
			continue;
		bool silent = reflector_state(r) != REFLECTOR_BACKOFF;
		reflector_tick(r, now);
		if (silent)
			s->ops->silent(s->arg, (enum member_stream)i);
	}
}
