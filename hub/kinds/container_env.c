#include "kinds/container_env.h"

#include "kube/names.h"

static const char *const env_fields[] = {
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
    NULL,
};
/* Those that a pod has; which of them a place may use, it says itself. */
static const char *const pod_fields[] = {
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.host",
    "spec.serviceAccountName",
    "status.phase",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
    NULL,
};
static const char *const resources[] = {
    "limits.cpu",   "limits.ephemeral-storage", "limits.memory",
    "requests.cpu", "requests.memory",		"requests.ephemeral-storage",
    NULL,
};

static bool empty(const char *s)
{
	return !s || !s[0];
}

static bool is_in(const char *const *list, const char *s)
{
	for (; *list; list++)
		if (strcmp(*list, s) == 0)
			return true;
	return false;
}

/* ---- fields ---- */

/* metadata.labels['key']: what stands before the brackets, and in them. */
static bool split_subscript(const char *path, struct span *ret_field, struct span *ret_key)
{
	const char *open = strstr(path, "['");
	size_t n = strlen(path);

	if (!open || open == path || n < 4 || strcmp(path + n - 2, "']") != 0 ||
	    path + n - 2 < open + 2)
		return false;
	*ret_field = span_make(path, (size_t)(open - path));
	*ret_key = span_make(open + 2, (size_t)(path + n - 2 - (open + 2)));
	return true;
}

