#include "kinds/container_rules.h"

#include "base/map.h"
#include "kinds/container_env.h"
#include "kinds/container_mounts.h"
#include "kinds/container_probes.h"
#include "kinds/container_resources.h"
#include "kinds/pod_security.h"

static bool is(const char *s, const char *what)
{
	return s && strcmp(s, what) == 0;
}

/* ---- ports ---- */

static void check_ports(const struct cJSON *container, const struct at *at,
			struct field_errors *errors)
{
	struct map names = {0};
	size_t i = 0;

	json_foreach (json_get(container, "ports"), p) {
		const struct at *here = AT_INDEX(AT_FIELD(at, "ports"), i++);
		const char *name = json_str(p, "name");
		if (name && name[0] &&
		    container_probes_check_port_name(name, AT_FIELD(here, "name"), errors) &&
		    map_put(&names, span_of(name), &names))
			refuse_text_at(errors, FIELD_DUPLICATE, name, "", AT_FIELD(here, "name"));
	}
	map_done(&names);
}

/* Ports of the node that two would take. */
static void check_host_ports(const struct cJSON *container, struct map *taken, const struct at *at,
			     struct field_errors *errors)
{
	size_t i = 0;

	json_foreach (json_get(container, "ports"), p) {
		const struct at *here = AT_INDEX(AT_FIELD(at, "ports"), i++);
		const char *protocol = json_str(p, "protocol"), *ip = json_str(p, "hostIP");
		char text[160];
		int64_t port = 0;
		if (json_int64(p, "hostPort", &port) < 0 || port == 0)
			continue;
		(void)snprintf(text, sizeof(text), "%s/%.100s/%lld", protocol ? protocol : "",
			       ip ? ip : "", (long long)port);
		if (map_put(taken, span_of(text), taken))
			refuse_text_at(errors, FIELD_DUPLICATE, text, "",
				       AT_FIELD(here, "hostPort"));
	}
}

/* ---- what a change of resources does ---- */

static void check_resize(const struct cJSON *container, const struct cJSON *pod,
			 const struct at *at, struct field_errors *errors)
{
	static const char *const resources[] = {"cpu", "memory", NULL};
	static const char *const policies[] = {"NotRequired", "RestartContainer", NULL};
	bool never = is(json_str(pod, "restartPolicy"), "Never");
	struct map seen = {0};
	size_t i = 0;

	json_foreach (json_get(container, "resizePolicy"), p) {
		const char *name = json_str(p, "resourceName"),
			   *policy = json_str(p, "restartPolicy");
		if (name && map_put(&seen, span_of(name), &seen))
			refuse_text_at(errors, FIELD_DUPLICATE, name, "", AT_INDEX(at, i));
		i++;
		if (!name)
			refuse_at(errors, FIELD_REQUIRED, NULL, "", at);
		else if (!is(name, resources[0]) && !is(name, resources[1]))
			refuse_unsupported(errors, name, resources, at);
		if (!policy)
			refuse_at(errors, FIELD_REQUIRED, NULL, "", at);
		else if (!is(policy, policies[0]) && !is(policy, policies[1]))
			refuse_unsupported(errors, policy, policies, at);
		if (never && !is(policy, policies[0]))
			refuse_text_at(errors, FIELD_INVALID, policy ? policy : "",
				       "must be 'NotRequired' when pod `restartPolicy` is 'Never'",
				       at);
	}
	map_done(&seen);
}

/* ---- restarts by exit code ---- */

static void check_restart_rules(const struct cJSON *container, const struct at *at,
				struct field_errors *errors)
{
	static const char *const actions[] = {"Restart", "RestartAllContainers", NULL};
	static const char *const operators[] = {"In", "NotIn", NULL};
	const struct cJSON *rules = json_get(container, "restartPolicyRules");
	size_t i = 0;

