#include "config.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/num.h"
#include "base/yaml.h"
#include "kube/quantity.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#define CONFIG_MAX_BYTES ((size_t)1 << 20)
#define CONFIG_MAX_COUNT 100000

enum setting_type {
	SETTING_TEXT,
	SETTING_BOOL,
	SETTING_DURATION,
	SETTING_BYTES,
	SETTING_INT,   /* 1 to 64 */
	SETTING_COUNT, /* 1 to CONFIG_MAX_COUNT */
	SETTING_LEVEL,
	SETTING_TEXTS
};

struct setting {
	const char *section, *key; /* section "" for the top level */
	enum setting_type type;
	size_t offset;
	bool reloadable;
};

static const struct setting settings[] = {
    {"", "dataDir", SETTING_TEXT, offsetof(struct config, data_dir), false},
    {"", "listen", SETTING_TEXT, offsetof(struct config, listen), false},
    {"", "kubeconfigOut", SETTING_TEXT, offsetof(struct config, kubeconfig_out), false},
    {"", "requirePolicy", SETTING_BOOL, offsetof(struct config, require_policy), false},
    {"tls", "names", SETTING_TEXTS, offsetof(struct config, names), false},
    {"starvation", "after", SETTING_DURATION, offsetof(struct config, starve_after), false},
    {"provisioning", "parallel", SETTING_INT, offsetof(struct config, provision_parallel), false},
    {"provisioning", "patience", SETTING_DURATION, offsetof(struct config, provision_patience),
     false},
    {"provisioning", "discovery", SETTING_DURATION, offsetof(struct config, provision_discovery),
     false},
    {"hotSwap", "enabled", SETTING_BOOL, offsetof(struct config, hot_swap), false},
    {"hotSwap", "notReadyAfter", SETTING_DURATION, offsetof(struct config, not_ready_for), false},
    {"members", "keepFinished", SETTING_DURATION, offsetof(struct config, keep_finished), true},
    {"members", "probeInterval", SETTING_DURATION, offsetof(struct config, probe_interval), false},
    {"store", "keyFile", SETTING_TEXT, offsetof(struct config, key_file), false},
    {"store", "mapSize", SETTING_BYTES, offsetof(struct config, map_bytes), false},
    {"store", "logMaxBytes", SETTING_BYTES, offsetof(struct config, log_max_bytes), false},
    {"store", "logMaxAge", SETTING_DURATION, offsetof(struct config, log_max_age), false},
    {"api", "workers", SETTING_INT, offsetof(struct config, workers), false},
    {"api", "seats", SETTING_COUNT, offsetof(struct config, seats), false},
    {"api", "maxWatches", SETTING_COUNT, offsetof(struct config, max_watches), false},
    {"api", "maxConnections", SETTING_COUNT, offsetof(struct config, max_connections), false},
    {"api", "queuePerUser", SETTING_COUNT, offsetof(struct config, queue_per_user), false},
    {"api", "queueBytesPerUser", SETTING_BYTES, offsetof(struct config, queue_bytes_per_user),
     false},
    {"api", "queueBytes", SETTING_BYTES, offsetof(struct config, queue_bytes), false},
    {"api", "serviceAccountKeyFiles", SETTING_TEXTS, offsetof(struct config, account_key_files),
     false},
    {"api", "serviceAccountIssuer", SETTING_TEXT, offsetof(struct config, account_issuer), false},
    {"audit", "policyFile", SETTING_TEXT, offsetof(struct config, audit_policy_file), false},
    {"audit", "logFile", SETTING_TEXT, offsetof(struct config, audit_log_file), false},
    {"oidc", "issuer", SETTING_TEXT, offsetof(struct config, oidc.issuer), false},
    {"oidc", "clientId", SETTING_TEXT, offsetof(struct config, oidc.client_id), false},
    {"oidc", "usernameClaim", SETTING_TEXT, offsetof(struct config, oidc.username_claim), false},
    {"oidc", "usernamePrefix", SETTING_TEXT, offsetof(struct config, oidc.username_prefix), false},
    {"oidc", "groupsClaim", SETTING_TEXT, offsetof(struct config, oidc.groups_claim), false},
    {"oidc", "groupsPrefix", SETTING_TEXT, offsetof(struct config, oidc.groups_prefix), false},
    {"oidc", "requiredClaims", SETTING_TEXTS, offsetof(struct config, oidc.required_claims), false},
    {"oidc", "jwksFile", SETTING_TEXT, offsetof(struct config, oidc.jwks_file), false},
    {"oidc", "jwksUrl", SETTING_TEXT, offsetof(struct config, oidc.jwks_url), false},
    {"oidc", "caFile", SETTING_TEXT, offsetof(struct config, oidc.ca_file), false},
    {"requestHeader", "clientCAFile", SETTING_TEXT,
     offsetof(struct config, request_header.client_ca_file), false},
    {"requestHeader", "allowedNames", SETTING_TEXTS,
     offsetof(struct config, request_header.allowed_names), false},
    {"requestHeader", "usernameHeaders", SETTING_TEXTS,
     offsetof(struct config, request_header.user_headers), false},
    {"requestHeader", "uidHeaders", SETTING_TEXTS,
     offsetof(struct config, request_header.uid_headers), false},
    {"requestHeader", "groupHeaders", SETTING_TEXTS,
     offsetof(struct config, request_header.group_headers), false},
    {"requestHeader", "extraHeadersPrefix", SETTING_TEXTS,
     offsetof(struct config, request_header.extra_prefixes), false},
    {"log", "level", SETTING_LEVEL, offsetof(struct config, log_level), true},
};

