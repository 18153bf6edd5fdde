#include "quota-tree/kueue_message.h"

#include "quota-tree/kueue_node.h"
#include "quota-tree/quota_message.h"

static const char *quantity(const struct kueue_forest *f, uint32_t resource, int64_t value,
			    char out[QUOTA_QUANTITY_MAX])
{
	if (value == QUOTA_UNLIMITED)
		return "<unlimited>";
	quota_message_quantity(kueue_forest_resource_name(f, resource), value, out,
			       QUOTA_QUANTITY_MAX);
	return out;
}

static int print_quota(const struct kueue_forest *f, const struct kueue_reason *r, char *out,
		       size_t max)
{
	struct span resource = kueue_forest_resource_name(f, r->resource);
	struct span flavor = kueue_forest_flavor_name(f, r->flavor);
	char a[QUOTA_QUANTITY_MAX], b[QUOTA_QUANTITY_MAX], c[QUOTA_QUANTITY_MAX];

	if (r->why == KUEUE_WHY_QUOTA)
		return snprintf(out, max,
				"insufficient unused quota for %.*s in flavor %.*s, %s more needed",
				SPAN_ARGS(resource), SPAN_ARGS(flavor),
				quantity(f, r->resource, r->missing, a));
	return snprintf(out, max,
			"insufficient quota for %.*s in flavor %.*s, previously considered podsets "
			"requests (%s) + current podset request (%s) > maximum capacity (%s)",
			SPAN_ARGS(resource), SPAN_ARGS(flavor),
			quantity(f, r->resource, r->assumed, a),
			quantity(f, r->resource, r->asked, b), quantity(f, r->resource, r->max, c));
}

static int print_reason(const struct kueue_forest *f, const struct kueue_reason *r, char *out,
			size_t max)
{
	struct span resource = kueue_forest_resource_name(f, r->resource);
	struct span flavor = kueue_forest_flavor_name(f, r->flavor);

	switch (r->why) {
	case KUEUE_WHY_NOT_COVERED:
		return snprintf(out, max, "resource %.*s unavailable in ClusterQueue",
				SPAN_ARGS(resource));
	case KUEUE_WHY_NO_FLAVOR:
		return snprintf(out, max, "flavor %.*s not found", SPAN_ARGS(flavor));
	case KUEUE_WHY_NO_TOPOLOGY:
		return snprintf(out, max,
				"Flavor \"%.*s\" does not support TopologyAwareScheduling",
				SPAN_ARGS(flavor));
	case KUEUE_WHY_TOPOLOGY_UNKNOWN:
		return snprintf(out, max, "Flavor \"%.*s\" information missing in TAS cache",
				SPAN_ARGS(flavor));
	case KUEUE_WHY_NO_LEVEL:
		return snprintf(out, max, "Flavor \"%.*s\" does not contain the requested level",
				SPAN_ARGS(flavor));
	case KUEUE_WHY_TOPOLOGY_ONLY:
		return snprintf(out, max, "Flavor \"%.*s\" supports only TopologyAwareScheduling",
				SPAN_ARGS(flavor));
	case KUEUE_WHY_TAINT: /* as Go prints a v1.Taint */
		return snprintf(out, max, "untolerated taint {%.*s %.*s %s <nil>} in flavor %.*s",
				SPAN_ARGS(r->taint->key), SPAN_ARGS(r->taint->value),
				taint_effect_to_string(r->taint->effect), SPAN_ARGS(flavor));
	case KUEUE_WHY_AFFINITY:
		return snprintf(out, max, "flavor %.*s doesn't match node affinity",
				SPAN_ARGS(flavor));
	case KUEUE_WHY_MAX:
	case KUEUE_WHY_QUOTA:
		return print_quota(f, r, out, max);
	case KUEUE_WHY_PLACEMENT: /* ours */
		return snprintf(out, max, "no member cluster has room in flavor %.*s",
				SPAN_ARGS(flavor));
	default:
		return snprintf(out, max, "%s", "");
	}
}

/* What was written, after snprintf's answer. */
static size_t written(int n, size_t max)
{
	if (n < 0 || max == 0)
		return 0;
	return (size_t)n < max ? (size_t)n : max - 1;
}

size_t kueue_message_reason(const struct kueue_forest *f, const struct kueue_reason *reason,
			    char *out, size_t max)
{
	return written(print_reason(f, reason, out, max), max);
}

static void append(char *out, size_t max, size_t *len, const char *text)
{
	if (*len < max)
		*len += written(snprintf(out + *len, max - *len, "%s", text), max - *len);
}

static int cmp_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Which reasons are meant: of a pod set's group, or so many from one on. */
struct pick {
	uint32_t leader;
	uint32_t first, n; /* n 0: all of the leader's */
};

/* Go's Status.Message: sorted, joined. */
static void append_reasons(const struct kueue_forest *f, const struct kueue_assignment *a,
			   const struct pick *p, const char *between, char *out, size_t max,
			   size_t *len)
{
	struct VEC(char *) texts = {0};
	size_t from = p->first, to = p->n ? (size_t)p->first + p->n : a->reasons.len;
	char one[512];

	for (size_t i = from; i < to; i++)
		if (a->reasons.items[i].pod_set == p->leader) {
			kueue_message_reason(f, &a->reasons.items[i], one, sizeof(one));
			vec_push(&texts, xstrdup(one));
		}
	if (texts.len)
		qsort(texts.items, texts.len, sizeof(*texts.items), cmp_text);
	for (size_t i = 0; i < texts.len; i++) {
		append(out, max, len, i ? between : "");
		append(out, max, len, texts.items[i]);
		free(texts.items[i]);
	}
	vec_done(&texts);
}

