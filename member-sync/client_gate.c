#include "member-sync/client_gate.h"

#include "base/compat.h"

enum lane { LANE_WELL, LANE_FAILING, LANE_MAX };

struct client_gate {
	uv_timer_t timer; /* 0 ms: grants from the loop's next turn */
	struct {
		unsigned free;
		struct client_ticket *head, *tail;
	} lanes[LANE_MAX];
};

struct client_gate *client_gate_create(uv_loop_t *loop, unsigned slots)
{
	struct client_gate *g = xcalloc(1, sizeof(*g));
	unsigned failing = slots / 5 ? slots / 5 : 1;

	uv_timer_init(loop, &g->timer);
	g->timer.data = g;
	g->lanes[LANE_FAILING].free = failing;
	g->lanes[LANE_WELL].free = slots > failing ? slots - failing : 1;
	return g;
}

static void on_closed(uv_handle_t *h)
{
	free(h->data);
}

struct client_gate *client_gate_destroy(struct client_gate *g)
{
	if (g)
		uv_close((uv_handle_t *)&g->timer, on_closed);
	return NULL;
}

static void unlink_ticket(struct client_gate *g, struct client_ticket *t)
{
	if (t->prev)
		t->prev->next = t->next;
	else
		g->lanes[t->lane].head = t->next;
	if (t->next)
		t->next->prev = t->prev;
	else
		g->lanes[t->lane].tail = t->prev;
	t->prev = t->next = NULL;
}

static void link_ticket(struct client_gate *g, struct client_ticket *t, bool first)
{
	struct client_ticket *head = g->lanes[t->lane].head, *tail = g->lanes[t->lane].tail;

	t->prev = first ? NULL : tail;
	t->next = first ? head : NULL;
	if (t->prev)
		t->prev->next = t;
	else
		g->lanes[t->lane].head = t;
	if (t->next)
		t->next->prev = t;
	else
		g->lanes[t->lane].tail = t;
}

static void on_turn(uv_timer_t *timer)
{
	struct client_gate *g = timer->data;

	for (int lane = 0; lane < LANE_MAX; lane++)
		while (g->lanes[lane].head && g->lanes[lane].free) {
			struct client_ticket *t = g->lanes[lane].head;
			unlink_ticket(g, t);
			g->lanes[lane].free--;
			t->state = TICKET_HELD;
			t->granted(t->arg);
		}
}

bool client_gate_want(struct client_gate *g, struct client_ticket *t, bool failing, bool urgent)
{
	t->lane = failing ? LANE_FAILING : LANE_WELL;
	if (g->lanes[t->lane].free && (urgent || !g->lanes[t->lane].head)) {
		g->lanes[t->lane].free--;
		t->state = TICKET_HELD;
		return true;
	}
	t->state = TICKET_WAITING;
	link_ticket(g, t, urgent);
	return false;
}

void client_gate_release(struct client_gate *g, struct client_ticket *t)
{
	if (t->state == TICKET_WAITING) {
		unlink_ticket(g, t);
	} else if (t->state == TICKET_HELD) {
		g->lanes[t->lane].free++;
		if (g->lanes[t->lane].head)
			uv_timer_start(&g->timer, on_turn, 0, 0);
	}
	t->state = TICKET_NONE;
}
