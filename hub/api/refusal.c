#include "api/refusal.h"

#include "kinds/types.h"

#define SUBMIT "submit a Job (kubectl create job NAME --image=IMAGE) or another kind of job"

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

void refusal_answer(struct call *c)
{
	const char *said = words(c);
	char subject[256];
	struct err e = ERR_INIT;

	add_subject(c, subject, sizeof(subject));
	if (said)
		(void)err_set(&e, ERR_METHOD_NOT_ALLOWED, "%s %s", subject, said);
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
