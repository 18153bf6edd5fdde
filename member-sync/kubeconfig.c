#include "member-sync/kubeconfig.h"

#include "base/base64.h"
#include "base/json.h"
#include "base/num.h"
#include "base/yaml.h"

#include "member-sync/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

static void wipe_blob(struct kubeconfig_blob *b)
{
	if (b->ptr)
		explicit_bzero(b->ptr, b->len);
	free(b->ptr);
	*b = (struct kubeconfig_blob){0};
}

void kubeconfig_done(struct kubeconfig *k)
{
	free(k->server);
	free(k->tls_server_name);
	free(k->proxy_url);
	wipe_blob(&k->ca);
	wipe_blob(&k->cert);
	wipe_blob(&k->key);
	wipe_blob(&k->token);
	*k = (struct kubeconfig){0};
}

/* Every string of the tree, because a secret may stand under any name. */
static void wipe_tree(struct cJSON *node)
{
	const char *s = json_value_str(node);

	if (s)
		explicit_bzero((void *)(uintptr_t)s, strlen(s));
	json_foreach (node, child)
		wipe_tree(child);
}

/* ---- one entry of the clusters, users and contexts lists ---- */

struct entry {
	const struct cJSON *value; /* the object under `kind`; NULL: absent or null */
	char path[64];		   /* "users[2].user" */
};

static int find_entry(const struct cJSON *root, const char *list, const char *kind,
		      const char *name, struct entry *ret, struct err *reterr)
{
	const struct cJSON *items = json_get(root, list);
	size_t i = 0;

	json_foreach (items, item) {
		const char *have = json_str(item, "name");
		if (have && strcmp(have, name) == 0) {
			snprintf(ret->path, sizeof(ret->path), "%s[%zu].%s", list, i, kind);
			ret->value = json_get(item, kind);
			if (ret->value && !json_is(ret->value, JSON_OBJECT) &&
			    !json_is(ret->value, JSON_NULL))
				return err_set_field(reterr, ERR_INVALID, ret->path,
						     "must be an object");
			return 0;
		}
		i++;
	}
	return err_set_field(reterr, ERR_INVALID, list, "no entry is named \"%.200s\"", name);
}

static int bad_field(const struct entry *e, const char *key, struct err *reterr, const char *words)
{
	char path[256];

	snprintf(path, sizeof(path), "%s.%s", e->path, key);
	return err_set_field(reterr, ERR_INVALID, path, "%s", words);
}

/* The string under `key`: NULL in *ret when absent, null or empty. */
static int string_of(const struct entry *e, const char *key, const char **ret, struct err *reterr)
{
	const struct cJSON *v = json_get(e->value, key);
	const char *s = json_value_str(v);

	*ret = NULL;
	if (v && !s && !json_is(v, JSON_NULL))
		return bad_field(e, key, reterr, "must be a string");
	if (s && *s)
		*ret = s;
	return 0;
}

static int copy_string(const struct entry *e, const char *key, char **ret, struct err *reterr)
{
	const char *s;
	int r = string_of(e, key, &s, reterr);

	if (r == 0 && s) {
		for (const char *p = s; *p; p++)
			if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7f)
				return bad_field(e, key, reterr,
						 "must not hold spaces or control characters");
		*ret = xstrdup(s);
	}
	return r;
}

/* ---- data and files ---- */

static int decode_base64(const char *s, struct kubeconfig_blob *ret)
{
	size_t len = strlen(s);
	struct buf b = BUF_MAX(BASE64_ROOM(len));

	if (!buf_reserve(&b, BASE64_ROOM(len)) || base64_read(span_make(s, len), &b) < 0) {
		explicit_bzero(b.ptr, b.len);
		buf_done(&b);
		return -EINVAL;
	}
	ret->ptr = buf_steal(&b, &ret->len);
	return 0;
}

static int read_file(const char *dir, const char *name, struct kubeconfig_blob *ret)
{
	char path[4096];
	struct stat st;

	int n = *name == '/' ? snprintf(path, sizeof(path), "%s", name)
			     : snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return -errno;
	int r = fstat(fd, &st) < 0			    ? -errno
		: !S_ISREG(st.st_mode)			    ? -EINVAL
		: (size_t)st.st_size > KUBECONFIG_MAX_BYTES ? -EFBIG
							    : 0;
	struct kubeconfig_blob b = {xcalloc(1, r == 0 ? (size_t)st.st_size + 1 : 1), 0};
	while (r == 0 && b.len < (size_t)st.st_size) {
		ssize_t got = read(fd, b.ptr + b.len, (size_t)st.st_size - b.len);
		if (got <= 0) {
			r = got < 0 ? -errno : 0;
			break;
		}
		b.len += (size_t)got;
	}
	close(fd);
	if (r < 0)
		wipe_blob(&b);
	else
		*ret = b;
	return r;
}

