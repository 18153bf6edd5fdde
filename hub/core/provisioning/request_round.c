#include "core/provisioning/request_round.h"

#include "base/num.h"
#include "core/kueue/provisioning_check.h"
#include "core/member.h"
#include "core/provisioning/consumer.h"
#include "core/provisioning/request_call.h"
#include "core/provisioning/request_candidates.h"
#include "core/provisioning/request_claim.h"
#include "core/provisioning/request_size.h"
#include "core/provisioning/request_try.h"

/* ---- who waits for a place ---- */

/* So many of the oldest that wait for a place are looked at when one may be free. */
#define CROWDED_WOKEN 16
#define CROWDED_AGAIN (30 * USEC_PER_SEC)

static void wake_crowded(struct core *c)
{
	struct provisioning_request *first[CROWDED_WOKEN];
	size_t n = 0;

	map_foreach (&c->provisioning->by_number, e) {
		struct provisioning_request *r = e->value;
		size_t at = n;
		if (!r->crowded || !r->exists)
			continue;
		while (at > 0 && first[at - 1]->number > r->number)
			at--;
		if (at == CROWDED_WOKEN)
			continue;
		n = num_min(n + 1, (size_t)CROWDED_WOKEN);
		memmove(first + at + 1, first + at, (n - 1 - at) * sizeof(first[0]));
		first[at] = r;
	}
	for (size_t i = 0; i < n; i++)
		request_due(c, first[i], c->now);
}

/* ---- tries ---- */

static void withdraw(struct core *c, struct provisioning_request *r, struct request_try *t)
{
	if (t->dispatch.step != DISPATCH_IDLE && t->dispatch.step != DISPATCH_WITHDRAWING)
		request_try_feed(c, r, t, &(struct dispatch_event){.kind = EVENT_WITHDRAW});
}

static void end_try(struct core *c, struct provisioning_request *r, struct request_try *t,
		    enum provision_phase phase)
{
	t->phase = phase;
	r->row_dirty = true;
	request_dirty(c, r);
	withdraw(c, r, t);
}

static void begin_try(struct core *c, struct provisioning_request *r, uint32_t member)
{
	struct request_try *t = request_try_add(r, member);
	auto_buf words = BUF_INIT;

	t->since = c->now;
	t->dispatch.epoch = r->epoch;
	if (request_size_refuses(c, r, member_by_number(c, member), &words)) {
		t->message = xstrdup(words.ptr);
		end_try(c, r, t, PROVISION_FAILED);
		request_due(c, r, c->now);
		r->status_dirty = true;
		return;
	}
	request_try_feed(c, r, t,
			 &(struct dispatch_event){.kind = EVENT_DECIDED, .member = member});
	r->epoch = t->dispatch.epoch;
	r->status_dirty = true;
}

/* A member that left took its nodes with it; another may be asked. */
static void drop_lost(struct core *c, struct provisioning_request *r)
{
	vec_foreach (&r->tries, p) {
		struct request_try *t = *p;
		const struct member *m = member_by_number(c, t->member);
		bool over = t->phase >= PROVISION_FAILED;
		if ((!m || m->dead) && t->dispatch.step != DISPATCH_IDLE)
			request_try_feed(c, r, t,
					 &(struct dispatch_event){.kind = EVENT_MEMBER_DEAD});
		if (m && m->deleting && !m->dead)
			withdraw(c, r, t);
		if ((!m || m->dead || m->deleting) && !over) {
			end_try(c, r, t, PROVISION_CANCELLED);
			r->kept = false;
			r->status_dirty = true;
		}
	}
}

/* Nodes that are there for a workload that cannot start, because their member does not answer: once
 * their booking must be over they count as lost, and others are asked for. */
static void drop_unused(struct core *c, struct provisioning_request *r)
{
	vec_foreach (&r->tries, p) {
		struct request_try *t = *p;
		const struct member *m = member_by_number(c, t->member);
		usec end = t->provisioned_at + REQUEST_BOOKING + REQUEST_GRACE;
		if (t->phase != PROVISION_PROVISIONED)
			continue;
		if (end > c->now || (m && m->condition == MEMBER_READY)) {
			request_due(c, r, end > c->now ? end : c->now + REQUEST_BOOKING);
			continue;
		}
		end_try(c, r, t, PROVISION_CANCELLED);
		r->kept = false;
		r->status_dirty = true;
	}
}

