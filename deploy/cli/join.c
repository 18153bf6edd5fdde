/*
 * join, unjoin: a member's credentials into a Secret, and a Cluster object that names it. The
 * kubeconfig's files are put inline; it is never printed.
 */
#include "base/base64.h"
#include "base/json.h"
#include "base/yaml.h"
#include "command.h"

#include <unistd.h>

#define SECRET_NAMESPACE "kube-system"

/* Replaces `file_key` by `data_key` with the file's content. */
static int inline_file(struct cJSON *object, const char *directory, const char *file_key,
		       const char *data_key, struct err *reterr)
{
	const char *file = json_str(object, file_key);
	auto_buf path = BUF_INIT, text = BUF_MAX((size_t)1 << 20);

	if (!file || json_get(object, data_key))
		return 0;
	buf_addf(&path, "%s%s%s", file[0] == '/' ? "" : directory, file[0] == '/' ? "" : "/", file);
	auto_buf encoded = BUF_INIT;
	int r = client_read_file(path.ptr, &text, reterr);
	if (r < 0)
		return r;
	base64_add(&encoded, buf_span(&text));
	json_set_str(object, data_key, encoded.ptr);
	json_remove(object, file_key);
	return 0;
}

static int inline_token(struct cJSON *user, const char *directory, struct err *reterr)
{
	const char *file = json_str(user, "tokenFile");
	auto_buf path = BUF_INIT, text = BUF_MAX(65536);

	if (!file || json_get(user, "token"))
		return 0;
	buf_addf(&path, "%s%s%s", file[0] == '/' ? "" : directory, file[0] == '/' ? "" : "/", file);
	int r = client_read_file(path.ptr, &text, reterr);
	if (r < 0)
		return r;
	while (text.len && (text.ptr[text.len - 1] == '\n' || text.ptr[text.len - 1] == ' '))
		text.ptr[--text.len] = '\0';
	json_set_str(user, "token", text.ptr);
	json_remove(user, "tokenFile");
	return 0;
}

static int inline_all(struct cJSON *config, const char *directory, struct err *reterr)
{
	int r = 0;

	json_foreach (json_get(config, "clusters"), item) {
		struct cJSON *cluster = json_get(item, "cluster");
		if (r == 0)
			r = inline_file(cluster, directory, "certificate-authority",
					"certificate-authority-data", reterr);
	}
	json_foreach (json_get(config, "users"), item) {
		struct cJSON *user = json_get(item, "user");
		if (r == 0)
			r = inline_file(user, directory, "client-certificate",
					"client-certificate-data", reterr);
		if (r == 0)
			r = inline_file(user, directory, "client-key", "client-key-data", reterr);
		if (r == 0)
			r = inline_token(user, directory, reterr);
	}
	return r;
}

/* The kubeconfig as JSON text with everything inline. */
static int load(const char *file, struct buf *out, char **ret_server, struct err *reterr)
{
	struct buf text = BUF_MAX((size_t)1 << 20);
	auto_json *config = NULL;
	const char *slash = strrchr(file, '/');
	auto_free char *directory = slash ? xstrndup(file, (size_t)(slash - file)) : xstrdup(".");

	int r = client_read_file(file, &text, reterr);
	if (r == 0)
		r = yaml_parse(buf_span(&text), &config, reterr);
	if (r == 0)
		r = inline_all(config, directory, reterr);
	if (text.ptr)
		explicit_bzero(text.ptr, text.len);
	buf_done(&text);
	if (r < 0)
		return r;
	const struct cJSON *first = json_first(json_get(config, "clusters"));
	const char *server = json_str(json_get(first, "cluster"), "server");
	if (!server)
		return err_set(reterr, ERR_INVALID, "%s: no cluster with a server", file);
	*ret_server = xstrdup(server);
	json_print(config, out);
	return 0;
}

static int put_secret(struct client *c, const char *name, const struct buf *kubeconfig,
		      struct err *reterr)
{
	auto_buf body = BUF_INIT, data = BUF_INIT, path = BUF_INIT;

	base64_add(&data, buf_span(kubeconfig));
	buf_addf(&body,
		 "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"member-%s\","
		 "\"namespace\":\"" SECRET_NAMESPACE "\"},\"type\":\"muster.dev/kubeconfig\","
		 "\"data\":{\"kubeconfig\":\"%s\"}}",
		 name, data.ptr);
	explicit_bzero(data.ptr, data.len);
	int r = client_call(c, "POST", "/api/v1/namespaces/" SECRET_NAMESPACE "/secrets",
			    "application/json", &body, NULL, reterr);
	if (r < 0 && reterr->kind == ERR_ALREADY_EXISTS) {
		buf_addf(&path, "/api/v1/namespaces/" SECRET_NAMESPACE "/secrets/member-%s", name);
		r = client_call(c, "PATCH", path.ptr, "application/merge-patch+json", &body, NULL,
				reterr);
	}
	explicit_bzero(body.ptr, body.len);
	return r;
}