	if (json_first(rules) && !json_str(container, "restartPolicy"))
		refuse_at(errors, FIELD_REQUIRED, NULL,
			  "must specify restartPolicy when restart rules are used",
			  AT_FIELD(at, "restartPolicy"));
	json_foreach (rules, rule) {
		const struct at *here = AT_INDEX(AT_FIELD(at, "restartPolicyRules"), i++);
		const struct cJSON *codes = json_get(rule, "exitCodes");
		const char *action = json_str(rule, "action"), *op = json_str(codes, "operator");
		if (!is(action, actions[0]) && !is(action, actions[1]))
			refuse_unsupported(errors, action ? action : "", actions,
					   AT_FIELD(here, "action"));
		if (!codes)
			refuse_at(errors, FIELD_REQUIRED, NULL, "must be specified",
				  AT_FIELD(here, "exitCodes"));
		else if (!is(op, operators[0]) && !is(op, operators[1]))
			refuse_unsupported(errors, op ? op : "", operators,
					   AT_FIELD(AT_FIELD(here, "exitCodes"), "operator"));
	}
}

/* ---- */

/* Of containers of both lists. */
static void check_common(const struct cJSON *container, const struct cJSON *pod,
			 const struct at *spec, const struct at *at, struct field_errors *errors)
{
	const char *image = json_str(container, "image");

	if (!image || !image[0])
		refuse_at(errors, FIELD_REQUIRED, NULL, "", AT_FIELD(at, "image"));
	check_ports(container, at, errors);
	container_env_check(container, at, errors);
	container_mounts_check(container, pod, spec, at, errors);
	container_resources_check(json_get(container, "resources"), pod, AT_FIELD(at, "resources"),
				  errors);
	check_resize(container, pod, AT_FIELD(at, "resizePolicy"), errors);
	pod_security_check_container(json_get(container, "securityContext"), pod,
				     AT_FIELD(at, "securityContext"), errors);
	check_restart_rules(container, at, errors);
}

static void check_name(const struct cJSON *container, struct map *names, const struct at *at,
		       struct field_errors *errors)
{
	const char *name = json_str(container, "name");

	if (name && map_put(names, span_of(name), names))
		refuse_text_at(errors, FIELD_DUPLICATE, name, "", AT_FIELD(at, "name"));
}

/* Init containers run one after another; only those that keep running can be probed. */
static void check_init(const struct cJSON *container, const struct cJSON *pod, const struct at *at,
		       struct field_errors *errors)
{
	struct map taken = {0};
	size_t i = 0;

	check_host_ports(container, &taken, at, errors);
	map_done(&taken);
	if (is(json_str(container, "restartPolicy"), "Always")) {
		container_probes_check(container, pod, at, errors);
		return;
	}
	container_probes_forbid(container, at, errors);
	json_foreach (json_get(container, "resizePolicy"), p) {
		const struct at *here = AT_INDEX(AT_FIELD(at, "resizePolicy"), i++);
		if (is(json_str(p, "restartPolicy"), "RestartContainer"))
			refuse_text_at(errors, FIELD_INVALID, "RestartContainer",
				       "must not be set to 'RestartContainer' for non-sidecar "
				       "initContainers",
				       AT_FIELD(here, "restartPolicy"));
	}
}

void container_rules_check(const struct cJSON *pod, const struct at *at,
			   struct field_errors *errors)
{
	struct map names = {0}, taken = {0};
	size_t i = 0;

	if (!json_first(json_get(pod, "containers")))
		refuse_at(errors, FIELD_REQUIRED, NULL, "", AT_FIELD(at, "containers"));
	json_foreach (json_get(pod, "containers"), c) {
		const struct at *here = AT_INDEX(AT_FIELD(at, "containers"), i++);
		check_common(c, pod, at, here, errors);
		check_name(c, &names, here, errors);
		container_probes_check(c, pod, here, errors);
		check_host_ports(c, &taken, here, errors);
	}
	i = 0;
	json_foreach (json_get(pod, "initContainers"), c) {
		const struct at *here = AT_INDEX(AT_FIELD(at, "initContainers"), i++);
		check_common(c, pod, at, here, errors);
		check_name(c, &names, here, errors);
		check_init(c, pod, here, errors);
	}
	map_done(&names);
	map_done(&taken);
}