static const char *const level_names[] = {"debug", "info", "warn", "error"};

void config_init(struct config *c)
{
	*c = (struct config){
	    .data_dir = xstrdup("/var/lib/muster"),
	    .listen = xstrdup("127.0.0.1:6443"),
	    .keep_finished = 24 * 3600 * USEC_PER_SEC,
	    .starve_after = 30 * 60 * USEC_PER_SEC,
	    .provision_parallel = 1,
	    .provision_patience = 10 * 60 * USEC_PER_SEC,
	    .provision_discovery = 60 * USEC_PER_SEC,
	    .hot_swap = true,
	    .not_ready_for = 5 * USEC_PER_SEC,
	    .log_level = LOG_INFO,
	    .kueue = kueue_settings_default(),
	};
}

static void free_texts(char **texts)
{
	for (char **t = texts; t && *t; t++)
		free(*t);
	free(texts);
}

void config_done(struct config *c)
{
	for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
		void *at = (char *)c + settings[i].offset;
		if (settings[i].type == SETTING_TEXT)
			free(*(char **)at);
		else if (settings[i].type == SETTING_TEXTS)
			free_texts(*(char ***)at);
	}
	json_free(c->kueue_tree);
	arena_done(&c->kueue_mem);
	*c = (struct config){0};
}

int config_duration(const char *text, usec *ret)
{
	static const struct {
		char unit;
		int64_t seconds;
	} units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
	struct span digits = span_of(text);
	int64_t scale = 1, value;

	for (size_t i = 0; digits.len && i < ARRAY_LEN(units); i++) {
		if (digits.ptr[digits.len - 1] == units[i].unit) {
			scale = units[i].seconds;
			digits.len--;
			break;
		}
	}
	if (num_parse_i64(digits, 0, 100 * 365 * 86400LL, &value) < 0)
		return -EINVAL;
	*ret = num_mul_sat(num_mul_sat(value, scale), USEC_PER_SEC);
	return 0;
}

static int take_texts(const struct cJSON *v, char ***out)
{
	size_t n = 0;
	char **texts;

	if (!json_is(v, JSON_ARRAY))
		return -EINVAL;
	texts = xcalloc(json_len(v) + 1, sizeof(*texts));
	json_foreach (v, item) {
		if (!json_value_str(item)) {
			free_texts(texts);
			return -EINVAL;
		}
		texts[n++] = xstrdup(json_value_str(item));
	}
	free_texts(*out);
	*out = texts;
	return 0;
}

