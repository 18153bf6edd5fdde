/*
 * Tokens of ServiceAccounts: the TokenRequest subresource (kubernetes-api.md 1.12), and the two
 * documents by which others verify them.
 *
 * A request may bind the token to a Pod, a Secret or a Node; that must be there, and a Pod must be
 * the account's. A token lasts an hour unless it says otherwise, and at most a year.
 */
#include "api/call.h"
#include "api/decode.h"
#include "base/json.h"
#include "kinds/types.h"
#include "kube/meta.h"
#include "kube/object.h"

#define DEFAULT_SECONDS 3600
#define MIN_SECONDS	600
#define MAX_SECONDS	((int64_t)1 << 32)
#define LONGEST_SECONDS ((int64_t)365 * 24 * 3600) /* longer wishes are cut, as upstream may */
#define MAX_AUDIENCES	32

struct ask {
	struct call *call;
	struct cJSON *spec;
	struct account_wish wish;
	const char *audiences[MAX_AUDIENCES];
	char uid[OBJECT_UID_TEXT], bound_uid[OBJECT_UID_TEXT], node_uid[OBJECT_UID_TEXT];
	char node_name[STORE_MAX_NAME + 1];
};

static int read_object(struct call *c, uint16_t type, struct span ns, struct span name,
		       struct store_reader **reader, struct store_object *ret, struct err *reterr)
{
	const struct kind *k = kind_by_type(c->listener->backend->kinds, type);
	struct store_key key = {type, ns, name};
	char text[STORE_MAX_NAME + 1];
	int r;
	if (!k || name.len > STORE_MAX_NAME)
		return err_set(reterr, ERR_NOT_FOUND, "no such object");
	r = store_read_begin(backend_store(c->listener->backend, k), reader, reterr);
	if (r)
		return r;
	if (store_get(*reader, &key, ret) == 0)
		return 0;
	snprintf(text, sizeof(text), "%.*s", SPAN_ARGS(name));
	return status_set_not_found(reterr, k, text);
}

static int read_spec(struct ask *a, struct field_errors *errors)
{
	const struct cJSON *list = json_get(a->spec, "audiences");
	const struct cJSON *seconds = json_get(a->spec, "expirationSeconds");
	int64_t n = DEFAULT_SECONDS;
	json_foreach (list, item)
		if (json_value_str(item) && a->wish.n_audiences < MAX_AUDIENCES)
			a->audiences[a->wish.n_audiences++] = json_value_str(item);
	if (!a->wish.n_audiences)
		a->audiences[a->wish.n_audiences++] =
		    account_issuer_name(authenticator_issuer(a->call->listener->authenticator));
	a->wish.audiences = a->audiences;
	if (seconds && !json_is(seconds, JSON_NULL) && json_value_int64(seconds, &n) < 0)
		n = 0;
	if (n < MIN_SECONDS || n > MAX_SECONDS) {
		char value[24];
		snprintf(value, sizeof(value), "%lld", (long long)n);
		field_errors_add(errors, FIELD_INVALID, "spec.expirationSeconds", value, "%s",
				 n < MIN_SECONDS ? "may not specify a duration less than 10 minutes"
						 : "may not specify a duration larger than 2^32 "
						   "seconds");
	}
	a->wish.seconds = n < LONGEST_SECONDS ? n : LONGEST_SECONDS;
	return field_errors_any(errors) ? -1 : 0;
}

static int check_pod(struct ask *a, const struct store_object *pod, struct err *reterr)
{
	struct span account;
	if (json_text_path(pod->json, &account, "spec", "serviceAccountName", NULL) == 0 &&
	    span_eq(json_text_plain(account), a->call->info.name))
		return 0;
	return err_set(reterr, ERR_BAD_REQUEST,
		       "cannot bind token for serviceaccount \"%.*s\" to pod running with "
		       "different serviceaccount name.",
		       SPAN_ARGS(a->call->info.name));
}

/* The node that the pod is on; its name alone when there is no such Node here. */
static void read_node(struct ask *a, const struct store_object *pod)
{
	struct account_token *t = &a->wish.account;
	auto_reader *reader = NULL;
	struct store_object node;
	struct span name;

	if (json_text_path(pod->json, &name, "spec", "nodeName", NULL) < 0)
		return;
	name = json_text_plain(name);
	if (!name.len || name.len > STORE_MAX_NAME)
		return;
	snprintf(a->node_name, sizeof(a->node_name), "%.*s", SPAN_ARGS(name));
	t->node_name = span_of(a->node_name);
	if (read_object(a->call, TYPE_NODE, SPAN(""), t->node_name, &reader, &node, NULL) == 0)
		t->node_uid = span_of(object_uid_format(node.uid, a->node_uid));
}

