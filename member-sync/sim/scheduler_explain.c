#include "member-sync/sim/scheduler_priv.h"

const struct request *scheduler_lacking(const struct scheduler *s, const struct scheduler_node *n,
					const struct scheduler_shape *shape)
{
	static const struct request one_pod = {0, 1};
	for (size_t i = 0; i < shape->n_requests; i++) {
		int r = shape->requests[i].resource;
		if (r < 0 || n->free[r] < shape->requests[i].value)
			return &shape->requests[i];
	}
	return n->free[s->pods_resource] < 1 ? &one_pod : NULL;
}

static struct span resource_name(const struct scheduler *s, int index)
{
	map_foreach (&s->resources, e)
		if ((int)(intptr_t)e->value == index + 1)
			return span_make(e->key, e->key_len);
	return SPAN("unknown resource");
}

static void add_reason(char *out, size_t size, size_t n, const char *text)
{
	size_t len = strlen(out);
	if (n && len < size)
		snprintf(out + len, size - len, "%s %zu %s", out[len - 1] == ':' ? "" : ",", n,
			 text);
}

void scheduler_explain(const struct scheduler *s, struct scheduler_shape *shape, const bool *banned)
{
	static const char *const words[] = {
	    [FILTER_SELECTOR] = "node(s) didn't match Pod's node affinity/selector",
	    [FILTER_TAINT] = "node(s) had untolerated taint(s)",
	    [FILTER_UNSCHEDULABLE] = "node(s) were unschedulable",
	    [FILTER_NOT_READY] = "node(s) were not ready",
	};
	size_t by_filter[ARRAY_LEN(words)] = {0}, by_resource[SCHEDULER_MAX_RESOURCES] = {0},
	       affinity = 0;
	for (size_t i = 0; i < s->nodes.len; i++) {
		const struct scheduler_node *n = s->nodes.items[i];
		if (n->gone)
			continue;
		const struct request *r = scheduler_lacking(s, n, shape);
		if (shape->filters[i] != FILTER_OK)
			by_filter[shape->filters[i]]++;
		else if (banned && banned[i])
			affinity++;
		else if (r)
			by_resource[r->resource >= 0 ? r->resource : SCHEDULER_MAX_RESOURCES - 1]++;
	}
	char *out = shape->why, text[120];
	snprintf(out, sizeof(shape->why), "0/%zu nodes are available:", s->n_alive);
	for (int r = 0; r < SCHEDULER_MAX_RESOURCES; r++) {
		if (r == s->pods_resource)
			snprintf(text, sizeof(text), "Too many pods");
		else if (by_resource[r])
			snprintf(text, sizeof(text), "Insufficient %.*s",
				 SPAN_ARGS(resource_name(s, r)));
		add_reason(out, sizeof(shape->why), by_resource[r], text);
	}
	add_reason(out, sizeof(shape->why), affinity,
		   "node(s) didn't match pod affinity/anti-affinity rules");
	for (size_t f = 1; f < ARRAY_LEN(words); f++)
		add_reason(out, sizeof(shape->why), by_filter[f], words[f]);
	size_t len = strlen(out);
	if (len + 1 < sizeof(shape->why)) {
		out[len] = '.';
		out[len + 1] = '\0';
	}
}