/* `key`-data in base64, else the file under `key` when files are allowed. */
static int blob_of(const struct entry *e, const char *data_key, const char *file_key,
		   const char *dir, struct kubeconfig_blob *ret, struct err *reterr)
{
	const char *data, *file;
	char words[200];
	int r = string_of(e, data_key, &data, reterr);

	if (r == 0)
		r = string_of(e, file_key, &file, reterr);
	if (r < 0)
		return r;
	if (data) {
		if (decode_base64(data, ret) < 0 || ret->len == 0)
			return bad_field(e, data_key, reterr, "is not valid base64");
		return 0;
	}
	if (!file)
		return 0;
	if (!dir)
		return bad_field(e, file_key, reterr,
				 "names a file; the hub accepts inline data only");
	r = read_file(dir, file, ret);
	if (r < 0) {
		snprintf(words, sizeof(words), "cannot read the file: %s", strerror(-r));
		return bad_field(e, file_key, reterr, words);
	}
	return 0;
}

/* ---- cluster and user ---- */

static int check_server(const struct entry *e, struct kubeconfig *k, struct err *reterr)
{
	size_t len = k->server ? strlen(k->server) : 0;

	if (!k->server)
		return bad_field(e, "server", reterr, "is required");
	if (strncmp(k->server, "https://", 8) != 0 || len == 8 || k->server[8] == '/')
		return bad_field(e, "server", reterr,
				 "must be a URL that begins with https:// and names a host");
	if (strpbrk(k->server, "?#@\\"))
		return bad_field(e, "server", reterr,
				 "must not hold a query, a fragment or credentials");
	while (len > 8 && k->server[len - 1] == '/')
		k->server[--len] = '\0';
	return 0;
}

static int decode_cluster(const struct entry *e, const char *dir, struct kubeconfig *k,
			  struct err *reterr)
{
	int r = copy_string(e, "server", &k->server, reterr);

	if (r == 0)
		r = check_server(e, k, reterr);
	if (r == 0)
		r = copy_string(e, "tls-server-name", &k->tls_server_name, reterr);
	if (r == 0 && k->tls_server_name && strpbrk(k->tls_server_name, "/:@?#"))
		r = bad_field(e, "tls-server-name", reterr, "must be a host name");
	if (r == 0)
		r = copy_string(e, "proxy-url", &k->proxy_url, reterr);
	if (r == 0)
		r = blob_of(e, "certificate-authority-data", "certificate-authority", dir, &k->ca,
			    reterr);
	if (r < 0)
		return r;
	const struct cJSON *skip = json_get(e->value, "insecure-skip-tls-verify");
	if (skip && !json_is(skip, JSON_BOOL) && !json_is(skip, JSON_NULL))
		return bad_field(e, "insecure-skip-tls-verify", reterr, "must be true or false");
	k->insecure = json_value_bool(skip, false);
	if (k->insecure && k->ca.ptr)
		return bad_field(e, "insecure-skip-tls-verify", reterr,
				 "contradicts the certificate authority beside it");
	if (k->ca.ptr && credentials_check_ca(span_make(k->ca.ptr, k->ca.len)) < 0)
		return bad_field(e, "certificate-authority-data", reterr,
				 "holds no PEM certificate");
	return 0;
}

/* What this client will not do, with the words that say why. */
static const struct {
	const char *key, *words;
} refused_user[] = {
    {"exec", "credential plugins are not run on the hub; use a client certificate or a token"},
    {"auth-provider", "auth providers are not supported; use a client certificate or a token"},
    {"username", "user name and password are not supported; use a client certificate or a token"},
    {"password", "user name and password are not supported; use a client certificate or a token"},
    {"as", "impersonation is not supported"},
    {"as-uid", "impersonation is not supported"},
    {"as-groups", "impersonation is not supported"},
    {"as-user-extra", "impersonation is not supported"},
};

static int decode_token(const struct entry *e, const char *dir, struct kubeconfig *k,
			struct err *reterr)
{
	const char *token, *file;
	int r = string_of(e, "token", &token, reterr);

	if (r == 0)
		r = string_of(e, "tokenFile", &file, reterr);
	if (r < 0)
		return r;
	if (token)
		k->token = (struct kubeconfig_blob){xstrdup(token), strlen(token)};
	else if (file)
		r = blob_of(e, "", "tokenFile", dir, &k->token, reterr);
	while (k->token.len && strchr("\r\n\t ", k->token.ptr[k->token.len - 1]))
		k->token.ptr[--k->token.len] = '\0';
	for (size_t i = 0; r == 0 && i < k->token.len; i++)
		if ((unsigned char)k->token.ptr[i] <= ' ' || (unsigned char)k->token.ptr[i] >= 0x7f)
			r = bad_field(e, token ? "token" : "tokenFile", reterr,
				      "must not hold spaces or control characters");
	return r;
}

