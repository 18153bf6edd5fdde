#include "kinds/pod_volume_rules.h"

#include "base/map.h"
#include "kinds/container_env.h"
#include "kinds/container_mounts.h"
#include "kinds/label_selector_rules.h"
#include "kinds/volume_claim.h"
#include "kube/names.h"
#include "kube/quantity.h"

#define MAX_DRIVER    63
#define MAX_MODE      0777
#define MAX_LIFE      ((int64_t)1 << 32) /* seconds of a token */
#define MIN_LIFE      600
#define MIN_CERT_LIFE 3600

static bool empty(const char *s)
{
	return !s || !s[0];
}

static void need(const struct cJSON *object, const char *field, const struct at *at,
		 struct field_errors *errors)
{
	if (empty(json_str(object, field)))
		refuse_at(errors, FIELD_REQUIRED, NULL, "", AT_FIELD(at, field));
}

/* ---- keys and fields as files ---- */

static void check_items(const struct cJSON *of, const struct at *at, struct field_errors *errors)
{
	size_t i = 0;

	json_foreach (json_get(of, "items"), item) {
		const struct at *here = AT_INDEX(AT_FIELD(at, "items"), i++);
		const char *path = json_str(item, "path");
		if (path)
			container_mounts_check_file(path, AT_FIELD(here, "path"), errors);
	}
}

/* What is wrong with a file of the downward API is said of its source. */
static void check_downward(const struct cJSON *of, const struct at *at, struct field_errors *errors)
{
	static const char *const fields[] = {"metadata.annotations", "metadata.labels",
					     "metadata.name",	     "metadata.namespace",
					     "metadata.uid",	     NULL};

	json_foreach (json_get(of, "items"), file) {
		const struct cJSON *field = json_get(file, "fieldRef");
		const struct cJSON *resource = json_get(file, "resourceFieldRef");
		const char *path = json_str(file, "path");
		int64_t mode = 0;
		(void)json_int64(file, "mode", &mode);
		if (mode < 0 || mode > MAX_MODE)
			refuse_at(errors, FIELD_INVALID, json_get(file, "mode"),
				  "must be a number between 0 and 0777 (octal), both inclusive",
				  AT_FIELD(at, "mode"));
		if (empty(path))
			refuse_at(errors, FIELD_REQUIRED, NULL, "", AT_FIELD(at, "path"));
		else
			container_mounts_check_file(path, AT_FIELD(at, "path"), errors);
		if (field)
			container_env_check_field(field, fields, AT_FIELD(at, "fieldRef"), errors);
		if (field && resource)
			refuse_text_at(errors, FIELD_INVALID, "resource",
				       "fieldRef and resourceFieldRef can not be specified "
				       "simultaneously",
				       at);
		else if (resource)
			container_env_check_resource(resource, true,
						     AT_FIELD(at, "resourceFieldRef"), errors);
		else if (!field)
			refuse_at(errors, FIELD_REQUIRED, NULL,
				  "one of fieldRef and resourceFieldRef is required", at);
	}
}

/* ---- projected ---- */

static void note_path(struct map *paths, const char *path, const struct at *projected,
		      struct field_errors *errors)
{
	if (!empty(path) && map_put(paths, span_of(path), paths))
		refuse_text_at(errors, FIELD_INVALID, path, "conflicting duplicate paths",
			       projected);
}

static void note_items(struct map *paths, const struct cJSON *of, const struct at *projected,
		       struct field_errors *errors)
{
	json_foreach (json_get(of, "items"), item)
		note_path(paths, json_str(item, "path"), projected, errors);
}

/* The schema says how short its life may be. */
static void check_token(const struct cJSON *token, const struct at *projected, const struct at *at,
			struct field_errors *errors)
{
	const char *path = json_str(token, "path");
	int64_t life = MIN_LIFE;

	(void)json_int64(token, "expirationSeconds", &life);
	if (life > MAX_LIFE)
		refuse_at(errors, FIELD_INVALID, json_get(token, "expirationSeconds"),
			  "may not specify a duration larger than 2^32 seconds",
			  AT_FIELD(at, "expirationSeconds"));
	if (empty(path))
		refuse_at(errors, FIELD_REQUIRED, NULL, "", AT_FIELD(projected, "path"));
	else
		container_mounts_check_file(path, AT_FIELD(projected, "path"), errors);
}

static void check_bundle(const struct cJSON *bundle, const struct at *at,
			 struct field_errors *errors)
{
	const struct cJSON *selector = json_get(bundle, "labelSelector");
	bool by_name = json_get(bundle, "name"), by_signer = json_get(bundle, "signerName");
	char path[REFUSE_PATH_MAX];

