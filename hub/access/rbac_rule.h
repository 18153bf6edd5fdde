#ifndef ACCESS_RBAC_RULE_H
#define ACCESS_RBAC_RULE_H
/*
 * One RBAC rule and what it allows, word for word as Kubernetes' RBAC authorizer reads it
 * (pkg/apis/rbac/v1/evaluation_helpers.go, pkg/registry/rbac/validation).
 *
 * Pure: strings are borrowed, nothing is allocated except by rbac_rule_read(), whose memory is
 * the arena's.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/span.h"
#include <stdbool.h>

struct cJSON;

struct rbac_words {
	const struct span *items;
	size_t n;
};

struct rbac_rule {
	struct rbac_words verbs, api_groups, resources, resource_names, non_resource_urls;
};

/* What somebody wants to do. */
struct rbac_request {
	bool is_resource;
	struct span verb;
	struct span group, resource, subresource, name; /* of resources; "" where there is none */
	struct span ns;					/* "" at cluster scope, and for paths */
	struct span path;				/* of other paths */
};

/* Whether the rule covers the request. */
bool rbac_rule_allows(const struct rbac_rule *r, const struct rbac_request *q);

/* Whether the `n` rules that somebody holds cover everything that `wanted` grants: each verb on
 * each resource (name) or path of it is allowed by a single one of them. What is not covered is
 * appended to `missing` (unless NULL) in Kubernetes' notation, one "{...}" a line, verbs of one
 * resource put together. Lines are in byte order. */
bool rbac_rules_cover(const struct rbac_rule *held, size_t n_held, const struct rbac_rule *wanted,
		      size_t n_wanted, struct buf *missing);

bool rbac_rule_equal(const struct rbac_rule *a, const struct rbac_rule *b);

/* From an array of PolicyRules; what is not of the right type counts as absent. */
#define RBAC_MAX_RULES 10000
void rbac_rules_read(const struct cJSON *rules, struct arena *mem, struct rbac_rule **ret,
		     size_t *ret_n);
/* Adds the member `key` with the words; nothing when there are none. */
void rbac_words_add(struct cJSON *rule, const char *key, struct rbac_words w);
/* As an array of PolicyRules; owned. */
struct cJSON *rbac_rules_tree(const struct rbac_rule *rules, size_t n);

#endif
