#include "kinds/pod_rules.h"

#include "kinds/container_resources.h"
#include "kinds/container_rules.h"
#include "kinds/pod_placement.h"
#include "kinds/pod_security.h"
#include "kinds/pod_volume_rules.h"
#include "kinds/refuse.h"
#include "kube/meta.h"
#include "kube/names.h"

#include <arpa/inet.h>

#define MAX_NAMESERVERS 3
#define MAX_SEARCHES	32
#define MAX_SEARCH_TEXT 2048 /* with the spaces between them */
#define MAX_HOSTNAME	64

static bool is(const char *s, const char *what)
{
	return s && strcmp(s, what) == 0;
}

/* ---- names ---- */

static const struct {
	const char *field;
	bool (*fits)(struct span s);
	const char *(*rule)(struct span s);
} named[] = {
    {"serviceAccountName", names_is_dns_subdomain, names_dns_subdomain_rule},
    {"nodeName", names_is_dns_subdomain, names_dns_subdomain_rule},
    {"hostname", names_is_dns_label, names_dns_label_rule},
    {"subdomain", names_is_dns_label, names_dns_label_rule},
    {"priorityClassName", names_is_dns_subdomain, names_dns_subdomain_rule},
    {"runtimeClassName", names_is_dns_subdomain, names_dns_subdomain_rule},
    {"hostnameOverride", names_is_dns_subdomain, names_dns_subdomain_rule},
};

static void check_names(const struct cJSON *spec, const struct at *at, struct field_errors *errors)
{
	const char *override = json_str(spec, "hostnameOverride");

	for (size_t i = 0; i < ARRAY_LEN(named); i++) {
		const char *name = json_str(spec, named[i].field);
		if (name)
			refuse_unfit(errors, name, named[i].fits, named[i].rule,
				     AT_FIELD(at, named[i].field));
	}
	if (!override)
		return;
	if (strlen(override) > MAX_HOSTNAME)
		refuse_at(errors, FIELD_TOO_LONG, NULL, "may not be more than 64 bytes",
			  AT_FIELD(at, "hostnameOverride"));
	if (json_bool(spec, "setHostnameAsFQDN", false) || json_bool(spec, "hostNetwork", false))
		refuse_at(errors, FIELD_FORBIDDEN, NULL,
			  "may not be specified when setHostnameAsFQDN or hostNetwork is true",
			  AT_FIELD(at, "hostnameOverride"));
}

/* ---- network ---- */

static void check_address(const char *text, const struct at *at, struct field_errors *errors)
{
	unsigned char address[16];

	if (!text ||
	    (inet_pton(AF_INET, text, address) != 1 && inet_pton(AF_INET6, text, address) != 1))
		refuse_text_at(errors, FIELD_INVALID, text ? text : "",
			       "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)", at);
}

static void check_aliases(const struct cJSON *aliases, const struct at *at,
			  struct field_errors *errors)
{
	size_t i = 0;

	json_foreach (aliases, alias) {
		const struct at *here = AT_INDEX(at, i++);
		size_t k = 0;
		check_address(json_str(alias, "ip"), AT_FIELD(here, "ip"), errors);
		json_foreach (json_get(alias, "hostnames"), name)
			refuse_unfit(errors, json_value_str(name), names_is_dns_subdomain,
				     names_dns_subdomain_rule,
				     AT_INDEX(AT_FIELD(here, "hostnames"), k++));
	}
}

/* As a subdomain, where '_' counts as a letter; one dot may end it, or be all of it. */
static void check_search(const char *search, const struct at *at, struct field_errors *errors)
{
	char text[NAMES_MAX_SUBDOMAIN + 2];
	size_t n = strlen(search);

	if (strcmp(search, ".") == 0)
		return;
	n -= n && search[n - 1] == '.';
	n = n < sizeof(text) ? n : sizeof(text) - 1;
	for (size_t i = 0; i < n; i++)
		text[i] = search[i] == '_' ? 'x' : search[i];
	text[n] = '\0';
	if (!names_is_dns_subdomain(span_of(text)))
		refuse_text_at(errors, FIELD_INVALID, search,
			       names_dns_subdomain_rule(span_of(text)), at);
}

static void check_searches(const struct cJSON *searches, const struct at *at,
			   struct field_errors *errors)
{
	size_t n = 0, total = 0;

	json_foreach (searches, s) {
		const char *search = json_value_str(s);
		total += strlen(search) + (n > 0);
		check_search(search, AT_INDEX(at, n++), errors);
	}
	if (n > MAX_SEARCHES)
		refuse_at(errors, FIELD_INVALID, searches,
			  "must not have more than 32 search paths", at);
	if (total > MAX_SEARCH_TEXT)
		refuse_at(errors, FIELD_INVALID, searches,
			  "must not have more than 2048 characters (including spaces) in the "
			  "search list",
			  at);
}

