#include "api/await_revision.h"

#include "api/turns.h"
#include "base/num.h"

#define PATIENCE (3 * USEC_PER_SEC) /* apiserver's blockTimeout */

struct revision_wait {
	struct revision_wait *prev, *next;
	struct call *call;
	uint64_t revision;
	usec until; /* monotonic */
	void (*go)(struct call *c);
};

static void leave(struct revision_wait *w)
{
	struct revision_waits *waits = &w->call->listener->waits;
	if (w->prev)
		w->prev->next = w->next;
	else
		waits->first = w->next;
	if (w->next)
		w->next->prev = w->prev;
	atomic_fetch_sub(&waits->n, 1);
	w->call->on_gone = NULL;
	w->call->state = NULL;
}

static void on_gone(struct call *c)
{
	leave(c->state);
	turns_release(c);
	kind_set_unref(c->kinds);
	c->kinds = NULL;
	http_abort(c->x);
}

static bool has_come(const struct revision_wait *w)
{
	return store_revision(call_store(w->call)) >= w->revision;
}

/* Those whose revision is there, or whose time is over at `now`. */
static void release(struct api_listener *l, usec now, bool all)
{
	struct revision_wait *ready = NULL, *next;
	for (struct revision_wait *w = l->waits.first; w; w = next) {
		next = w->next;
		if (!all && now < w->until && !has_come(w))
			continue;
		leave(w);
		w->next = ready;
		ready = w;
	}
	for (; ready; ready = next) {
		next = ready->next; /* its memory goes with the call's answer */
		ready->go(ready->call);
	}
}

static void on_task(struct task *t)
{
	struct revision_waits *waits = (struct revision_waits *)t;
	struct api_listener *l =
	    (struct api_listener *)((char *)waits - offsetof(struct api_listener, waits));
	atomic_store(&waits->posted, false);
	release(l, 0, false);
}

void await_revision_init(struct api_listener *l)
{
	l->waits.task.run = on_task;
}

void await_revision_committed(struct api_listener *l)
{
	struct revision_waits *waits = &l->waits;
	if (atomic_load(&waits->n) && !atomic_exchange(&waits->posted, true))
		mailbox_post(&l->api->mailbox, &waits->task);
}

void await_revision_tick(struct api *a, usec now, bool all)
{
	for (struct api_listener *l = a->listeners; l; l = l->next)
		release(l, now, all);
}

bool await_revision(struct call *c, void (*go)(struct call *c))
{
	struct revision_waits *waits = &c->listener->waits;
	struct span text = call_param(c, "resourceVersion");
	struct revision_wait *w;
	uint64_t revision = 0;

	if (!text.len || num_parse_u64(text, INT64_MAX, &revision) < 0 ||
	    revision <= store_revision(call_store(c)) || call_api(c)->closing)
		return false;
	w = arena_new(c->mem, struct revision_wait);
	*w = (struct revision_wait){.next = waits->first,
				    .call = c,
				    .revision = revision,
				    .until = clock_monotonic() + PATIENCE,
				    .go = go};
	if (w->next)
		w->next->prev = w;
	waits->first = w;
	c->state = w;
	c->on_gone = on_gone;
	/* Before the look: a commit that does not see who waits is seen by it. */
	atomic_fetch_add(&waits->n, 1);
	if (!has_come(w))
		return true;
	leave(w);
	return false;
}
