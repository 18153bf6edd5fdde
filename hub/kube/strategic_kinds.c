/*
 * Merge keys of the built-in types, as the patchStrategy and patchMergeKey tags of k8s.io/api have
 * them. Lists that are not here (tolerations, command, args, envFrom, rules) are atomic.
 */
#include "base/compat.h"
#include "kinds/types.h"
#include "kube/strategic.h"

#define TYPE(name, table) static const struct strategic_type name = {table, ARRAY_LEN(table)}
#define BY(key)		  .merge_key = (key), .flags = STRATEGIC_MERGE

static const struct strategic_field meta_fields[] = {
    {"finalizers", .flags = STRATEGIC_MERGE},
    {"ownerReferences", BY("uid")},
};
TYPE(meta, meta_fields);

static const struct strategic_field conditions_fields[] = {{"conditions", BY("type")}};
TYPE(conditions, conditions_fields);

static const struct strategic_field container_fields[] = {
    {"ports", BY("containerPort")},
    {"env", BY("name")},
    {"volumeMounts", BY("mountPath")},
    {"volumeDevices", BY("devicePath")},
};
TYPE(container, container_fields);

static const struct strategic_field pod_spec_fields[] = {
    {"containers", BY("name"), .type = &container},
    {"initContainers", BY("name"), .type = &container},
    {"ephemeralContainers", BY("name"), .type = &container},
    {"volumes", BY("name")},
    {"imagePullSecrets", BY("name")},
    {"hostAliases", BY("ip")},
    {"topologySpreadConstraints", BY("topologyKey")},
    {"schedulingGates", BY("name")},
    {"resourceClaims", BY("name")},
};
TYPE(pod_spec, pod_spec_fields);

static const struct strategic_field template_fields[] = {
    {"metadata", .type = &meta},
    {"spec", .type = &pod_spec},
};
TYPE(template, template_fields);

static const struct strategic_field pod_status_fields[] = {
    {"conditions", BY("type")},
    {"podIPs", BY("ip")},
    {"hostIPs", BY("ip")},
};
TYPE(pod_status, pod_status_fields);
static const struct strategic_field pod_fields[] = {
    {"metadata", .type = &meta},
    {"spec", .type = &pod_spec},
    {"status", .type = &pod_status},
};
TYPE(pod, pod_fields);

static const struct strategic_field pod_template_fields[] = {
    {"metadata", .type = &meta},
    {"template", .type = &template},
};
TYPE(pod_template, pod_template_fields);

static const struct strategic_field job_spec_fields[] = {{"template", .type = &template}};
TYPE(job_spec, job_spec_fields);
static const struct strategic_field job_fields[] = {
    {"metadata", .type = &meta},
    {"spec", .type = &job_spec},
    {"status", .type = &conditions},
};
TYPE(job, job_fields);

static const struct strategic_field node_spec_fields[] = {{"podCIDRs", .flags = STRATEGIC_MERGE}};
TYPE(node_spec, node_spec_fields);
static const struct strategic_field node_status_fields[] = {
    {"conditions", BY("type")},
    {"addresses", BY("type")},
};
TYPE(node_status, node_status_fields);
static const struct strategic_field node_fields[] = {
    {"metadata", .type = &meta},
    {"spec", .type = &node_spec},
    {"status", .type = &node_status},
};
TYPE(node, node_fields);

static const struct strategic_field service_spec_fields[] = {{"ports", BY("port")}};
TYPE(service_spec, service_spec_fields);
static const struct strategic_field service_fields[] = {
    {"metadata", .type = &meta},
    {"spec", .type = &service_spec},
    {"status", .type = &conditions},
};
TYPE(service, service_fields);

static const struct strategic_field service_account_fields[] = {
    {"metadata", .type = &meta},
    {"secrets", BY("name")},
    {"imagePullSecrets", BY("name")},
};
TYPE(service_account, service_account_fields);

static const struct strategic_field plain_fields[] = {
    {"metadata", .type = &meta},
    {"status", .type = &conditions},
};
TYPE(plain, plain_fields);

const struct strategic_type *strategic_type_of(const struct kind *k)
{
	static const struct {
		uint16_t type;
		const struct strategic_type *fields;
	} types[] = {
	    {TYPE_POD, &pod},	      {TYPE_POD_TEMPLATE, &pod_template},
	    {TYPE_JOB, &job},	      {TYPE_NODE, &node},
	    {TYPE_SERVICE, &service}, {TYPE_SERVICE_ACCOUNT, &service_account},
	};
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (types[i].type == k->type)
			return types[i].fields;
	return &plain;
}
