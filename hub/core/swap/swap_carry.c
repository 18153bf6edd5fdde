#include "core/swap/swap_record.h"

#include "core/admission/starvation.h"
#include "core/assignment.h"
#include "core/dispatch/courier.h"
#include "core/dispatch/ungater.h"
#include "core/domain.h"
#include "core/job.h"
#include "core/kueue/evict.h"
#include "core/kueue/workload_status.h"
#include "core/member.h"
#include "core/priority.h"
#include "core/provisioning/consumer.h"
#include "core/victim.h"

#include <inttypes.h>

/* ---- words ---- */

void swap_lost_text(const struct core *c, const struct member *m, const struct job *j, char *out,
		    size_t size)
{
	const struct swap *s = j->swap;
	const char *name = NULL;
	size_t lost = 0;

	vec_foreach (&s->nodes, n) {
		if (n->due > c->now)
			continue;
		name = lost++ ? name : n->name;
	}
	if (!name) {
		(void)snprintf(out, size, "nodes of the job are lost");
		return;
	}
	uint32_t node = cluster_view_node_find(c->fleet, m->view, span_of(name));
	if (lost == 1)
		(void)snprintf(out, size, "node %s %s", name,
			       hot_swap_node_to_string(
				   hot_swap_node(c->fleet, m->view, node, j->shape, UINT32_MAX)));
	else
		(void)snprintf(out, size, "node %s and %zu more are lost", name, lost - 1);
}

/* Of a Workload whose pods are assigned to a topology, as Kueue's failure recovery has it. */
static void show_nodes(struct core *c, struct job *j)
{
	const char *names[WORKLOAD_MAX_UNHEALTHY];
	size_t n = 0;

	if (!j->workload || !j->domains || domain_is_exclusive(j) ||
	    !workload_holds_quota(j->workload))
		return;
	vec_foreach (&j->swap->nodes, node)
		if (node->due <= c->now && n < WORKLOAD_MAX_UNHEALTHY)
			names[n++] = node->name;
	if (n)
		workload_set_unhealthy(c, j->workload, names, n);
}

void swap_tell(struct core *c, struct job *j, const char *type, const char *reason,
	       const struct buf *words)
{
	struct swap *s = j->swap;

	show_nodes(c, j);

	free(s->words);
	s->words = xstrdup(words->ptr);
	s->reason = reason;
	s->since = c->now;
	s->told_stuck = false;
	job_event_add(c, j, type, reason, "%s", words->ptr);
	j->binding_dirty = true;
	core_job_dirty(c, j);
}

/* ---- who else is there ---- */

struct others {
	struct VEC(struct hot_swap_job) jobs;
	struct VEC(struct job *) records;
};

static void collect_others(struct swap_round *r, const struct member *m, const struct job *j,
			   struct others *out)
{
	struct core *c = r->c;

	vec_foreach (&m->jobs, number) {
		struct job *o = job_by_number(c, *number);
		if (!o || o == j || !o->holds || o->finished || member_placed(c, o) != m)
			continue;
		bool leaving = o->dispatch.step == DISPATCH_WITHDRAWING ||
			       o->dispatch.step == DISPATCH_STOPPING || o->deleting || o->gone;
		vec_push(&out->jobs,
			 ((struct hot_swap_job){
			     .pods = victim_of(o, m->number, &r->mem),
			     .priority = swap_priority(o),
			     .lost_us = evict_lost_work(job_pods(o), o->decided_at, c->now),
			     .leaving = leaving,
			 }));
		vec_push(&out->records, o);
	}
}

/* ---- room here ---- */

/* The pods that are left and stand where the plan wants them are told to the ledger again; others
 * are on their way out, and whoever replaces them is counted on. */
static void tell_ledger(struct core *c, const struct member *m, const struct job *j)
{
	vec_foreach (&j->pods, it) {
		struct member_pod *p = *it;
		if (p->node == NODE_NONE || !swap_is_of_placement(j, m, p))
			continue;
		p->observed = true;
		p->out = !ledger_expects(c->ledger, j->number, p->set, p->node);
		if (!p->out)
			(void)ledger_observe(c->ledger, j->number, p->set, p->node);
	}
}

