#include "core/kueue/provisioning_check.h"

#include "base/json.h"
#include "core/job.h"
#include "core/kueue/provisioning_object.h"
#include "core/kueue/workload_status.h"

/* ---- marks ---- */

void provisioning_check_mark(struct core *c, struct workload *w)
{
	if (w->checking)
		return;
	w->checking = true;
	c->kueue->checking_soon = true;
	vec_push(&c->kueue->checking, w);
}

static void free_one(struct provisioning_check *p)
{
	free(p->check);
	free(p->request);
	free(p->told);
	free(p);
}

void provisioning_check_free(struct workload *w)
{
	while (w->provisioning) {
		struct provisioning_check *p = w->provisioning;
		w->provisioning = p->next;
		free_one(p);
	}
}

void provisioning_check_drop(struct core *c, struct workload *w)
{
	for (const struct provisioning_check *p = w->provisioning; p; p = p->next) {
		struct provisioning_request *r = request_find(c, w->ns, span_of(p->request));
		if (!r)
			continue;
		r->retired = true;
		request_due(c, r, c->now);
	}
	provisioning_check_free(w);
}

struct provisioning_check *provisioning_check_of(const struct workload *w, const char *request)
{
	for (struct provisioning_check *p = w->provisioning; p; p = p->next)
		if (strcmp(p->request, request) == 0)
			return p;
	return NULL;
}

void provisioning_check_wake(struct core *c, const struct provisioning_request *r)
{
	const struct workload *w =
	    r->workload ? workload_find(c, span_of(r->ns), span_of(r->workload)) : NULL;

	for (const struct provisioning_check *p = w ? w->provisioning : NULL; p; p = p->next) {
		struct provisioning_request *o = request_find(c, w->ns, span_of(p->request));
		if (o && o != r)
			request_due(c, o, c->now);
	}
}

struct provisioning_request *provisioning_check_request(const struct core *c,
							const struct workload *w, bool *ret_known)
{
	*ret_known = !w->checking;
	return w->provisioning ? request_find(c, w->ns, span_of(w->provisioning->request)) : NULL;
}

void provisioning_check_lost(struct core *c, struct provisioning_request *r)
{
	struct workload *w =
	    r->workload ? workload_find(c, span_of(r->ns), span_of(r->workload)) : NULL;

	if (w && provisioning_check_of(w, r->name) && !w->admitted_at && !w->checking) {
		provisioning_check_free(w);
		provisioning_check_mark(c, w);
	}
}

/* ---- looking ---- */

static struct provisioning_check *link_check(struct workload *w, const struct workload_check *k)
{
	struct provisioning_check *p = xcalloc(1, sizeof(*p)), **end = &w->provisioning;
	auto_buf name = BUF_INIT;

	p->check = xstrndup(k->name.ptr, k->name.len);
	p->attempt = (int32_t)k->retries + 1;
	p->ready = span_is(k->state, "Ready");
	provisioning_spec_name(w->name, p->check, p->attempt, &name);
	p->request = buf_steal(&name, NULL);
	while (*end)
		end = &(*end)->next;
	*end = p;
	return p;
}

void provisioning_check_restore(struct core *c, struct workload *w, const struct workload_status *s)
{
	for (size_t i = 0; i < s->n_checks; i++) {
		auto_free char *name = xstrndup(s->checks[i].name.ptr, s->checks[i].name.len);
		if (!provisioning_config_is_check(c, name))
			continue;
		struct provisioning_check *p = link_check(w, &s->checks[i]);
		p->managed = provisioning_object_managed(c, w, p);
	}
}

static void unlink_check(struct workload *w, struct provisioning_check *p)
{
	struct provisioning_check **at = &w->provisioning;

	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	free_one(p);
}

static bool stands(struct core *c, const struct workload *w, const struct provisioning_check *p,
		   struct store_object *ret)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_PROVISIONING_REQUEST);

	return registry_get(c->batch, kind, w->ns, span_of(p->request), ret) == 0;
}

/* What stands under the name was made for an earlier reservation: nodes are never reused. Times of
 * objects are whole seconds. */
static bool is_of_the_past(struct core *c, const struct workload *w, const struct store_object *o)
{
	const struct provisioning_request *r = request_find(c, o->key.ns, o->key.name);
	struct span v;
	usec t;

	if (r && r->retired && memcmp(r->uid, o->uid, STORE_UID_LEN) == 0)
		return true;
	return json_text_path(o->json, &v, "metadata", "creationTimestamp", NULL) == 0 &&
	       clock_parse(json_text_plain(v), &t) == 0 &&
	       t < w->reserved_at - w->reserved_at % USEC_PER_SEC;
}

/* It goes first; its successor is made in a later batch. */
static void drop_past(struct core *c, const struct store_object *o)
{
	struct provisioning_request *r = request_find(c, o->key.ns, o->key.name);

	if (r)
		r->retired = true;
	core_delete(c, kind_by_type(c->kinds, TYPE_PROVISIONING_REQUEST), o->key.ns, o->key.name);
}

