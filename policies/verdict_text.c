#include "policies/verdict.h"

#include "base/num.h"
#include "base/vec.h"
#include "policies/resource.h"

#include <inttypes.h>
#include <stdarg.h>

/* A text that stops at its size. */
struct text {
	char *out;
	size_t size, len;
	bool cut;
};

static struct text text_on(char *out, size_t size)
{
	if (size)
		out[0] = 0;
	return (struct text){out, size, 0, size == 0};
}

static void add(struct text *t, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void add(struct text *t, const char *fmt, ...)
{
	va_list ap;

	if (t->cut)
		return;
	va_start(ap, fmt);
	int n = vsnprintf(t->out + t->len, t->size - t->len, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	if ((size_t)n < t->size - t->len) {
		t->len += (size_t)n;
		return;
	}
	t->cut = true;
	t->len = t->size - 1;
	/* Do not end inside a character: drop its bytes, continuation bytes first. */
	size_t end = t->len, back = 0;
	while (back < 3 && back < end && ((unsigned char)t->out[end - 1 - back] & 0xc0) == 0x80)
		back++;
	if (back < end && (unsigned char)t->out[end - 1 - back] >= 0xc0) {
		unsigned char lead = (unsigned char)t->out[end - 1 - back];
		size_t want = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
		if (back < want)
			t->len -= back + 1;
	}
	t->out[t->len] = 0;
}

static void add_duration(struct text *t, int64_t us)
{
	int64_t s = num_max(us, 0) / 1000000;

	if (s < 120)
		add(t, "%" PRId64 "s", s);
	else if (s < 2 * 3600)
		add(t, "%" PRId64 "m", s / 60);
	else if (s < 48 * 3600)
		add(t, "%" PRId64 "h", s / 3600);
	else
		add(t, "%" PRId64 "d", s / 86400);
}

static void add_taint(struct text *t, const struct taint *taint)
{
	add(t, "{%.*s%s%.*s:%s}", SPAN_ARGS(taint->key), taint->value.len ? "=" : "",
	    SPAN_ARGS(taint->value), taint_effect_to_string(taint->effect));
}

static void add_amount(struct text *t, const struct fleet *f, uint32_t resource, int64_t amount)
{
	const struct resource_table *names = fleet_resource_names(f);
	char number[32];

	add(t, "%s %s", resource_format(names, resource, amount, number, sizeof(number)),
	    resource_table_name(names, resource));
}

/* "worker: " where the shape has other sets too. */
static void add_set(struct text *t, const struct verdict *v)
{
	if (!v->shape || v->fit.set == FIT_WHOLE_GANG || shape_spec(v->shape)->n_sets < 2)
		return;
	add(t, "%.*s: ", SPAN_ARGS(shape_spec(v->shape)->sets[v->fit.set].name));
}

static void say_insufficient(struct text *t, const struct fleet *f, const struct verdict *v)
{
	const struct fit_misfit *m = &v->fit;
	char number[32];

	add_set(t, v);
	add(t, "needs ");
	add_amount(t, f, m->resource, m->need);
	add(t, ", %s free",
	    resource_format(fleet_resource_names(f), m->resource, m->free, number, sizeof(number)));
	if (m->nodes_match)
		add(t, " on %u matching node%s", m->nodes_match - m->nodes_tainted - m->nodes_off,
		    m->nodes_match - m->nodes_tainted - m->nodes_off == 1 ? "" : "s");
	if (m->nodes_off)
		add(t, " (%u more cordoned or not ready)", m->nodes_off);
}

static void add_pods(struct text *t, const struct fleet *f, const struct fit_misfit *m)
{
	add(t, "%" PRId64 " pod%s", m->need, m->need == 1 ? "" : "s");
	if (m->resource == RESOURCE_MAX)
		return;
	add(t, " of ");
	add_amount(t, f, m->resource, m->per_pod);
}

static bool is_leveled(const struct verdict *v)
{
	return v->fit.topology && !shape_spec(v->shape)->exclusive_topology.len &&
	       v->fit.set < shape_spec(v->shape)->n_sets &&
	       shape_spec(v->shape)->sets[v->fit.set].topology.mode != POD_TOPOLOGY_NONE;
}

/* What the topology of the set lacks: which level, and how much room there is. */
static void say_levels(struct text *t, const struct verdict *v)
{
	const struct fit_misfit *m = &v->fit;
	const struct pod_topology *p = &shape_spec(v->shape)->sets[m->set].topology;
	bool sliced = p->slice_size > 1;

	add(t, "needs room for %" PRId64 " pod%s", m->need, m->need == 1 ? "" : "s");
	if (sliced)
		add(t, " in slices of %u that each stay in one %.*s", p->slice_size,
		    SPAN_ARGS(p->levels[p->slice_level]));
	if (p->mode == POD_TOPOLOGY_REQUIRED) {
		add(t, "%s in one %.*s%s", sliced ? ", all" : "", SPAN_ARGS(p->levels[p->level]),
		    p->group ? " with the other pod set of its group" : "");
		add(t, "; the most that one has room for is %" PRId64, m->largest);
		return;
	}
	add(t, "%s on nodes of its topology; they have room for %" PRId64, sliced ? "," : "",
	    m->largest);
}

static void say_fragmented(struct text *t, const struct fleet *f, const struct verdict *v)
{
	const struct fit_misfit *m = &v->fit;

	add_set(t, v);
	if (is_leveled(v)) {
		say_levels(t, v);
		return;
	}
	if (m->topology && !shape_spec(v->shape)->exclusive_topology.len) {
		add(t,
		    "needs room for %" PRId64 " pods beside its other sets, has room for %" PRId64,
		    m->need, m->largest);
		return;
	}
	if (m->topology) {
		add(t, "%" PRId64 " groups need a %.*s each for themselves, %" PRId64 " find one",
		    m->need, SPAN_ARGS(shape_spec(v->shape)->exclusive_topology), m->largest);
		return;
	}
	add(t, "needs room for ");
	add_pods(t, f, m);
	add(t, ", nodes have room for %" PRId64, m->largest);
	if (m->set == FIT_WHOLE_GANG)
		add(t, " together");
	if (m->resource == RESOURCE_MAX)
		return;
	add(t, "; the most free on one node is ");
	add_amount(t, f, m->resource, m->largest_node);
}

static void say_too_small(struct text *t, const struct fleet *f, const struct verdict *v)
{
	const struct fit_misfit *m = &v->fit;
	char number[32];

	add_set(t, v);
	if (m->in_pods) {
		add(t, "needs room for ");
		add_pods(t, f, m);
		add(t, ", empty nodes have room for %" PRId64 "; the largest has ", m->total);
		add_amount(t, f, m->resource, m->largest_node);
	} else {
		add(t, "needs ");
		add_amount(t, f, m->resource, m->need);
		add(t, ", all matching nodes together have %s",
		    resource_format(fleet_resource_names(f), m->resource, m->total, number,
				    sizeof(number)));
	}
	add(t, ": never fits");
}

static void say_lower_score(struct text *t, const struct fleet *f, const struct verdict *v)
{
	static const char *const why[BETTER_MAX] = {
	    [BETTER_GROUP] = "it is in an earlier affinity group",
	    [BETTER_HOLES] = "it has smaller holes to fill",
	    [BETTER_LEFTOVER] = "it is a tighter fit",
	    [BETTER_LOAD] = "it is less loaded",
	    [BETTER_NAME] = "its name comes first",
	};
	const struct cluster_spec *c = cluster_view_spec(f, v->better);

	add(t, "fits, but %.*s is preferred: %s", SPAN_ARGS(c ? c->name : SPAN_NONE),
	    why[v->better_by < BETTER_MAX ? v->better_by : BETTER_NAME]);
}

static void say_since(struct text *t, int64_t since_us, int64_t now_us)
{
	if (since_us == 0)
		return;
	add(t, " for ");
	add_duration(t, now_us - since_us);
}

static void say_nodes(struct text *t, const struct verdict *v)
{
	const struct fit_misfit *m = &v->fit;
	uint32_t n = m->nodes_match;

	add_set(t, v);
	if (v->code == VERDICT_NODE_AFFINITY) {
		add(t, "no node has the labels that its pods require");
		return;
	}
	add(t, n == 1 ? "the only matching node " : "all %u matching nodes ", n);
	if (v->code == VERDICT_NODE_TAINTED) {
		add(t, n == 1 ? "has" : "have");
		add(t, " an untolerated taint such as ");
		add_taint(t, &m->taint);
	} else {
		add(t, n == 1 ? "is" : "are");
		add(t, " cordoned or not ready");
	}
}

size_t verdict_sentence(const struct fleet *f, const struct verdict *v, int64_t now_us, char *out,
			size_t size)
{
	struct text t = text_on(out, size);

	switch (v->code) {
	case VERDICT_FITS:
		add(&t, "the whole gang fits, and this is the best cluster for it");
		break;
	case VERDICT_LOWER_SCORE:
		say_lower_score(&t, f, v);
		break;
	case VERDICT_INSUFFICIENT_FREE:
		say_insufficient(&t, f, v);
		break;
	case VERDICT_GANG_FRAGMENTED:
		say_fragmented(&t, f, v);
		break;
	case VERDICT_TOO_SMALL:
		say_too_small(&t, f, v);
		break;
	case VERDICT_NODE_AFFINITY:
	case VERDICT_NODE_TAINTED:
	case VERDICT_NODES_UNAVAILABLE:
		say_nodes(&t, v);
		break;
	case VERDICT_NO_NODES:
		add(&t, "the cluster reports no nodes");
		break;
	case VERDICT_AFFINITY_MISMATCH:
		add(&t, "the policy, or the clusters of its queue, leave this cluster out");
		break;
	case VERDICT_TAINTED:
		add(&t, "the cluster has taint ");
		add_taint(&t, &v->taint);
		add(&t, ", which the policy does not tolerate");
		break;
	case VERDICT_CORDONED:
		add(&t, "the cluster is cordoned");
		break;
	case VERDICT_NOT_READY:
		add(&t, "the cluster is not ready");
		say_since(&t, v->since_us, now_us);
		break;
	case VERDICT_STALE:
		add(&t, "the view of its nodes and pods is not current");
		say_since(&t, v->since_us, now_us);
		break;
	case VERDICT_API_MISSING:
		add(&t, "the cluster does not serve %.*s %.*s", SPAN_ARGS(v->api_version),
		    SPAN_ARGS(v->kind));
		break;
	case VERDICT_BACKOFF:
		add(&t, "the job was refused or taken back here; next try in ");
		add_duration(&t, v->until_us - now_us);
		break;
	case VERDICT_RESERVED:
		add(&t, "the cluster is kept free for a larger job that has waited long");
		break;
	case VERDICT_CONFLICT:
	case VERDICT_FAILED_THERE:
		add(&t, "%.*s", SPAN_ARGS(v->why));
		break;
	default:
		break;
	}
	return t.len;
}

static void remedy_of_fit(struct text *t, const struct fleet *f, const struct verdict *v)
{
	const struct resource_table *names = fleet_resource_names(f);
	const struct fit_misfit *m = &v->fit;
	char number[32];

	if (v->code == VERDICT_TOO_SMALL) {
		add(t, "larger or more nodes, or a smaller gang");
	} else if (!m->in_pods) {
		add(t, "%s more %s free",
		    resource_format(names, m->resource, m->need - m->free, number, sizeof(number)),
		    resource_table_name(names, m->resource));
	} else if (is_leveled(v) && m->need <= m->largest) {
		add(t, "a domain with room for all sets of the group");
	} else if (m->topology && !shape_spec(v->shape)->exclusive_topology.len) {
		add(t, "room for %" PRId64 " more pod%s in one domain of its topology",
		    m->need - m->largest, m->need - m->largest == 1 ? "" : "s");
	} else if (m->topology) {
		add(t, "%" PRId64 " more free domain%s of %.*s", m->need - m->largest,
		    m->need - m->largest == 1 ? "" : "s",
		    SPAN_ARGS(shape_spec(v->shape)->exclusive_topology));
	} else if (m->resource == RESOURCE_MAX) {
		add(t, "room for %" PRId64 " more pod%s", m->need - m->largest,
		    m->need - m->largest == 1 ? "" : "s");
	} else {
		add(t, "room for %" PRId64 " more pod%s: ", m->need - m->largest,
		    m->need - m->largest == 1 ? "" : "s");
		add_amount(t, f, m->resource, m->per_pod);
		add(t, " free on one node for each");
	}
}

size_t verdict_remedy(const struct fleet *f, const struct verdict *v, char *out, size_t size)
{
	static const char *const fixed[VERDICT_MAX] = {
	    [VERDICT_NODE_AFFINITY] = "a node with those labels, or another node selector",
	    [VERDICT_NODE_TAINTED] = "a toleration in the pod template, or an untainted node",
	    [VERDICT_NODES_UNAVAILABLE] = "uncordon the nodes or bring them back",
	    [VERDICT_NO_NODES] = "nodes that join the cluster",
	    [VERDICT_AFFINITY_MISMATCH] = "another cluster affinity in the policy",
	    [VERDICT_TAINTED] = "a clusterToleration in the policy, or the taint removed",
	    [VERDICT_CORDONED] = "uncordon the cluster",
	    [VERDICT_NOT_READY] = "the cluster answering again",
	    [VERDICT_STALE] = "the hub catching up with the cluster",
	    [VERDICT_API_MISSING] = "the operator of this kind installed on the cluster",
	    [VERDICT_BACKOFF] = "time",
	    [VERDICT_RESERVED] =
		"time; a job whose activeDeadlineSeconds ends before then may still start",
	    [VERDICT_CONFLICT] = "the object on the cluster removed or renamed, or made the same",
	    [VERDICT_FAILED_THERE] = "an edit of the job, which may then run there again",
	};
	struct text t = text_on(out, size);

	if (v->code == VERDICT_INSUFFICIENT_FREE || v->code == VERDICT_GANG_FRAGMENTED ||
	    v->code == VERDICT_TOO_SMALL)
		remedy_of_fit(&t, f, v);
	else if (v->code >= 0 && v->code < VERDICT_MAX && fixed[v->code])
		add(&t, "%s", fixed[v->code]);
	return t.len;
}

/* ---- the summary line ---- */

struct part {
	char text[192];
	size_t n;
};

static void say_lacking_level(struct text *t, const struct verdict *v)
{
	const struct pod_topology *p = &shape_spec(v->shape)->sets[v->fit.set].topology;
	uint32_t level = p->mode == POD_TOPOLOGY_REQUIRED ? p->level
			 : p->slice_size > 1		  ? p->slice_level
							  : 0;

	add(t, "cluster(s) had room for %" PRId64 " of %" PRId64 " pods in %s %.*s", v->fit.largest,
	    v->fit.need, p->mode == POD_TOPOLOGY_REQUIRED ? "one" : "domains of",
	    SPAN_ARGS(p->levels[level]));
}

/* Kubernetes' and Karmada's words where they have any. */
static void say_part(const struct fleet *f, const struct verdict *v, char *out, size_t size)
{
	static const char *const fixed[VERDICT_MAX] = {
	    [VERDICT_FITS] = "cluster(s) fit",
	    [VERDICT_LOWER_SCORE] = "cluster(s) fit",
	    [VERDICT_GANG_FRAGMENTED] = "cluster(s) too fragmented for the gang",
	    [VERDICT_NODE_AFFINITY] =
		"cluster(s) had no node that matched the pods' node affinity/selector",
	    [VERDICT_NODES_UNAVAILABLE] = "cluster(s) had only unschedulable nodes left",
	    [VERDICT_NO_NODES] = "cluster(s) had no nodes",
	    [VERDICT_AFFINITY_MISMATCH] =
		"cluster(s) did not match the placement cluster affinity constraint",
	    [VERDICT_CORDONED] = "cluster(s) were cordoned",
	    [VERDICT_NOT_READY] = "cluster(s) were not ready",
	    [VERDICT_STALE] = "cluster(s) had no current status",
	    [VERDICT_API_MISSING] = "cluster(s) did not have the API resource",
	    [VERDICT_BACKOFF] = "cluster(s) were backed off",
	    [VERDICT_RESERVED] = "cluster(s) were kept free for a larger job",
	    [VERDICT_FAILED_THERE] = "cluster(s) had failed the job",
	};
	const struct resource_table *names = fleet_resource_names(f);
	struct text t = text_on(out, size);

	if (v->code == VERDICT_INSUFFICIENT_FREE) {
		add(&t, "Insufficient %s", resource_table_name(names, v->fit.resource));
	} else if (v->code == VERDICT_TOO_SMALL) {
		add(&t, "cluster(s) too small in %s", resource_table_name(names, v->fit.resource));
	} else if (v->code == VERDICT_TAINTED) {
		add(&t, "cluster(s) had untolerated taint ");
		add_taint(&t, &v->taint);
	} else if (v->code == VERDICT_CONFLICT) {
		add(&t, "cluster(s) in conflict: %.*s", SPAN_ARGS(v->why));
	} else if (v->code == VERDICT_NODE_TAINTED) {
		add(&t, "cluster(s) had only nodes with untolerated taint ");
		add_taint(&t, &v->fit.taint);
	} else if (v->code == VERDICT_GANG_FRAGMENTED && is_leveled(v)) {
		say_lacking_level(&t, v);
	} else if (v->code >= 0 && v->code < VERDICT_MAX && fixed[v->code]) {
		add(&t, "%s", fixed[v->code]);
	}
}

static int cmp_part(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return strcmp(x->text, y->text);
}

size_t verdict_summary(const struct fleet *f, const struct verdict *v, size_t n, char *out,
		       size_t size)
{
	struct text t = text_on(out, size);
	struct VEC(struct part) parts = {0};
	size_t available = 0;

	for (size_t i = 0; i < n; i++) {
		struct part p = {.n = 1};
		size_t at = 0;
		available += v[i].code == VERDICT_FITS || v[i].code == VERDICT_LOWER_SCORE;
		say_part(f, &v[i], p.text, sizeof(p.text));
		while (at < parts.len && strcmp(parts.items[at].text, p.text) != 0)
			at++;
		if (at < parts.len)
			parts.items[at].n++;
		else
			vec_push(&parts, p);
	}
	if (parts.len)
		qsort(parts.items, parts.len, sizeof(*parts.items), cmp_part);
	add(&t, "%zu/%zu clusters are available", available, n);
	if (n == 0)
		add(&t, ": no cluster has joined");
	for (size_t i = 0; i < parts.len; i++)
		add(&t, "%s%zu %s", i ? ", " : ": ", parts.items[i].n, parts.items[i].text);
	add(&t, ".");
	if (t.cut && size > 8) {
		size_t at = t.len < size - 5 ? t.len : size - 5;
		while (at > 0 && ((unsigned char)out[at] & 0xc0) == 0x80)
			at--;
		memcpy(out + at, " ...", 5);
		t.len = at + 4;
	}
	vec_done(&parts);
	return t.len;
}