static void check_dns(const struct cJSON *spec, const struct at *at, struct field_errors *errors)
{
	const struct cJSON *config = json_get(spec, "dnsConfig");
	const struct cJSON *servers = json_get(config, "nameservers");
	size_t i = 0;

	if (is(json_str(spec, "dnsPolicy"), "None") && !json_first(servers)) {
		refuse_at(errors, FIELD_REQUIRED, NULL,
			  "must provide at least one DNS nameserver when `dnsPolicy` is None",
			  config ? AT_FIELD(at, "nameservers") : at);
		return;
	}
	if (json_len(servers) > MAX_NAMESERVERS)
		refuse_at(errors, FIELD_INVALID, servers, "must not have more than 3 nameservers",
			  AT_FIELD(at, "nameservers"));
	json_foreach (servers, s)
		check_address(json_value_str(s), AT_INDEX(AT_FIELD(at, "nameservers"), i++),
			      errors);
	check_searches(json_get(config, "searches"), AT_FIELD(at, "searches"), errors);
	i = 0;
	json_foreach (json_get(config, "options"), o) {
		if (!json_str(o, "name") || !json_str(o, "name")[0])
			refuse_at(errors, FIELD_REQUIRED, NULL, "must not be empty",
				  AT_INDEX(AT_FIELD(at, "options"), i));
		i++;
	}
}

/* On the node's network a container has the node's port. */
static void check_host_network(const struct cJSON *spec, const struct at *at,
			       struct field_errors *errors)
{
	size_t i = 0;

	json_foreach (json_bool(spec, "hostNetwork", false) ? json_get(spec, "containers") : NULL,
		      c) {
		const struct at *here =
		    AT_FIELD(AT_INDEX(AT_FIELD(at, "containers"), i++), "ports");
		size_t k = 0;
		json_foreach (json_get(c, "ports"), p) {
			const struct cJSON *host = json_get(p, "hostPort");
			if (host && !json_equal(host, json_get(p, "containerPort")))
				refuse_at(errors, FIELD_INVALID, host,
					  "must match `containerPort` when `hostNetwork` is true",
					  AT_FIELD(AT_INDEX(here, k), "hostPort"));
			k++;
		}
	}
}

/* ---- gates, claims, systems ---- */

static void check_gates(const struct cJSON *spec, const struct at *at, struct field_errors *errors)
{
	const struct cJSON *gates = json_get(spec, "schedulingGates");
	size_t i = 0;

	json_foreach (json_get(spec, "readinessGates"), g) {
		const char *type = json_str(g, "conditionType");
		const struct at *here = AT_INDEX(AT_FIELD(at, "readinessGates"), i++);
		refuse_unfit(errors, type ? type : "", names_is_qualified, names_qualified_rule,
			     AT_FIELD(here, "conditionType"));
	}
	i = 0;
	json_foreach (gates, g) {
		const struct at *here = AT_INDEX(AT_FIELD(at, "schedulingGates"), i++);
		const char *name = json_str(g, "name") ? json_str(g, "name") : "";
		refuse_unfit(errors, name, names_is_qualified, names_qualified_rule, here);
		for (const struct cJSON *c = json_first(gates); c != g; c = json_next(c))
			if (is(json_str(c, "name"), name)) {
				refuse_text_at(errors, FIELD_DUPLICATE, name, "", here);
				break;
			}
	}
}

static void check_claims(const struct cJSON *claims, const struct at *at,
			 struct field_errors *errors)
{
	static const char *const sources[] = {"resourceClaimName", "resourceClaimTemplateName"};
	size_t i = 0;

	json_foreach (claims, claim) {
		const struct at *here = AT_INDEX(at, i++);
		const char *name = json_str(claim, "name");
		size_t n = 0;
		for (const struct cJSON *c = json_first(claims); name && c != claim;
		     c = json_next(c))
			if (is(json_str(c, "name"), name)) {
				refuse_text_at(errors, FIELD_DUPLICATE, name, "",
					       AT_FIELD(here, "name"));
				break;
			}
		if (name)
			refuse_unfit(errors, name, names_is_dns_label, names_dns_label_rule,
				     AT_FIELD(here, "name"));
		for (size_t k = 0; k < ARRAY_LEN(sources); k++) {
			const char *of = json_str(claim, sources[k]);
			n += of != NULL;
			if (of)
				refuse_unfit(errors, of, names_is_dns_subdomain,
					     names_dns_subdomain_rule, AT_FIELD(here, sources[k]));
		}
		if (n != 1)
			refuse_at(errors, FIELD_INVALID, claim,
				  n ? "at most one of `resourceClaimName` or "
				      "`resourceClaimTemplateName` may be specified"
				    : "must specify one of: `resourceClaimName`, "
				      "`resourceClaimTemplateName`",
				  here);
	}
}

static void check_deadline(const struct cJSON *spec, const struct at *at,
			   struct field_errors *errors)
{
	const struct cJSON *deadline = json_get(spec, "activeDeadlineSeconds");
	int64_t v = 0;

