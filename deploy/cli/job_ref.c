#include "job_ref.h"

#include "base/json.h"
#include "command.h"

#include <string.h>

const char *const job_ref_kinds[] = {"pytorchjob", "jobset", "job", "rayjob",
				     "tfjob",	   "mpijob", NULL};

int job_ref_why(struct client *c, const struct job_ref *job, struct cJSON **ret, struct err *reterr)
{
	auto_buf path = BUF_INIT;

	buf_addf(&path, COMMAND_QUERY_PATH "/namespaces/%s/%s/%s/why", job->ns, job->kind,
		 job->name);
	return client_get(c, path.ptr, ret, reterr);
}

/* The word's kind, before the slash. */
static int take_kind(const char *word, const char *slash, struct job_ref *ret, struct err *reterr)
{
	size_t n = (size_t)(slash - word);

	if (n == 0 || n >= sizeof(ret->kind) || !slash[1])
		return err_set(reterr, ERR_INVALID, "\"%s\" is no [KIND/]NAME", word);
	memcpy(ret->kind, word, n);
	ret->kind[n] = '\0';
	ret->name = slash + 1;
	return 0;
}

int job_ref_find(struct client *c, const char *ns, const char *word, struct job_ref *ret,
		 struct err *reterr)
{
	const char *slash = strchr(word, '/');
	auto_buf found = BUF_INIT;
	size_t n = 0;

	*ret = (struct job_ref){.ns = ns, .name = word};
	if (slash)
		return take_kind(word, slash, ret, reterr);
	for (const char *const *kind = job_ref_kinds; *kind; kind++) {
		struct job_ref one = {.ns = ns, .name = word};
		auto_json *tree = NULL;
		(void)snprintf(one.kind, sizeof(one.kind), "%s", *kind);
		int r = job_ref_why(c, &one, &tree, reterr);
		if (r < 0 && reterr->kind != ERR_NOT_FOUND)
			return r;
		if (r < 0)
			continue;
		buf_addf(&found, "%s%s/%s", n++ ? ", " : "", *kind, word);
		*ret = one;
	}
	if (n == 0)
		return err_set(reterr, ERR_NOT_FOUND, "no job \"%s\" in namespace %s", word, ns);
	return n == 1 ? 0
		      : err_set(reterr, ERR_INVALID, "\"%s\" is ambiguous: %s", word, found.ptr);
}

int job_ref_pods(struct client *c, const struct job_ref *job, struct cJSON **ret,
		 struct err *reterr)
{
	auto_json *why = NULL;
	auto_buf path = BUF_INIT;
	int r = job_ref_why(c, job, &why, reterr);

	if (r < 0)
		return r;
	const char *uid = json_str(json_get(why, "job"), "uid");
	buf_addf(&path, "/api/v1/namespaces/%s/pods?labelSelector=muster.dev%%2Fjob-uid%%3D%s",
		 job->ns, uid ? uid : "none");
	return client_get(c, path.ptr, ret, reterr);
}
