#include "core/domain.h"

#include "base/json.h"
#include "core/admission/settle.h"
#include "core/domain_groups.h"
#include "core/job.h"
#include "core/kueue/admission_ask.h"
#include "kinds/job_keys.h"
#include "kinds/topology_assignment.h"

#define MAX_DOMAINS_TEXT (192 << 10)

/* ---- the choice ---- */

/* The narrowest level that the placement of the set keeps to; levels in all when there is none. */
static size_t levels_wanted(const struct pod_set *s)
{
	const struct pod_topology *t = &s->topology;

	if (t->mode == POD_TOPOLOGY_NONE || t->mode == POD_TOPOLOGY_UNCONSTRAINED)
		return 0;
	if (t->slice_size > 1)
		return (t->n_inner ? t->inner[t->n_inner - 1].level : t->slice_level) + 1;
	return t->mode == POD_TOPOLOGY_SLICES ? 0 : t->level + 1;
}

/* Pods of a set in one domain of the narrowest level. */
struct part {
	struct span values[POD_SET_MAX_LEVELS];
	int64_t count;
};

struct choice {
	size_t n_levels, n_shared; /* that are wanted; from the widest on, of one value for all */
	struct VEC(struct part) parts;
};

static size_t levels_equal(const struct part *a, const struct part *b, size_t most)
{
	size_t n = 0;

	while (n < most && span_eq(a->values[n], b->values[n]))
		n++;
	return n;
}

static int cmp_parts(const void *a, const void *b, void *n_levels)
{
	const struct part *x = a, *y = b;
	size_t n = *(size_t *)n_levels, same = levels_equal(x, y, n);

	return same == n ? 0 : span_cmp(x->values[same], y->values[same]);
}

/* Equal ones become one, in the order of their values. */
static void merge_parts(struct choice *ch)
{
	size_t kept = 0;

	if (ch->parts.len > 1)
		qsort_r(ch->parts.items, ch->parts.len, sizeof(*ch->parts.items), cmp_parts,
			&ch->n_levels);
	for (size_t i = 0; i < ch->parts.len; i++) {
		if (kept &&
		    cmp_parts(&ch->parts.items[kept - 1], &ch->parts.items[i], &ch->n_levels) == 0)
			ch->parts.items[kept - 1].count += ch->parts.items[i].count;
		else
			ch->parts.items[kept++] = ch->parts.items[i];
	}
	ch->parts.len = kept;
}

/* Where the decision put the pods of the set. A node that lacks a label is in no domain of that
 * level, and what is not in one cannot be held there. */
static void gather(const struct core *c, const struct placement_decision *d, uint32_t set,
		   const struct pod_topology *t, struct choice *ch)
{
	for (size_t i = 0; i < d->n_slots && ch->n_levels > 0; i++) {
		const struct fit_slot *s = &d->slots[i];
		struct part part = {.count = s->count};
		if (s->set != set || s->count == 0)
			continue;
		for (size_t level = 0; level < ch->n_levels; level++) {
			part.values[level] = cluster_view_node_label(c->fleet, d->cluster, s->node,
								     t->levels[level]);
			if (!part.values[level].len)
				ch->n_levels = level;
		}
		vec_push(&ch->parts, part);
	}
	ch->n_shared = ch->parts.len ? ch->n_levels : 0;
	for (size_t i = 1; i < ch->parts.len; i++)
		ch->n_shared = levels_equal(&ch->parts.items[0], &ch->parts.items[i], ch->n_shared);
	merge_parts(ch);
}

static void add_object(const struct pod_topology *t, const struct part *p, size_t from, size_t to,
		       struct buf *out)
{
	buf_add_char(out, '{');
	for (size_t i = from; i < to; i++) {
		buf_add_str(out, i > from ? "," : "");
		buf_add_json_str(out, t->levels[i]);
		buf_add_char(out, ':');
		buf_add_json_str(out, p->values[i]);
	}
	buf_add_char(out, '}');
}

/* True when something is enforced. */
static bool add_set(const struct core *c, const struct placement_decision *d, uint32_t set,
		    const struct pod_set *s, struct buf *out)
{
	struct choice ch = {.n_levels = levels_wanted(s)};
	const struct pod_topology *t = &s->topology;

	gather(c, d, set, t, &ch);
	bool any = ch.parts.len > 0 && ch.n_levels > 0;
	bool spread = any && ch.n_shared < ch.n_levels;
	if (!any) {
		buf_add_str(out, "{}");
		vec_done(&ch.parts);
		return false;
	}
	buf_add_str(out, spread ? "[" : "");
	add_object(t, &ch.parts.items[0], 0, ch.n_shared, out);
	for (size_t i = 0; spread && i < ch.parts.len; i++) {
		buf_add_char(out, ',');
		add_object(t, &ch.parts.items[i], ch.n_shared, ch.n_levels, out);
		buf_addf(out, ",%lld", (long long)ch.parts.items[i].count);
	}
	buf_add_str(out, spread ? "]" : "");
	vec_done(&ch.parts);
	return true;
}

