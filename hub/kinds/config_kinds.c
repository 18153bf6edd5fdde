/* Hooks of ConfigMap and Secret: keys, sizes, immutability (pkg/apis/core/validation). */
#include "base/base64.h"
#include "base/json.h"
#include "kinds/defaults.h"
#include "kinds/hooks.h"
#include "kinds/refuse.h"
#include "kube/names.h"

#define MAX_CONFIG_BYTES ((size_t)1 << 20) /* upstream's MaxSecretSize, for both kinds */

static bool is_config_key(const char *key)
{
	size_t n = strlen(key);

	if (n == 0 || n > NAMES_MAX_SUBDOMAIN || strcmp(key, ".") == 0 ||
	    strncmp(key, "..", 2) == 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!((key[i] >= 'a' && key[i] <= 'z') || (key[i] >= 'A' && key[i] <= 'Z') ||
		      (key[i] >= '0' && key[i] <= '9') || strchr("-_.", key[i])))
			return false;
	return true;
}

static size_t check_entries(const struct cJSON *entries, const char *path,
			    struct field_errors *errors)
{
	size_t total = 0;

	json_foreach (entries, e) {
		const char *value = json_value_str(e);
		total += value ? strlen(value) : 0;
		if (!is_config_key(json_key(e)))
			refuse_text(errors, FIELD_INVALID, json_key(e),
				    "a valid config key must consist of alphanumeric characters, "
				    "'-', '_' or '.'",
				    "%s[%.200s]", path, json_key(e));
	}
	return total;
}

/* Base64 text counts what it stands for. */
static void check_size(size_t bytes, const char *path, struct field_errors *errors)
{
	char detail[64];

	if (bytes <= MAX_CONFIG_BYTES)
		return;
	(void)snprintf(detail, sizeof(detail), "may not be more than %zu bytes", MAX_CONFIG_BYTES);
	refuse(errors, FIELD_TOO_LONG, NULL, detail, "%s", path);
}

static void check_immutable(const struct cJSON *old, const struct cJSON *object,
			    const char *const *fields, struct field_errors *errors)
{
	if (!json_bool(old, "immutable", false))
		return;
	if (!json_bool(object, "immutable", false))
		refuse(errors, FIELD_FORBIDDEN, NULL, "field is immutable when `immutable` is set",
		       "immutable");
	for (; *fields; fields++) {
		const struct cJSON *a = json_get(old, *fields), *b = json_get(object, *fields);
		if (a && b ? !json_equal(a, b) : a != b)
			refuse(errors, FIELD_FORBIDDEN, NULL,
			       "field is immutable when `immutable` is set", "%s", *fields);
	}
}

void config_map_validate(const struct kind *k, const struct cJSON *object,
			 const struct kind_write *w, struct field_errors *errors)
{
	static const char *const fields[] = {"data", "binaryData", NULL};
	const struct cJSON *data = json_get(object, "data");
	size_t total = check_entries(data, "data", errors);

	(void)k;
	total += check_entries(json_get(object, "binaryData"), "binaryData", errors) / 4 * 3;
	json_foreach (json_get(object, "binaryData"), e)
		if (json_get(data, json_key(e)))
			refuse_text(errors, FIELD_INVALID, json_key(e),
				    "duplicate of key present in data", "binaryData[%.200s]",
				    json_key(e));
	check_size(total, "", errors);
	if (w->old)
		check_immutable(w->old, object, fields, errors);
}

/* ---- Secret ---- */

/* stringData is a way to write data, and is never stored. */
void secret_default(const struct kind *k, struct cJSON *object, const struct kind_write *w)
{
	struct cJSON *plain = json_take(object, "stringData");
	struct cJSON *data = plain ? json_ensure_object(object, "data") : NULL;

	(void)k;
	(void)w;
	json_foreach (plain, e) {
		auto_buf text = BUF_INIT;
		base64_add(&text, span_of(json_value_str(e)));
		json_set(data, json_key(e), json_new_span(buf_span(&text)));
	}
	json_free(plain);
}

struct secret_type {
	const char *type, *keys[3];
};

static const struct secret_type secret_types[] = {
    {"kubernetes.io/dockercfg", {".dockercfg", NULL}},
    {"kubernetes.io/dockerconfigjson", {".dockerconfigjson", NULL}},
    {"kubernetes.io/tls", {"tls.crt", "tls.key", NULL}},
    {"kubernetes.io/ssh-auth", {"ssh-privatekey", NULL}},
};

/* Pull secrets hold JSON; what they hold is not repeated. */
static void check_secret_json(const struct cJSON *object, const char *key,
			      struct field_errors *errors)
{
	const char *value = json_str(json_get(object, "data"), key);
	auto_buf text = BUF_INIT;

	if (value && base64_read(span_of(value), &text) == 0 &&
	    json_check(buf_span(&text), NULL, NULL) < 0)
		refuse_text(errors, FIELD_INVALID, "<secret contents redacted>",
			    "must be a JSON document", "data[%s]", key);
}

/* Those of which one of several is enough, or which name somebody. */
static void check_secret_parts(const struct cJSON *object, const char *type,
			       struct field_errors *errors)
{
	static const char account[] = "kubernetes.io/service-account.name";
	const struct cJSON *data = json_get(object, "data");
	const char *name = json_str(json_path(object, "metadata", "annotations", NULL), account);

	if (strcmp(type, "kubernetes.io/service-account-token") == 0 && (!name || !name[0]))
		refuse(errors, FIELD_REQUIRED, NULL, "", "metadata.annotations[%s]", account);
	if (strcmp(type, "kubernetes.io/basic-auth") == 0 && !json_get(data, "username") &&
	    !json_get(data, "password")) {
		refuse(errors, FIELD_REQUIRED, NULL, "", "data[username]");
		refuse(errors, FIELD_REQUIRED, NULL, "", "data[password]");
	}
	if (strcmp(type, "kubernetes.io/dockercfg") == 0)
		check_secret_json(object, ".dockercfg", errors);
	if (strcmp(type, "kubernetes.io/dockerconfigjson") == 0)
		check_secret_json(object, ".dockerconfigjson", errors);
}

/* The key of an ssh secret says something; the values of others may be empty. */
static bool lacks(const struct cJSON *value, const char *type)
{
	const char *text = json_value_str(value);

	return !value || (strcmp(type, "kubernetes.io/ssh-auth") == 0 && (!text || !text[0]));
}

static void check_secret_type(const struct cJSON *object, struct field_errors *errors)
{
	const char *type = json_str(object, "type");

	if (type)
		check_secret_parts(object, type, errors);
	for (size_t i = 0; type && i < ARRAY_LEN(secret_types); i++) {
		if (strcmp(type, secret_types[i].type) != 0)
			continue;
		for (const char *const *key = secret_types[i].keys; *key; key++)
			if (lacks(json_path(object, "data", *key, NULL), type))
				refuse(errors, FIELD_REQUIRED, NULL, "", "data[%s]", *key);
	}
}

void secret_validate(const struct kind *k, const struct cJSON *object, const struct kind_write *w,
		     struct field_errors *errors)
{
	static const char *const fields[] = {"data", NULL};

	(void)k;
	check_size(check_entries(json_get(object, "data"), "data", errors) / 4 * 3, "data", errors);
	check_secret_type(object, errors);
	if (!w->old)
		return;
	refuse_change(errors, json_get(w->old, "type"), json_get(object, "type"), "type");
	check_immutable(w->old, object, fields, errors);
}
