#ifndef TESTS_ACCESS_NAIVE_H
#define TESTS_ACCESS_NAIVE_H
/* Whether a PolicyRule as a tree allows a request: written anew, by the book, slowly. */
#include "access/rbac.h"
#include "base/json.h"

#include <stdio.h>

static inline bool word_is(const struct cJSON *list, const char *word)
{
	json_foreach (list, i)
		if (strcmp(json_value_str(i), word) == 0)
			return true;
	return false;
}

static inline bool naive_rule(const struct cJSON *rule, const struct rbac_request *q)
{
	char verb[32], group[32], whole[64], sub[64], name[32], path[32];
	snprintf(verb, sizeof(verb), "%.*s", SPAN_ARGS(q->verb));
	snprintf(group, sizeof(group), "%.*s", SPAN_ARGS(q->group));
	snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(q->name));
	snprintf(path, sizeof(path), "%.*s", SPAN_ARGS(q->path));
	snprintf(whole, sizeof(whole), "%.*s%s%.*s", SPAN_ARGS(q->resource),
		 q->subresource.len ? "/" : "", SPAN_ARGS(q->subresource));
	snprintf(sub, sizeof(sub), "*/%.*s", SPAN_ARGS(q->subresource));
	if (!word_is(json_get(rule, "verbs"), "*") && !word_is(json_get(rule, "verbs"), verb))
		return false;
	if (!q->is_resource) {
		json_foreach (json_get(rule, "nonResourceURLs"), u) {
			const char *text = json_value_str(u), *star = strchr(text, '*');
			if (star ? strncmp(path, text, (size_t)(star - text)) == 0
				 : strcmp(path, text) == 0)
				return true;
		}
		return false;
	}
	if (!word_is(json_get(rule, "apiGroups"), "*") &&
	    !word_is(json_get(rule, "apiGroups"), group))
		return false;
	if (!word_is(json_get(rule, "resources"), "*") &&
	    !word_is(json_get(rule, "resources"), whole) &&
	    !(q->subresource.len && word_is(json_get(rule, "resources"), sub)))
		return false;
	return !json_len(json_get(rule, "resourceNames")) ||
	       word_is(json_get(rule, "resourceNames"), name);
}

#endif