/* Its pods that stand where they are; from the arena. */
static struct fit_slot *standing(struct swap_round *r, const struct member *m, const struct job *j,
				 size_t *ret_n)
{
	struct fit_slot *slots = arena_array(&r->mem, struct fit_slot, j->pods.len);
	size_t n = 0;

	vec_foreach (&j->pods, it) {
		const struct member_pod *p = *it;
		if (!p->over && swap_is_of_placement(j, m, p) && swap_stands(r->c, m, j, p))
			slots[n++] = (struct fit_slot){p->node, p->set, 1};
	}
	*ret_n = n;
	return slots;
}

/* What stays beside the plan's slots. */
static void add_kept(struct swap_round *r, const struct member *m, const struct job *j)
{
	const struct fit_slot *slots = r->groups.kept.items;
	size_t n = r->groups.kept.len;

	if (!domain_is_exclusive(j))
		slots = standing(r, m, j, &n);
	for (size_t i = 0; i < n; i++)
		vec_push(&r->plan.slots, slots[i]);
}

/* The domains that a gang in several of them would have on the plan's nodes. Caller frees. */
static char *domains_of(const struct swap_round *r, const struct job *j, const struct member *m)
{
	const struct placement_decision d = {
	    .cluster = m->view, .slots = r->plan.slots.items, .n_slots = r->plan.slots.len};

	return domain_choose(r->c, j, &d);
}

/* Its pods stand in the domains of the plan, or all of them are made anew behind their gates. */
static bool keeps_domains(const struct swap_round *r, const struct job *j, const struct member *m)
{
	if (j->kind->type == TYPE_JOB_SET || !domain_is_spread(j))
		return true;
	auto_free char *domains = domains_of(r, j, m);
	return domains && strcmp(domains, j->domains) == 0;
}

/* Where its pods go from now on, as far as they are held to that. */
static void take_domains(const struct swap_round *r, struct job *j, const struct member *m)
{
	bool exclusive = domain_is_exclusive(j);

	if (!j->domains || (!exclusive && (!r->plan.whole || !domain_is_spread(j))))
		return;
	char *domains = domains_of(r, j, m);
	if (!domains && exclusive)
		return;
	free(j->domains);
	j->domains = domains;
	ungater_reset(r->c, j);
	if (j->workload && j->domains && !exclusive)
		workload_set_domains(r->c, j->workload, j->domains);
}

/* The plan's nodes are its assignment from now on; its epoch and its copy stay. */
static void reserve(struct swap_round *r, struct job *j, const struct member *m)
{
	struct core *c = r->c;
	struct hot_swap_plan *plan = &r->plan;
	struct err err = ERR_INIT;

	if (!plan->whole)
		add_kept(r, m, j);
	(void)ledger_drop(c->ledger, j->number);
	if (ledger_assume(c->ledger, j->number, j->shape, m->view, plan->slots.items,
			  plan->slots.len, 0, &err) < 0)
		log_warn(c->log, "room of a hot-swap is not in the ledger",
			 "job=%s/%s error=\"%s\"", j->ns, j->name, err.text);
	free(j->assignment);
	j->assignment = assignment_pack(c->fleet, m->view, plan->slots.items, plan->slots.len,
					&j->assignment_len);
	take_domains(r, j, m);
	free(j->spent);
	j->spent = NULL;
	tell_ledger(c, m, j);
	j->swap->step = SWAP_RESERVED;
	j->binding_dirty = true;
	core_job_dirty(c, j);
}

static void evict(struct core *c, struct job *v, const struct job *preemptor, const char *why)
{
	static const struct eviction preempted = {.reason = "Preempted", .cause = ""};
	char text[1024];

	(void)snprintf(text, sizeof(text),
		       "Preempted to make room for %s %s/%s (priority %d), which lost nodes: %s",
		       preemptor->kind->kind, preemptor->ns, preemptor->name,
		       swap_priority(preemptor), why);
	job_event_add(c, v, "Warning", "Preempted", "%s", text);
	if (v->workload && workload_holds_quota(v->workload)) {
		evict_workload(c, v->workload, &preempted, text);
		workload_set_condition(c, v->workload, "Preempted", true, "HotSwap", "%s", text);
	}
	if (!dispatch_is_free(&v->dispatch))
		courier_feed(c, v, &(struct dispatch_event){EVENT_STOP});
	core_job_dirty(c, v);
}

static void add_victims(const struct others *others, const struct hot_swap_plan *plan,
			struct buf *words)
{
	char text[JOB_TEXT_MAX];

