#include "core/swap/swap_hold.h"

#include "base/num.h"
#include "core/admission/pump.h"
#include "core/assignment.h"
#include "core/job.h"
#include "core/kueue/workload.h"
#include "core/member.h"
#include "core/swap/swap_record.h"

#include <errno.h>

#define PREFIX	      "moving/"
#define LOOK_INTERVAL USEC_PER_SEC
#define HOLD_BIT      (UINT64_C(1) << 63) /* of the ledger's number: jobs' own are counted from 1 */

static uint64_t number_of(const struct job *j)
{
	return j->number | HOLD_BIT;
}

static struct swap_hold *hold_of(const struct job *j)
{
	return j->swap && j->swap->hold.member ? &j->swap->hold : NULL;
}

static struct span row_key(const struct job *j, struct buf *b)
{
	buf_addf(b, PREFIX "%s", j->uid_text);
	return buf_span(b);
}

/* Whether it answers now is for placement to see. */
static const struct member *place_of(const struct core *c, const struct swap_hold *h)
{
	const struct member *m = member_by_number(c, h->member);

	return m && m->view != CLUSTER_NONE && !m->deleting && !m->dead ? m : NULL;
}

static void claim(struct core *c, const struct job *j)
{
	struct swap_hold *h = hold_of(j);
	const struct member *m = member_by_number(c, h->member);
	auto_arena mem = ARENA_INIT;
	struct fit_slot *slots;

	if (j->workload && j->workload->claims)
		return;
	if (!h->shape && j->ask)
		h->shape = shape_dup_ref(ask_shape(j->ask));
	if (h->claimed || !h->shape || !m || m->view == CLUSTER_NONE)
		return;
	size_t n =
	    assignment_unpack(c->fleet, m->view, span_make(h->slots, h->slots_len), &mem, &slots);
	h->claimed =
	    n && ledger_claim(c->ledger, number_of(j), h->shape, m->view, slots, n, NULL) == 0;
}

static void write_row(struct core *c, const struct job *j)
{
	const struct swap_hold *h = hold_of(j);
	auto_buf key = BUF_INIT, text = BUF_MAX(STORE_MAX_OBJECT);

	buf_add(&text, &h->member, sizeof(h->member));
	buf_add(&text, h->slots, h->slots_len);
	registry_put_aux(c->batch, false, STORE_AUX_SETTING, row_key(j, &key), buf_span(&text));
}

void swap_hold_take(struct core *c, struct job *j, const struct member *to, struct shape *shape,
		    const struct fit_slot *slots, size_t n)
{
	struct swap_hold *h = &j->swap->hold;

	h->member = to->number;
	h->slots = assignment_pack(c->fleet, to->view, slots, n, &h->slots_len);
	h->shape = shape_dup_ref(shape);
	h->until = c->now + SWAP_HOLD_MOST;
	claim(c, j);
	if (h->claimed)
		write_row(c, j);
	else
		swap_hold_free(c, j);
}

uint32_t swap_hold_lift(struct core *c, const struct job *j)
{
	struct swap_hold *h = hold_of(j);
	const struct member *m = h ? place_of(c, h) : NULL;

	if (!h)
		return CLUSTER_NONE;
	if (h->claimed)
		(void)ledger_drop(c->ledger, number_of(j));
	h->claimed = false;
	return m ? m->view : CLUSTER_NONE;
}

void swap_hold_try(const struct core *c, const struct job *j, struct evict_fit *trial,
		   struct evict_job *job)
{
	*job = (struct evict_job){.number = number_of(j)};
	if (swap_hold_cluster(c, j) == trial->cluster)
		evict_fit_take(trial, job);
}

uint32_t swap_hold_cluster(const struct core *c, const struct job *j)
{
	const struct swap_hold *h = hold_of(j);

	return h && h->claimed ? ledger_cluster(c->ledger, number_of(j)) : CLUSTER_NONE;
}

void swap_hold_back(struct core *c, const struct job *j)
{
	if (hold_of(j))
		claim(c, j);
}

