#include "core/admit.h"

#include "base/json.h"
#include "core/kueue/cluster_queue.h"
#include "core/kueue/in_use.h"
#include "core/kueue/workload_admit.h"
#include "core/kueue/workload_sync.h"
#include "core/priority.h"
#include "core/quota.h"
#include "core/suspension.h"

#include <errno.h>

static void add_finalizer(struct object_draft *d, const char *finalizer)
{
	auto_buf text = BUF_INIT;
	struct span meta = span_make(d->json + d->extents.metadata.at, d->extents.metadata.len);
	struct span list;

	if (json_text_member(meta, "finalizers", &list) == 0 &&
	    json_text_type(list) == JSON_ARRAY) {
		struct span key, value;
		size_t pos = 0, at = (size_t)(list.ptr - d->json) + 1;
		bool any = false;
		while (json_text_next(list, &pos, &key, &value)) {
			any = true;
			if (span_is(json_text_plain(value), finalizer))
				return;
		}
		buf_addf(&text, any ? "\"%s\"," : "\"%s\"", finalizer);
		object_draft_replace(d, at, 0, text.ptr);
	} else {
		buf_addf(&text, "\"finalizers\":[\"%s\"],", finalizer);
		object_draft_replace(d, d->extents.metadata.at + 1, 0, text.ptr);
	}
	d->flags |= OBJECT_HAS_FINALIZERS;
	if (strcmp(finalizer, OBJECT_HUB_FINALIZER) != 0)
		d->flags |= OBJECT_FOREIGN_FINALIZERS;
}

#define STATUS_MEMBER ",\"status\":"

/* The status that accepts a job (Created, for PyTorchJob and siblings; Suspended) stands in the row
 * that makes it: a second row would cost as much as the first. */
static void add_accepted_status(const struct core *c, const struct command *cmd,
				struct object_draft *d)
{
	auto_buf member = BUF_INIT;
	size_t value = strlen(STATUS_MEMBER), end = d->len;

	buf_add_str(&member, STATUS_MEMBER);
	job_accepted_status(cmd->kind, cmd->name, suspension_is_on(cmd->kind, d), c->now, &member);
	if (d->extents.status.len || member.len == value)
		return;
	while (d->json[--end] != '}')
		;
	object_draft_replace(d, end, 0, member.ptr);
	d->extents.status =
	    (struct store_extent){(uint32_t)(end + value), (uint32_t)(member.len - value)};
	struct managed_write by = core_manager(c, cmd->kind);
	managed_draft_status(&by, NULL, d);
}

static bool has_finalizer(struct core *c, const struct command *cmd, const char *finalizer)
{
	struct store_object o;

	return registry_get(c->batch, cmd->kind, span_of(cmd->ns), span_of(cmd->name), &o) == 0 &&
	       core_has_finalizer(&o, finalizer);
}

static bool is_main(const struct command *cmd)
{
	return !cmd->subresource || !cmd->subresource[0];
}

/* The draft may have grown beyond what a row holds, which would fail the whole batch. */
static int check_size(struct command *cmd)
{
	if (cmd->draft.len <= STORE_MAX_OBJECT - STORE_REVISION_TEXT)
		return 0;
	return err_set(&cmd->err, ERR_TOO_LARGE, "the object is larger than %zu bytes",
		       STORE_MAX_OBJECT);
}

int admit_command(struct core *c, struct command *cmd)
{
	const struct kind *k = cmd->kind;

	/* Also what an update leaves out: a PUT of a manifest must not let go of copies on members.
	 * The hub takes it off itself when they are proven gone. */
	const char *finalizer = k->is_job || k->type == TYPE_CLUSTER ? OBJECT_HUB_FINALIZER
				: k->type == TYPE_CLUSTER_QUEUE || in_use_keeps(k) ? KUEUE_FINALIZER
										   : NULL;
	if (finalizer && (cmd->verb == COMMAND_CREATE ||
			  (cmd->verb == COMMAND_UPDATE && has_finalizer(c, cmd, finalizer))))
		add_finalizer(&cmd->draft, finalizer);
	if (k->is_job && (workload_admit_job(c, cmd) < 0 || quota_admit_job(c, cmd) < 0))
		return err_errno(cmd->err.kind);
	if (k->is_job && cmd->verb == COMMAND_CREATE) {
		suspension_admit(c, cmd);
		add_accepted_status(c, cmd, &cmd->draft);
	}
	if (k->is_job && cmd->verb == COMMAND_UPDATE && is_main(cmd))
		suspension_keep(c, cmd);
	if (finalizer)
		return check_size(cmd);
	if (k->type == TYPE_WORKLOAD)
		return workload_admit_command(c, cmd);
	if (k->type == TYPE_PRIORITY_CLASS && cmd->verb != COMMAND_DELETE)
		return priority_admit_command(c, cmd);
	if (k->type == TYPE_ELASTIC_QUOTA_TREE && is_main(cmd) &&
	    (cmd->verb == COMMAND_CREATE || cmd->verb == COMMAND_UPDATE) &&
	    !(cmd->draft.flags & OBJECT_DELETING))
		return quota_admit_command(c, cmd);
	if (k->type == TYPE_ELASTIC_QUOTA_TREE && cmd->dry_run)
		quota_preview_delete(c, cmd);
	return 0;
}
