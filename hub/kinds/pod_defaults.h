#ifndef KINDS_POD_DEFAULTS_H
#define KINDS_POD_DEFAULTS_H
/*
 * Defaults of pod specs that depend on other fields; the plain ones are `native` in
 * shared-pod.yaml. Semantics: pkg/apis/core/v1/defaults.go, held against a running kube-apiserver
 * (tests/system/api/test_contract_templates.py). Pure; any thread. Only for kinds that are
 * Kubernetes' own: kinds of CustomResourceDefinitions keep templates as their users wrote them.
 */
struct cJSON;

/* Of every pod spec, in a template or not: imagePullPolicy of containers and of image volumes by
 * their tags, emptyDir for a volume without a source, and both spellings of the service account. */
void pod_defaults_spec(struct cJSON *spec);
/* Of pods alone: requests from limits, the node's ports under hostNetwork, service links. */
void pod_defaults_pod(struct cJSON *spec);

#endif
