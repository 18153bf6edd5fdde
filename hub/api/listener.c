#include "api/listener.h"

#include "api/await_revision.h"
#include "api/continue_token.h"
#include "api/documents.h"
#include "api/feed.h"
#include "api/jwks_source.h"
#include "api/pki.h"
#include "base/num.h"

/* As kubeadm's clusters call themselves. */
#define DEFAULT_ISSUER "https://kubernetes.default.svc.cluster.local"

bool listener_serves(const struct api_listener *l, const struct kind *k)
{
	return k->type < KIND_FIRST_USER_TYPE || kind_by_type(l->kinds, k->type);
}

/* Watches of a kind that is not served any more end. */
static void end_orphans(struct api_listener *l)
{
	struct call *next;
	for (struct call *c = l->api->streams; c; c = next) {
		next = c->next_stream;
		if (c->listener != l || !c->kind || listener_serves(l, c->kind))
			continue;
		if (c->on_kind_gone)
			c->on_kind_gone(c);
		else
			c->on_stop(c);
	}
}

void listener_refresh_kinds(struct api_listener *l)
{
	struct kind_source *s = l->backend->source;
	if (!s || kind_source_generation(s) == l->kinds_generation)
		return;
	kind_set_unref(l->kinds);
	l->kinds = kind_source_get(s, &l->kinds_generation);
	memset(l->recent, 0, sizeof(l->recent));
	documents_set_kinds(l->documents, l->kinds);
	end_orphans(l);
}

const struct kind *listener_kind(struct api_listener *l, const struct kind_set *kinds,
				 const struct request_info *i)
{
	size_t hash = i->resource.len * 31 + i->group.len * 7 + i->version.len;
	const struct kind **recent, *k;
	if (kinds != l->kinds || !i->resource.len)
		return kind_by_resource(kinds, i->group, i->version, i->resource);
	hash +=
	    (unsigned char)i->resource.ptr[0] + (unsigned char)i->resource.ptr[2 % i->resource.len];
	recent = &l->recent[hash % LISTENER_RECENT];
	k = *recent;
	if (k && span_is(i->resource, k->plural) && span_is(i->group, k->group) &&
	    span_is(i->version, k->version))
		return k;
	k = kind_by_resource(kinds, i->group, i->version, i->resource);
	if (k)
		*recent = k;
	return k;
}

/* "HOST:PORT", "[ADDRESS]:PORT", ":PORT". */
static int parse_listen(const char *text, char host[128], int *ret_port, struct err *reterr)
{
	const char *colon = strrchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : 0;
	uint64_t port = 0;
	const char *from = text;
	if (!colon || num_parse_u64(span_of(colon + 1), 65535, &port) < 0)
		return err_set(reterr, ERR_BAD_REQUEST,
			       "listen address \"%s\": HOST:PORT is wanted", text);
	if (n >= 2 && from[0] == '[' && from[n - 1] == ']') {
		from++;
		n -= 2;
	}
	if (n >= 128)
		return err_set(reterr, ERR_BAD_REQUEST, "listen address \"%s\" is too long", text);
	memcpy(host, from, n);
	host[n] = '\0';
	if (!strcmp(host, "localhost"))
		memcpy(host, "127.0.0.1", 10);
	*ret_port = (int)port;
	return 0;
}

static void on_commit(void *arg, struct store *store, uint64_t revision)
{
	struct api_listener *l = arg;
	(void)revision;
	feed_wake(l->mirror && store == l->backend->mirror ? l->mirror : l->truth);
	await_revision_committed(l);
}

static void make_keys(struct api_listener *l)
{
	struct span token = pki_admin_token(l->pki);
	/* Whoever holds the admin token may read everything anyway. */
	continue_key(token, store_incarnation(l->backend->truth), l->truth_key);
	if (l->backend->mirror)
		continue_key(token, store_incarnation(l->backend->mirror), l->mirror_key);
}

static void make_url(struct api_listener *l, const char *host)
{
	bool all = !host[0] || !strcmp(host, "0.0.0.0") || !strcmp(host, "::");
	const char *name = all ? "127.0.0.1" : host;
	l->port = http_listener_port(l->http);
	if (strchr(name, ':'))
		snprintf(l->url, sizeof(l->url), "https://[%s]:%d", name, l->port);
	else
		snprintf(l->url, sizeof(l->url), "https://%s:%d", name, l->port);
}

int api_add_listener(struct api *a, const struct api_listener_options *o, struct api_listener **ret,
		     struct err *reterr)
{
	struct api_listener *l = xcalloc(1, sizeof(*l));
	struct http_listen_options http = {.cert_pem = pki_serving_cert_pem(o->pki),
					   .key_pem = pki_serving_key_pem(o->pki),
					   .client_ca_pem = pki_ca_pem(o->pki),
					   .user = l};
	struct authenticator_options who_options = {.pki = o->pki,
						    .backend = o->backend,
						    .issuer =
							o->issuer ? o->issuer : DEFAULT_ISSUER,
						    .oidc = o->oidc,
						    .request_header = o->request_header};
	struct authenticator *who = NULL;
	char host[128];
	int r = parse_listen(o->listen, host, &http.port, reterr);
	http.host = host;
	if (o->request_header) {
		http.proxy_ca_pem = pki_proxy_ca_pem(o->pki);
		http.proxy_user_headers = request_header_user_headers(o->request_header);
	}
	if (!r && o->request_header)
		r = request_header_check(o->request_header, http.proxy_ca_pem, pki_ca_pem(o->pki),
					 reterr);
	if (!r)
		r = authenticator_create(&who_options, &who, reterr);
	if (!r)
		r = http_server_listen(a->http, &http, &l->http, reterr);
	if (r) {
		authenticator_destroy(who);
		free(l);
		return r;
	}
	l->api = a;
	l->backend = o->backend;
	l->pki = o->pki;
	if (o->backend->source)
		l->kinds = kind_source_get(o->backend->source, &l->kinds_generation);
	else
		l->kinds = o->backend->kinds;
	l->documents = documents_create(l->kinds);
	l->truth = feed_create(o->backend->truth, &a->mailbox);
	if (o->backend->mirror)
		l->mirror = feed_create(o->backend->mirror, &a->mailbox);
	l->authorizer = authorizer_create(o->backend, l->truth, a->options.log);
	l->authenticator = who;
	l->oidc = o->oidc;
	make_keys(l);
	make_url(l, host);
	await_revision_init(l);
	l->hook = (struct backend_listener){.committed = on_commit, .arg = l};
	o->backend->ops->listen(o->backend, &l->hook);
	l->next = a->listeners;
	a->listeners = l;
	*ret = l;
	return 0;
}

const char *api_listener_url(const struct api_listener *l)
{
	return l->url;
}

int api_listener_port(const struct api_listener *l)
{
	return l->port;
}

static void take_keys(void *arg, struct jwk_set *keys)
{
	authenticator_set_keys(arg, keys);
}

int listener_start(struct api_listener *l, struct err *reterr)
{
	struct jwks_source_options o = {.oidc = l->oidc,
					.log = l->api->options.log,
					.keys = take_keys,
					.arg = l->authenticator};
	authorizer_start(l->authorizer);
	return l->oidc ? jwks_source_create(&o, &l->jwks, reterr) : 0;
}

void listener_destroy(struct api_listener *l)
{
	documents_destroy(l->documents);
	jwks_source_destroy(l->jwks);
	kind_set_unref(l->kinds);
	authorizer_destroy(l->authorizer);
	authenticator_destroy(l->authenticator);
	feed_destroy(l->truth);
	feed_destroy(l->mirror);
	free(l);
}
