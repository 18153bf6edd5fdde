/*
 * Reviews: questions about who somebody is and what they may do (kubernetes-api.md 1.12). POST
 * only, answered here on a worker, never stored. Their kinds are in hub/kinds, for discovery and
 * the schemas.
 */
#include "api/call.h"
#include "api/decode.h"
#include "api/review_selector.h"
#include "base/json.h"
#include "kinds/types.h"

static struct span text_of(const struct cJSON *o, const char *key)
{
	const char *s = json_str(o, key);
	return s ? span_of(s) : SPAN("");
}

/* ---- access ---- */

static void read_request(const struct cJSON *spec, struct rbac_request *ret)
{
	const struct cJSON *resource = json_get(spec, "resourceAttributes");
	const struct cJSON *other = json_get(spec, "nonResourceAttributes");
	const struct cJSON *from = resource ? resource : other;
	*ret = (struct rbac_request){.is_resource = resource != NULL,
				     .verb = text_of(from, "verb"),
				     .group = text_of(resource, "group"),
				     .resource = text_of(resource, "resource"),
				     .subresource = text_of(resource, "subresource"),
				     .name = text_of(resource, "name"),
				     .ns = text_of(resource, "namespace"),
				     .path = text_of(other, "path")};
}

static struct cJSON *access_status(struct call *c, const struct rbac_user *u,
				   const struct cJSON *spec)
{
	struct cJSON *status = json_object();
	auto_buf reason = BUF_INIT, unread = BUF_INIT;
	struct rbac_request q;
	bool allowed;
	read_request(spec, &q);
	allowed = authorizer_allows(c->listener->authorizer, u, &q, &reason);
	json_set_bool(status, "allowed", allowed);
	if (reason.len)
		json_set(status, "reason", json_new_span(buf_span(&reason)));
	review_unread_selectors(json_get(spec, "resourceAttributes"), &unread);
	if (unread.len)
		json_set(status, "evaluationError", json_new_span(buf_span(&unread)));
	return status;
}

static bool is_empty(const struct cJSON *v)
{
	const char *text = json_value_str(v);
	int64_t n;
	if (text)
		return !*text;
	if (json_value_int64(v, &n) == 0)
		return n == 0;
	return json_is(v, JSON_NULL) || json_len(v) == 0;
}

/* With the names of Go's fields, as upstream shows it. */
static void refuse_path(const struct cJSON *other, const char *detail, struct field_errors *errors)
{
	auto_json *shown = json_object();
	auto_buf text = BUF_INIT;
	json_set(shown, "Path", json_new_span(text_of(other, "path")));
	json_set(shown, "Verb", json_new_span(text_of(other, "verb")));
	json_print(shown, &text);
	field_errors_add(errors, FIELD_INVALID, "spec.nonResourceAttributes", text.ptr, "%s",
			 detail);
}

/* Exactly one of resourceAttributes and nonResourceAttributes. */
static void check_attributes(const struct cJSON *spec, struct field_errors *errors)
{
	bool resource = json_is(json_get(spec, "resourceAttributes"), JSON_OBJECT);
	bool other = json_is(json_get(spec, "nonResourceAttributes"), JSON_OBJECT);
	if (resource && other)
		refuse_path(json_get(spec, "nonResourceAttributes"),
			    "cannot be specified in combination with resourceAttributes", errors);
	if (!resource && !other)
		field_errors_add(errors, FIELD_INVALID, "spec.resourceAttributes", "null",
				 "exactly one of nonResourceAttributes or resourceAttributes must "
				 "be specified");
}

static void check_local(const struct call *c, const struct cJSON *spec, struct field_errors *errors)
{
	const struct cJSON *resource = json_get(spec, "resourceAttributes");
	struct span ns = text_of(resource, "namespace");
	if (json_get(spec, "nonResourceAttributes"))
		refuse_path(json_get(spec, "nonResourceAttributes"),
			    "disallowed on this kind of request", errors);
	if (resource && !span_eq(ns, c->info.ns)) {
		auto_buf shown = BUF_INIT;
		buf_add_json_str(&shown, ns);
		field_errors_add(errors, FIELD_INVALID, "spec.resourceAttributes.namespace",
				 shown.ptr, "must match metadata.namespace");
	}
}

/* Nothing is kept, so nothing may be said of how: an access review has no metadata but a local
 * one's namespace. */
static void check_metadata(const struct call *c, const struct cJSON *metadata,
			   struct field_errors *errors)
{
	static const char *const keys[] = {
	    "name",	  "generateName",    "uid",
	    "generation", "resourceVersion", "creationTimestamp",
	    "labels",	  "annotations",     "deletionTimestamp",
	    "finalizers", "ownerReferences", "deletionGracePeriodSeconds",
	    "selfLink",
	};
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const struct cJSON *value = json_get(metadata, keys[i]);
		auto_buf shown = BUF_INIT;
		if (!value || is_empty(value))
			continue;
		json_print(metadata, &shown);
		field_errors_add(errors, FIELD_INVALID, "metadata", shown.ptr,
				 c->kind->type == TYPE_LOCAL_SUBJECT_ACCESS_REVIEW
				     ? "must be empty except for namespace"
				     : "must be empty");
		return;
	}
}