static int read_bound(struct ask *a, struct err *reterr)
{
	const struct cJSON *ref = json_get(a->spec, "boundObjectRef");
	struct account_token *t = &a->wish.account;
	const char *kind = json_str(ref, "kind"), *uid = json_str(ref, "uid");
	auto_reader *reader = NULL;
	struct store_object o;
	uint16_t type;
	int r;
	if (!json_is(ref, JSON_OBJECT))
		return 0;
	type = !kind			     ? 0
	       : strcmp(kind, "Pod") == 0    ? TYPE_POD
	       : strcmp(kind, "Secret") == 0 ? TYPE_SECRET
	       : strcmp(kind, "Node") == 0   ? TYPE_NODE
					     : 0;
	if (!type)
		return err_set(reterr, ERR_BAD_REQUEST, "cannot bind token to object of type %s",
			       kind ? kind : "");
	t->bound_kind = span_of(kind);
	t->bound_name = span_of(json_str(ref, "name"));
	r = read_object(a->call, type, type == TYPE_NODE ? SPAN("") : a->call->info.ns,
			t->bound_name, &reader, &o, reterr);
	if (!r && type == TYPE_POD)
		r = check_pod(a, &o, reterr);
	if (r)
		return r;
	t->bound_uid = span_of(object_uid_format(o.uid, a->bound_uid));
	if (type == TYPE_POD)
		read_node(a, &o);
	if (uid && uid[0] && !span_is(t->bound_uid, uid))
		return err_set(reterr, ERR_CONFLICT,
			       "the UID in the bound object reference (%s) does not match the UID "
			       "in record. The object might have been deleted and then recreated",
			       uid);
	return 0;
}

static int read_account(struct ask *a, struct err *reterr)
{
	struct call *c = a->call;
	struct account_token *t = &a->wish.account;
	auto_reader *reader = NULL;
	struct store_object o;
	int r = read_object(c, TYPE_SERVICE_ACCOUNT, c->info.ns, c->info.name, &reader, &o, reterr);
	if (r)
		return r;
	if (o.flags & OBJECT_DELETING)
		return err_set(reterr, ERR_CONFLICT, "the service account is being deleted");
	t->ns = c->info.ns;
	t->name = c->info.name;
	t->uid = span_of(object_uid_format(o.uid, a->uid));
	return 0;
}

static void print(struct ask *a, struct span token)
{
	struct cJSON *reply = json_object(), *meta = json_object(), *status = json_object();
	struct cJSON *list = json_array();
	char text[CLOCK_TEXT_MAX];
	for (size_t i = 0; i < a->wish.n_audiences; i++)
		json_append(list, json_new_str(a->audiences[i]));
	json_set_str(reply, "kind", "TokenRequest");
	json_set_str(reply, "apiVersion", "authentication.k8s.io/v1");
	json_set(meta, "name", json_new_span(a->call->info.name));
	json_set(meta, "namespace", json_new_span(a->call->info.ns));
	json_set_str(meta, "uid", a->uid);
	json_set_str(meta, "creationTimestamp", clock_format(clock_now(), text));
	json_set(reply, "metadata", meta);
	json_set(a->spec, "audiences", list);
	json_set_int(a->spec, "expirationSeconds", a->wish.seconds);
	json_set(reply, "spec", json_dup(a->spec));
	json_set_str(status, "expirationTimestamp", clock_format(a->wish.account.expires, text));
	json_set(status, "token", json_new_span(token));
	json_set(reply, "status", status);
	call_ok(a->call, 201, "application/json");
	json_print(reply, &a->call->answer.body);
	json_free(reply);
}

/* What the request says that it is, and of whom. */
static int check_request(const struct call *c, const struct cJSON *object,
			 struct field_errors *errors, struct err *reterr)
{
	const char *kind = json_str(object, "kind"), *version = json_str(object, "apiVersion");
	const struct cJSON *meta = json_get(object, "metadata");
	const char *name = json_str(meta, "name"), *ns = json_str(meta, "namespace");
	auto_buf shown = BUF_INIT;

