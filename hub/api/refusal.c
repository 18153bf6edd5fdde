#include "api/refusal.h"

#include "kinds/types.h"

#define SUBMIT "submit a Job (kubectl create job NAME --image=IMAGE) or another kind of job"

/* What users of Kueue and of other clusters bring, and where it goes instead. */
static const struct {
	const char *kind, *words;
} instead[] = {
    {"AppWrapper", "submit the job that it wraps: one job goes to one member cluster whole"},
    {"ClusterTrainingRuntime", "submit the JobSet that a TrainJob would make of it"},
    {"CronJob", "let a CronJob of one of your clusters create its Jobs here"},
    {"DeviceClass", "devices of resource claims are set up and counted at the member clusters"},
    {"LeaderWorkerSet", "what is to end can be a JobSet with a leader's and the workers' jobs; "
			"what serves for ever belongs on a member cluster"},
    {"RayService", "submit a RayJob or a RayCluster; what serves for ever belongs on a member "
		   "cluster"},
    {"ResourceClaim", "make it at the member clusters, in the job's namespace"},
    {"ResourceClaimTemplate", "make it at the member clusters, in the job's namespace"},
    {"ScheduledSparkApplication", "submit what spark-submit does as a Job"},
    {"SparkApplication", "submit what spark-submit does as a Job"},
    {"TrainJob", "submit the JobSet that its runtime makes of it, or a PyTorchJob"},
    {"TrainingRuntime", "submit the JobSet that a TrainJob would make of it"},
    {"ValidatingAdmissionPolicy",
     "a CustomResourceDefinition's schema may have x-kubernetes-validations"},
    {"ValidatingAdmissionPolicyBinding",
     "a CustomResourceDefinition's schema may have x-kubernetes-validations"},
};

#define AND_DISPATCHES                                                                             \
	", it dispatches jobs to member clusters. To run something to its end, " SUBMIT            \
	"; what is to run for ever belongs on a member cluster"

bool refusal_is_of_pod(const struct call *c)
{
	static const char *const through[] = {"ephemeralcontainers", "eviction", "resize",
					      "binding"};

	if (c->kind->type != TYPE_POD || c->kind->verbs != KIND_VERBS_READ)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(through); i++)
		if (span_is(c->info.subresource, through[i]))
			return true;
	return false;
}

/* kubectl run, debug; then delete, label, drain. */
static const char *words_of_pod(const struct call *c)
{
	if (c->info.verb == API_CREATE && !c->info.subresource.len)
		return "are not created here: they are those of jobs, on the member clusters, "
		       "and shown here. To run something, " SUBMIT
		       ", with this template; to debug a node or a pod, go to its cluster";
	return "cannot be changed at this server: a Pod here is its view of one that a member "
	       "cluster runs (label muster.dev/cluster). Delete or change the job that it belongs "
	       "to, or go to that cluster";
}

static const char *words(const struct call *c)
{
	if (c->kind->type == TYPE_POD)
		return words_of_pod(c);
	if (c->kind->type == TYPE_NODE)
		return "cannot be changed at this server: a Node here is its view of one that a "
		       "member cluster has (label muster.dev/cluster). Cordon, drain, label and "
		       "taint it at that cluster; this server follows";
	return NULL;
}

/* `deployments.apps "x"`, cut where a name would crowd out the words. */
static void add_subject(const struct call *c, char *out, size_t size)
{
	char resource[KIND_API_VERSION_MAX];
	int n = c->info.name.len < 100 ? (int)c->info.name.len : 100;

	(void)kind_resource_name(c->kind, resource);
	if (n)
		(void)snprintf(out, size, "%.100s \"%.*s\"", resource, n, c->info.name.ptr);
	else
		(void)snprintf(out, size, "%.100s", resource);
}

static const char *find_instead(const struct kind *k)
{
	for (size_t i = 0; i < ARRAY_LEN(instead); i++)
		if (strcmp(instead[i].kind, k->kind) == 0)
			return instead[i].words;
	return NULL;
}

void refusal_answer(struct call *c)
{
	const char *said = words(c), *other = find_instead(c->kind);
	char subject[256];
	struct err e = ERR_INIT;

	add_subject(c, subject, sizeof(subject));
	if (said)
		(void)err_set(&e, ERR_METHOD_NOT_ALLOWED, "%s %s", subject, said);
	else if (other)
		(void)err_set(&e, ERR_METHOD_NOT_ALLOWED,
			      "%s is not for this server: it runs no %.100s; %s", subject,
			      c->kind->plural, other);
	else /* What runs for ever is no work of this server's, whoever brings it. */
		(void)err_set(
		    &e, ERR_METHOD_NOT_ALLOWED,
		    "%s is not for this server: it runs no %.100s%s. Skip this step of an "
		    "installation: nothing that is served here needs it",
		    subject, c->kind->plural,
		    strcmp(c->kind->group, "apps") == 0 ? AND_DISPATCHES : "");
	call_fail(c, &e);
	call_finish(c);
}