static struct span *read_list(struct call *c, const struct cJSON *list, size_t *ret_n)
{
	struct span *items =
	    json_len(list) ? arena_array(c->mem, struct span, json_len(list)) : NULL;
	*ret_n = 0;
	json_foreach (list, item)
		if (json_value_str(item))
			items[(*ret_n)++] = span_of(json_value_str(item));
	return items;
}

static struct rbac_user read_user(struct call *c, const struct cJSON *spec)
{
	size_t n;
	struct span *groups = read_list(c, json_get(spec, "groups"), &n);
	return (struct rbac_user){text_of(spec, "user"), groups, n};
}

static int review_access(struct call *c, const struct cJSON *metadata, struct cJSON *reply,
			 struct field_errors *errors)
{
	const struct cJSON *spec = json_get(reply, "spec");
	struct rbac_user u = auth_rbac_user(&c->user);
	check_attributes(spec, errors);
	if (c->kind->type != TYPE_SELF_SUBJECT_ACCESS_REVIEW) {
		u = read_user(c, spec);
		if (!u.name.len && !u.n_groups)
			field_errors_add(errors, FIELD_INVALID, "spec.user", "\"\"",
					 "at least one of user or group must be specified");
	}
	review_check_selectors(json_get(spec, "resourceAttributes"), errors);
	check_metadata(c, metadata, errors);
	if (c->kind->type == TYPE_LOCAL_SUBJECT_ACCESS_REVIEW)
		check_local(c, spec, errors);
	if (!field_errors_any(errors))
		json_set(reply, "status", access_status(c, &u, spec));
	return 0;
}

/* ---- rules ---- */

static void add_rule(struct cJSON *resources, struct cJSON *paths, const struct rbac_rule *r)
{
	struct cJSON *rule = json_object();
	rbac_words_add(rule, "verbs", r->verbs);
	if (r->resources.n) {
		rbac_words_add(rule, "apiGroups", r->api_groups);
		rbac_words_add(rule, "resources", r->resources);
		rbac_words_add(rule, "resourceNames", r->resource_names);
		json_append(resources, rule);
	} else {
		rbac_words_add(rule, "nonResourceURLs", r->non_resource_urls);
		json_append(paths, rule);
	}
}

static int review_rules(struct call *c, struct cJSON *reply, struct err *reterr)
{
	struct span ns = text_of(json_get(reply, "spec"), "namespace");
	struct cJSON *status = json_object(), *resources = json_array(), *paths = json_array();
	struct rbac_user u = auth_rbac_user(&c->user);
	struct rbac_rule *rules;
	const struct rbac *rbac;
	auto_arena mem = ARENA_INIT;
	auto_buf lost = BUF_INIT;
	size_t n;
	if (!ns.len) {
		json_free(status);
		json_free(resources);
		json_free(paths);
		return err_set(reterr, ERR_BAD_REQUEST, "no namespace on request");
	}
	rbac = authorizer_lock(c->listener->authorizer);
	rbac_rules_of(rbac, &u, ns, &mem, &rules, &n);
	rbac_missing_of(rbac, &u, ns, &lost);
	for (size_t i = 0; i < n; i++)
		add_rule(resources, paths, &rules[i]);
	authorizer_unlock(c->listener->authorizer);
	json_set(status, "resourceRules", resources);
	json_set(status, "nonResourceRules", paths);
	json_set_bool(status, "incomplete", false);
	if (lost.len)
		json_set(status, "evaluationError", json_new_span(buf_span(&lost)));
	json_set(reply, "spec", json_object()); /* upstream forgets the question */
	json_set(reply, "status", status);
	return 0;
}

/* ---- users ---- */

static void add_extra(struct cJSON *user, const struct auth_extra *e)
{
	struct cJSON *extra = json_ensure_object(user, "extra");
	char key[256];
	struct cJSON *list;
	snprintf(key, sizeof(key), "%.*s", SPAN_ARGS(e->key));
	list = json_get(extra, key);
	if (!list) {
		json_set(extra, key, json_array());
		list = json_get(extra, key);
	}
	json_append(list, json_new_span(e->value));
}

static struct cJSON *user_info(const struct auth_user *u)
{
	struct cJSON *user = json_object(), *groups = json_array();
	json_set(user, "username", json_new_span(u->name));
	if (u->uid.len)
		json_set(user, "uid", json_new_span(u->uid));
	for (size_t i = 0; i < u->n_groups; i++)
		json_append(groups, json_new_span(u->groups[i]));
	json_set(user, "groups", groups);
	for (size_t i = 0; i < u->n_extra; i++)
		add_extra(user, &u->extra[i]);
	return user;
}