char *domain_choose(const struct core *c, const struct job *j, const struct placement_decision *d)
{
	const struct job_shape *shape = shape_spec(j->shape);
	struct buf out = BUF_MAX(MAX_DOMAINS_TEXT);
	bool any = false;

	if (shape->exclusive_topology.len &&
	    (!c->settings.hot_swap || span_is(shape->exclusive_topology, JOB_KEY_NAMESPACED_JOB)))
		return NULL;
	buf_add_char(&out, '[');
	for (uint32_t set = 0; set < shape->n_sets; set++) {
		buf_add_str(&out, set ? "," : "");
		any |= shape->exclusive_topology.len ? domain_groups_add(c, j, d, set, &out)
						     : add_set(c, d, set, &shape->sets[set], &out);
	}
	buf_add_char(&out, ']');
	if (any && buf_ok(&out))
		return buf_steal(&out, NULL);
	buf_done(&out);
	return NULL;
}

/* ---- in words of others ---- */

static struct span value_of_set(const char *domains, size_t set)
{
	struct span list = span_of(domains ? domains : ""), one;
	size_t at = 0;

	if (!list.len)
		return SPAN_NONE;
	for (size_t pos = 0; json_text_next(list, &pos, NULL, &one); at++)
		if (at == set)
			return one;
	return SPAN_NONE;
}

struct span domain_of_set(const char *domains, size_t set)
{
	struct span value = value_of_set(domains, set);
	size_t pos = 0;

	if (value.len && json_text_type(value) == JSON_ARRAY &&
	    !json_text_next(value, &pos, NULL, &value))
		return SPAN_NONE;
	return value.len > 2 ? value : SPAN_NONE;
}

struct span domain_spread(const char *domains, size_t set)
{
	struct span value = value_of_set(domains, set);

	return value.len && json_text_type(value) == JSON_ARRAY ? value : SPAN_NONE;
}

bool domain_is_exclusive(const struct job *j)
{
	return j->shape && shape_spec(j->shape)->exclusive_topology.len > 0;
}

bool domain_is_spread(const struct job *j)
{
	for (size_t i = 0; j->domains && i < j->digest.n_pod_sets; i++)
		if (domain_spread(j->domains, i).len)
			return true;
	return false;
}

bool domain_next(struct span spread, size_t *pos, struct span *ret_labels, int64_t *ret_count)
{
	struct span count;

	if (*pos == 0 && !json_text_next(spread, pos, NULL, ret_labels))
		return false;
	return json_text_next(spread, pos, NULL, ret_labels) &&
	       json_text_next(spread, pos, NULL, &count) && json_text_int64(count, ret_count) == 0;
}

static void add_keys(struct span domain, struct buf *out)
{
	struct span key, value;

	for (size_t pos = 0; domain.len && json_text_next(domain, &pos, &key, &value);)
		buf_addf(out, "%s\"%.*s\"", out->len && out->ptr[out->len - 1] != '[' ? "," : "",
			 SPAN_ARGS(key));
}

static void add_values(struct span domain, struct buf *out)
{
	struct span key, value;

	for (size_t pos = 0; domain.len && json_text_next(domain, &pos, &key, &value);) {
		buf_add_str(out, out->ptr[out->len - 1] != '[' ? "," : "");
		buf_add_span(out, value);
	}
}

bool domain_assignment(const char *domains, size_t set, int64_t count, struct buf *out)
{
	struct span shared = domain_of_set(domains, set), spread = domain_spread(domains, set);
	struct span one = SPAN_NONE;
	auto_buf text = BUF_INIT;
	auto_json *tree = NULL;
	size_t pos = 0;

	if ((!shared.len && !spread.len) || count <= 0)
		return false;
	buf_add_str(&text, "{\"levels\":[");
	add_keys(shared, &text);
	if (spread.len && domain_next(spread, &pos, &one, &count))
		add_keys(one, &text);
	buf_add_str(&text, "],\"domains\":[");
	do {
		buf_add_str(&text, text.ptr[text.len - 1] != '[' ? ",{" : "{");
		buf_add_str(&text, "\"values\":[");
		add_values(shared, &text);
		if (spread.len)
			add_values(one, &text);
		buf_addf(&text, "],\"count\":%lld}", (long long)count);
	} while (spread.len && domain_next(spread, &pos, &one, &count));
	buf_add_str(&text, "]}");
	if (json_parse(buf_span(&text), NULL, &tree, NULL) < 0)
		return false;
	topology_assignment_to_slices(tree);
	json_print(tree, out);
	return true;
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
	size_t n = job_n_placed(j);
	auto_arena mem = ARENA_INIT;
	struct job_term *terms;
	struct ask *ask;

	if (!j->domains || domain_is_exclusive(j))
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
		bool spread = domain_spread(j->domains, i).len > 0;
		if (!domain.len && !spread)
			continue;
		buf_addf(out, "%s{\"name\":", sep);
		buf_add_json_str(out, j->digest.pod_sets[i].name);
		if (domain.len)
			buf_addf(out, ",\"nodeSelector\":%.*s", SPAN_ARGS(domain));
		buf_add_str(out, spread ? ",\"schedulingGates\":" DOMAIN_GATES "}" : "}");
		sep = ",";
	}
	if (sep[0] == ',')
		buf_add_char(out, ']');
}
