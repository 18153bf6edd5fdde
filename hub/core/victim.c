#include "core/victim.h"

#include "core/member.h"

struct evict_job victim_of(const struct job *j, uint32_t member, struct arena *mem)
{
	struct evict_pods *pods = arena_array(mem, struct evict_pods, j->pods.len);
	struct evict_job out = {.number = j->number, .pods = pods};

	vec_foreach (&j->pods, it) {
		const struct member_pod *p = *it;
		if (p->member != member || p->node == NODE_NONE)
			continue;
		struct pod_usage *usage = arena_new(mem, struct pod_usage);
		*usage = (struct pod_usage){p->amounts, p->n_amounts, p->exclusive};
		pods[out.n_pods++] = (struct evict_pods){p->node, 1, usage};
	}
	return out;
}

const struct evict_job *victim_find(struct map *seen, const struct job *j, uint32_t member,
				    struct arena *mem)
{
	struct span key = span_make((const char *)&j->number, sizeof(j->number));
	struct evict_job *out = map_get(seen, key);

	if (out)
		return out;
	out = arena_new(mem, struct evict_job);
	*out = victim_of(j, member, mem);
	/* The key must live as long as the map. */
	map_put(seen, span_make((const char *)&out->number, sizeof(out->number)), out);
	return out;
}