	if (by_name && by_signer)
		refuse_at(errors, FIELD_INVALID, bundle,
			  "only one of name and signerName may be used", at);
	else if (!by_name && !by_signer)
		refuse_at(errors, FIELD_REQUIRED, NULL,
			  "either name or signerName must be specified", at);
	else if (by_name && selector)
		refuse_at(errors, FIELD_INVALID, selector,
			  "labelSelector must be unset if name is specified",
			  AT_FIELD(at, "labelSelector"));
	if (!by_name && selector)
		label_selector_rules_check_core(
		    selector, at_text(AT_FIELD(at, "labelSelector"), path), errors);
	if (!empty(json_str(bundle, "path")))
		container_mounts_check_file(json_str(bundle, "path"), AT_FIELD(at, "path"), errors);
}

static const char *const certificate_paths[] = {"credentialBundlePath", "keyPath",
						"certificateChainPath"};

static void check_certificate(const struct cJSON *certificate, const struct at *at,
			      struct field_errors *errors)
{
	static const char *const keys[] = {"RSA3072",	"RSA4096", "ECDSAP256", "ECDSAP384",
					   "ECDSAP521", "ED25519", NULL};
	const char *type = json_str(certificate, "keyType");
	int64_t life = MIN_CERT_LIFE;
	size_t n = 0;

	for (n = 0; keys[n] && (!type || strcmp(type, keys[n]) != 0); n++)
		;
	if (!keys[n])
		refuse_unsupported(errors, type ? type : "", keys, AT_FIELD(at, "keyType"));
	(void)json_int64(certificate, "maxExpirationSeconds", &life);
	if (life < MIN_CERT_LIFE)
		refuse_at(errors, FIELD_INVALID, json_get(certificate, "maxExpirationSeconds"),
			  "if provided, maxExpirationSeconds must be >= 3600",
			  AT_FIELD(at, "maxExpirationSeconds"));
	n = 0;
	for (size_t i = 0; i < ARRAY_LEN(certificate_paths); i++) {
		const char *path = json_str(certificate, certificate_paths[i]);
		if (empty(path))
			continue;
		n++;
		container_mounts_check_file(path, AT_FIELD(at, certificate_paths[i]), errors);
	}
	if (n == 0)
		refuse_at(errors, FIELD_REQUIRED, NULL,
			  "specify at least one of credentialBundlePath, keyPath, and "
			  "certificateChainPath",
			  at);
}

static void check_projection(const struct cJSON *source, struct map *paths,
			     const struct at *projected, const struct at *at,
			     struct field_errors *errors)
{
	static const char *const named[] = {"secret", "configMap"};
	const struct cJSON *downward = json_get(source, "downwardAPI");
	const struct cJSON *token = json_get(source, "serviceAccountToken");
	const struct cJSON *bundle = json_get(source, "clusterTrustBundle");
	const struct cJSON *certificate = json_get(source, "podCertificate");

	for (size_t i = 0; i < ARRAY_LEN(named); i++) {
		const struct cJSON *of = json_get(source, named[i]);
		if (!of)
			continue;
		need(of, "name", AT_FIELD(at, named[i]), errors);
		check_items(of, AT_FIELD(at, named[i]), errors);
		note_items(paths, of, projected, errors);
	}
	check_downward(downward, AT_FIELD(at, "downwardAPI"), errors);
	note_items(paths, downward, projected, errors);
	if (token)
		check_token(token, projected, AT_FIELD(at, "serviceAccountToken"), errors);
	if (bundle)
		check_bundle(bundle, AT_FIELD(at, "clusterTrustBundle"), errors);
	note_path(paths, json_str(bundle, "path"), projected, errors);
	if (certificate)
		check_certificate(certificate, AT_FIELD(at, "podCertificate"), errors);
	for (size_t i = 0; i < ARRAY_LEN(certificate_paths); i++)
		note_path(paths, json_str(certificate, certificate_paths[i]), projected, errors);
	if (json_len(source) > 1)
		refuse_at(errors, FIELD_FORBIDDEN, NULL,
			  "may not specify more than 1 volume type per source", at);
}

static void check_projected(const struct cJSON *projected, const struct at *at,
			    struct field_errors *errors)
{
	struct map paths = {0};
	size_t i = 0;

	json_foreach (json_get(projected, "sources"), source)
		check_projection(source, &paths, at, AT_INDEX(AT_FIELD(at, "sources"), i++),
				 errors);
	map_done(&paths);
}

/* ---- the other sources ---- */

static void check_empty_dir(const struct cJSON *dir, const struct at *at,
			    struct field_errors *errors)
{
	int64_t bytes = 0;

	if (quantity_from_node(json_get(dir, "sizeLimit"), QUANTITY_NEGATIVE, &bytes) == 0 &&
	    bytes < 0)
		refuse_at(errors, FIELD_FORBIDDEN, NULL,
			  "SizeLimit field must be a valid resource "
			  "quantity",
			  AT_FIELD(at, "sizeLimit"));
}

static void check_secret(const struct cJSON *secret, const struct at *at,
			 struct field_errors *errors)
{
	need(secret, "secretName", at, errors);
	check_items(secret, at, errors);
}

static void check_config_map(const struct cJSON *config, const struct at *at,
			     struct field_errors *errors)
{
	need(config, "name", at, errors);
	check_items(config, at, errors);
}