static bool has_reasons(const struct kueue_assignment *a, uint32_t leader)
{
	vec_foreach (&a->reasons, r)
		if (r->pod_set == leader)
			return true;
	return false;
}

/* The first pod set of its group: reasons are kept there. */
static uint32_t leader_of(const struct kueue_shape *shape, uint32_t set)
{
	for (uint32_t i = 0; i < set && shape->sets[set].group.len; i++)
		if (span_eq(shape->sets[i].group, shape->sets[set].group))
			return i;
	return set;
}

size_t kueue_message_assignment(const struct kueue_forest *f, const struct kueue_workload *w,
				const struct kueue_assignment *a, char *out, size_t max)
{
	size_t len = 0;

	if (max)
		out[0] = '\0';
	for (uint32_t i = 0; i < w->shape->n_sets; i++) {
		uint32_t leader = leader_of(w->shape, i);
		char name[320];

		if (!has_reasons(a, leader))
			continue;
		snprintf(name, sizeof(name),
			 "%scouldn't assign flavors to pod set %.*s: ", len ? "; " : "",
			 SPAN_ARGS(w->shape->sets[i].name));
		append(out, max, &len, name);
		append_reasons(f, a, &(struct pick){.leader = leader}, ", ", out, max, &len);
	}
	return len;
}

/* ---- flavors considered (FormatFlavorAssignmentAttemptsForEvents) ---- */

static const char *mode_words(enum kueue_mode mode)
{
	static const char *const words[] = {
	    [KUEUE_NO_FIT] = "NoFit",
	    [KUEUE_NO_CANDIDATES] = "preemptionMode=NoCandidates",
	    [KUEUE_PREEMPT] = "preemptionMode=Preempt",
	    [KUEUE_RECLAIM] = "preemptionMode=Reclaim",
	    [KUEUE_FIT] = "Fit",
	};
	return words[mode];
}

static bool is_worth_telling(const struct kueue_attempt *t, uint32_t leader)
{
	return t->pod_set == leader && !(t->mode == KUEUE_FIT && t->borrow_level == 0);
}

/* The one after `last` in the order of names, which a flavor has but once; NULL: the first. */
static const struct kueue_attempt *next_attempt(const struct kueue_forest *f,
						const struct kueue_assignment *a, uint32_t leader,
						const struct kueue_attempt *last)
{
	const struct kueue_attempt *best = NULL;

	vec_foreach (&a->attempts, t) {
		struct span name = kueue_forest_flavor_name(f, t->flavor);
		if (!is_worth_telling(t, leader))
			continue;
		if (last && span_cmp(name, kueue_forest_flavor_name(f, last->flavor)) <= 0)
			continue;
		if (!best || span_cmp(name, kueue_forest_flavor_name(f, best->flavor)) < 0)
			best = t;
	}
	return best;
}

static void append_attempt(const struct kueue_forest *f, const struct kueue_assignment *a,
			   const struct kueue_attempt *t, char *out, size_t max, size_t *len)
{
	char text[400];
	int n = snprintf(text, sizeof(text), "%.*s(%s",
			 SPAN_ARGS(kueue_forest_flavor_name(f, t->flavor)), mode_words(t->mode));

	if (t->borrow_level && n > 0 && (size_t)n < sizeof(text))
		(void)snprintf(text + n, sizeof(text) - (size_t)n, ";borrow=%u", t->borrow_level);
	append(out, max, len, text);
	if (t->n_reasons) {
		const struct pick p = {t->pod_set, t->first_reason, t->n_reasons};
		append(out, max, len, ";");
		append_reasons(f, a, &p, ";", out, max, len);
	}
	append(out, max, len, ")");
}

size_t kueue_message_considered(const struct kueue_forest *f, const struct kueue_workload *w,
				const struct kueue_assignment *a, char *out, size_t max)
{
	size_t len = 0;

	if (max)
		out[0] = '\0';
	for (uint32_t i = 0; i < w->shape->n_sets; i++) {
		uint32_t leader = leader_of(w->shape, i);
		const struct kueue_attempt *t = next_attempt(f, a, leader, NULL);
		char name[320];

		if (!t)
			continue;
		snprintf(name, sizeof(name), "%s%.*s: ", len ? " | " : "",
			 SPAN_ARGS(w->shape->sets[i].name));
		append(out, max, &len, name);
		while (t) {
			append_attempt(f, a, t, out, max, &len);
			t = next_attempt(f, a, leader, t);
			append(out, max, &len, t ? ", " : "");
		}
	}
	return len;
}

const char *kueue_message_preemption(enum kueue_preempt_reason reason)
{
	static const char *const words[] = {
	    [KUEUE_IN_CLUSTER_QUEUE] = "prioritization in the ClusterQueue",
	    [KUEUE_IN_COHORT_RECLAMATION] = "reclamation within the cohort",
	    [KUEUE_IN_COHORT_FAIR_SHARING] = "Fair Sharing within the cohort",
	    [KUEUE_IN_COHORT_RECLAIM_WHILE_BORROWING] =
		"reclamation within the cohort while borrowing",
	};
	return words[reason];
}
