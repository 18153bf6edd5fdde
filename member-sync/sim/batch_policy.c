#include "member-sync/sim/batch_policy.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct batch_policy *batch_policy_destroy(struct batch_policy *p)
{
	if (!p)
		return NULL;
	for (size_t i = 0; i < p->n_success; i++)
		free(p->success[i].indexes);
	free(p);
	return NULL;
}

/* The container whose exit the rule speaks of. A simulated pod's containers all end alike. */
static const char *matching_container(const struct batch_failure_rule *r,
				      const struct pod_view *pod)
{
	for (size_t i = 0; i < pod->n_containers; i++)
		if (!*r->container || strcmp(pod->containers[i].name, r->container) == 0)
			return pod->containers[i].name;
	return NULL;
}

static bool matches_exit(const struct batch_failure_rule *r, const struct pod_view *pod)
{
	uint32_t code = (uint32_t)pod->exit_code & 255;
	bool listed = (r->codes[code / 64] >> (code % 64)) & 1;
	/* A container that ended well is never asked about. */
	return r->by_exit_code && code && matching_container(r, pod) && listed != r->not_in;
}

enum batch_action batch_policy_judge(const struct batch_policy *p, const struct pod_view *pod,
				     size_t *ret_rule)
{
	for (size_t i = 0; p && i < p->n_failure; i++) {
		const struct batch_failure_rule *r = &p->failure[i];
		if (!matches_exit(r, pod) && !(r->by_disruption && pod->disrupted))
			continue;
		if (ret_rule)
			*ret_rule = i;
		return r->action;
	}
	return BATCH_COUNT;
}

void batch_policy_explain(const struct batch_policy *p, size_t rule, const struct pod_view *pod,
			  char *out, size_t size)
{
	static const char *const actions[] = {"Count", "Ignore", "FailIndex", "FailJob"};
	const struct batch_failure_rule *r = &p->failure[rule];
	if (matches_exit(r, pod))
		snprintf(out, size,
			 "Container %s for pod %.*s/%.*s failed with exit code %d matching %s rule "
			 "at index %zu",
			 matching_container(r, pod), SPAN_ARGS(pod->ns), SPAN_ARGS(pod->name),
			 pod->exit_code, actions[r->action], rule);
	else
		snprintf(out, size,
			 "Pod %.*s/%.*s has condition DisruptionTarget matching %s rule at index "
			 "%zu",
			 SPAN_ARGS(pod->ns), SPAN_ARGS(pod->name), actions[r->action], rule);
}

int batch_policy_met(const struct batch_policy *p, const bool *done, int64_t n)
{
	for (size_t r = 0; p && done && r < p->n_success; r++) {
		const struct batch_success_rule *rule = &p->success[r];
		int64_t have = 0, of = 0;
		for (int64_t i = 0; i < n; i++) {
			bool asked = !rule->indexes || rule->indexes[i];
			of += asked;
			have += asked && done[i];
		}
		if (of && have >= (rule->count >= 0 ? rule->count : of))
			return (int)r;
	}
	return -1;
}