static usec run_ends(const struct provisioning_request *r, const struct request_try *t)
{
	bool stands = t->phase == PROVISION_PROVISIONED || t->phase == PROVISION_BOOKING_EXPIRED;

	return stands && t->provisioned_at ? t->provisioned_at + r->max_run + REQUEST_GRACE
					   : INT64_MAX;
}

static void enforce_run(struct core *c, struct provisioning_request *r)
{
	vec_foreach (&r->tries, p) {
		usec end = run_ends(r, *p);
		if (end > c->now) {
			if (end < INT64_MAX)
				request_due(c, r, end);
			continue;
		}
		log_warn(c->log, "nodes outlived their run", "request=%s/%s", r->ns, r->name);
		end_try(c, r, *p, PROVISION_CAPACITY_REVOKED);
	}
}

static bool is_waste(const struct provisioning_request *r, const struct request_try *t)
{
	if (t->phase == PROVISION_FAILED || t->phase == PROVISION_CANCELLED)
		return true;
	return t->phase > PROVISION_FAILED && !r->kept;
}

/* ---- a round of several requests ---- */

/* How far the member is with all requests of the round; `t`: of the one that leads. */
static enum provision_phase phase_of_all(struct core *c, const struct workload *w,
					 const struct provisioning_request *lead,
					 const struct request_try *t)
{
	enum provision_phase phase = t->phase;

	for (const struct provisioning_check *p = w ? w->provisioning : NULL; p; p = p->next) {
		const struct provisioning_request *r = request_find(c, w->ns, span_of(p->request));
		const struct request_try *o = r ? request_try_on(r, t->member) : NULL;
		if (r == lead)
			continue;
		/* One that was given up is asked for again while the round stays here. */
		phase = provision_phase_join(
		    phase, o && o->phase != PROVISION_CANCELLED ? o->phase : PROVISION_PENDING);
	}
	return phase;
}

/* What another request of the round failed, this one is not wanted for any more. */
static void end_with_others(struct core *c, struct provisioning_request *r,
			    const struct provision_try *all)
{
	for (size_t i = 0; i < r->tries.len; i++) {
		struct request_try *t = r->tries.items[i];
		if (t->phase >= PROVISION_FAILED || all[i].phase < PROVISION_FAILED || r->kept)
			continue;
		free(t->message);
		t->message = xstrdup("Another request of the same workload got no nodes here.");
		end_try(c, r, t, PROVISION_CANCELLED);
		r->status_dirty = true;
	}
}

static void forget_try(struct provisioning_request *r, const struct request_try *t)
{
	size_t at = 0;

	while (r->tries.items[at] != t)
		at++;
	free(t->nodes);
	free(t->status);
	free(t->message);
	free(r->tries.items[at]);
	memmove(r->tries.items + at, r->tries.items + at + 1,
		(--r->tries.len - at) * sizeof(struct request_try *));
}

/* Where the leading request is asked for, this one is too; where that is given up, so is this. */
static void follow(struct core *c, struct provisioning_request *r,
		   const struct provisioning_request *lead)
{
	const struct request_try *won = request_winner(lead);

	if (r->kept != lead->kept) {
		r->kept = lead->kept;
		r->row_dirty = true;
		request_dirty(c, r);
	}
	for (size_t i = 0; i < r->tries.len; i++) {
		struct request_try *t = r->tries.items[i];
		const struct request_try *l = request_try_on(lead, t->member);
		bool wanted = l && (l == won || l->phase < PROVISION_FAILED);
		if (!wanted && t->phase < PROVISION_FAILED)
			end_try(c, r, t, PROVISION_CANCELLED);
	}
	vec_foreach (&lead->tries, p) {
		const struct request_try *t = request_try_on(r, (*p)->member);
		if ((*p)->phase >= PROVISION_FAILED)
			continue;
		if (t && t->phase == PROVISION_CANCELLED && t->dispatch.step == DISPATCH_IDLE) {
			forget_try(r, t);
			t = NULL;
		}
		if (!t)
			begin_try(c, r, (*p)->member);
	}
}