static void check_subscript(struct span field, struct span key, const char *path,
			    const struct at *at, struct field_errors *errors)
{
	bool annotation = span_is(field, "metadata.annotations");
	char lower[512];

	if (!annotation && !span_is(field, "metadata.labels")) {
		refuse_text_at(errors, FIELD_INVALID, path,
			       "error converting fieldPath: field label does not support subscript",
			       AT_FIELD(at, "fieldPath"));
		return;
	}
	(void)snprintf(lower, sizeof(lower), "%.*s", SPAN_ARGS(key));
	for (char *c = lower; annotation && *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
	refuse_unfit(errors, lower, names_is_qualified, names_qualified_rule, at);
}

void container_env_check_field(const struct cJSON *ref, const char *const *paths,
			       const struct at *at, struct field_errors *errors)
{
	const char *version = json_str(ref, "apiVersion"), *path = json_str(ref, "fieldPath");
	struct span field, key;

	if (empty(path))
		refuse_at(errors, FIELD_REQUIRED, NULL, "", AT_FIELD(at, "fieldPath"));
	else if (!empty(version) && strcmp(version, "v1") != 0)
		refuse_text_at(errors, FIELD_INVALID, path,
			       "error converting fieldPath: unsupported pod version",
			       AT_FIELD(at, "fieldPath"));
	else if (split_subscript(path, &field, &key))
		check_subscript(field, key, path, at, errors);
	else if (!is_in(pod_fields, path))
		refuse_text_at(errors, FIELD_INVALID, path,
			       "error converting fieldPath: field label not supported",
			       AT_FIELD(at, "fieldPath"));
	else if (!is_in(paths, strcmp(path, "spec.host") == 0 ? "spec.nodeName" : path))
		refuse_unsupported(errors, path, paths, AT_FIELD(at, "fieldPath"));
}

/* ---- resources ---- */

static bool is_one_of_units(const char *divisor)
{
	static const char *const units[] = {"1",   "1k",  "1M",	 "1G",	"1T",  "1P",  "1E",
					    "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei", NULL};
	return is_in(units, divisor);
}

static void check_divisor(const char *resource, const char *divisor, const struct at *at,
			  struct field_errors *errors)
{
	const char *kind = strchr(resource, '.');

	if (empty(divisor) || strcmp(divisor, "0") == 0 || !kind)
		return;
	if (strcmp(kind, ".cpu") == 0 ? strcmp(divisor, "1") != 0 && strcmp(divisor, "1m") != 0
				      : !is_one_of_units(divisor))
		refuse_text_at(errors, FIELD_INVALID, resource,
			       strcmp(kind, ".cpu") == 0
				   ? "only divisor's values 1m and 1 are supported with the cpu "
				     "resource"
				   : "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, "
				     "1Gi, 1Ti, 1Pi, 1Ei are supported with this resource",
			       AT_FIELD(at, "divisor"));
}

void container_env_check_resource(const struct cJSON *ref, bool of_volume, const struct at *at,
				  struct field_errors *errors)
{
	const char *resource = json_str(ref, "resource");
	bool known;

	if (of_volume && empty(json_str(ref, "containerName")))
		refuse_at(errors, FIELD_REQUIRED, NULL, "", AT_FIELD(at, "containerName"));
	else if (empty(resource))
		refuse_at(errors, FIELD_REQUIRED, NULL, "", AT_FIELD(at, "resource"));
	if (empty(resource))
		return;
	known = is_in(resources, resource) || strncmp(resource, "limits.hugepages-", 17) == 0 ||
		strncmp(resource, "requests.hugepages-", 19) == 0;
	if (!known && !(of_volume && empty(json_str(ref, "containerName"))))
		refuse_unsupported(errors, resource, resources, AT_FIELD(at, "resource"));
	if (known)
		check_divisor(resource, json_str(ref, "divisor"), at, errors);
}

/* ---- keys and names ---- */

bool container_env_check_key(const char *key, const struct at *at, struct field_errors *errors)
{
	size_t n = strlen(key);
	bool fits = n <= NAMES_MAX_SUBDOMAIN && strcmp(key, ".") != 0 && strncmp(key, "..", 2) != 0;

	for (size_t i = 0; fits && i < n; i++)
		fits = (key[i] >= 'a' && key[i] <= 'z') || (key[i] >= 'A' && key[i] <= 'Z') ||
		       (key[i] >= '0' && key[i] <= '9') || strchr("-_.", key[i]);
	if (!fits)
		refuse_text_at(errors, FIELD_INVALID, key,
			       "a valid config key must consist of alphanumeric characters, '-', "
			       "'_' or '.'",
			       at);
	return fits;
}

/* Of variables, and of what stands before them: anything that can be printed, but '='. */
static void check_variable(const char *name, const struct at *at, struct field_errors *errors)
{
	bool fits = true;

	for (const char *c = name; *c && fits; c++)
		fits = *c >= ' ' && *c <= '~' && *c != '=';
	if (!fits)
		refuse_text_at(errors, FIELD_INVALID, name,
			       "a valid environment variable name must consist only of printable "
			       "ASCII characters other than '='",
			       at);
}

static void check_key_ref(const struct cJSON *ref, const struct at *at, struct field_errors *errors)
{
	const char *name = json_str(ref, "name"), *key = json_str(ref, "key");

	refuse_unfit(errors, name ? name : "", names_is_dns_subdomain, names_dns_subdomain_rule,
		     AT_FIELD(at, "name"));
	if (!empty(key))
		(void)container_env_check_key(key, AT_FIELD(at, "key"), errors);
}

static void check_file_ref(const struct cJSON *ref, const struct at *at,
			   struct field_errors *errors)
{
	const char *key = json_str(ref, "key"), *volume = json_str(ref, "volumeName");

	if (!empty(key))
		check_variable(key, AT_FIELD(at, "key"), errors);
	if (!empty(volume))
		refuse_unfit(errors, volume, names_is_dns_label, names_dns_label_rule,
			     AT_FIELD(at, "volumeName"));
}

/* ---- variables ---- */

static void check_source(const struct cJSON *from, const struct at *at, struct field_errors *errors)
{
	const struct cJSON *field = json_get(from, "fieldRef");
	const struct cJSON *resource = json_get(from, "resourceFieldRef");
	const struct cJSON *file = json_get(from, "fileKeyRef");
	static const char *const keyed[] = {"configMapKeyRef", "secretKeyRef"};

	if (field)
		container_env_check_field(field, env_fields, AT_FIELD(at, "fieldRef"), errors);
	if (resource)
		container_env_check_resource(resource, false, AT_FIELD(at, "resourceFieldRef"),
					     errors);
	for (size_t i = 0; i < ARRAY_LEN(keyed); i++)
		if (json_get(from, keyed[i]))
			check_key_ref(json_get(from, keyed[i]), AT_FIELD(at, keyed[i]), errors);
	if (file)
		check_file_ref(file, AT_FIELD(at, "fileKeyRef"), errors);
}

static void check_env(const struct cJSON *variable, const struct at *at,
		      struct field_errors *errors)
{
	const char *name = json_str(variable, "name"), *wrong = NULL;
	const struct cJSON *from = json_get(variable, "valueFrom");

	if (!empty(name))
		check_variable(name, AT_FIELD(at, "name"), errors);
	if (!from)
		return;
	check_source(from, AT_FIELD(at, "valueFrom"), errors);
	if (json_len(from) == 0)
		wrong = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, "
			"`secretKeyRef` or `fileKeyRef`";
	else if (!empty(json_str(variable, "value")))
		wrong = "may not be specified when `value` is not empty";
	else if (json_len(from) > 1)
		wrong = "may not have more than one field specified at a time";
	if (wrong)
		refuse_text_at(errors, FIELD_INVALID, "", wrong, AT_FIELD(at, "valueFrom"));
}

/* What is wrong with the number of sources is said of the list. */
static void check_env_from(const struct cJSON *from, const struct at *list, size_t i,
			   struct field_errors *errors)
{
	static const char *const sources[] = {"configMapRef", "secretRef"};
	const struct at *at = AT_INDEX(list, i);
	const char *prefix = json_str(from, "prefix");
	size_t n = 0;

	if (!empty(prefix))
		check_variable(prefix, AT_FIELD(at, "prefix"), errors);
	for (size_t k = 0; k < ARRAY_LEN(sources); k++) {
		const struct cJSON *ref = json_get(from, sources[k]);
		const char *name = json_str(ref, "name");
		const struct at *at_ref = AT_FIELD(at, sources[k]);
		if (!ref)
			continue;
		n++;
		if (empty(name))
			refuse_at(errors, FIELD_REQUIRED, NULL, "", AT_FIELD(at_ref, "name"));
		else
			refuse_unfit(errors, name, names_is_dns_subdomain, names_dns_subdomain_rule,
				     AT_FIELD(at_ref, "name"));
	}
	if (n != 1)
		refuse_text_at(errors, FIELD_INVALID, "",
			       n ? "may not have more than one field specified at a time"
				 : "must specify one of: `configMapRef` or `secretRef`",
			       list);
}

void container_env_check(const struct cJSON *container, const struct at *at,
			 struct field_errors *errors)
{
	size_t i = 0;

	json_foreach (json_get(container, "env"), variable)
		check_env(variable, AT_INDEX(AT_FIELD(at, "env"), i++), errors);
	i = 0;
	json_foreach (json_get(container, "envFrom"), from)
		check_env_from(from, AT_FIELD(at, "envFrom"), i++, errors);
}
