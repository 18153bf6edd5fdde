/*
 * The HTTP engine on libwebsockets: addresses that it listens on.
 */
#include "api/http_lws.h"
#include <errno.h>

void http_lws_listener_destroy(struct http_listener *l)
{
	free(l->host);
	free((char *)(uintptr_t)l->client_ca_pem.ptr);
	X509_STORE_free(l->proxy_cas);
	free(l);
}

int http_server_listen(struct http_server *s, const struct http_listen_options *o,
		       struct http_listener **ret, struct err *reterr)
{
	struct http_listener *l = xcalloc(1, sizeof(*l));
	struct lws_context_creation_info info = {0};
	bool v6 = o->host && strchr(o->host, ':');
	struct buf pem = BUF_INIT;
	buf_add_span(&pem, o->client_ca_pem);
	buf_add_span(&pem, o->cert_pem);
	buf_add_span(&pem, o->key_pem);
	l->server = s;
	l->user = o->user;
	l->host = o->host && o->host[0] ? xstrdup(o->host) : NULL;
	l->client_ca_pem.ptr = buf_steal(&pem, &l->client_ca_pem.len);
	l->proxy_user_headers = o->proxy_user_headers;
	if (o->proxy_ca_pem.len && !(l->proxy_cas = http_lws_proxy_store(o->proxy_ca_pem))) {
		http_lws_listener_destroy(l);
		return err_set(reterr, ERR_INVALID, "the front proxies' CA has no certificate");
	}
	info.port = o->port;
	info.iface = l->host;
	info.protocols = s->protocols;
	info.user = l;
	info.vhost_name = "api";
	info.alpn = "http/1.1";
	info.keepalive_timeout = 300;
	info.timeout_secs = HTTP_HEADER_SECS;
	info.ka_time = 60;
	info.ka_interval = 15;
	info.ka_probes = 3;
	info.options =
	    LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT | LWS_SERVER_OPTION_CREATE_VHOST_SSL_CTX |
	    LWS_SERVER_OPTION_REQUIRE_VALID_OPENSSL_CLIENT_CERT |
	    LWS_SERVER_OPTION_PEER_CERT_NOT_REQUIRED | LWS_SERVER_OPTION_FAIL_UPON_UNABLE_TO_BIND |
	    /* The system's authorities say nothing about who may come here, and take 60 ms to
	     * be read. */
	    LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS | (v6 ? 0 : LWS_SERVER_OPTION_DISABLE_IPV6);
	errno = 0;
	l->vhost = lws_create_vhost(s->context, &info);
	if (!l->vhost || lws_get_vhost_listen_port(l->vhost) <= 0) {
		int e = errno;
		int r = err_set(reterr, ERR_UNAVAILABLE, "cannot listen on %s:%d: %s",
				o->host ? o->host : "", o->port, e ? strerror(e) : "refused");
		http_lws_listener_destroy(l);
		return r;
	}
	l->port = lws_get_vhost_listen_port(l->vhost);
	l->next = s->listeners;
	s->listeners = l;
	*ret = l;
	return 0;
}

int http_listener_port(const struct http_listener *l)
{
	return l->port;
}

void *http_listener_user(const struct http_listener *l)
{
	return l->user;
}
