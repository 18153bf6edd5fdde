#include "client.h"

#include "base/base64.h"
#include "base/json.h"
#include "base/yaml.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define MAX_ANSWER ((size_t)256 << 20)
#define MAX_FILE   ((size_t)1 << 20)

struct client {
	CURL *curl;
	char *server, *ns;
	struct buf ca, cert, key; /* PEM */
	char *token;
	bool insecure;
	const char *accept;
	char *directory; /* of the kubeconfig: relative files start there */
};

int client_read_file(const char *path, struct buf *out, struct err *reterr)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return err_set(reterr, ERR_NOT_FOUND, "%s: %s", path, strerror(errno));
	do {
		char *at = buf_reserve(out, 16384);
		n = at ? read(fd, at, 16384) : -1;
		if (n > 0)
			buf_advance(out, (size_t)n);
	} while (n > 0);
	close(fd);
	return n < 0 ? err_set(reterr, ERR_INVALID, "%s: cannot be read", path) : 0;
}

static struct cJSON *named(const struct cJSON *root, const char *list, const char *name,
			   const char *what)
{
	json_foreach (json_get(root, list), item) {
		const char *n = json_str(item, "name");
		if (n && name && strcmp(n, name) == 0)
			return json_get(item, what);
	}
	return NULL;
}

static int load_pem(struct client *c, const struct cJSON *from, const char *data_key,
		    const char *file_key, struct buf *out, struct err *reterr)
{
	const char *data = json_str(from, data_key), *file = json_str(from, file_key);
	auto_buf path = BUF_INIT;

	if (data)
		return base64_read(span_of(data), out) < 0
			   ? err_set(reterr, ERR_INVALID, "kubeconfig: %s is not base64", data_key)
			   : 0;
	if (!file)
		return 0;
	buf_addf(&path, "%s%s%s", file[0] == '/' ? "" : c->directory, file[0] == '/' ? "" : "/",
		 file);
	return client_read_file(path.ptr, out, reterr);
}

static int load_context(struct client *c, const struct cJSON *root, const char *name,
			struct err *reterr)
{
	const char *current = name ? name : json_str(root, "current-context");
	const struct cJSON *context = named(root, "contexts", current, "context");
	const struct cJSON *cluster =
	    named(root, "clusters", json_str(context, "cluster"), "cluster");
	const struct cJSON *user = named(root, "users", json_str(context, "user"), "user");
	const char *server = json_str(cluster, "server"), *ns = json_str(context, "namespace");

	if (!server)
		return err_set(reterr, ERR_INVALID,
			       "kubeconfig: context \"%s\" names no cluster with a server",
			       current ? current : "");
	if (json_get(user, "exec") || json_get(user, "auth-provider"))
		return err_set(reterr, ERR_INVALID,
			       "kubeconfig: credential plugins are not supported");
	c->server = xstrdup(server);
	for (size_t n = strlen(c->server); n && c->server[n - 1] == '/'; n--)
		c->server[n - 1] = '\0';
	c->ns = xstrdup(ns ? ns : "default");
	c->token = json_str(user, "token") ? xstrdup(json_str(user, "token")) : NULL;
	c->insecure = json_bool(cluster, "insecure-skip-tls-verify", false);
	int r = load_pem(c, cluster, "certificate-authority-data", "certificate-authority", &c->ca,
			 reterr);
	if (r == 0)
		r = load_pem(c, user, "client-certificate-data", "client-certificate", &c->cert,
			     reterr);
	if (r == 0)
		r = load_pem(c, user, "client-key-data", "client-key", &c->key, reterr);
	return r;
}

/* The first file of KUBECONFIG that is there, else ~/.kube/config. Caller frees. */
static char *default_kubeconfig(void)
{
	struct span rest = span_of(getenv("KUBECONFIG"));
	auto_buf path = BUF_INIT;
	const char *home = getenv("HOME");

	while (rest.len) {
		struct span one = span_split(&rest, ':');
		auto_free char *file = xstrndup(one.ptr, one.len);
		if (one.len && access(file, R_OK) == 0)
			return steal_ptr(&file);
	}
	buf_addf(&path, "%s/.kube/config", home ? home : "");
	return buf_steal(&path, NULL);
}