	if (json_value_int64(deadline, &v) == 0 && v > INT32_MAX)
		refuse_at(errors, FIELD_INVALID, deadline,
			  "must be between 1 and 2147483647, inclusive",
			  AT_FIELD(at, "activeDeadlineSeconds"));
}

/* Users of its own go with no other namespace of the node. */
static void check_host_users(const struct cJSON *spec, const struct at *at,
			     struct field_errors *errors)
{
	static const char words[] = "when `hostUsers` is false";

	if (json_bool(spec, "hostUsers", true))
		return;
	if (json_bool(spec, "hostNetwork", false))
		refuse_at(errors, FIELD_FORBIDDEN, NULL, words, AT_FIELD(at, "hostNetwork"));
	if (json_bool(spec, "hostPID", false))
		refuse_at(errors, FIELD_FORBIDDEN, NULL, words, AT_FIELD(at, "HostPID"));
	if (json_bool(spec, "hostIPC", false))
		refuse_at(errors, FIELD_FORBIDDEN, NULL, words, AT_FIELD(at, "HostIPC"));
}

/* What it may preempt, and the system it is for. */
static void check_words(const struct cJSON *spec, const struct at *at, struct field_errors *errors)
{
	static const char *const policies[] = {"PreemptLowerPriority", "Never", NULL};
	static const char *const systems[] = {"linux", "windows", NULL};
	const char *policy = json_str(spec, "preemptionPolicy");
	const struct cJSON *os = json_get(spec, "os");
	const char *name = json_str(os, "name");

	if (policy && !policy[0])
		refuse_at(errors, FIELD_REQUIRED, NULL, "", AT_FIELD(at, "preemptionPolicy"));
	else if (policy && !is(policy, policies[0]) && !is(policy, policies[1]))
		refuse_unsupported(errors, policy, policies, AT_FIELD(at, "preemptionPolicy"));
	if (os && !name)
		refuse_at(errors, FIELD_REQUIRED, NULL, "", AT_FIELD(AT_FIELD(at, "os"), "name"));
	else if (os && !is(name, systems[0]) && !is(name, systems[1]))
		refuse_unsupported(errors, name, systems, AT_FIELD(at, "os"));
}

/* ---- */

static void check_map(const struct cJSON *map, const struct at *at,
		      void (*check)(const struct cJSON *map, const char *path,
				    struct field_errors *errors),
		      struct field_errors *errors)
{
	char path[REFUSE_PATH_MAX];

	if (json_first(map))
		check(map, at_text(at, path), errors);
}

static void check_spec(const struct cJSON *spec, const struct at *at, struct field_errors *errors)
{
	pod_volume_rules_check(spec, at, errors);
	check_claims(json_get(spec, "resourceClaims"), AT_FIELD(at, "resourceClaims"), errors);
	container_rules_check(spec, at, errors);
	container_resources_check_pod(spec, at, errors);
	check_host_network(spec, at, errors);
	check_map(json_get(spec, "nodeSelector"), AT_FIELD(at, "nodeSelector"),
		  meta_validate_labels, errors);
	pod_security_check(json_get(spec, "securityContext"), AT_FIELD(at, "securityContext"),
			   errors);
	check_dns(spec, AT_FIELD(at, "dnsConfig"), errors);
	check_gates(spec, at, errors);
	check_host_users(spec, at, errors);
	check_names(spec, at, errors);
	check_words(spec, at, errors);
	check_deadline(spec, at, errors);
	check_aliases(json_get(spec, "hostAliases"), AT_FIELD(at, "hostAliases"), errors);
	container_resources_check_overhead(json_get(spec, "overhead"), AT_FIELD(at, "overhead"),
					   errors);
	pod_placement_check(spec, at, errors);
}

void pod_rules_check_spec(const struct cJSON *spec, const char *path, struct field_errors *errors)
{
	check_spec(spec, AT_ROOT(path), errors);
}

void pod_rules_check_template(const struct cJSON *pod_template, const struct cJSON *old,
			      const char *path, struct field_errors *errors)
{
	const struct cJSON *meta = json_get(pod_template, "metadata");
	const struct cJSON *spec = json_get(pod_template, "spec");
	const struct at *at = AT_ROOT(path);

	if (old && json_equal(old, pod_template))
		return;
	/* without `.metadata`, as upstream names them */
	check_map(json_get(meta, "labels"), AT_FIELD(at, "labels"), meta_validate_labels, errors);
	check_map(json_get(meta, "annotations"), AT_FIELD(at, "annotations"),
		  meta_validate_annotations, errors);
	check_spec(spec, AT_FIELD(at, "spec"), errors);
	if (json_first(json_get(spec, "ephemeralContainers")))
		refuse_at(errors, FIELD_FORBIDDEN, NULL,
			  "ephemeral containers not allowed in pod template",
			  AT_FIELD(AT_FIELD(at, "spec"), "ephemeralContainers"));
}
