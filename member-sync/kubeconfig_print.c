#include "member-sync/kubeconfig.h"

#include "base/base64.h"

static void add_blob(struct buf *out, const char *key, const struct kubeconfig_blob *b, bool *first)
{
	if (!b->ptr)
		return;
	buf_addf(out, "%s\"%s\":\"", *first ? "" : ",", key);
	base64_add(out, span_make(b->ptr, b->len));
	buf_add_char(out, '"');
	*first = false;
}

static void add_text(struct buf *out, const char *key, const char *text, bool *first)
{
	if (!text)
		return;
	buf_addf(out, "%s\"%s\":", *first ? "" : ",", key);
	buf_add_json_str(out, span_of(text));
	*first = false;
}

void kubeconfig_print(const struct kubeconfig *k, struct buf *out)
{
	bool first = true;

	buf_add_str(out, "{\"apiVersion\":\"v1\",\"kind\":\"Config\",\"clusters\":[{\"name\":"
			 "\"member\",\"cluster\":{");
	add_text(out, "server", k->server, &first);
	add_text(out, "tls-server-name", k->tls_server_name, &first);
	add_text(out, "proxy-url", k->proxy_url, &first);
	add_blob(out, "certificate-authority-data", &k->ca, &first);
	if (k->insecure)
		buf_add_str(out, ",\"insecure-skip-tls-verify\":true");
	buf_add_str(out, "}}],\"users\":[{\"name\":\"hub\",\"user\":{");
	first = true;
	add_blob(out, "client-certificate-data", &k->cert, &first);
	add_blob(out, "client-key-data", &k->key, &first);
	add_text(out, "token", k->token.ptr, &first);
	buf_add_str(out, "}}],\"contexts\":[{\"name\":\"member\",\"context\":{\"cluster\":"
			 "\"member\",\"user\":\"hub\"}}],\"current-context\":\"member\"}");
}
