#include "core/facts.h"

#include "core/capacity.h"
#include "core/cursors.h"
#include "core/dispatch/courier.h"
#include "core/fact_queue.h"
#include "core/member.h"
#include "core/member_event.h"
#include "core/provisioning/request_try.h"

static void list_begin(struct core *c, struct member *m, enum member_stream s)
{
	cursors_reset(c, m, s);
	if (s == STREAM_NODES || s == STREAM_PODS)
		capacity_list_begin(c, m, s);
	else if (member_stream_is_provisioning(s))
		request_try_list_begin(c, m);
	else if (s != STREAM_EVENTS)
		courier_list_begin(c, m, s);
}

static void list_end(struct core *c, struct member *m, enum member_stream s, uint64_t revision)
{
	m->listing[s] = false;
	if (s == STREAM_NODES || s == STREAM_PODS)
		capacity_list_end(c, m, s);
	else if (member_stream_is_provisioning(s))
		request_try_list_end(c, m);
	else if (s != STREAM_EVENTS)
		courier_list_end(c, m, s);
	cursors_advance(c, m, s, revision);
}

static void take_fact(struct core *c, const struct fact *f)
{
	static const uint8_t none[STORE_UID_LEN];
	struct member *m = member_by_number(c, f->member);

	if (f->op == FACT_RESULT) {
		courier_outcome(c, f);
		return;
	}
	/* Told by streams that a newer JOIN ended: after a commit that failed they are ahead of
	 * what is on disk, and the new ones tell again from there. */
	if (!m || m->leaving || f->join != m->join)
		return;
	if (f->op == FACT_MEMBER) {
		member_state(c, m, f);
		return;
	}
	if (memcmp(f->incarnation, none, STORE_UID_LEN) != 0 &&
	    memcmp(f->incarnation, m->incarnation, STORE_UID_LEN) != 0)
		return;
	switch (f->op) {
	case FACT_NODE:
		capacity_node(c, m, f);
		break;
	case FACT_POD:
		capacity_pod(c, m, f);
		break;
	case FACT_COPY:
		courier_copy(c, m, f);
		break;
	case FACT_LIST_BEGIN:
		list_begin(c, m, f->stream);
		return;
	case FACT_LIST_END:
		list_end(c, m, f->stream, f->revision);
		return;
	case FACT_EVENT:
		member_event(c, m, f);
		break;
	case FACT_CURSOR:
	case FACT_MEMBER:
	case FACT_RESULT:
	case FACT_OP_MAX:
	default:
		break;
	}
	cursors_advance(c, m, f->stream, f->revision);
}

bool facts_run(struct core *c)
{
	if (!c->facts_head) {
		c->facts_head = fact_queue_take(c->facts);
	}
	while (c->facts_head && !registry_batch_full(c->batch)) {
		struct fact *f = c->facts_head;
		c->facts_head = f->next;
		c->counters.facts++;
		take_fact(c, f);
		if (c->net)
			c->net->ops->taken(c->net, f->member, f->bytes);
		fact_destroy(f);
	}
	return c->facts_head || !fact_queue_is_empty(c->facts);
}
