#include "core/domain.h"

#include "base/json.h"
#include "core/admission/settle.h"
#include "core/job.h"
#include "core/kueue/admission.h"

#define MAX_DOMAINS_TEXT (64 << 10)

/* ---- the choice ---- */

/* The narrowest level that is enforced if all pods agree on it; levels in all when none is. */
static size_t levels_wanted(const struct pod_set *s)
{
	const struct pod_topology *t = &s->topology;

	switch (t->mode) {
	case POD_TOPOLOGY_REQUIRED:
	case POD_TOPOLOGY_PREFERRED:
		return t->slice_size > 1 && t->slice_size == s->count ? t->slice_level + 1
								      : t->level + 1;
	case POD_TOPOLOGY_SLICES:
		return t->slice_size == s->count ? t->slice_level + 1 : 0;
	default:
		return 0;
	}
}

/* How many levels from the widest on have one value for all pods of the set; the values with
 * them. */
static size_t levels_shared(const struct core *c, const struct placement_decision *d, uint32_t set,
			    const struct pod_topology *t, size_t most, struct span *values)
{
	bool first = true;

	for (size_t i = 0; i < d->n_slots && most > 0; i++) {
		const struct fit_slot *s = &d->slots[i];
		if (s->set != set || s->count == 0)
			continue;
		for (size_t level = 0; level < most; level++) {
			struct span v = cluster_view_node_label(c->fleet, d->cluster, s->node,
								t->levels[level]);
			if (first)
				values[level] = v;
			if (!v.len || !span_eq(v, values[level]))
				most = level;
		}
		first = false;
	}
	return first ? 0 : most;
}

char *domain_choose(const struct core *c, const struct job *j, const struct placement_decision *d)
{
	const struct job_shape *shape = shape_spec(j->shape);
	struct buf out = BUF_MAX(MAX_DOMAINS_TEXT);
	struct span values[POD_SET_MAX_LEVELS];
	bool any = false;

	if (shape->exclusive_topology.len)
		return NULL;
	buf_add_char(&out, '[');
	for (uint32_t set = 0; set < shape->n_sets; set++) {
		const struct pod_topology *t = &shape->sets[set].topology;
		size_t n = levels_shared(c, d, set, t, levels_wanted(&shape->sets[set]), values);
		buf_add_str(&out, set ? ",{" : "{");
		for (size_t i = 0; i < n; i++) {
			buf_add_str(&out, i ? "," : "");
			buf_add_json_str(&out, t->levels[i]);
			buf_add_char(&out, ':');
			buf_add_json_str(&out, values[i]);
		}
		buf_add_char(&out, '}');
		any |= n > 0;
	}
	buf_add_char(&out, ']');
	if (any && buf_ok(&out))
		return buf_steal(&out, NULL);
	buf_done(&out);
	return NULL;
}

/* ---- in words of others ---- */

struct span domain_of_set(const char *domains, size_t set)
{
	struct span list = span_of(domains ? domains : ""), one;
	size_t at = 0;

	if (!list.len)
		return SPAN_NONE;
	for (size_t pos = 0; json_text_next(list, &pos, NULL, &one); at++)
		if (at == set)
			return one.len > 2 ? one : SPAN_NONE;
	return SPAN_NONE;
}

void domain_assignment(struct span domain, int64_t count, struct buf *out)
{
	struct span key, value;
	const char *sep = "";

	buf_add_str(out, "{\"levels\":[");
	for (size_t pos = 0; json_text_next(domain, &pos, &key, &value); sep = ",")
		buf_addf(out, "%s\"%.*s\"", sep, SPAN_ARGS(key));
	buf_add_str(out, "],\"slices\":[{\"domainCount\":1,\"valuesPerLevel\":[");
	sep = "";
	for (size_t pos = 0; json_text_next(domain, &pos, &key, &value); sep = ",")
		buf_addf(out, "%s{\"universalValue\":%.*s}", sep, SPAN_ARGS(value));
	buf_addf(out, "],\"universalPodCount\":%lld}]}", (long long)count);
}

/* The set's terms with the domain's labels behind them. */
static void add_labels(struct job_term *t, struct span domain, struct arena *mem)
{
	size_t most = t->n_labels + POD_SET_MAX_LEVELS, n = t->n_labels, pos = 0;
	struct label *labels = arena_array(mem, struct label, most);
	struct span key, value;

	for (size_t i = 0; i < n; i++)
		labels[i] = t->labels[i];
	while (domain.len && n < most && json_text_next(domain, &pos, &key, &value))
		labels[n++] = (struct label){key, json_text_plain(value)};
	t->labels = labels;
	t->n_labels = n;
}

struct ask *domain_ask(struct core *c, struct job *j)
{
	const struct workload *w = j->workload;
	size_t n = j->digest.n_pod_sets;
	auto_arena mem = ARENA_INIT;
	struct job_term *terms;
	struct ask *ask;

	if (!j->domains)
		return NULL;
	if (w && workload_holds_quota(w)) {
		terms = admission_terms(c, w, w->sets, w->n_sets, &mem);
	} else {
		terms = arena_array(&mem, struct job_term, n);
		for (size_t i = 0; i < n; i++)
			terms[i].count = -1;
	}
	for (size_t i = 0; i < n; i++)
		add_labels(&terms[i], domain_of_set(j->domains, i), &mem);
	return job_ask_trial(c, j, settle_policy(c, j), terms, &ask, NULL) == 0 ? ask : NULL;
}

void domain_updates(const struct job *j, struct buf *out)
{
	const char *sep = "[";

	for (size_t i = 0; j->domains && i < j->digest.n_pod_sets; i++) {
		struct span domain = domain_of_set(j->domains, i);
		if (!domain.len)
			continue;
		buf_addf(out, "%s{\"name\":", sep);
		buf_add_json_str(out, j->digest.pod_sets[i].name);
		buf_addf(out, ",\"nodeSelector\":%.*s}", SPAN_ARGS(domain));
		sep = ",";
	}
	if (sep[0] == ',')
		buf_add_char(out, ']');
}
