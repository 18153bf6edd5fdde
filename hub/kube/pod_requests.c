#include "kube/pod_requests.h"

#include "base/num.h"

static struct info_amount *find(const struct pod_amounts *a, struct span resource)
{
	for (size_t i = 0; i < a->n; i++)
		if (span_eq(a->items[i].resource, resource))
			return (struct info_amount *)(uintptr_t)&a->items[i];
	return NULL;
}

static struct info_amount *place(struct pod_amounts *a, struct span resource)
{
	struct info_amount *at = find(a, resource);

	if (at)
		return at;
	if (a->n == POD_REQUESTS_MAX) {
		a->dropped = true;
		return NULL;
	}
	at = &a->items[a->n++];
	*at = (struct info_amount){resource, 0};
	return at;
}

void pod_amounts_add(struct pod_amounts *a, struct span resource, int64_t value)
{
	struct info_amount *at = place(a, resource);

	if (at && num_add_overflows(at->value, value, &at->value)) {
		at->value = INT64_MAX;
		a->overflow = true;
	}
}

void pod_amounts_raise(struct pod_amounts *a, struct span resource, int64_t value)
{
	struct info_amount *at = place(a, resource);

	if (at)
		at->value = num_max(at->value, value);
}

void pod_amounts_set(struct pod_amounts *a, struct span resource, int64_t value)
{
	struct info_amount *at = place(a, resource);

	if (at)
		at->value = value;
}

bool pod_amounts_has(const struct pod_amounts *a, struct span resource)
{
	return find(a, resource);
}

struct info_amount *pod_amounts_take(const struct pod_amounts *a, struct arena *mem, size_t *ret_n)
{
	struct info_amount *out = a->n ? arena_array(mem, struct info_amount, a->n) : NULL;
	size_t n = 0;

	for (size_t i = 0; i < a->n; i++)
		if (a->items[i].value)
			out[n++] = (struct info_amount){arena_span(mem, a->items[i].resource),
							a->items[i].value};
	*ret_n = n;
	return out;
}

static void add_all(struct pod_amounts *to, const struct pod_amounts *from)
{
	for (size_t i = 0; i < from->n; i++)
		pod_amounts_add(to, from->items[i].resource, from->items[i].value);
	to->dropped = to->dropped || from->dropped;
	to->overflow = to->overflow || from->overflow;
}

static void raise_all(struct pod_amounts *to, const struct pod_amounts *from)
{
	for (size_t i = 0; i < from->n; i++)
		pod_amounts_raise(to, from->items[i].resource, from->items[i].value);
	to->dropped = to->dropped || from->dropped;
	to->overflow = to->overflow || from->overflow;
}

void pod_requests_add(struct pod_requests *r, enum pod_container what,
		      const struct pod_amounts *container)
{
	if (what == POD_CONTAINER) {
		add_all(&r->running, container);
		return;
	}
	if (what == POD_SIDECAR) {
		add_all(&r->running, container);
		add_all(&r->sidecars, container);
		raise_all(&r->init, &r->sidecars);
		return;
	}
	struct pod_amounts turn = r->sidecars;
	add_all(&turn, container);
	raise_all(&r->init, &turn);
}

const struct pod_amounts *pod_requests_total(struct pod_requests *r,
					     const struct pod_amounts *overhead)
{
	raise_all(&r->running, &r->init);
	if (overhead)
		add_all(&r->running, overhead);
	return &r->running;
}
