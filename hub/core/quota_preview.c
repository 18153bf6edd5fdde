#include "core/quota_preview.h"

#include "core/admission/reclaim_search.h"
#include "core/job.h"
#include "core/quota.h"

/* Offers of one trial; more than this many starts are counted no further. */
#define MAX_OFFERS 10000

enum change {
	CHANGE_START,
	CHANGE_STOP,
	CHANGE_ABOVE,
	CHANGE_NEVER,
	CHANGE_MOVE,
	CHANGE_OUTSIDE,
	CHANGE_MAX,
};

static const char *const words[CHANGE_MAX] = {
    [CHANGE_START] = "would start",
    [CHANGE_STOP] = "would be stopped and queued again",
    [CHANGE_ABOVE] = "would no longer be within max, and keeps running",
    [CHANGE_NEVER] = "could never start: it asks for more than max",
    [CHANGE_MOVE] = "would be counted in another quota",
    [CHANGE_OUTSIDE] = "would no longer belong to any elastic quota",
};

struct preview {
	struct core *c;
	struct elastic_tree *tree; /* of the trial, or NULL */
	struct elastic_queues *queues;
	size_t n[CHANGE_MAX];
	struct buf text[CHANGE_MAX];
};

static void note(struct preview *p, enum change what, const struct job *j, const char *more)
{
	if (p->n[what]++ < QUOTA_PREVIEW_NAMES)
		buf_addf(&p->text[what], "%s %s/%s %s%s\n", j->kind->kind, j->ns, j->name,
			 words[what], more);
}

/* ---- the trial ---- */

static bool resolve(const struct elastic_tree *tree, const struct job *j, uint32_t *ret)
{
	return tree && elastic_tree_resolve(tree, j->digest.quota_name, SPAN_NONE, span_of(j->ns),
					    ret, NULL) == 0;
}

static bool is_waiting(const struct job *j)
{
	return dispatch_is_free(&j->dispatch) && !j->holds &&
	       (j->hold == HOLD_NONE || j->hold == HOLD_NO_QUOTA) && j->ask;
}

static struct elastic_unit *file(struct preview *p, struct job *j, uint32_t node)
{
	struct quota_amount amounts[ELASTIC_REQUEST_AMOUNTS];
	struct elastic_unit *unit = NULL;
	struct elastic_unit_spec spec;

	if (quota_unit_spec(p->tree, j, node, amounts, &spec, NULL) < 0)
		return NULL;
	if (!j->holds)
		return elastic_queue_add(p->queues, &spec);
	return elastic_queue_restore(p->queues, &spec, &unit) == 0 ? unit : NULL;
}

/* Queues keep their policy when the node of that path stays. */
static void configure(const struct preview *p)
{
	const struct elastic_tree *now = p->c->quota.tree;
	uint32_t old;

	for (uint32_t i = 0; now && i < quota_tree_n_nodes(elastic_tree_quota_const(p->tree)); i++)
		if (elastic_tree_find(now, elastic_tree_path(p->tree, i), &old) == 0) {
			struct elastic_queue_config config =
			    elastic_queue_config_of(p->c->quota.queues, old);
			elastic_queue_configure(p->queues, i, &config);
		}
}

/* ---- comparing ---- */

/* The first node from `node` upwards whose use of a resource that the job asks is above max. */
static bool is_above(const struct elastic_tree *tree, uint32_t node, const struct job *j,
		     uint32_t *ret_node, uint32_t *ret_resource)
{
	const struct quota_tree *q = elastic_tree_quota_const(tree);
	struct elastic_quantity sums[JOB_MAX_RESOURCES];
	size_t n;

	job_total(j, sums, &n);
	for (; node != QUOTA_NO_NODE; node = quota_tree_parent(q, node)) {
		for (uint32_t r = 0; r < quota_tree_n_resources(q); r++) {
			struct span name = quota_tree_resource_name(q, r);
			struct quota_state s;
			bool asked = r == elastic_tree_jobs_resource(tree);
			for (size_t i = 0; i < n && !asked; i++)
				asked = span_eq(sums[i].resource, name) && sums[i].value > 0;
			quota_tree_get(q, node, r, &s);
			if (asked && s.max != QUOTA_UNLIMITED && s.used > s.max) {
				*ret_node = node;
				*ret_resource = r;
				return true;
			}
		}
	}
	return false;
}

static void compare_running(struct preview *p, const struct job *j, uint32_t node)
{
	uint32_t was, at, resource;
	auto_buf more = BUF_INIT;

	if (!is_above(p->tree, node, j, &at, &resource))
		return;
	if (j->unit && p->c->quota.tree &&
	    is_above(p->c->quota.tree, elastic_unit_node(j->unit), j, &was, &resource))
		return;
	(void)is_above(p->tree, node, j, &at, &resource);
	struct span path = elastic_tree_path(p->tree, at);
	struct span name = quota_tree_resource_name(elastic_tree_quota_const(p->tree), resource);
	buf_addf(&more, ": %.*s of %.*s", SPAN_ARGS(name), SPAN_ARGS(path));
	note(p, CHANGE_ABOVE, j, more.ptr);
}

