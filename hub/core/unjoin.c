#include "core/unjoin.h"

#include "base/json.h"
#include "core/binding.h"
#include "core/capacity.h"
#include "core/dispatch/courier.h"
#include "core/dispatch/dependency.h"
#include "core/job.h"
#include "core/member.h"
#include "core/provisioning/provisioning.h"
#include "core/query.h"
#include "core/restore.h"

/* Finished jobs have no records; their copies are found through their bindings. */
static void revive_finished(struct core *c, struct member *m)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_RESOURCE_BINDING);
	struct store_reader *reader;
	struct store_iter *it;
	struct store_object o;
	int fail = 0;

	if (registry_reader(c->batch, kind, &reader, NULL) < 0 ||
	    store_iter_begin(reader, &(struct store_range){.type = kind->type}, &it, NULL) < 0)
		return;
	while (store_iter_next(it, &o, &fail)) {
		struct dispatch_state s;
		struct store_object object;
		struct span resource, word, name;
		if (binding_dispatch(&o, &s) < 0 || s.step == DISPATCH_IDLE ||
		    s.member != m->number ||
		    json_text_path(o.json, &resource, "spec", "resource", NULL) < 0 ||
		    json_text_member(resource, "kind", &word) < 0 ||
		    json_text_member(resource, "name", &name) < 0)
			continue;
		const struct kind *k = query_job_kind(c, json_text_plain(word));
		if (k && registry_get(c->batch, k, o.key.ns, json_text_plain(name), &object) == 0)
			(void)restore_job(c, k, &object);
	}
	store_iter_end(it);
	m->finished_revived = fail == 0;
}

/* Jobs that were placed on it and still leave another member are placed anew. */
static void turn_back(struct core *c, struct member *m)
{
	map_foreach (&c->jobs_by_number, e) {
		struct job *j = e->value;
		if (m->incoming && j->dispatch.step == DISPATCH_LEAVING &&
		    j->dispatch.target == m->number)
			courier_feed(c, j, &(struct dispatch_event){EVENT_WITHDRAW});
	}
}

void unjoin_step(struct core *c, struct member *m)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_CLUSTER);
	struct store_object o;

	if (!m->finished_revived)
		revive_finished(c, m);
	if (m->incoming)
		turn_back(c, m);
	/* From the end: a job that leaves puts the last one, which was seen, in its place. */
	for (size_t i = m->jobs.len; i-- > 0;) {
		struct job *j = job_by_number(c, m->jobs.items[i]);
		courier_feed(
		    c, j, &(struct dispatch_event){m->dead ? EVENT_MEMBER_DEAD : EVENT_WITHDRAW});
	}
	if (provisioning_is_on(c, m) || !m->deleting || m->jobs.len > 0 || m->incoming > 0)
		return;
	if (!m->dead && !dependency_clean(c, m))
		return;
	m->leaving = true;
	if (!capacity_clear(c, m) || registry_batch_room(c->batch) < STREAM_MAX + 4) {
		m->unjoin_at = c->now;
		return;
	}
	member_erase(c, m);
	if (registry_get(c->batch, kind, SPAN_NONE, span_of(m->name), &o) == 0)
		core_remove_hub_finalizer(c, kind, &o);
}