	if ((kind && kind[0] && strcmp(kind, "TokenRequest") != 0) ||
	    (version && version[0] && strcmp(version, "authentication.k8s.io/v1") != 0))
		return err_set(
		    reterr, ERR_BAD_REQUEST,
		    "%.100s in version \"%.100s\" cannot be handled as a TokenRequest of "
		    "authentication.k8s.io/v1",
		    kind ? kind : "", version ? version : "");
	if (ns && ns[0] && !span_is(c->info.ns, ns))
		return err_set(reterr, ERR_BAD_REQUEST,
			       "the namespace of the provided object does not match the namespace "
			       "sent on the request");
	if (!name || !name[0] || span_is(c->info.name, name))
		return 0;
	buf_add_json_str(&shown, span_of(name));
	field_errors_add(errors, FIELD_INVALID, "metadata.name", shown.ptr, "%s",
			 "must match the service account name if specified");
	return err_set(reterr, ERR_INVALID, "the name is another");
}

static int make(struct ask *a, struct field_errors *errors, struct err *reterr)
{
	struct call *c = a->call;
	struct buf token = BUF_MAX(JWT_MAX_BYTES);
	int r = read_account(a, reterr);
	if (!r && read_spec(a, errors) < 0)
		r = err_set(reterr, ERR_INVALID,
			    "TokenRequest.authentication.k8s.io \"\" is "
			    "invalid: the duration is out of range");
	if (!r)
		r = read_bound(a, reterr);
	if (!r)
		r = account_token_make(authenticator_issuer(c->listener->authenticator), &a->wish,
				       clock_now(), &token, reterr);
	if (!r)
		print(a, buf_span(&token));
	if (token.ptr)
		explicit_bzero(token.ptr, token.cap);
	buf_done(&token);
	return r;
}

static void answer(struct call *c)
{
	struct ask a = {.call = c};
	struct field_errors *errors = xcalloc(1, sizeof(*errors));
	struct cJSON *object = NULL;
	struct buf warnings = BUF_INIT;
	struct err e = ERR_INIT;
	int r = decode_object(c, &object, &warnings, &e);
	buf_done(&warnings);
	if (!r)
		r = check_request(c, object, errors, &e);
	if (!r) {
		a.spec = json_ensure_object(object, "spec");
		r = a.spec ? make(&a, errors, &e)
			   : err_set(&e, ERR_BAD_REQUEST, "spec is not an object");
	}
	if (r) {
		static const struct kind request = {.kind = "TokenRequest",
						    .plural = "tokenrequests",
						    .group = "authentication.k8s.io"};
		bool invalid = field_errors_any(errors);
		struct status_subject s = {.kind = invalid ? &request : c->kind, .errors = errors};
		char name[STORE_MAX_NAME + 1];
		snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(c->info.name));
		if (!invalid)
			s.name = name;
		call_fail_with(c, &e, &s);
	}
	field_errors_done(errors);
	free(errors);
	json_free(object);
	call_to_loop(c, call_finish);
}

void call_token_request(struct call *c)
{
	if (c->info.verb == API_CREATE && c->info.ns.len) {
		call_to_worker(c, answer);
		return;
	}
	call_refuse(c, ERR_METHOD_NOT_ALLOWED);
	call_finish(c);
}

void call_openid(struct call *c)
{
	const struct account_issuer *i = authenticator_issuer(c->listener->authenticator);
	buf_add_str(&c->answer.headers, "Cache-Control: public, max-age=3600\r\n");
	if (span_starts(c->info.path, SPAN("/openid/v1/jwks"))) {
		call_ok(c, 200, "application/jwk-set+json");
		jwk_set_print(account_issuer_keys(i), &c->answer.body);
	} else {
		call_ok(c, 200, "application/json");
		buf_add_str(&c->answer.body, "{\"issuer\":");
		buf_add_json_str(&c->answer.body, span_of(account_issuer_name(i)));
		buf_addf(&c->answer.body,
			 ",\"jwks_uri\":\"%s/openid/v1/jwks\",\"response_types_supported\":[\"id_"
			 "token\"],\"subject_types_supported\":[\"public\"],\"id_token_signing_alg_"
			 "values_supported\":[\"ES256\"]}",
			 c->listener->url);
	}
	call_finish(c);
}