static void compare_waiting(struct preview *p, const struct job *j, const struct elastic_unit *u)
{
	struct elastic_standing now = {0}, then;

	elastic_queue_standing(p->queues, u, &then);
	if (j->unit)
		elastic_queue_standing(p->c->quota.queues, j->unit, &now);
	if (then.verdict.never && !now.verdict.never)
		note(p, CHANGE_NEVER, j, "");
}

/* Files everything; places are compared once all of it is charged. */
static void file_all(struct preview *p)
{
	map_foreach (&p->c->jobs_by_number, e) {
		struct job *j = e->value;
		uint32_t node, was;
		if (!j->must_queue || j->finished || j->deleting || j->gone ||
		    (!j->holds && !is_waiting(j)))
			continue;
		bool had = resolve(p->c->quota.tree, j, &was);
		if (!resolve(p->tree, j, &node)) {
			if (had)
				note(p, CHANGE_OUTSIDE, j, "");
			continue;
		}
		struct span path = elastic_tree_path(p->tree, node);
		if (had && !span_eq(path, elastic_tree_path(p->c->quota.tree, was))) {
			auto_buf more = BUF_INIT;
			buf_addf(&more, ": %.*s", SPAN_ARGS(path));
			note(p, CHANGE_MOVE, j, more.ptr);
		}
		struct elastic_unit *u = file(p, j, node);
		if (u && !j->holds)
			compare_waiting(p, j, u);
	}
	map_foreach (&p->c->jobs_by_number, e) {
		const struct job *j = e->value;
		uint32_t node;
		if (j->must_queue && j->holds && !j->finished && resolve(p->tree, j, &node))
			compare_running(p, j, node);
	}
}

static void offer_all(struct preview *p)
{
	struct elastic_unit *u;
	struct placement_decision d;

	for (size_t i = 0; i < MAX_OFFERS && (u = elastic_queue_next(p->queues)); i++) {
		struct job *j = elastic_unit_owner(u);
		if (waiting_is_parked(p->c->waiting, j->ask) ||
		    !placement_decide(p->c->placer, j->ask, NULL, 0, p->c->now, &d)) {
			elastic_queue_park(p->queues, u);
			continue;
		}
		if (elastic_queue_admit(p->queues, u, NULL) < 0)
			elastic_queue_skip(p->queues, u);
		else
			note(p, CHANGE_START, j, "");
	}
}

/* The first round of reclaim, where the tree has it on: later ones follow from what became of it.
 */
static void reclaim_all(struct preview *p)
{
	struct elastic_unit *heads[64];
	size_t n = elastic_queue_heads(p->queues, heads, ARRAY_LEN(heads));
	struct elastic_victims victims = {0};
	struct reclaim_round r;
	uint32_t cluster;

	reclaim_round_begin(&r, p->c, p->tree);
	for (size_t i = 0; i < n && !victims.items.len; i++) {
		const struct job *owner = elastic_unit_owner(heads[i]);
		struct elastic_standing s;
		elastic_queue_standing(p->queues, heads[i], &s);
		if ((s.state != ELASTIC_QUOTA && s.state != ELASTIC_PLACEMENT) || s.verdict.never ||
		    !reclaim_find(&r, heads[i], &victims, &cluster))
			continue;
		vec_foreach (&victims.items, v) {
			auto_buf more = BUF_INIT;
			buf_addf(&more, ", so that %s %s/%s can start", owner->kind->kind,
				 owner->ns, owner->name);
			note(p, CHANGE_STOP, (*v)->owner, more.ptr);
		}
	}
	elastic_victims_done(&victims);
	reclaim_round_end(&r);
}

void quota_preview(struct core *c, const struct elastic_node_spec *root, struct buf *warnings)
{
	struct preview p = {.c = c};

	if (root && elastic_tree_create(root, NULL, NULL, &p.tree, NULL) < 0)
		return;
	if (p.tree) {
		p.queues = elastic_queue_create(p.tree, NULL);
		configure(&p);
	}
	file_all(&p);
	if (p.tree)
		offer_all(&p);
	if (p.tree && elastic_tree_reclaims(p.tree))
		reclaim_all(&p);
	for (int i = 0; i < CHANGE_MAX; i++) {
		buf_add_span(warnings, buf_span(&p.text[i]));
		if (p.n[i] > QUOTA_PREVIEW_NAMES)
			buf_addf(warnings, "and %zu more jobs %s\n", p.n[i] - QUOTA_PREVIEW_NAMES,
				 words[i]);
		buf_done(&p.text[i]);
	}
	elastic_queue_destroy(p.queues);
	elastic_tree_destroy(p.tree);
}