static int put_cluster(struct client *c, const char *name, const char *server, struct err *reterr)
{
	auto_buf body = BUF_INIT, path = BUF_INIT;

	buf_addf(&body,
		 "{\"apiVersion\":\"cluster.karmada.io/v1alpha1\",\"kind\":\"Cluster\","
		 "\"metadata\":{\"name\":\"%s\"},\"spec\":{\"syncMode\":\"Push\",\"apiEndpoint\":",
		 name);
	buf_add_json_str(&body, span_of(server));
	buf_addf(&body,
		 ",\"secretRef\":{\"namespace\":\"" SECRET_NAMESPACE "\",\"name\":\"member-%s\"}}}",
		 name);
	int r = client_call(c, "POST", "/apis/cluster.karmada.io/v1alpha1/clusters",
			    "application/json", &body, NULL, reterr);
	if (r < 0 && reterr->kind == ERR_ALREADY_EXISTS) {
		buf_addf(&path, "/apis/cluster.karmada.io/v1alpha1/clusters/%s", name);
		r = client_call(c, "PATCH", path.ptr, "application/merge-patch+json", &body, NULL,
				reterr);
	}
	return r;
}

static bool is_name(const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < n; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyz0123456789-.", name[i]))
			return false;
	return n > 0 && n <= 200 && name[0] != '-' && name[n - 1] != '-';
}

static int run_join(const struct command_line *line)
{
	struct buf kubeconfig = BUF_MAX((size_t)1 << 20);
	auto_free char *server = NULL;
	struct client *c = NULL;
	struct err err = ERR_INIT;

	if (line->n_args != 1 || !line->member_kubeconfig || !is_name(line->args[0]))
		return command_usage(&verb_join);
	int r = load(line->member_kubeconfig, &kubeconfig, &server, &err);
	if (r == 0)
		r = client_open(&line->client, &c, &err);
	if (r == 0)
		r = put_secret(c, line->args[0], &kubeconfig, &err);
	if (r == 0)
		r = put_cluster(c, line->args[0], server, &err);
	if (kubeconfig.ptr)
		explicit_bzero(kubeconfig.ptr, kubeconfig.len);
	buf_done(&kubeconfig);
	client_close(c);
	if (r < 0)
		return command_fail(&err);
	printf("cluster.cluster.karmada.io/%s joined\n", line->args[0]);
	fprintf(stderr, "Its state: muster clusters\n");
	return EXIT_OK;
}

static bool until_deleted(void *arg, struct span line)
{
	struct span type;

	(void)arg;
	return json_check(line, NULL, NULL) < 0 || json_text_member(line, "type", &type) < 0 ||
	       !span_is(type, "\"DELETED\"");
}

/* Until the object is gone, then ERR_NOT_FOUND. From the revision at which it was seen: it may be
 * deleted before the watch begins. */
static int await_end(struct client *c, const char *path, const char *name, struct err *reterr)
{
	for (;;) {
		auto_json *object = NULL;
		auto_buf watch = BUF_INIT;
		int r = client_get(c, path, &object, reterr);
		if (r < 0)
			return r;
		const char *revision = json_str(json_get(object, "metadata"), "resourceVersion");
		buf_addf(&watch,
			 "/apis/cluster.karmada.io/v1alpha1/clusters?watch=true&fieldSelector="
			 "metadata.name%%3D%s&resourceVersion=%s",
			 name, revision ? revision : "");
		r = client_stream(c, watch.ptr, until_deleted, NULL, reterr);
		if (r < 0)
			return r;
	}
}

static int run_unjoin(const struct command_line *line)
{
	auto_buf cluster = BUF_INIT, secret = BUF_INIT;
	struct client *c = NULL;
	struct err err = ERR_INIT;

	if (line->n_args != 1 || !is_name(line->args[0]))
		return command_usage(&verb_unjoin);
	buf_addf(&cluster, "/apis/cluster.karmada.io/v1alpha1/clusters/%s", line->args[0]);
	buf_addf(&secret, "/api/v1/namespaces/" SECRET_NAMESPACE "/secrets/member-%s",
		 line->args[0]);
	int r = client_open(&line->client, &c, &err);
	if (r == 0)
		r = client_call(c, "DELETE", cluster.ptr, NULL, NULL, NULL, &err);
	if (r == 0)
		fprintf(stderr, "Taking the hub's jobs back from %s...\n", line->args[0]);
	/* The hub needs the credentials until everything is taken back. */
	if (r == 0)
		r = await_end(c, cluster.ptr, line->args[0], &err);
	if (r < 0 && err.kind == ERR_NOT_FOUND)
		r = client_call(c, "DELETE", secret.ptr, NULL, NULL, NULL, &err);
	client_close(c);
	if (r < 0)
		return command_fail(&err);
	printf("cluster.cluster.karmada.io/%s unjoined\n", line->args[0]);
	return EXIT_OK;
}

const struct verb verb_join = {"join", "NAME --kubeconfig FILE", "add a member cluster", run_join};
const struct verb verb_unjoin = {"unjoin", "NAME", "take the hub's jobs back and forget a member",
				 run_unjoin};
