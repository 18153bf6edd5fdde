#include "core/domain_groups.h"

#include "base/json.h"
#include "core/domain.h"

/* What the decision put in one domain. */
struct part {
	struct span value;
	int64_t count;
	bool given;
};
struct parts VEC(struct part);

static struct part *find(struct parts *parts, struct span value)
{
	vec_foreach (parts, p)
		if (span_eq(p->value, value))
			return p;
	return NULL;
}

static int by_value(const void *a, const void *b)
{
	return span_cmp(((const struct part *)a)->value, ((const struct part *)b)->value);
}

/* False when a node is in no domain. */
static bool gather(const struct core *c, const struct placement_decision *d, uint32_t set,
		   struct span key, struct parts *parts)
{
	for (size_t i = 0; i < d->n_slots; i++) {
		const struct fit_slot *s = &d->slots[i];
		if (s->set != set || s->count == 0)
			continue;
		struct span value = cluster_view_node_label(c->fleet, d->cluster, s->node, key);
		if (!value.len)
			return false;
		struct part *p = find(parts, value);
		if (p)
			p->count += s->count;
		else
			vec_push(parts, ((struct part){value, s->count, false}));
	}
	if (parts->len)
		qsort(parts->items, parts->len, sizeof(*parts->items), by_value);
	return true;
}

static bool is_one_each(const struct parts *parts, int64_t groups, int64_t size)
{
	vec_foreach (parts, p)
		if (p->count != size)
			return false;
	return (int64_t)parts->len == groups;
}

/* The part that the Job with this index has had so far; NULL. */
static struct part *kept(struct parts *parts, struct span before, struct span key, size_t index)
{
	struct span labels, value;
	int64_t count;
	auto_buf name = BUF_INIT;
	size_t pos = 0;

	buf_add_span(&name, key);
	for (size_t i = 0; before.len && domain_next(before, &pos, &labels, &count); i++)
		if (i == index && json_text_member(labels, name.ptr, &value) == 0)
			return find(parts, json_text_plain(value));
	return NULL;
}

static struct part *next_free(struct parts *parts)
{
	vec_foreach (parts, p)
		if (!p->given)
			return p;
	return NULL;
}

static void print(struct parts *parts, struct span before, struct span key, struct buf *out)
{
	struct VEC(struct part *) order = {0};

	for (size_t i = 0; i < parts->len; i++) {
		struct part *p = kept(parts, before, key, i);
		if (p && p->given)
			p = NULL;
		if (p)
			p->given = true;
		vec_push(&order, p);
	}
	buf_add_str(out, "[{}");
	vec_foreach (&order, it) {
		struct part *p = *it ? *it : next_free(parts);
		p->given = true;
		buf_add_str(out, ",{");
		buf_add_json_str(out, key);
		buf_add_char(out, ':');
		buf_add_json_str(out, p->value);
		buf_addf(out, "},%lld", (long long)p->count);
	}
	buf_add_char(out, ']');
	vec_done(&order);
}

bool domain_groups_add(const struct core *c, const struct job *j,
		       const struct placement_decision *d, uint32_t set, struct buf *out)
{
	const struct job_shape *shape = shape_spec(j->shape);
	const struct pod_set *s = &shape->sets[set];
	int64_t groups = s->groups ? s->groups : 1;
	struct parts parts = {0};

	bool held = s->count > 0 && gather(c, d, set, shape->exclusive_topology, &parts) &&
		    is_one_each(&parts, groups, s->count / groups);
	if (held)
		print(&parts, domain_spread(j->domains, set), shape->exclusive_topology, out);
	else
		buf_add_str(out, "{}");
	vec_done(&parts);
	return held;
}