static void carry_out(struct core *c, struct provisioning_request *r,
		      const struct provision_plan *plan)
{
	for (size_t i = 0; i < plan->n_cancel; i++) {
		struct request_try *t = request_try_on(r, plan->cancel[i]);
		if (t)
			end_try(c, r, t, PROVISION_CANCELLED);
	}
	for (size_t i = 0; i < plan->n_create; i++)
		begin_try(c, r, plan->create[i]);
	if (plan->again_us < INT64_MAX)
		request_due(c, r, plan->again_us);
}

static bool is_asked(const struct provisioning_request *r)
{
	vec_foreach (&r->tries, t)
		if ((*t)->phase < PROVISION_FAILED)
			return true;
	return false;
}

static void decide(struct core *c, struct provisioning_request *r,
		   const struct provisioning_terms *terms)
{
	auto_arena mem = ARENA_INIT;
	struct provision_plan *plan = arena_new(&mem, struct provision_plan);
	struct provision_try *tries = arena_array(&mem, struct provision_try, r->tries.len);
	uint32_t *candidates;
	struct provision_view v = {
	    .options = &terms->options,
	    .tries = tries,
	    .attempt = terms->attempt,
	    .admitted = terms->workload ? terms->admitted : r->kept,
	    .now_us = c->now,
	};

	v.n_candidates = request_candidates(c, r, terms->job, &mem, &candidates, &v.more);
	v.candidates = candidates;
	for (size_t i = 0; i < r->tries.len; i++) {
		const struct request_try *t = r->tries.items[i];
		tries[v.n_tries++] = (struct provision_try){
		    t->member, phase_of_all(c, terms->workload, r, t), t->since};
	}
	end_with_others(c, r, tries);
	provision_decide(&v, plan);
	r->verdict = plan->verdict;
	r->retry_after = plan->retry_after_us;
	bool kept = plan->verdict == PROVISION_READY;
	if (kept != r->kept && (kept || terms->workload)) {
		r->kept = kept;
		r->row_dirty = true;
		request_dirty(c, r);
	}
	bool none = v.n_candidates == 0 && r->tries.len == 0;
	bool crowded = v.more && plan->verdict == PROVISION_WAIT && !plan->n_create && !is_asked(r);
	if (crowded)
		request_due(c, r, c->now + CROWDED_AGAIN);
	if (none != r->no_candidates || crowded != r->crowded) {
		r->no_candidates = none;
		r->crowded = crowded;
		r->status_dirty = true;
		request_dirty(c, r);
	}
	carry_out(c, r, plan);
}

/* Changes with anything that others of the round have to know. */
static uint64_t state_of(const struct provisioning_request *r)
{
	uint64_t h = (uint64_t)r->kept << 8 | (uint64_t)r->verdict;

	vec_foreach (&r->tries, t)
		h = (h ^ ((uint64_t)(*t)->member << 8 | (uint64_t)(*t)->phase)) *
		    UINT64_C(1099511628211);
	return h;
}

static void run_round(struct core *c, struct provisioning_request *r)
{
	struct provisioning_terms terms;
	uint64_t was = state_of(r);

	drop_lost(c, r);
	if (!r->exists) {
		vec_foreach (&r->tries, t) {
			withdraw(c, r, *t);
			if ((*t)->phase < PROVISION_PROVISIONED)
				(*t)->phase = PROVISION_CANCELLED; /* its place is free */
		}
		request_dirty(c, r); /* its row goes with the last copy */
		wake_crowded(c);
		return;
	}
	if (!r->complete)
		r->complete = request_call_complete(c, r);
	if (!r->complete || !provisioning_check_terms(c, r, &terms))
		return;
	enforce_run(c, r);
	if (terms.leads && terms.workload && !terms.admitted)
		drop_unused(c, r);
	if (terms.leads)
		decide(c, r, &terms);
	else if (terms.lead)
		follow(c, r, terms.lead);
	vec_foreach (&r->tries, t)
		if (is_waste(r, *t))
			withdraw(c, r, *t);
	if (state_of(r) != was) {
		provisioning_check_wake(c, r);
		wake_crowded(c);
	}
	if (terms.workload && terms.lead)
		provisioning_check_news(c, terms.workload, terms.lead);
}

void request_round(struct core *c, struct provisioning_request *r)
{
	run_round(c, r);
	request_claim_look(c, r);
	consumer_news(c, r);
}