	for (size_t i = 0; i < plan->victims.len && i < 3; i++) {
		const struct job *v = others->records.items[plan->victims.items[i]];
		buf_addf(words, "%s%s (priority %d)", i ? ", " : "", job_text(v, text),
			 swap_priority(v));
	}
	if (plan->victims.len > 3)
		buf_addf(words, " and %zu more", plan->victims.len - 3);
}

static void make_room(struct swap_round *r, struct job *j, const struct member *m,
		      const struct others *others, int64_t missing, const char *lost)
{
	auto_buf words = BUF_INIT;

	if (r->plan.action == HOT_SWAP_SPARE) {
		buf_addf(&words,
			 "Hot-swap: %s; room for %" PRId64
			 " pods is kept on spare nodes of cluster %s.",
			 lost, missing, m->name);
	} else {
		buf_addf(&words,
			 "Hot-swap: %s; room for %" PRId64 " pods is made on cluster %s by "
			 "preempting ",
			 lost, missing, m->name);
		add_victims(others, &r->plan, &words);
		buf_add_char(&words, '.');
	}
	vec_clear(&j->swap->victims);
	vec_foreach (&r->plan.victims, v) {
		vec_push(&j->swap->victims, others->records.items[*v]->number);
		evict(r->c, others->records.items[*v], j, lost);
	}
	reserve(r, j, m);
	swap_tell(r->c, j, "Normal", "HotSwap", &words);
}

/* ---- elsewhere, or nowhere ---- */

/* On another member; another domain of its own is partly what the gang itself still takes. */
static bool keep_room(struct swap_round *r, struct job *j, const struct member *m)
{
	const struct member *to = NULL;

	vec_foreach (&r->c->members, p)
		if (*p && (*p)->view == r->plan.cluster && *p != m)
			to = *p;
	if (!to || !r->plan.slots.len)
		return false;
	j->swap->step = SWAP_MOVING;
	swap_hold_take(r->c, j, to, ask_shape(j->ask), r->plan.slots.items, r->plan.slots.len);
	return j->swap->hold.member != 0;
}

static void move(struct swap_round *r, struct job *j, const struct member *m, const char *lost)
{
	static const struct eviction failures = {.reason = "NodeFailures", .cause = ""};
	const struct cluster_spec *to = cluster_view_spec(r->c->fleet, r->plan.cluster);
	auto_buf words = BUF_INIT;

	if (r->plan.cluster == m->view)
		buf_addf(&words,
			 "Hot-swap: %s; its topology domain on cluster %s cannot hold the gang any "
			 "more, another one can: it is taken back to start there.",
			 lost, m->name);
	else
		buf_addf(
		    &words,
		    "Hot-swap: %s; cluster %s cannot hold the gang any more, cluster %.*s can: it "
		    "is taken back to start there.",
		    lost, m->name, SPAN_ARGS(to ? to->name : SPAN("another")));
	swap_tell(r->c, j, "Warning", "HotSwap", &words);
	bool kept = keep_room(r, j, m);
	if (j->workload && workload_holds_quota(j->workload))
		evict_workload(r->c, j->workload, &failures, words.ptr);
	if (j->dispatch.step != DISPATCH_IDLE && j->dispatch.step != DISPATCH_WITHDRAWING)
		courier_feed(r->c, j, &(struct dispatch_event){EVENT_WITHDRAW});
	if (!kept)
		swap_forget(r->c, j);
}

static void wait(struct swap_round *r, struct job *j, const struct member *m, int64_t missing,
		 const char *lost)
{
	auto_buf words = BUF_INIT;

	buf_addf(&words,
		 "Hot-swap: %s; %" PRId64 " pods wait for room: no node of cluster %s is spare, ",
		 lost, missing, m->name);
	if (!priority_preempts(r->c, j))
		buf_add_str(&words, "its PriorityClass preempts nobody");
	else if (r->plan.n_lower)
		buf_addf(&words, "the %zu jobs of lower priority there would not make enough",
			 r->plan.n_lower);
	else
		buf_addf(&words, "no job of lower priority than %d is in the way",
			 swap_priority(j));
	buf_add_str(&words, ", and no other cluster takes the gang.");
	if (j->swap->step == SWAP_WAITING && j->swap->words &&
	    strcmp(j->swap->words, words.ptr) == 0)
		return;
	bool again = j->swap->step == SWAP_WAITING;
	j->swap->step = SWAP_WAITING;
	if (!again)
		swap_tell(r->c, j, "Warning", "HotSwapWaiting", &words);
	free(j->swap->words);
	j->swap->words = xstrdup(words.ptr);
}

