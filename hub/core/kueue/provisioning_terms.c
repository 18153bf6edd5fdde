/*
 * How the request of an admission check is to be decided, and whether it is wanted at all
 * (provisioning_check.h).
 */
#include "core/kueue/provisioning_check.h"
#include "core/kueue/provisioning_config.h"

static bool is_live(const struct provisioning_request *r)
{
	if (r->kept)
		return true;
	vec_foreach (&r->tries, t)
		if ((*t)->phase < PROVISION_FAILED)
			return true;
	return r->tries.len == 0;
}

/* Whether the hub's object has nobody left who needs it. */
static bool is_stale(const struct provisioning_request *r, const struct workload *w)
{
	if (!w || (r->retired && is_live(r)))
		return true;
	if (w->checking)
		return false;
	if (w->provisioning)
		return !provisioning_check_of(w, r->name);
	return is_live(r);
}

static void delete_stale(struct core *c, struct provisioning_request *r)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_PROVISIONING_REQUEST);
	struct store_object o;

	if (registry_batch_full(c->batch) || registry_batch_room(c->batch) < REGISTRY_RESERVE) {
		request_due(c, r, c->now);
		return;
	}
	if (registry_get(c->batch, kind, span_of(r->ns), span_of(r->name), &o) == 0 &&
	    memcmp(o.uid, r->uid, STORE_UID_LEN) == 0)
		core_delete(c, kind, span_of(r->ns), span_of(r->name));
}

bool provisioning_check_terms(struct core *c, struct provisioning_request *r,
			      struct provisioning_terms *ret)
{
	struct provisioning_config config;

	*ret = (struct provisioning_terms){
	    .options = provision_options_default(), .attempt = 1, .leads = true, .lead = r};
	ret->options.parallel = c->settings.provision_parallel;
	ret->options.patience_us = c->settings.provision_patience;
	ret->options.discovery_us = c->settings.provision_discovery;
	if (!r->workload)
		return true;
	struct workload *w = workload_find(c, span_of(r->ns), span_of(r->workload));
	if (is_stale(r, w)) {
		delete_stale(c, r);
		return false;
	}
	const struct provisioning_check *p = provisioning_check_of(w, r->name);
	if (!p || !workload_holds_quota(w) || w->evicted_at)
		return false;
	if (provisioning_config_read(c, p->check, &config, NULL) == 0)
		ret->options = config.options;
	provisioning_config_done(&config);
	ret->workload = w;
	ret->job = w->job;
	ret->attempt = p->attempt;
	ret->leads = p == w->provisioning;
	ret->lead = ret->leads ? r : request_find(c, w->ns, span_of(w->provisioning->request));
	ret->admitted = w->admitted_at != 0;
	return true;
}