static int take_level(const char *text, enum log_level *out)
{
	for (size_t i = 0; text && i < ARRAY_LEN(level_names); i++) {
		if (strcmp(text, level_names[i]) == 0) {
			*out = (enum log_level)i;
			return 0;
		}
	}
	return -EINVAL;
}

static int take_value(struct config *c, const struct setting *s, const struct cJSON *v)
{
	void *at = (char *)c + s->offset;
	const char *text = json_value_str(v);
	int64_t n;

	switch (s->type) {
	case SETTING_TEXT:
		if (!text || !text[0])
			return -EINVAL;
		free(*(char **)at);
		*(char **)at = xstrdup(text);
		return 0;
	case SETTING_BOOL:
		if (!json_is(v, JSON_BOOL))
			return -EINVAL;
		*(bool *)at = json_value_bool(v, false);
		return 0;
	case SETTING_DURATION:
		return text ? config_duration(text, at) : -EINVAL;
	case SETTING_BYTES:
		if (quantity_from_node(v, QUANTITY_WHOLE, &n) < 0)
			return -EINVAL;
		*(uint64_t *)at = (uint64_t)n;
		return 0;
	case SETTING_INT:
	case SETTING_COUNT:
		if (json_value_int64(v, &n) < 0 || n < 1 ||
		    n > (s->type == SETTING_INT ? 64 : CONFIG_MAX_COUNT))
			return -EINVAL;
		*(int *)at = (int)n;
		return 0;
	case SETTING_LEVEL:
		return take_level(text, at);
	case SETTING_TEXTS:
		return take_texts(v, at);
	default:
		return -EINVAL;
	}
}

static const struct setting *find(const char *section, const char *key)
{
	for (size_t i = 0; i < ARRAY_LEN(settings); i++)
		if (strcmp(settings[i].section, section) == 0 && strcmp(settings[i].key, key) == 0)
			return &settings[i];
	return NULL;
}

static bool is_section(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(settings); i++)
		if (settings[i].section[0] && strcmp(settings[i].section, name) == 0)
			return true;
	return false;
}

static int read_section(struct config *c, const struct cJSON *object, const char *section,
			struct err *reterr)
{
	char path[128];

	json_foreach (object, m) {
		const struct setting *s = find(section, json_key(m));
		if (!section[0] && strcmp(json_key(m), "kueue") == 0)
			continue;
		(void)snprintf(path, sizeof(path), "%s%s%s", section, section[0] ? "." : "",
			       json_key(m));
		if (!section[0] && is_section(json_key(m))) {
			if (!json_is(m, JSON_OBJECT))
				return err_set_field(reterr, ERR_INVALID, path,
						     "%s: must be a mapping", path);
			int r = read_section(c, m, json_key(m), reterr);
			if (r < 0)
				return r;
			continue;
		}
		if (!s)
			return err_set_field(reterr, ERR_INVALID, path, "%s: unknown setting",
					     path);
		if (take_value(c, s, m) < 0) {
			auto_buf value = BUF_INIT;
			json_print(m, &value);
			return err_set_field(reterr, ERR_INVALID, path,
					     "%s: %s is not a valid value", path, value.ptr);
		}
	}
	return 0;
}

static int slurp(const char *path, struct buf *out, struct err *reterr)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = 0;

	if (fd < 0)
		return err_set(reterr, ERR_NOT_FOUND, "%s: %s", path, strerror(errno));
	do {
		char *at = buf_reserve(out, 4096);
		n = at ? read(fd, at, 4096) : -1;
		if (n > 0)
			buf_advance(out, (size_t)n);
	} while (n > 0);
	close(fd);
	if (n < 0)
		return err_set(reterr, ERR_INVALID, "%s: cannot be read, or over %zu bytes", path,
			       CONFIG_MAX_BYTES);
	return 0;
}

