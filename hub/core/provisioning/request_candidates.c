#include "core/provisioning/request_candidates.h"

#include "base/json.h"
#include "base/num.h"
#include "core/member.h"
#include "core/provisioning/request_call.h"
#include "core/provisioning/request_try.h"

/* Of the Cluster's annotation; without one it may serve any. */
static bool takes_class(struct core *c, const struct member *m, const char *class)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_CLUSTER);
	struct store_object o;
	struct span list, one;

	if (registry_get(c->batch, kind, SPAN(""), span_of(m->name), &o) < 0 ||
	    json_text_path(o.json, &list, "metadata", "annotations", REQUEST_CLASSES, NULL) < 0)
		return true;
	list = json_text_plain(list);
	while (list.len) {
		one = span_split(&list, ',');
		while (one.len && one.ptr[0] == ' ')
			one = span_make(one.ptr + 1, one.len - 1);
		if (span_is(one, class))
			return true;
	}
	return false;
}

/* How many requests may wait for nodes there at a time. */
static size_t most_waiting(struct core *c, const struct member *m)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_CLUSTER);
	struct store_object o;
	struct span text;
	int64_t most;

	if (registry_get(c->batch, kind, SPAN(""), span_of(m->name), &o) < 0 ||
	    json_text_path(o.json, &text, "metadata", "annotations", REQUEST_WAITING, NULL) < 0 ||
	    num_parse_i64(json_text_plain(text), 1, INT32_MAX, &most) < 0)
		return REQUEST_MAX_WAITING;
	return (size_t)most;
}

/* By member number: other requests that were sent there and have neither nodes nor an end. */
static uint32_t *count_waiting(struct core *c, const struct provisioning_request *r,
			       struct arena *mem)
{
	uint32_t *n = arena_array(mem, uint32_t, c->members.len);

	map_foreach (&c->provisioning->by_number, e) {
		const struct provisioning_request *o = e->value;
		for (size_t i = 0; o != r && i < o->tries.len; i++) {
			const struct request_try *t = o->tries.items[i];
			if (t->phase < PROVISION_PROVISIONED && t->member < c->members.len)
				n[t->member]++;
		}
	}
	return n;
}

static bool is_crowded(struct core *c, const struct provisioning_request *r, const struct member *m,
		       const uint32_t *waiting)
{
	return !request_try_on(r, m->number) && waiting[m->number] >= most_waiting(c, m);
}

static bool may_be_asked(struct core *c, const struct member *m, const char *class)
{
	return m->condition == MEMBER_READY && !m->cordoned && !m->deleting && !m->dead &&
	       request_call_serves(m) && takes_class(c, m, class);
}

/* Whether nothing but nodes speaks against the cluster: those are what is asked for. */
static bool is_about_nodes(enum verdict_code code)
{
	switch (code) {
	case VERDICT_FITS:
	case VERDICT_LOWER_SCORE:
	case VERDICT_INSUFFICIENT_FREE:
	case VERDICT_GANG_FRAGMENTED:
	case VERDICT_TOO_SMALL:
	case VERDICT_NODE_AFFINITY:
	case VERDICT_NODE_TAINTED:
	case VERDICT_NODES_UNAVAILABLE:
	case VERDICT_NO_NODES:
	case VERDICT_RESERVED:
		return true;
	case VERDICT_AFFINITY_MISMATCH:
	case VERDICT_TAINTED:
	case VERDICT_CORDONED:
	case VERDICT_NOT_READY:
	case VERDICT_STALE:
	case VERDICT_API_MISSING:
	case VERDICT_BACKOFF:
	case VERDICT_CONFLICT:
	case VERDICT_MAX:
	case VERDICT_INVALID:
	default:
		return false;
	}
}

struct candidate {
	const struct member *m;
	uint32_t group;
};

static int by_preference(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return strcmp(x->m->name, y->m->name);
}

/* What the job's policy says of the member; false: not there. */
static bool allowed(const struct verdict *v, size_t n, const struct member *m, uint32_t *ret_group)
{
	for (size_t i = 0; i < n; i++) {
		if (v[i].cluster != m->view)
			continue;
		*ret_group = v[i].group;
		return is_about_nodes(v[i].code);
	}
	return false;
}

size_t request_candidates(struct core *c, const struct provisioning_request *r, const struct job *j,
			  struct arena *mem, uint32_t **ret, bool *ret_crowded)
{
	const uint32_t *waiting = count_waiting(c, r, mem);
	struct candidate *all = arena_array(mem, struct candidate, c->members.len);
	struct verdict *v = arena_array(mem, struct verdict, c->members.len + 1);
	size_t n = 0, n_verdicts = 0;

	if (j && j->ask)
		n_verdicts =
		    placement_explain(c->placer, j->ask, NULL, 0, c->now, v, c->members.len + 1);
	n_verdicts = num_min(n_verdicts, c->members.len + 1);
	vec_foreach (&c->members, p) {
		uint32_t group = 0;
		if (!*p || !may_be_asked(c, *p, r->class) ||
		    (j && !allowed(v, n_verdicts, *p, &group)))
			continue;
		if (is_crowded(c, r, *p, waiting)) {
			*ret_crowded = true;
			continue;
		}
		all[n++] = (struct candidate){*p, group};
	}
	qsort(all, n, sizeof(*all), by_preference);
	n = num_min(n, (size_t)PROVISION_MAX_CLUSTERS);
	*ret = arena_array(mem, uint32_t, n);
	for (size_t i = 0; i < n; i++)
		(*ret)[i] = all[i].m->number;
	return n;
}
