#include "core/kueue/provisioning_config.h"

#include "base/json.h"
#include "core/kueue/active_condition.h"
#include "core/kueue/admission_check.h"
#include "core/kueue/multikueue.h"

#include <errno.h>

bool provisioning_config_is_check(const struct core *c, const char *check)
{
	const struct admission_check *a = map_get_str(&c->kueue->checks, check);
	return a && a->controller && strcmp(a->controller, PROVISIONING_CONTROLLER) == 0;
}

static int config_name(struct core *c, const char *check, struct buf *out, struct err *reterr)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_ADMISSION_CHECK);
	struct span p, v;
	struct store_object o;

	if (registry_get(c->batch, kind, SPAN(""), span_of(check), &o) < 0 ||
	    json_text_path(o.json, &p, "spec", "parameters", NULL) < 0 ||
	    json_text_type(p) != JSON_OBJECT)
		return err_set(reterr, ERR_NOT_FOUND, "missing parameters reference");
	if (json_text_member(p, "kind", &v) < 0 ||
	    !span_is(json_text_plain(v), "ProvisioningRequestConfig") ||
	    json_text_member(p, "apiGroup", &v) < 0 ||
	    !span_is(json_text_plain(v), "kueue.x-k8s.io") || json_text_member(p, "name", &v) < 0 ||
	    json_text_string(v, out) < 0)
		return err_set(reterr, ERR_NOT_FOUND,
			       "wrong group or kind of the parameters reference");
	return 0;
}

static enum provisioning_merge merge_of(const char *policy)
{
	if (policy && strcmp(policy, "IdenticalPodTemplates") == 0)
		return PROVISIONING_MERGE_TEMPLATES;
	if (policy && strcmp(policy, "IdenticalWorkloadSchedulingRequirements") == 0)
		return PROVISIONING_MERGE_REQUIREMENTS;
	return PROVISIONING_MERGE_NONE;
}

static int64_t number(const struct cJSON *o, const char *key, int64_t otherwise)
{
	int64_t v;
	return json_int64(o, key, &v) == 0 && v >= 0 && v <= INT32_MAX ? v : otherwise;
}

static void read_retries(const struct core *c, const struct cJSON *s, struct provision_options *o)
{
	*o = provision_options_default();
	o->parallel = c->settings.provision_parallel;
	o->patience_us = c->settings.provision_patience;
	o->discovery_us = c->settings.provision_discovery;
	o->backoff_limit = (int32_t)number(s, "backoffLimitCount", o->backoff_limit);
	o->backoff_base_us =
	    number(s, "backoffBaseSeconds", o->backoff_base_us / USEC_PER_SEC) * USEC_PER_SEC;
	o->backoff_max_us =
	    number(s, "backoffMaxSeconds", o->backoff_max_us / USEC_PER_SEC) * USEC_PER_SEC;
}

int provisioning_config_read(struct core *c, const char *check, struct provisioning_config *ret,
			     struct err *reterr)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_PROVISIONING_REQUEST_CONFIG);
	auto_buf name = BUF_INIT;
	struct store_object o;

	*ret = (struct provisioning_config){0};
	int r = config_name(c, check, &name, reterr);
	if (r < 0)
		return r;
	r = registry_get(c->batch, kind, SPAN(""), buf_span(&name), &o);
	if (r == 0)
		r = object_tree(&o, &ret->tree, reterr);
	if (r < 0)
		return err_set(reterr, ERR_NOT_FOUND,
			       "ProvisioningRequestConfig.kueue.x-k8s.io \"%s\" not found",
			       name.ptr);
	const struct cJSON *spec = json_get(ret->tree, "spec");
	ret->class = json_str(spec, "provisioningClassName");
	ret->class = ret->class ? ret->class : "";
	ret->parameters = json_get(spec, "parameters");
	ret->managed = json_first(json_get(spec, "managedResources"))
			   ? json_get(spec, "managedResources")
			   : NULL;
	ret->node_selector = json_path(spec, "podSetUpdates", "nodeSelector", NULL);
	ret->merge = merge_of(json_str(spec, "podSetMergePolicy"));
	read_retries(c, json_get(spec, "retryStrategy"), &ret->options);
	return 0;
}

void provisioning_config_done(struct provisioning_config *p)
{
	json_free(p->tree);
	*p = (struct provisioning_config){0};
}

/* ---- the condition ---- */

void provisioning_config_changed(struct core *c)
{
	c->kueue->checks_changed = true;
}

/* Only checks whose controller the hub is. */
static void write_condition(struct core *c, const struct admission_check *a, struct span name)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_ADMISSION_CHECK);
	struct provisioning_config config;
	auto_buf message = BUF_INIT;
	struct err err = ERR_INIT;
	bool active;

	if (multikueue_is_check(c, name)) {
		const char *reason = multikueue_activity(c, a, &active, &message);
		active_condition_write(c, kind, name, active, reason, message.ptr);
		return;
	}
	auto_free char *check = xstrndup(name.ptr, name.len);
	if (!provisioning_config_is_check(c, check))
		return;
	active = provisioning_config_read(c, check, &config, &err) == 0;
	provisioning_config_done(&config);
	active_condition_write(c, kind, name, active, active ? "Active" : "BadParametersRef",
			       active ? "The admission check is active" : err.text);
}

bool provisioning_config_flush(struct core *c)
{
	if (!c->kueue->checks_changed)
		return true;
	map_foreach (&c->kueue->checks, e) {
		if (registry_batch_full(c->batch) || registry_batch_room(c->batch) < 2)
			return false;
		write_condition(c, e->value, span_make(e->key, e->key_len));
	}
	if (!multikueue_flush_clusters(c))
		return false;
	c->kueue->checks_changed = false;
	return true;
}
