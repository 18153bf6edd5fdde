#include "core/priority.h"

#include "base/json.h"
#include "core/admission/settle.h"

struct class
{
	int32_t value;
	bool is_default, never_preempts;
};

bool priority_value(const struct core *c, struct span name, int32_t *ret)
{
	const struct class *k = map_get(&c->priority_classes, name);

	if (k)
		*ret = k->value;
	return k;
}

void priority_resolve(const struct core *c, struct job *j)
{
	struct span name = j->digest.priority_class;

	j->priority_pending = false;
	if (name.len && priority_value(c, name, &j->priority))
		return;
	j->priority_pending = name.len > 0;
	j->priority = c->default_priority;
}

static void find_default(struct core *c)
{
	const struct class *lowest = NULL;

	map_foreach (&c->priority_classes, e) {
		const struct class *k = e->value;
		if (k->is_default && (!lowest || k->value < lowest->value))
			lowest = k;
	}
	c->default_priority = lowest ? lowest->value : 0;
}

static bool is_default(struct span json)
{
	struct span value;

	return json_text_member(json, "globalDefault", &value) == 0 && span_is(value, "true");
}

static bool never_preempts(struct span json)
{
	struct span value;

	return json_text_member(json, "preemptionPolicy", &value) == 0 &&
	       span_is(json_text_plain(value), "Never");
}

bool priority_preempts(const struct core *c, const struct job *j)
{
	const struct class *k = map_get(&c->priority_classes, j->digest.priority_class);

	return !k || !k->never_preempts;
}

void priority_observe(struct core *c, const struct store_object *o)
{
	struct span value;
	int64_t v;

	if (json_text_member(o->json, "value", &value) < 0 || json_text_int64(value, &v) < 0 ||
	    v < INT32_MIN || v > INT32_MAX)
		return;
	struct class *k = xcalloc(1, sizeof(*k));
	*k = (struct class){(int32_t)v, is_default(o->json), never_preempts(o->json)};
	struct class *was = map_put(&c->priority_classes, o->key.name, k);
	find_default(c);
	if (was) {
		free(was);
		return;
	}
	map_foreach (&c->jobs_by_number, e) {
		struct job *j = e->value;
		if (j->priority_pending && span_eq(j->digest.priority_class, o->key.name))
			settle_offer(c, j);
	}
}

void priority_forget(struct core *c, struct span name)
{
	free(map_remove(&c->priority_classes, name));
	find_default(c);
}

int priority_admit_command(struct core *c, struct command *cmd)
{
	if (!is_default(span_make(cmd->draft.json, cmd->draft.len)))
		return 0;
	map_foreach (&c->priority_classes, e) {
		const struct class *k = e->value;
		if (k->is_default && !span_is(span_make(e->key, e->key_len), cmd->name))
			return err_set(&cmd->err, ERR_FORBIDDEN,
				       "PriorityClass %.*s is already marked as default. Only one "
				       "default can exist",
				       (int)e->key_len, e->key);
	}
	return 0;
}

void priority_close(struct core *c)
{
	map_foreach (&c->priority_classes, e)
		free(e->value);
	map_done(&c->priority_classes);
	c->default_priority = 0;
}