int client_open(const struct client_options *o, struct client **ret, struct err *reterr)
{
	auto_free char *path = o->kubeconfig ? xstrdup(o->kubeconfig) : default_kubeconfig();
	struct client *c = xcalloc(1, sizeof(*c));
	struct buf text = BUF_MAX(MAX_FILE);
	auto_json *root = NULL;
	const char *slash = strrchr(path, '/');

	c->directory = slash ? xstrndup(path, (size_t)(slash - path)) : xstrdup(".");
	int r = client_read_file(path, &text, reterr);
	if (r == 0)
		r = yaml_parse(buf_span(&text), &root, reterr);
	if (text.ptr)
		explicit_bzero(text.ptr, text.len);
	buf_done(&text);
	if (r == 0)
		r = load_context(c, root, o->context, reterr);
	if (r == 0 && !(c->curl = curl_easy_init()))
		r = err_set(reterr, ERR_INTERNAL, "libcurl cannot start");
	if (r < 0) {
		client_close(c);
		return r;
	}
	*ret = c;
	return 0;
}

struct client *client_close(struct client *c)
{
	if (!c)
		return NULL;
	if (c->curl)
		curl_easy_cleanup(c->curl);
	if (c->key.ptr)
		explicit_bzero(c->key.ptr, c->key.len);
	buf_done(&c->ca);
	buf_done(&c->cert);
	buf_done(&c->key);
	free(c->server);
	free(c->ns);
	free(c->token);
	free(c->directory);
	free(c);
	return NULL;
}

void client_accept(struct client *c, const char *accept)
{
	c->accept = accept;
}

const char *client_namespace(const struct client *c)
{
	return c->ns;
}

const char *client_server(const struct client *c)
{
	return c->server;
}

/* ---- calls ---- */

static size_t take(char *bytes, size_t size, size_t n, void *arg)
{
	struct buf *out = arg;

	buf_add(out, bytes, size * n);
	return buf_ok(out) ? size * n : 0;
}

static void set_blob(CURL *curl, CURLoption option, const struct buf *b)
{
	struct curl_blob blob = {.data = b->ptr, .len = b->len, .flags = CURL_BLOB_NOCOPY};

	if (b->len)
		curl_easy_setopt(curl, option, &blob);
}

static struct curl_slist *setup(struct client *c, const char *method, const char *path,
				const char *content_type)
{
	auto_buf url = BUF_INIT, header = BUF_INIT;
	struct curl_slist *headers;

	buf_addf(&header, "Accept: %s", c->accept ? c->accept : "application/json");
	headers = curl_slist_append(NULL, header.ptr);
	buf_clear(&header);

	curl_easy_reset(c->curl);
	buf_addf(&url, "%s%s", c->server, path);
	curl_easy_setopt(c->curl, CURLOPT_URL, url.ptr);
	curl_easy_setopt(c->curl, CURLOPT_CUSTOMREQUEST, method);
	curl_easy_setopt(c->curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(c->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c->curl, CURLOPT_CONNECTTIMEOUT, 10L);
	curl_easy_setopt(c->curl, CURLOPT_SSL_VERIFYPEER, c->insecure ? 0L : 1L);
	curl_easy_setopt(c->curl, CURLOPT_SSL_VERIFYHOST, c->insecure ? 0L : 2L);
	set_blob(c->curl, CURLOPT_CAINFO_BLOB, &c->ca);
	set_blob(c->curl, CURLOPT_SSLCERT_BLOB, &c->cert);
	set_blob(c->curl, CURLOPT_SSLKEY_BLOB, &c->key);
	if (c->token) {
		buf_addf(&header, "Authorization: Bearer %s", c->token);
		headers = curl_slist_append(headers, header.ptr);
		explicit_bzero(header.ptr, header.len);
	}
	if (content_type) {
		buf_clear(&header);
		buf_addf(&header, "Content-Type: %s", content_type);
		headers = curl_slist_append(headers, header.ptr);
	}
	headers = curl_slist_append(headers, "Expect:");
	curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, headers);
	return headers;
}

