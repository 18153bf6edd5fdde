#include "core/kueue/check_updates.h"

#include "base/json.h"
#include "core/job.h"
#include "core/kueue/admission_check.h"
#include "core/kueue/cluster_queue.h"
#include "core/kueue/provisioning_config.h"
#include "core/kueue/quota_decode.h"

/* By another controller than the hub's own. */
static bool is_foreign(const struct core *c, const char *check)
{
	const struct admission_check *a = map_get(&c->kueue->checks, span_of(check));

	return !a || !a->controller || strcmp(a->controller, PROVISIONING_CONTROLLER) != 0;
}

/* status.admissionChecks; NULL where there can be none, as for most. */
static struct cJSON *checks_of(const struct core *c, const struct workload *w)
{
	const struct cluster_queue *q =
	    workload_holds_quota(w) ? workload_cluster_queue(c, w) : NULL;
	struct cJSON *tree = NULL;
	struct store_object o;
	struct span checks;

	if (!q || !q->checks.len ||
	    registry_get(c->batch, kind_by_type(c->kinds, TYPE_WORKLOAD), w->ns, w->name, &o) < 0 ||
	    !o.extents.status.len ||
	    json_text_member(store_object_part(&o, o.extents.status), "admissionChecks", &checks) <
		0 ||
	    json_parse(checks, NULL, &tree, NULL) < 0)
		return NULL;
	return tree;
}

/* Calls each() with every update of the set, and the check that it is of; until it says false. */
static void each_update(const struct core *c, const struct cJSON *checks, struct span set,
			bool (*each)(void *arg, const char *check, const struct cJSON *update),
			void *arg)
{
	json_foreach (checks, check) {
		const char *of = json_str(check, "name"), *state = json_str(check, "state");
		if (!of || !state || strcmp(state, "Ready") != 0 || !is_foreign(c, of))
			continue;
		json_foreach (json_get(check, "podSetUpdates"), update) {
			const char *name = json_str(update, "name");
			if (name && span_is(set, name) && !each(arg, of, update))
				return;
		}
	}
}

/* ---- what they ask of nodes ---- */

struct asked {
	struct job_term *term;
	struct arena *mem;
};

static struct toleration own_copy(struct toleration t, struct arena *mem)
{
	t.key = arena_span(mem, t.key);
	t.value = arena_span(mem, t.value);
	return t;
}

static bool add_update(void *arg, const char *check, const struct cJSON *update)
{
	const struct asked *a = arg;
	const struct cJSON *selector = json_get(update, "nodeSelector");
	struct job_term *t = a->term;
	size_t n = 0;
	(void)check;

	struct label *labels = arena_array(a->mem, struct label, t->n_labels + json_len(selector));
	for (size_t i = 0; i < t->n_labels; i++)
		labels[i] = t->labels[i];
	json_foreach (selector, pair) {
		const char *value = json_value_str(pair);
		if (value)
			labels[t->n_labels++] =
			    (struct label){arena_span(a->mem, span_of(json_key(pair))),
					   arena_span(a->mem, span_of(value))};
	}
	t->labels = labels;
	const struct toleration *more =
	    quota_decode_tolerations(json_get(update, "tolerations"), a->mem, &n);
	struct toleration *tolerations =
	    arena_array(a->mem, struct toleration, t->n_tolerations + n);
	for (size_t i = 0; i < t->n_tolerations; i++)
		tolerations[i] = t->tolerations[i];
	for (size_t i = 0; i < n; i++)
		tolerations[t->n_tolerations++] = own_copy(more[i], a->mem);
	t->tolerations = tolerations;
	return true;
}

void check_updates_terms(const struct core *c, const struct workload *w, struct arena *mem,
			 struct job_term *terms, size_t n)
{
	auto_json *checks = checks_of(c, w);

	for (size_t i = 0; checks && i < n && i < w->unit->shape->n_sets; i++) {
		struct asked asked = {&terms[i], mem};
		each_update(c, checks, w->unit->shape->sets[i].name, add_update, &asked);
	}
}

/* ---- what cannot be obeyed ---- */

static const char *const merged[] = {"annotations", "labels", "nodeSelector"};