static int check_oidc(const struct oidc_config *o, struct err *reterr)
{
	bool any = o->client_id || o->jwks_file || o->jwks_url || o->username_claim ||
		   o->groups_claim || o->required_claims;

	if (!o->issuer && any)
		return err_set_field(reterr, ERR_INVALID, "oidc.issuer", "oidc.issuer: is missing");
	if (o->issuer && strncmp(o->issuer, "https://", 8) != 0)
		return err_set_field(reterr, ERR_INVALID, "oidc.issuer",
				     "oidc.issuer: must be an https URL");
	if (o->issuer && !o->client_id)
		return err_set_field(reterr, ERR_INVALID, "oidc.clientId",
				     "oidc.clientId: is missing");
	for (char **claim = o->required_claims; claim && *claim; claim++)
		if ((*claim)[0] == '=' || !strchr(*claim, '='))
			return err_set_field(reterr, ERR_INVALID, "oidc.requiredClaims",
					     "oidc.requiredClaims: must be claim=value, each");
	return 0;
}

static int check_request_header(const struct request_header_config *h, struct err *reterr)
{
	bool any = h->allowed_names || h->user_headers || h->uid_headers || h->group_headers ||
		   h->extra_prefixes;

	if (!h->client_ca_file && any)
		return err_set_field(reterr, ERR_INVALID, "requestHeader.clientCAFile",
				     "requestHeader.clientCAFile: is missing");
	return 0;
}

/* Kueue's own names and their rules are the core's (core/kueue/settings.h). */
static int read_kueue(struct config *c, struct cJSON *tree, struct err *reterr)
{
	c->kueue_tree = json_take(tree, "kueue");
	return c->kueue_tree ? kueue_settings_read(c->kueue_tree, &c->kueue_mem, &c->kueue, reterr)
			     : 0;
}

int config_read(struct config *c, const char *path, struct err *reterr)
{
	struct buf text = BUF_MAX(CONFIG_MAX_BYTES);
	auto_json *tree = NULL;

	int r = slurp(path, &text, reterr);
	if (r == 0)
		r = yaml_parse(buf_span(&text), &tree, reterr);
	buf_done(&text);
	if (r < 0)
		return err_wrap(reterr, "config");
	if (!json_is(tree, JSON_OBJECT))
		return err_set(reterr, ERR_INVALID, "%s: the configuration must be a mapping",
			       path);
	r = read_section(c, tree, "", reterr);
	if (!r)
		r = read_kueue(c, tree, reterr);
	if (!r)
		r = check_request_header(&c->request_header, reterr);
	return r ? r : check_oidc(&c->oidc, reterr);
}

static bool same_text(const char *a, const char *b)
{
	return (!a && !b) || (a && b && strcmp(a, b) == 0);
}

static bool same_texts(char *const *a, char *const *b)
{
	for (; a && b && *a && *b; a++, b++)
		if (strcmp(*a, *b) != 0)
			return false;
	return (!a || !*a) && (!b || !*b);
}

static bool same(const struct setting *s, const struct config *a, const struct config *b)
{
	const void *x = (const char *)a + s->offset, *y = (const char *)b + s->offset;

	switch (s->type) {
	case SETTING_TEXT:
		return same_text(*(char *const *)x, *(char *const *)y);
	case SETTING_BOOL:
		return *(const bool *)x == *(const bool *)y;
	case SETTING_DURATION:
	case SETTING_BYTES:
		return memcmp(x, y, sizeof(int64_t)) == 0;
	case SETTING_INT:
	case SETTING_COUNT:
		return *(const int *)x == *(const int *)y;
	case SETTING_LEVEL:
		return *(const enum log_level *)x == *(const enum log_level *)y;
	case SETTING_TEXTS:
	default:
		return same_texts(*(char **const *)x, *(char **const *)y);
	}
}

const char *config_fixed_difference(const struct config *a, const struct config *b)
{
	for (size_t i = 0; i < ARRAY_LEN(settings); i++)
		if (!settings[i].reloadable && !same(&settings[i], a, b))
			return settings[i].key;
	if (a->kueue_tree && b->kueue_tree ? !json_equal(a->kueue_tree, b->kueue_tree)
					   : a->kueue_tree != b->kueue_tree)
		return "kueue";
	return NULL;
}
