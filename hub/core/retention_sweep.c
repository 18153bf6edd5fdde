#include "core/retention_sweep.h"

#include "core/kueue/workload.h"
#include "core/kueue/workload_status.h"
#include "core/retention.h"
#include "kinds/workload_digest.h"

#include <inttypes.h>

#define ROWS_PER_STEP 64 /* a Workload's status is read as a tree: some 20 us each */
#define ROOM_FOR_STEP 72

static const struct kind *workload_kind(const struct core *c)
{
	return kind_by_type(c->kinds, TYPE_WORKLOAD);
}

static struct span setting_key(void)
{
	return SPAN("retention");
}

static void setting_text(const struct core *c, struct buf *out)
{
	const struct kueue_settings *s = &c->kueue->settings;

	buf_addf(out, "%" PRId64 " %" PRId64, s->retain_finished, s->retain_deactivated);
}

void retention_sweep_open(struct core *c)
{
	const struct kueue_settings *s = &c->kueue->settings;
	auto_buf text = BUF_INIT;
	struct span stored;

	retention_sweep_close(c);
	setting_text(c, &text);
	int r = registry_get_aux(c->batch, false, STORE_AUX_SETTING, setting_key(), &stored);
	if (r == 0 ? span_eq(stored, buf_span(&text))
		   : s->retain_finished < 0 && s->retain_deactivated < 0)
		return;
	c->sweep.under_way = true;
}

void retention_sweep_close(struct core *c)
{
	free(c->sweep.ns);
	free(c->sweep.name);
	memset(&c->sweep, 0, sizeof(c->sweep));
}

static void look_at(struct core *c, const struct store_object *o)
{
	const struct kueue_settings *s = &c->kueue->settings;
	auto_arena mem = ARENA_INIT;
	struct workload_status status;

	workload_status_read(o, &mem, &status);
	if (o->flags & OBJECT_FINISHED) {
		usec since = status.finished.since ? status.finished.since : c->now;
		if (s->retain_finished >= 0)
			retention_workload_at(c, o->key.ns, o->key.name, o->uid,
					      since + s->retain_finished);
		return;
	}
	const struct workload *w = workload_find(c, o->key.ns, o->key.name);
	if (w && w->job && w->inactive && s->retain_deactivated >= 0 && status.evicted.is &&
	    span_starts(status.evicted.reason, SPAN("DeactivatedDueTo")))
		retention_deactivated_at(c, w->job, status.evicted.since + s->retain_deactivated);
}

static void end_sweep(struct core *c)
{
	auto_buf text = BUF_INIT;

	setting_text(c, &text);
	registry_put_aux(c->batch, false, STORE_AUX_SETTING, setting_key(), buf_span(&text));
	retention_sweep_close(c);
}

bool retention_sweep_run(struct core *c)
{
	struct store_reader *reader;
	struct store_iter *it;
	struct store_object o;
	size_t n = 0;
	int fail = 0;

	if (!c->sweep.under_way)
		return false;
	struct store_key last = {
	    .type = TYPE_WORKLOAD, .ns = span_of(c->sweep.ns), .name = span_of(c->sweep.name)};
	struct store_range range = {.type = TYPE_WORKLOAD, .after = c->sweep.name ? &last : NULL};
	if (registry_batch_full(c->batch) || registry_batch_room(c->batch) < ROOM_FOR_STEP)
		return true;
	if (registry_reader(c->batch, workload_kind(c), &reader, NULL) < 0 ||
	    store_iter_begin(reader, &range, &it, NULL) < 0)
		return false;
	struct span ns = SPAN_NONE, name = SPAN_NONE;
	auto_arena keys = ARENA_INIT;
	while (n < ROWS_PER_STEP && store_iter_next(it, &o, &fail)) {
		look_at(c, &o);
		ns = arena_span(&keys, o.key.ns);
		name = arena_span(&keys, o.key.name);
		n++;
	}
	store_iter_end(it);
	if (n < ROWS_PER_STEP) {
		end_sweep(c);
		return false;
	}
	free(c->sweep.ns);
	free(c->sweep.name);
	c->sweep.ns = xstrndup(ns.ptr, ns.len);
	c->sweep.name = xstrndup(name.ptr, name.len);
	return true;
}