void swap_hold_free(struct core *c, const struct job *j)
{
	struct swap_hold *h = hold_of(j);

	if (!h)
		return;
	if (h->claimed)
		(void)ledger_drop(c->ledger, number_of(j));
	free(h->slots);
	fleet_shape_unref(c->fleet, h->shape);
	*h = (struct swap_hold){0};
}

void swap_hold_drop(struct core *c, const struct job *j)
{
	auto_buf key = BUF_INIT;

	if (!hold_of(j))
		return;
	registry_delete_aux(c->batch, false, STORE_AUX_SETTING, row_key(j, &key));
	swap_hold_free(c, j);
}

void swap_hold_leave(struct core *c, const struct member *m)
{
	vec_foreach (&c->swaps, p) {
		struct swap_hold *h = hold_of(*p);
		if (!h || h->member != m->number || !h->claimed)
			continue;
		(void)ledger_drop(c->ledger, number_of(*p));
		h->claimed = false;
	}
}

/* ---- looking ---- */

static bool is_over(const struct core *c, const struct job *j, const struct swap_hold *h)
{
	return j->finished || j->deleting || j->gone || j->user_suspended || !place_of(c, h) ||
	       h->until <= c->now;
}

bool swap_hold_look(struct core *c, struct job *j)
{
	struct swap_hold *h = hold_of(j);

	if (!h || is_over(c, j, h))
		return false;
	claim(c, j);
	if (!dispatch_is_free(&j->dispatch) || j->holds)
		return true;
	if (!h->tried)
		h->until = c->now + SWAP_HOLD_MOST;
	h->tried = true;
	pump_try_now(c, j);
	return hold_of(j) != NULL;
}

usec swap_hold_due(const struct core *c, const struct job *j)
{
	const struct swap *s = j->swap;
	const struct swap_hold *h = &s->hold;

	if (!h->member || is_over(c, j, h))
		return 0;
	if (!h->claimed)
		return s->looked_at + LOOK_INTERVAL;
	if (!dispatch_is_free(&j->dispatch) || j->holds)
		return h->until;
	if (!h->tried)
		return 0;
	return s->looked != fleet_version(c->fleet)
		   ? num_min(h->until, s->looked_at + LOOK_INTERVAL)
		   : h->until;
}

/* ---- a restart ---- */

struct rows VEC(char *); /* uids */

static int read_row(void *arg, struct span key, struct span value)
{
	struct rows *rows = arg;
	const size_t skip = strlen(PREFIX);

	if (key.len <= skip || value.len < sizeof(uint32_t))
		return 0;
	vec_push(rows, xstrndup(key.ptr + skip, key.len - skip));
	return 0;
}

static void restore_one(struct core *c, const char *uid)
{
	struct job *j = job_by_uid(c, span_of(uid));
	auto_buf key = BUF_INIT;
	struct span value;
	uint32_t member;

	buf_addf(&key, PREFIX "%s", uid);
	if (registry_get_aux(c->batch, false, STORE_AUX_SETTING, buf_span(&key), &value) < 0 ||
	    value.len < sizeof(member))
		return;
	if (!j || j->dispatch.step == DISPATCH_STARTED || !swap_moves(c, j)) {
		registry_delete_aux(c->batch, false, STORE_AUX_SETTING, buf_span(&key));
		return;
	}
	struct swap_hold *h = &j->swap->hold;
	memcpy(&h->member, value.ptr, sizeof(member));
	h->slots_len = value.len - sizeof(member);
	h->slots = xcalloc(h->slots_len + 1, 1);
	memcpy(h->slots, value.ptr + sizeof(member), h->slots_len);
	h->shape = j->shape ? shape_dup_ref(j->shape) : NULL;
	h->until = c->now + SWAP_HOLD_MOST;
	claim(c, j);
}

void swap_hold_restore(struct core *c)
{
	struct store_reader *reader;
	struct rows rows = {0};

	if (registry_reader(c->batch, kind_by_type(c->kinds, TYPE_NAMESPACE), &reader, NULL) == 0)
		(void)store_scan_aux(reader, STORE_AUX_SETTING, SPAN(PREFIX), read_row, &rows);
	vec_foreach (&rows, uid) {
		restore_one(c, *uid);
		free(*uid);
	}
	vec_done(&rows);
}
