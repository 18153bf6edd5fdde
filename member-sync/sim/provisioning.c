#include "member-sync/sim/provisioning.h"
#include "base/compat.h"
#include <stdio.h>

static bool ended(const struct provisioning_state *s)
{
	return conditions_true(&s->conditions, "Failed") ||
	       conditions_true(&s->conditions, "CapacityRevoked");
}

bool provisioning_waits(const struct provisioning_state *s)
{
	return conditions_true(&s->conditions, "Accepted") && !ended(s) &&
	       !conditions_true(&s->conditions, "Provisioned");
}

bool provisioning_holds_room(const struct provisioning_state *s)
{
	return s->started && provisioning_waits(s);
}

static void again(struct provisioning_plan *p, usec at)
{
	if (at < p->again)
		p->again = at;
}

static bool set(const struct provisioning_view *v, struct provisioning_state *s, const char *type,
		bool status, const char *reason, const char *message)
{
	return conditions_set(&s->conditions, type, status, reason, message, v->now);
}

static bool accept(const struct provisioning_view *v, struct provisioning_state *s)
{
	char text[sizeof(s->conditions.items->message)];
	if (v->refusal)
		return set(v, s, "Failed", true, "NoMatchingNodePool", v->refusal);
	if (v->need > PROVISIONING_MAX_NODES) {
		snprintf(text, sizeof(text), "%d nodes are needed, at most %d can be asked for",
			 v->need, PROVISIONING_MAX_NODES);
		return set(v, s, "Failed", true, "TooManyNodes", text);
	}
	if (v->accepted >= PROVISIONING_MAX_ACCEPTED) {
		snprintf(text, sizeof(text), "Quota 'ACTIVE_RESIZE_REQUESTS' exceeded. Limit: %d",
			 PROVISIONING_MAX_ACCEPTED);
		return set(v, s, "Failed", true, "QuotaExceeded", text);
	}
	set(v, s, "Accepted", true, "Accepted", "The request is queued for nodes");
	return set(v, s, "Provisioned", false, "NotProvisioned",
		   "The nodes are not all available yet");
}

/* All of them or none: nothing is on its way before there is room for the whole. */
static bool start(const struct provisioning_view *v, struct provisioning_state *s)
{
	char text[sizeof(s->conditions.items->message)];
	int32_t lacks = v->need - v->nodes;
	if (lacks > v->quota_room) {
		snprintf(text, sizeof(text), "Quota '%s' exceeded. Limit: %d.", v->pool, v->quota);
		return set(v, s, "Provisioned", false, "QuotaExceeded", text);
	}
	if (lacks <= v->pool_room)
		s->started = v->now;
	return set(v, s, "Provisioned", false, "NotProvisioned",
		   "The nodes are not all available yet");
}

static bool wait(const struct provisioning_view *v, struct provisioning_state *s,
		 struct provisioning_plan *ret)
{
	bool changed = false;
	if (v->nodes >= v->need) {
		s->started = 0;
		again(ret, v->now + v->scan);
		return set(v, s, "Provisioned", true, "Provisioned", "All nodes are ready");
	}
	if (!s->started)
		changed = start(v, s);
	if (!s->started)
		return changed;
	/* Some stand already: this was begun before a restart. */
	if (v->nodes > 0 || v->now >= s->started + v->delay)
		ret->action = PROVISIONING_CREATE;
	else
		again(ret, s->started + v->delay);
	return changed;
}

static bool keep(const struct provisioning_view *v, struct provisioning_state *s,
		 struct provisioning_plan *ret)
{
	usec since = conditions_get(&s->conditions, "Provisioned")->changed;
	bool changed = false;
	if (v->now >= since + v->max_run) {
		changed = set(v, s, "CapacityRevoked", true, "MaxRunDurationExceeded",
			      "The nodes reached the longest time that they may run");
		ret->action = PROVISIONING_REMOVE_ALL;
		return changed;
	}
	again(ret, since + v->max_run);
	if (v->now >= since + v->booking)
		changed = set(v, s, "BookingExpired", true, "Expired",
			      "Nodes that nobody uses are not kept for the request any more");
	else
		again(ret, since + v->booking);
	if (v->nodes)
		again(ret, v->now + v->scan);
	if (v->idle && conditions_true(&s->conditions, "BookingExpired"))
		ret->action = PROVISIONING_REMOVE_IDLE;
	return changed;
}

bool provisioning_decide(const struct provisioning_view *v, struct provisioning_state *s,
			 struct provisioning_plan *ret)
{
	*ret = (struct provisioning_plan){.again = INT64_MAX};
	if (v->gone) {
		if (v->idle)
			ret->action = PROVISIONING_REMOVE_IDLE;
		if (v->nodes)
			ret->again = v->now + v->scan;
		return false;
	}
	if (ended(s)) {
		if (v->nodes)
			ret->action = PROVISIONING_REMOVE_ALL;
		return false;
	}
	bool changed = !conditions_true(&s->conditions, "Accepted") && accept(v, s);
	if (!conditions_true(&s->conditions, "Accepted"))
		return changed;
	if (conditions_true(&s->conditions, "Provisioned"))
		return keep(v, s, ret) || changed;
	return wait(v, s, ret) || changed;
}