static int decode_user(const struct entry *e, const char *dir, struct kubeconfig *k,
		       struct err *reterr)
{
	for (size_t i = 0; i < ARRAY_LEN(refused_user); i++) {
		const struct cJSON *v = json_get(e->value, refused_user[i].key);
		if (v && !json_is(v, JSON_NULL))
			return bad_field(e, refused_user[i].key, reterr, refused_user[i].words);
	}
	int r = decode_token(e, dir, k, reterr);
	if (r == 0)
		r = blob_of(e, "client-certificate-data", "client-certificate", dir, &k->cert,
			    reterr);
	if (r == 0)
		r = blob_of(e, "client-key-data", "client-key", dir, &k->key, reterr);
	if (r < 0)
		return r;
	if (k->cert.ptr && !k->key.ptr)
		return bad_field(e, "client-key-data", reterr, "is required beside a certificate");
	if (k->key.ptr && !k->cert.ptr)
		return bad_field(e, "client-certificate-data", reterr, "is required beside a key");
	if (!k->cert.ptr && !k->token.ptr)
		return bad_field(e, "client-certificate-data", reterr,
				 "is required: there is neither a client certificate nor a token");
	if (k->cert.ptr) {
		struct err why = ERR_INIT;
		if (credentials_check_pair(span_make(k->cert.ptr, k->cert.len),
					   span_make(k->key.ptr, k->key.len), &k->not_before,
					   &k->not_after, &why) < 0)
			return bad_field(e, why.field[0] ? why.field : "client-certificate-data",
					 reterr, why.text);
	} else {
		k->not_after = credentials_token_expiry(span_make(k->token.ptr, k->token.len));
	}
	return 0;
}

static int decode_config(const struct cJSON *root, const char *dir, struct kubeconfig *k,
			 struct err *reterr)
{
	struct entry context, cluster, user;
	const char *name, *cluster_name, *user_name;

	if (!json_is(root, JSON_OBJECT))
		return err_set(reterr, ERR_INVALID, "a kubeconfig must be an object");
	name = json_str(root, "current-context");
	if (!name || !*name)
		return err_set_field(reterr, ERR_INVALID, "current-context", "is required");
	int r = find_entry(root, "contexts", "context", name, &context, reterr);
	if (r == 0)
		r = string_of(&context, "cluster", &cluster_name, reterr);
	if (r == 0 && !cluster_name)
		r = bad_field(&context, "cluster", reterr, "is required");
	if (r == 0)
		r = string_of(&context, "user", &user_name, reterr);
	if (r == 0 && !user_name)
		r = bad_field(&context, "user", reterr, "is required");
	if (r == 0)
		r = find_entry(root, "clusters", "cluster", cluster_name, &cluster, reterr);
	if (r == 0)
		r = find_entry(root, "users", "user", user_name, &user, reterr);
	if (r == 0)
		r = decode_cluster(&cluster, dir, k, reterr);
	if (r == 0)
		r = decode_user(&user, dir, k, reterr);
	return r;
}

int kubeconfig_parse(struct span text, const char *dir, struct kubeconfig *ret, struct err *reterr)
{
	auto_kubeconfig k = {0};
	struct cJSON *root = NULL;

	if (text.len > KUBECONFIG_MAX_BYTES)
		return err_set(reterr, ERR_TOO_LARGE, "a kubeconfig of %zu bytes is over %zu",
			       text.len, KUBECONFIG_MAX_BYTES);
	int r = yaml_parse(text, &root, reterr);
	if (r < 0)
		return r;
	r = decode_config(root, dir, &k, reterr);
	wipe_tree(root);
	json_free(root);
	if (r == 0) {
		*ret = k;
		k = (struct kubeconfig){0};
	}
	return r;
}

int kubeconfig_check_time(const struct kubeconfig *k, usec now, struct err *reterr)
{
	const char *what = k->cert.ptr ? "client certificate" : "token";
	char when[CLOCK_TEXT_MAX];

	if (k->not_after && now >= k->not_after)
		return err_set(reterr, ERR_UNAUTHORIZED, "the %s expired on %s", what,
			       clock_format(k->not_after, when));
	if (k->not_before && now < k->not_before)
		return err_set(reterr, ERR_UNAUTHORIZED, "the %s is not valid before %s", what,
			       clock_format(k->not_before, when));
	return 0;
}
