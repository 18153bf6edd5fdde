#include "base/json_members.h"

#include "base/json.h"

/* Below this a walk over the members is quicker than an index. */
#define INDEX_FROM 16

struct cJSON *json_members_find(const struct json_members *m, struct span key)
{
	return m->n >= INDEX_FROM ? map_get(&m->index, key) : json_get(m->object, key.ptr);
}

void json_members_add(struct json_members *m, struct span key, struct cJSON *take_value)
{
	json_add(m->object, key.ptr, take_value);
	if (++m->n == INDEX_FROM) {
		json_foreach (m->object, c)
			map_put(&m->index, span_of(json_key(c)), c);
	} else if (m->n > INDEX_FROM) {
		map_put(&m->index, key, take_value);
	}
}

void json_members_set(struct json_members *m, struct span key, struct cJSON *take_value)
{
	struct cJSON *old = json_members_find(m, key);
	if (!old) {
		json_members_add(m, key, take_value);
		return;
	}
	json_replace(m->object, old, take_value);
	if (m->n >= INDEX_FROM)
		map_put(&m->index, key, take_value);
}

void json_members_done(struct json_members *m)
{
	map_done(&m->index);
}