static int status_error(long code, const struct cJSON *answer, struct err *reterr)
{
	const char *message = json_str(answer, "message"), *reason = json_str(answer, "reason");
	enum err_kind kind = err_kind_from_http((int)code);

	/* The code alone does not tell it from a conflict. */
	if (reason && strcmp(reason, err_reason(ERR_ALREADY_EXISTS)) == 0)
		kind = ERR_ALREADY_EXISTS;
	return err_set(reterr, kind, "%s",
		       message ? message : "the server answered without a message");
}

int client_call(struct client *c, const char *method, const char *path, const char *content_type,
		const struct buf *body, struct cJSON **ret, struct err *reterr)
{
	struct buf answer = BUF_MAX(MAX_ANSWER);
	auto_json *tree = NULL;
	long code = 0;
	struct json_limits limits = {.max_bytes = MAX_ANSWER};

	struct curl_slist *headers = setup(c, method, path, content_type);
	curl_easy_setopt(c->curl, CURLOPT_TIMEOUT, 60L);
	curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, take);
	curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, &answer);
	if (body) {
		curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->len);
		curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, body->ptr ? body->ptr : "");
	}
	CURLcode r = curl_easy_perform(c->curl);
	curl_slist_free_all(headers);
	curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &code);
	int result = 0;
	if (r != CURLE_OK)
		result =
		    err_set(reterr, ERR_UNAVAILABLE, "%s: %s", c->server, curl_easy_strerror(r));
	else if (json_parse(buf_span(&answer), &limits, &tree, reterr) < 0 && code < 400)
		result = err_wrap(reterr, "%s %s", method, path);
	if (result == 0 && code >= 400)
		result = status_error(code, tree, reterr);
	buf_done(&answer);
	if (result == 0 && ret)
		*ret = steal_ptr(&tree);
	return result;
}

struct streaming {
	struct buf rest;
	bool (*line)(void *arg, struct span line);
	void *arg;
	bool stopped;
};

static size_t take_lines(char *bytes, size_t size, size_t n, void *arg)
{
	struct streaming *s = arg;
	size_t from = 0;

	buf_add(&s->rest, bytes, size * n);
	if (!buf_ok(&s->rest))
		return 0;
	for (;;) {
		char *end = memchr(s->rest.ptr + from, '\n', s->rest.len - from);
		if (!end)
			break;
		size_t len = (size_t)(end - s->rest.ptr) - from;
		if (!s->line(s->arg, span_make(s->rest.ptr + from, len))) {
			s->stopped = true;
			return 0;
		}
		from += len + 1;
	}
	memmove(s->rest.ptr, s->rest.ptr + from, s->rest.len - from);
	s->rest.len -= from;
	return size * n;
}

static int on_progress(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	struct streaming *s = arg;

	(void)a, (void)b, (void)c, (void)d;
	s->stopped = s->stopped || !s->line(s->arg, SPAN_NONE);
	return s->stopped;
}

int client_stream(struct client *c, const char *path, bool (*line)(void *arg, struct span line),
		  void *arg, struct err *reterr)
{
	struct streaming s = {.rest = BUF_MAX(MAX_ANSWER), .line = line, .arg = arg};
	long code = 0;

	struct curl_slist *headers = setup(c, "GET", path, NULL);
	curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, take_lines);
	curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, &s);
	curl_easy_setopt(c->curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(c->curl, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(c->curl, CURLOPT_XFERINFODATA, &s);
	CURLcode r = curl_easy_perform(c->curl);
	curl_slist_free_all(headers);
	curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &code);
	if (r == CURLE_OK && code < 400 && s.rest.len && !s.stopped)
		s.stopped = !line(arg, buf_span(&s.rest));
	buf_done(&s.rest);
	if (s.stopped)
		return 0;
	if (code >= 400)
		return err_set(reterr, err_kind_from_http((int)code), "GET %s: HTTP %ld", path,
			       code);
	return r == CURLE_OK
		   ? 0
		   : err_set(reterr, ERR_UNAVAILABLE, "%s: %s", c->server, curl_easy_strerror(r));
}
