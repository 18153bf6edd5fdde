#include "member-sync/sim/ray_cluster.h"

#define SUSPENDING  "RayClusterSuspending"
#define SUSPENDED   "RayClusterSuspended"
#define HEAD_READY  "HeadPodReady"
#define PROVISIONED "RayClusterProvisioned"

const char *ray_cluster_text(struct span text)
{
	static const char *const texts[] = {"ready", "suspended"};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (span_is(text, texts[i]))
			return texts[i];
	return "";
}

struct step {
	const struct ray_cluster_spec *spec;
	const struct pod_view *pods;
	size_t n;
	usec now;
	struct ray_cluster_state *state;
	struct plan *plan;
};

static void set(struct step *s, const char *type, bool status, const char *reason,
		const char *message)
{
	(void)conditions_set(&s->state->conditions, type, status, reason, message, s->now);
}

static bool is_over(const struct pod_view *p)
{
	return p->phase == POD_SUCCEEDED || p->phase == POD_FAILED;
}

static bool is_wanted(const struct step *s, const struct pod_view *p)
{
	return p->set >= 0 && (size_t)p->set < s->spec->n_sets && p->index >= 0 &&
	       p->index < s->spec->pods[p->set] && !is_over(p);
}

static void delete_unwanted(struct step *s)
{
	for (size_t i = 0; i < s->n; i++)
		if (!s->pods[i].deleting && (s->spec->suspend || !is_wanted(s, &s->pods[i])))
			vec_push(&s->plan->deletes, i);
}

/* Creates what is missing of a set; one that is on its way out still has its name. */
static void create_missing(struct step *s, size_t set_index)
{
	size_t want = (size_t)s->spec->pods[set_index];
	auto_free bool *there = xcalloc(want + 1, sizeof(*there));

	for (size_t i = 0; i < s->n; i++) {
		const struct pod_view *p = &s->pods[i];
		if (p->set == (int32_t)set_index && p->index >= 0 && (size_t)p->index < want)
			there[p->index] = true;
	}
	for (size_t i = 0; i < want; i++)
		if (!there[i])
			vec_push(&s->plan->creates,
				 (struct plan_create){(int32_t)set_index, (int32_t)i, 0});
}

/* Counts the workers that are there. Returns whether the head is ready. */
static bool count(struct step *s)
{
	bool head = false;

	s->state->ready = s->state->available = 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct pod_view *p = &s->pods[i];
		bool ready = p->phase == POD_RUNNING && p->ready && !p->deleting;
		if (!is_wanted(s, p))
			continue;
		if (p->set == 0)
			head = ready;
		else if (!p->deleting)
			s->state->available += p->phase == POD_RUNNING;
		s->state->ready += p->set > 0 && ready;
	}
	return head;
}

static void suspend(struct step *s)
{
	struct ray_cluster_state *st = s->state;

	if (!conditions_true(&st->conditions, SUSPENDED))
		set(s, SUSPENDING, s->n > 0, "UserRequestedSuspend", "");
	if (s->n)
		return;
	set(s, SUSPENDED, true, "UserRequestedSuspend", "");
	set(s, PROVISIONED, false, "RayClusterPodsProvisioning",
	    "RayCluster Pods are being provisioned for first time");
	if (strcmp(st->state, "suspended") != 0)
		st->suspended_at = s->now;
	st->state = "suspended";
}

static void report(struct step *s, bool head)
{
	struct ray_cluster_state *st = s->state;
	int64_t workers = 0;

	for (size_t i = 1; i < s->spec->n_sets; i++)
		workers += s->spec->pods[i];
	if (!head || st->ready < workers) {
		if (!conditions_get(&st->conditions, PROVISIONED))
			set(s, PROVISIONED, false, "RayClusterPodsProvisioning",
			    "RayCluster Pods are being provisioned for first time");
		return;
	}
	set(s, PROVISIONED, true, "AllPodRunningAndReadyFirstTime",
	    "All Ray Pods are ready for the first time");
	if (strcmp(st->state, "ready") != 0)
		st->ready_at = s->now;
	st->state = "ready";
}

static bool same(const struct ray_cluster_state *a, const struct ray_cluster_state *b)
{
	return a->state == b->state && a->ready == b->ready && a->available == b->available &&
	       a->desired == b->desired && a->min == b->min && a->max == b->max &&
	       conditions_equal(&a->conditions, &b->conditions);
}

bool ray_cluster_decide(const struct ray_cluster_spec *spec, const struct pod_view *pods,
			size_t n_pods, usec now, struct ray_cluster_state *state, struct plan *plan)
{
	struct ray_cluster_state old = *state;
	struct step s = {spec, pods, n_pods, now, state, plan};
	bool head = count(&s);

	state->desired = spec->workers;
	state->min = spec->min_workers;
	state->max = spec->max_workers;
	delete_unwanted(&s);
	set(&s, HEAD_READY, head, head ? "HeadPodRunningAndReady" : "HeadPodNotFound",
	    head ? "" : "Head Pod not found");
	if (spec->suspend) {
		suspend(&s);
	} else {
		if (conditions_true(&state->conditions, SUSPENDED))
			set(&s, SUSPENDED, false, "UserRequestedResume", "");
		if (conditions_true(&state->conditions, SUSPENDING))
			set(&s, SUSPENDING, false, "UserRequestedResume", "");
		for (size_t i = 0; i < spec->n_sets; i++)
			create_missing(&s, i);
		report(&s, head);
	}
	if (same(&old, state))
		return false;
	state->updated = now;
	return true;
}