static int review_token(struct call *c, struct cJSON *reply, struct err *reterr)
{
	const struct cJSON *spec = json_get(reply, "spec");
	struct span token = text_of(spec, "token");
	struct cJSON *status = json_object(), *list;
	struct auth_user u;
	struct span *asked, *good;
	struct err e = ERR_INIT;
	size_t n_asked, n_good;
	if (!token.len) {
		json_free(status);
		return err_set(reterr, ERR_BAD_REQUEST,
			       "token is required for TokenReview in authentication");
	}
	asked = read_list(c, json_get(spec, "audiences"), &n_asked);
	if (authenticator_review(c->listener->authenticator, token, asked, n_asked, clock_now(),
				 c->mem, &u, &good, &n_good, &e) < 0) {
		json_set(status, "user", json_object());
		json_set_str(status, "error", e.text);
	} else {
		list = json_array();
		for (size_t i = 0; i < n_good; i++)
			json_append(list, json_new_span(good[i]));
		json_set_bool(status, "authenticated", true);
		json_set(status, "user", user_info(&u));
		json_set(status, "audiences", list);
	}
	json_set(reply, "status", status);
	return 0;
}

static int review_self(struct call *c, struct cJSON *reply)
{
	struct cJSON *status = json_object();
	json_set(status, "userInfo", user_info(&c->user));
	json_set(reply, "status", status);
	return 0;
}

/* ---- the call ---- */

static int review(struct call *c, const struct cJSON *metadata, struct cJSON *reply,
		  struct field_errors *errors, struct err *reterr)
{
	switch (c->kind->type) {
	case TYPE_SELF_SUBJECT_RULES_REVIEW:
		return review_rules(c, reply, reterr);
	case TYPE_SELF_SUBJECT_REVIEW:
		return review_self(c, reply);
	case TYPE_TOKEN_REVIEW:
		return review_token(c, reply, reterr);
	default:
		return review_access(c, metadata, reply, errors);
	}
}

/* What the answer keeps of the question. Owned. */
static struct cJSON *make_reply(const struct call *c, struct cJSON *object)
{
	struct cJSON *reply = json_object(), *spec = json_take(object, "spec");
	char version[KIND_API_VERSION_MAX];
	json_set_str(reply, "kind", c->kind->kind);
	json_set_str(reply, "apiVersion", kind_api_version(c->kind, version));
	json_set(reply, "metadata", json_object());
	json_set(reply, "spec", spec);
	return reply;
}

/* As of any object that is posted into a namespace. */
static int take_namespace(const struct call *c, const struct cJSON *metadata, struct cJSON *reply,
			  struct err *reterr)
{
	const char *ns = json_str(metadata, "namespace");
	if (c->kind->scope != KIND_NAMESPACED)
		return 0;
	if (ns && *ns && !span_is(c->info.ns, ns))
		return err_set(reterr, ERR_BAD_REQUEST,
			       "the namespace of the provided object does not match the namespace "
			       "sent on the request");
	json_set(json_get(reply, "metadata"), "namespace", json_new_span(c->info.ns));
	return 0;
}

static void answer(struct call *c)
{
	struct field_errors *errors = xcalloc(1, sizeof(*errors));
	struct cJSON *object = NULL, *reply = NULL;
	const struct cJSON *metadata = NULL;
	struct buf warnings = BUF_INIT;
	struct err e = ERR_INIT;
	int r = decode_object(c, &object, &warnings, &e);
	if (!r) {
		reply = make_reply(c, object);
		metadata = json_get(object, "metadata");
		r = take_namespace(c, metadata, reply, &e);
	}
	if (!r)
		r = review(c, metadata, reply, errors, &e);
	struct kind nameless = *c->kind; /* upstream's refusals do not name it */
	nameless.kind = "";
	if (!r && field_errors_any(errors))
		r = status_set_invalid(&e, &nameless, "", errors);
	if (r) {
		struct status_subject s = {.kind = field_errors_any(errors) ? &nameless : c->kind,
					   .errors = errors};
		call_fail_with(c, &e, &s);
	} else {
		call_warn(c, buf_span(&warnings));
		call_ok(c, 201, "application/json");
		json_print(reply, &c->answer.body);
	}
	buf_done(&warnings);
	field_errors_done(errors);
	free(errors);
	json_free(object);
	json_free(reply);
	call_to_loop(c, call_finish);
}

void call_review(struct call *c)
{
	bool namespaced = c->kind->scope == KIND_NAMESPACED;
	if (c->info.verb != API_CREATE || c->info.name.len) {
		call_failf(c, ERR_METHOD_NOT_ALLOWED,
			   "the server does not allow this method on the requested resource");
		call_finish(c);
	} else if (namespaced != (c->info.ns.len > 0)) {
		call_failf(c, ERR_NOT_FOUND, "the server could not find the requested resource");
		call_finish(c);
	} else {
		call_to_worker(c, answer);
	}
}