/* A path that is missing is not absolute either. */
static void check_nfs(const struct cJSON *nfs, const struct at *at, struct field_errors *errors)
{
	const char *path = json_str(nfs, "path");

	if (empty(path) || path[0] != '/')
		refuse_text_at(errors, FIELD_INVALID, path ? path : "", "must be an absolute path",
			       AT_FIELD(at, "path"));
}

static void check_host_path(const struct cJSON *host, const struct at *at,
			    struct field_errors *errors)
{
	const char *path = json_str(host, "path");

	if (!empty(path) && path[0] == '/')
		path++;
	if (!empty(path) && path[0] != '/')
		container_mounts_check_path(path, AT_FIELD(at, "path"), errors);
}

static void check_csi(const struct cJSON *csi, const struct at *at, struct field_errors *errors)
{
	const struct cJSON *secret = json_get(csi, "nodePublishSecretRef");
	const char *driver = json_str(csi, "driver"), *name = json_str(secret, "name");
	char lower[NAMES_MAX_SUBDOMAIN + 2];

	if (!empty(driver)) { /* letters of either case */
		(void)snprintf(lower, sizeof(lower), "%s", driver);
		for (char *c = lower; *c; c++)
			if (*c >= 'A' && *c <= 'Z')
				*c = (char)(*c - 'A' + 'a');
		if (strlen(driver) > MAX_DRIVER)
			refuse_at(errors, FIELD_TOO_LONG, NULL, "may not be more than 63 bytes",
				  AT_FIELD(at, "driver"));
		refuse_unfit(errors, lower, names_is_dns_subdomain, names_dns_subdomain_rule,
			     AT_FIELD(at, "driver"));
	}
	if (secret && empty(name))
		refuse_at(errors, FIELD_REQUIRED, NULL, "",
			  AT_FIELD(AT_FIELD(at, "nodePublishSecretRef"), "name"));
	else if (secret)
		refuse_unfit(errors, name, names_is_dns_subdomain, names_dns_subdomain_rule,
			     AT_FIELD(at, "name"));
}

static void check_ephemeral(const struct cJSON *ephemeral, const struct at *at,
			    struct field_errors *errors)
{
	const struct cJSON *claim = json_get(ephemeral, "volumeClaimTemplate");
	const struct at *here = AT_FIELD(at, "volumeClaimTemplate");

	if (claim)
		volume_claim_check_template(claim, here, errors);
	else
		refuse_at(errors, FIELD_REQUIRED, NULL, "", here);
}

/* In the order in which upstream looks: the first that is there is the volume's. */
static const struct {
	const char *name;
	void (*check)(const struct cJSON *source, const struct at *at, struct field_errors *errors);
} sources[] = {
    {"emptyDir", check_empty_dir},
    {"hostPath", check_host_path},
    {"gitRepo", NULL},
    {"gcePersistentDisk", NULL},
    {"awsElasticBlockStore", NULL},
    {"secret", check_secret},
    {"nfs", check_nfs},
    {"iscsi", NULL},
    {"glusterfs", NULL},
    {"flocker", NULL},
    {"persistentVolumeClaim", NULL},
    {"rbd", NULL},
    {"cinder", NULL},
    {"cephfs", NULL},
    {"quobyte", NULL},
    {"downwardAPI", check_downward},
    {"fc", NULL},
    {"flexVolume", NULL},
    {"configMap", check_config_map},
    {"azureFile", NULL},
    {"vsphereVolume", NULL},
    {"photonPersistentDisk", NULL},
    {"portworxVolume", NULL},
    {"azureDisk", NULL},
    {"storageos", NULL},
    {"projected", check_projected},
    {"scaleIO", NULL},
    {"csi", check_csi},
    {"ephemeral", check_ephemeral},
    {"image", NULL},
};

static void check_volume(const struct cJSON *volume, const struct at *at,
			 struct field_errors *errors)
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
		const struct cJSON *source = json_get(volume, sources[i].name);
		if (!source)
			continue;
		if (n++ > 0)
			refuse_at(errors, FIELD_FORBIDDEN, NULL,
				  "may not specify more than 1 volume type",
				  AT_FIELD(at, sources[i].name));
		else if (sources[i].check)
			sources[i].check(source, AT_FIELD(at, sources[i].name), errors);
	}
}

void pod_volume_rules_check(const struct cJSON *pod, const struct at *at,
			    struct field_errors *errors)
{
	struct map names = {0};
	size_t i = 0;

	json_foreach (json_get(pod, "volumes"), v) {
		const struct at *here = AT_INDEX(AT_FIELD(at, "volumes"), i++);
		const char *name = json_str(v, "name");
		check_volume(v, here, errors);
		if (name && map_put(&names, span_of(name), &names))
			refuse_text_at(errors, FIELD_DUPLICATE, name, "", AT_FIELD(here, "name"));
	}
	map_done(&names);
}