/* A job whose nodes a member holds for it goes nowhere else. */
static bool may_move(struct core *c, const struct job *j, const struct member *m,
		     const struct placement_exclusion *excluded, size_t n)
{
	struct placement_decision d;

	return consumer_decide(c, j, excluded, n, &d) && d.cluster != m->view;
}

/* A copy stays in the domain that its templates name (core/domain.h): its room is sought there.
 * Where there is none, another domain of the member is a place to move to, as another member is. */
static void decide(struct swap_round *r, struct job *j, const struct member *m,
		   struct hot_swap_gang *gang, const struct others *others,
		   const struct placement_exclusion *excluded, size_t n)
{
	struct core *c = r->c;
	const struct hot_swap_fleet fleet = {c->fleet, c->ledger, c->placer, &r->trial};
	struct ask *held = domain_ask(c, j);

	if (held) {
		gang->ask = held;
		hot_swap_decide(&fleet, gang, others->jobs.items, others->jobs.len, excluded, n,
				c->now, &r->plan);
		placer_ask_unref(c->placer, held);
		gang->ask = j->ask;
		if ((r->plan.action == HOT_SWAP_SPARE || r->plan.action == HOT_SWAP_PREEMPT) &&
		    keeps_domains(r, j, m))
			return;
	}
	size_t n_lower = r->plan.n_lower;
	struct hot_swap_gang free = *gang;
	if (held)
		free.priority = INT32_MIN; /* nobody goes for what has to move anyway */
	hot_swap_decide(&fleet, &free, others->jobs.items, others->jobs.len, excluded, n, c->now,
			&r->plan);
	if (!held)
		return;
	r->plan.n_lower = n_lower;
	if (r->plan.action == HOT_SWAP_SPARE) {
		r->plan.action = HOT_SWAP_MOVE;
		r->plan.cluster = gang->cluster;
	}
}

void swap_decide(struct swap_round *r, struct job *j, const struct member *m, const int64_t *counts,
		 int64_t missing)
{
	struct core *c = r->c;
	struct placement_exclusion excluded[STARVATION_EXCLUSIONS];
	struct hot_swap_gang gang = {
	    .cluster = m->view,
	    .priority = priority_preempts(c, j) ? swap_priority(j) : INT32_MIN,
	    .ask = j->ask,
	    .missing = hot_swap_missing(c->placer, j->ask, counts),
	    .own = victim_of(j, m->number, &r->mem),
	};
	struct others others = {0};
	char lost[512];
	size_t n_standing;
	const struct fit_slot *slots = standing(r, m, j, &n_standing);

	hot_swap_groups_find(c->placer, c->fleet, c->ledger, j->ask, m->view, j->number, slots,
			     n_standing, &r->groups);
	gang.groups = &r->groups;
	gang.restarts_whole = j->kind->type == TYPE_JOB_SET || !gang.missing;
	collect_others(r, m, j, &others);
	size_t n = starvation_exclude(c, j, excluded);
	decide(r, j, m, &gang, &others, excluded, n);
	placer_ask_unref(c->placer, gang.missing);
	swap_lost_text(c, m, j, lost, sizeof(lost));
	if (r->plan.action == HOT_SWAP_MOVE && r->plan.cluster != m->view) {
		excluded[n < STARVATION_EXCLUSIONS ? n++ : n - 1] =
		    (struct placement_exclusion){.cluster = m->view, .until_us = INT64_MAX};
		if (!may_move(c, j, m, excluded, n))
			r->plan.action = HOT_SWAP_WAIT;
	}
	if (r->plan.action == HOT_SWAP_WAIT)
		wait(r, j, m, missing, lost);
	else if (r->plan.action == HOT_SWAP_MOVE)
		move(r, j, m, lost);
	else
		make_room(r, j, m, &others, missing, lost);
	vec_done(&others.jobs);
	vec_done(&others.records);
	hot_swap_groups_done(c->placer, &r->groups);
	arena_reset(&r->mem);
}