/* Requests of its earlier attempts are looked at: they go. */
static void wake_requests(struct core *c, const struct workload *w)
{
	map_foreach (&c->provisioning->by_number, e) {
		struct provisioning_request *r = e->value;
		if (r->workload && span_is(w->name, r->workload) && span_is(w->ns, r->ns))
			request_due(c, r, c->now);
	}
}

/* What becomes of one check. */
enum looked {
	LOOKED_ON,	/* the next one */
	LOOKED_AGAIN,	/* all of them, in a later batch */
	LOOKED_WAITING, /* for its config; then this one and the next */
};

static enum looked ask(struct core *c, struct workload *w, struct provisioning_check *p)
{
	switch (provisioning_object_make(c, w, p)) {
	case PROVISIONING_MADE:
		workload_event(c, w, "Normal", WORKLOAD_ADMISSION, "ProvisioningRequestCreated",
			       "Created ProvisioningRequest: \"%s\"", p->request);
		if (p->ready && !w->admitted_at) {
			/* What made it Ready was deleted meanwhile. */
			p->ready = w->ready_to_place = false;
			provisioning_check_tell(c, w, p, "Pending", 0, NULL,
						"The nodes are not asked for yet");
		}
		break;
	case PROVISIONING_STANDS:
		break;
	case PROVISIONING_NOT_NEEDED:
		if (!p->ready)
			provisioning_check_tell(c, w, p, "Ready", 0, NULL,
						"The provisioning request is not needed");
		unlink_check(w, p);
		return LOOKED_ON;
	case PROVISIONING_FOREIGN:
		provisioning_check_tell(
		    c, w, p, "Pending", 0, NULL,
		    "A ProvisioningRequest of the name that it would have exists already");
		break;
	case PROVISIONING_BAD_CONFIG:
	default:
		provisioning_check_tell(c, w, p, "Pending", 0, NULL,
					"The check's ProvisioningRequestConfig is missing");
		p->managed = UINT64_MAX;
		return LOOKED_WAITING;
	}
	p->managed = provisioning_object_managed(c, w, p);
	return LOOKED_ON;
}

static enum looked look_at(struct core *c, struct workload *w, const struct workload_check *k)
{
	struct store_object o;

	if (registry_batch_full(c->batch) || registry_batch_room(c->batch) < REGISTRY_RESERVE)
		return LOOKED_AGAIN;
	struct provisioning_check *p = link_check(w, k);
	bool there = stands(c, w, p, &o);
	if (w->admitted_at && !there) {
		unlink_check(w, p); /* it runs, with nodes or without need of any */
		return LOOKED_ON;
	}
	if (there && is_of_the_past(c, w, &o)) {
		drop_past(c, &o);
		return LOOKED_AGAIN;
	}
	return ask(c, w, p);
}

/* False: there was no room. */
static bool look(struct core *c, struct workload *w)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_WORKLOAD);
	auto_arena mem = ARENA_INIT;
	struct workload_status s;
	struct store_object o;
	enum looked how = LOOKED_ON;

	if (registry_batch_full(c->batch) || registry_batch_room(c->batch) < REGISTRY_RESERVE ||
	    registry_get(c->batch, kind, w->ns, w->name, &o) < 0)
		return false;
	workload_status_read(&o, &mem, &s);
	provisioning_check_free(w);
	for (size_t i = 0; i < s.n_checks && how == LOOKED_ON; i++) {
		auto_free char *name = xstrndup(s.checks[i].name.ptr, s.checks[i].name.len);
		if (provisioning_config_is_check(c, name))
			how = look_at(c, w, &s.checks[i]);
	}
	w->checking = how != LOOKED_ON;
	if (how == LOOKED_AGAIN) {
		provisioning_check_free(w);
		return false;
	}
	provisioning_check_settle(c, w);
	wake_requests(c, w);
	return true;
}

bool provisioning_check_run(struct core *c)
{
	struct kueue *k = c->kueue;
	bool changed = k->checks_changed, all = provisioning_config_flush(c);
	size_t kept = 0;

	for (size_t i = 0; i < k->checking.len; i++) {
		struct workload *w = k->checking.items[i];
		if (!w)
			continue;
		/* One whose row cannot be written is not asked for, nor looked at for ever. */
		if (!workload_holds_quota(w) || w->evicted_at || (!w->exists && !w->dirty)) {
			w->checking = false;
			continue;
		}
		/* Its reservation is to be written first; one without config waits for a change. */
		bool waits = w->provisioning && !changed;
		if (!waits && w->exists && !w->edit && look(c, w) && !w->checking)
			continue;
		all = all && w->provisioning;
		k->checking.items[kept++] = w;
	}
	k->checking.len = kept;
	return all;
}
