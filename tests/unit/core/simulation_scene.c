#include "simulation.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const char *const sim_spaces[] = {"team-a", "team-b", "default"};

/* Every other seed with reclaim. */
static void put_tree(struct sim *s, int max_a, bool reclaims)
{
	char text[1024];

	(void)snprintf(
	    text, sizeof(text),
	    "{'apiVersion':'scheduling.sigs.k8s.io/v1beta1','kind':'ElasticQuotaTree','metadata':{"
	    "'name':'tree','namespace':'kube-system'},'spec':{'root':{'name':'root','attributes':{"
	    "%s},'min':{'cpu':16},'max':{'cpu':16},'children':[{'name':'a','namespaces':['team-a'],'min':{'cpu':4},"
	    "'max':{'cpu':%d,'kube-queue/max-jobs':3}},{'name':'b','namespaces':['team-b'],'min':{"
	    "'cpu':4},'max':{'cpu':14}}]}}}",
	    reclaims ? "'reclaim-policy':'ReclaimMin','reclaim-protect-time':'1s'" : "", max_a);
	assert_int_equal(world_create(&s->w, TYPE_ELASTIC_QUOTA_TREE, text), ERR_NONE);
}

static void trace(struct world *w)
{
	static char last[512];

	map_foreach (&w->core->jobs_by_number, e) {
		const struct job *j = e->value;
		if (strcmp(j->name, getenv("SIM_TRACE")) != 0)
			continue;
		auto_free char *line = world_job_line(w, j);
		if (strncmp(line, last, sizeof(last) - 1) != 0)
			print_message("turn %" PRIu64 " %s", w->turns, line);
		(void)snprintf(last, sizeof(last), "%s", line);
	}
	world_check(w);
}

/* At once, or after a while. */
static const char *failover_of(uint64_t seed)
{
	return seed & 1 ? ",'failover':{'application':{'purgeMode':'Directly','decisionConditions':"
			  "{'tolerationSeconds':0}}}"
			: ",'failover':{'application':{'purgeMode':'Directly','decisionConditions':"
			  "{'tolerationSeconds':2}}}";
}

void sim_open(struct sim *s, uint64_t seed)
{
	char text[1024];

	*s = (struct sim){.random = seeds_begin(seed)};
	s->w.seed = seed * 100003;
	s->w.keep_finished = 3600 * USEC_PER_SEC;
	world_open(&s->w);
	s->w.after_turn = getenv("SIM_TRACE") ? trace : world_check;
	for (size_t i = 0; i < 2; i++) {
		(void)snprintf(text, sizeof(text),
			       "{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'%s'}}",
			       sim_spaces[i]);
		assert_int_equal(world_create(&s->w, TYPE_NAMESPACE, text), ERR_NONE);
	}
	s->reclaims = seed & 1;
	put_tree(s, 12, s->reclaims);
	s->failover = seed % 3 == 1;
	for (size_t i = 0; i < 2; i++) {
		(void)snprintf(
		    text, sizeof(text),
		    "{'apiVersion':'policy.karmada.io/v1alpha1','kind':'PropagationPolicy',"
		    "'metadata':{'name':'p','namespace':'%s'},'spec':{'suspension':{'scheduling':"
		    "true}%s,'resourceSelectors':[{'apiVersion':'batch/v1','kind':'Job'}],"
		    "'placement':{'customSchedulingType':'Gang'}}}",
		    sim_spaces[i], s->failover ? failover_of(seed / 3) : "");
		assert_int_equal(world_create(&s->w, TYPE_PROPAGATION_POLICY, text), ERR_NONE);
	}
	s->fails = seed % 4 == 2;
	if (s->fails)
		assert_int_equal(
		    world_create(&s->w, TYPE_PRIORITY_CLASS,
				 "{'apiVersion':'scheduling.k8s.io/v1','kind':'PriorityClass',"
				 "'metadata':{'name':'urgent'},'value':1000}"),
		    ERR_NONE);
	world_join(&s->w, "c1", s->fails ? 3 : 1, 4 + (int)below(s, s->fails ? 2 : 10));
	world_join(&s->w, "c2", 1 + (int)below(s, 2), 6);
	if (below(s, 2))
		world_join(&s->w, "c3", 1, 8);
}
