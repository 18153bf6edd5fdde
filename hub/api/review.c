/*
 * Reviews about the caller: SelfSubjectAccessReview, SelfSubjectReview, SelfSubjectRulesReview
 * (kubernetes-api.md 1.12). Answered here, not stored; the verdicts are auth_authorize()'s.
 */
#include "api/call.h"
#include "api/decode.h"
#include "base/json.h"

static const struct {
	const char *group, *resource, *kind;
} reviews[] = {
    {"authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview"},
    {"authorization.k8s.io", "selfsubjectrulesreviews", "SelfSubjectRulesReview"},
    {"authentication.k8s.io", "selfsubjectreviews", "SelfSubjectReview"},
};

static int which(const struct call *c)
{
	for (size_t i = 0; i < ARRAY_LEN(reviews); i++)
		if (span_is(c->info.group, reviews[i].group) &&
		    span_is(c->info.resource, reviews[i].resource) &&
		    span_is(c->info.version, "v1"))
			return (int)i;
	return -1;
}

bool call_is_review(const struct call *c)
{
	return which(c) >= 0;
}

static struct span text_of(const struct cJSON *o, const char *key)
{
	const char *s = json_str(o, key);
	return s ? span_of(s) : SPAN_NONE;
}

static bool verb_of(struct span word, enum api_verb *ret)
{
	for (int v = 0; v < API_VERB_MAX; v++)
		if (span_is(word, api_verb_name((enum api_verb)v))) {
			*ret = (enum api_verb)v;
			return true;
		}
	return false;
}

static struct cJSON *access_status(struct call *c, const struct cJSON *object)
{
	const struct cJSON *resource = json_path(object, "spec", "resourceAttributes", NULL);
	const struct cJSON *other = json_path(object, "spec", "nonResourceAttributes", NULL);
	struct cJSON *status = json_object();
	struct request_info i = {.is_resource = resource != NULL, .verb = API_GET};
	struct err e = ERR_INIT;
	bool allowed;
	if (resource) {
		i.group = text_of(resource, "group");
		i.version = text_of(resource, "version");
		i.resource = text_of(resource, "resource");
		i.subresource = text_of(resource, "subresource");
		i.name = text_of(resource, "name");
		i.ns = text_of(resource, "namespace");
		(void)verb_of(text_of(resource, "verb"), &i.verb);
	} else {
		i.path = text_of(other, "path");
	}
	allowed = auth_authorize(&c->user, &i, &e) == 0;
	json_set_bool(status, "allowed", allowed);
	if (!allowed)
		json_set_str(status, "reason", e.text);
	return status;
}

static struct cJSON *string_list(const char *only)
{
	struct cJSON *list = json_array();
	json_append(list, json_new_str(only));
	return list;
}

static struct cJSON *rules_status(struct call *c)
{
	struct cJSON *status = json_object(), *resources = json_array(), *paths = json_array();
	struct request_info everything = {.is_resource = true,
					  .verb = API_DELETE_COLLECTION,
					  .resource = SPAN("*"),
					  .group = SPAN("*")};
	if (auth_authorize(&c->user, &everything, NULL) == 0) {
		struct cJSON *rule = json_object(), *path = json_object();
		json_set(rule, "verbs", string_list("*"));
		json_set(rule, "apiGroups", string_list("*"));
		json_set(rule, "resources", string_list("*"));
		json_append(resources, rule);
		json_set(path, "verbs", string_list("*"));
		json_set(path, "nonResourceURLs", string_list("*"));
		json_append(paths, path);
	}
	json_set(status, "resourceRules", resources);
	json_set(status, "nonResourceRules", paths);
	json_set_bool(status, "incomplete", false);
	return status;
}

static struct cJSON *self_status(struct call *c)
{
	struct cJSON *status = json_object(), *user = json_object(), *groups = json_array();
	json_set(user, "username", json_new_span(c->user.name));
	for (size_t i = 0; i < c->user.n_groups; i++)
		json_append(groups, json_new_span(c->user.groups[i]));
	json_set(user, "groups", groups);
	json_set(status, "userInfo", user);
	return status;
}

static void answer(struct call *c)
{
	int n = which(c);
	struct cJSON *object = NULL, *reply = json_object(), *spec;
	struct buf warnings = BUF_INIT;
	struct err e = ERR_INIT;
	char version[KIND_API_VERSION_MAX];
	int r = decode_object(c, &object, &warnings, &e);
	buf_done(&warnings);
	if (r) {
		call_fail(c, &e);
	} else {
		snprintf(version, sizeof(version), "%s/v1", reviews[n].group);
		json_set_str(reply, "kind", reviews[n].kind);
		json_set_str(reply, "apiVersion", version);
		json_set(reply, "metadata", json_object());
		spec = json_take(object, "spec");
		json_set(reply, "spec", spec);
		json_set(reply, "status",
			 n == 0	  ? access_status(c, reply)
			 : n == 1 ? rules_status(c)
				  : self_status(c));
		call_ok(c, 201, "application/json");
		json_print(reply, &c->answer.body);
	}
	json_free(object);
	json_free(reply);
	call_to_loop(c, call_finish);
}

void call_review(struct call *c)
{
	if (c->info.verb == API_CREATE) {
		call_to_worker(c, answer);
		return;
	}
	call_failf(c, ERR_METHOD_NOT_ALLOWED,
		   "the server does not allow this method on the requested resource");
	call_finish(c);
}
