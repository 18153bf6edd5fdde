#include "core/suspension.h"

#include "base/json.h"
#include "core/admission/settle.h"
#include "core/job.h"
#include "core/kueue/kueue.h"
#include "kinds/job_digest.h"

#define FIELD "suspend"

/* The object that holds the field: spec, or spec.runPolicy. */
static int holder_of(const struct kind *k, const struct object_draft *d, struct span *ret)
{
	const char *path = job_suspend_path(k) + strlen("/spec/");
	struct span spec = span_make(d->json + d->extents.spec.at, d->extents.spec.len);
	char key[32];
	size_t n = strcspn(path, "/");

	*ret = spec;
	if (!spec.len || json_text_type(spec) != JSON_OBJECT)
		return -1;
	if (!path[n])
		return 0;
	(void)snprintf(key, sizeof(key), "%.*s", (int)n, path);
	return json_text_member(spec, key, ret) == 0 && json_text_type(*ret) == JSON_OBJECT ? 0
											    : -1;
}

bool suspension_is_on(const struct kind *k, const struct object_draft *d)
{
	struct span holder, value;

	return holder_of(k, d, &holder) == 0 && json_text_member(holder, FIELD, &value) == 0 &&
	       span_is(value, "true");
}

/* False when it stood so already. */
static bool set(const struct kind *k, struct object_draft *d, bool on)
{
	struct span holder, value, key;
	const char *word = on ? "true" : "false";

	if (holder_of(k, d, &holder) < 0)
		return false;
	if (json_text_member(holder, FIELD, &value) == 0) {
		if (span_is(value, word))
			return false;
		object_draft_replace(d, (size_t)(value.ptr - d->json), value.len, word);
		return true;
	}
	size_t pos = 0;
	bool any = json_text_next(holder, &pos, &key, &value);
	char member[32];
	(void)snprintf(member, sizeof(member), "\"" FIELD "\":%s%s", word, any ? "," : "");
	object_draft_replace(d, (size_t)(holder.ptr - d->json) + 1, 0, member);
	return true;
}

void suspension_admit(struct core *c, struct command *cmd)
{
	auto_arena mem = ARENA_INIT;
	struct job_digest digest;

	if (cmd->draft.digest &&
	    job_digest_unpack(span_make(cmd->draft.digest, cmd->draft.digest_len), &mem, &digest) ==
		0 &&
	    settle_goes_to_queue(c, cmd->kind, span_of(cmd->ns), span_of(cmd->name), &digest))
		(void)set(cmd->kind, &cmd->draft, true);
}

static bool is_stored_on(struct core *c, const struct command *cmd)
{
	struct store_object o;
	struct span spec, value;
	const char *path = job_suspend_path(cmd->kind);
	bool below = strcmp(path, "/spec/" FIELD) != 0;

	if (registry_get(c->batch, cmd->kind, span_of(cmd->ns), span_of(cmd->name), &o) < 0)
		return false;
	spec = store_object_part(&o, o.extents.spec);
	return spec.len && json_text_type(spec) == JSON_OBJECT &&
	       (below ? json_text_path(spec, &value, "runPolicy", FIELD, NULL)
		      : json_text_member(spec, FIELD, &value)) == 0 &&
	       span_is(value, "true");
}

void suspension_keep(struct core *c, struct command *cmd)
{
	const struct job *j = job_by_key(c, cmd->kind->type, span_of(cmd->ns), span_of(cmd->name));
	auto_buf text = BUF_INIT;

	if (!j || !j->workload || j->digest.queue_name.len)
		return;
	bool was = is_stored_on(c, cmd);
	if (suspension_is_on(cmd->kind, &cmd->draft) == was)
		return;
	(void)set(cmd->kind, &cmd->draft, was);
	if (cmd->warnings)
		buf_add_str(&text, cmd->warnings);
	buf_addf(&text,
		 "spec%s: it belongs to the job's queue and stays as it was; spec.active of its "
		 "Workload stops the job\n",
		 strcmp(job_suspend_path(cmd->kind), "/spec/" FIELD) == 0 ? "." FIELD
									  : ".runPolicy." FIELD);
	free(cmd->warnings);
	cmd->warnings = buf_steal(&text, NULL);
}

bool suspension_begins(struct core *c, const struct job *j)
{
	return j->user_suspended ||
	       settle_goes_to_queue(c, j->kind, span_of(j->ns), span_of(j->name), &j->digest);
}

void suspension_follow(const struct core *c, const struct job *j, const struct store_object *old,
		       struct object_draft *d)
{
	struct managed_write by = core_manager(c, j->kind);
	bool on = j->dispatch.step != DISPATCH_STARTED && j->dispatch.step != DISPATCH_FINISHED;
	bool below = strcmp(job_suspend_path(j->kind), "/spec/" FIELD) != 0;

	if (j->workload && set(j->kind, d, on))
		managed_draft_field(&by, old,
				    below ? "{\"f:spec\":{\"f:runPolicy\":{\"f:" FIELD "\":{}}}}"
					  : "{\"f:spec\":{\"f:" FIELD "\":{}}}",
				    d);
}