struct merge {
	struct cJSON *so_far; /* by what is merged */
	struct buf *words;
};

static bool merge_update(void *arg, const char *check, const struct cJSON *update)
{
	struct merge *m = arg;

	for (size_t i = 0; i < ARRAY_LEN(merged); i++) {
		struct cJSON *to = json_ensure_object(m->so_far, merged[i]);
		json_foreach (json_get(update, merged[i]), pair) {
			const struct cJSON *was = json_get(to, json_key(pair));
			const char *old = json_value_str(was), *now = json_value_str(pair);
			if (old && now && strcmp(old, now) != 0) {
				buf_addf(m->words,
					 "in admission check \"%s\": invalid admission check "
					 "PodSetUpdate: conflict for %s: conflict for key=%s, "
					 "value1=%s, value2=%s",
					 check, merged[i], json_key(pair), old, now);
				return false;
			}
			if (!was)
				json_add(to, json_key(pair), json_dup(pair));
		}
	}
	return true;
}

/* What the flavors of a set say already. */
static void begin_merge(const struct core *c, const struct workload *w, size_t set,
			struct cJSON *so_far)
{
	struct cJSON *selector = json_ensure_object(so_far, "nodeSelector");

	for (uint32_t k = 0; k < w->sets[set].n_flavors; k++) {
		const struct kueue_flavor_spec *s =
		    kueue_forest_flavor_spec(c->kueue->forest, w->sets[set].flavors[k]);
		for (size_t i = 0; s && i < s->n_labels; i++) {
			auto_buf key = BUF_INIT, value = BUF_INIT;
			buf_add_span(&key, s->labels[i].key);
			buf_add_span(&value, s->labels[i].value);
			if (key.len && !json_get(selector, key.ptr))
				json_set_str(selector, key.ptr, value.len ? value.ptr : "");
		}
	}
}

/* The pod template of a set, from the Workload's row; NULL without one. */
static struct cJSON *template_of(const struct core *c, const struct workload *w, struct span name)
{
	struct span sets, one, of, text;
	struct cJSON *tree = NULL;
	struct store_object o;

	if (registry_get(c->batch, kind_by_type(c->kinds, TYPE_WORKLOAD), w->ns, w->name, &o) < 0 ||
	    json_text_path(o.json, &sets, "spec", "podSets", NULL) < 0 ||
	    json_text_type(sets) != JSON_ARRAY)
		return NULL;
	for (size_t pos = 0; json_text_next(sets, &pos, NULL, &one);)
		if (json_text_member(one, "name", &of) == 0 && span_eq(json_text_plain(of), name) &&
		    json_text_member(one, "template", &text) == 0 &&
		    json_parse(text, NULL, &tree, NULL) == 0)
			return tree;
	return NULL;
}

/* What the pods say themselves is not replaced either. */
static void merge_template(const struct cJSON *pod, const struct cJSON *so_far, struct buf *words)
{
	static const char *const places[] = {"metadata", "metadata", "spec"}; /* of merged[] */

	for (size_t i = 0; i < ARRAY_LEN(merged); i++)
		json_foreach (json_get(so_far, merged[i]), pair) {
			const char *now = json_value_str(pair);
			const char *old = json_value_str(
			    json_path(pod, places[i], merged[i], json_key(pair), NULL));
			if (!old || !now || strcmp(old, now) == 0)
				continue;
			buf_addf(words,
				 "invalid admission check PodSetUpdate: conflict for %s: conflict "
				 "for key=%s, value1=%s, value2=%s",
				 merged[i], json_key(pair), old, now);
			return;
		}
}

bool check_updates_conflict(const struct core *c, const struct workload *w, struct buf *words)
{
	auto_json *checks = checks_of(c, w);

	for (size_t i = 0; checks && i < w->n_sets && !words->len; i++) {
		auto_json *so_far = json_object();
		struct merge m = {so_far, words};
		begin_merge(c, w, i, so_far);
		each_update(c, checks, w->unit->shape->sets[i].name, merge_update, &m);
		auto_json *pod =
		    words->len ? NULL : template_of(c, w, w->unit->shape->sets[i].name);
		if (pod)
			merge_template(pod, so_far, words);
	}
	return words->len > 0;
}
