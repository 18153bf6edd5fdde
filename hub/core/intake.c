#include "core/intake.h"

#include "base/json.h"
#include "core/flush.h"
#include "core/priority.h"
#include "core/query.h"
#include "core/quota.h"

#include <errno.h>

/* Puts `text` at offset `at` of a draft, at or behind the start of its metadata. */
static void draft_insert(struct object_draft *d, size_t at, const char *text)
{
	size_t n = strlen(text);
	struct store_extent *parts[] = {&d->extents.revision, &d->extents.spec, &d->extents.status};

	d->json = xrealloc(d->json, d->len + n + 1);
	memmove(d->json + at + n, d->json + at, d->len - at + 1);
	memcpy(d->json + at, text, n);
	d->len += n;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (parts[i]->at >= at)
			parts[i]->at += (uint32_t)n;
	d->extents.metadata.len += (uint32_t)n;
}

static void add_finalizer(struct object_draft *d)
{
	struct span meta = span_make(d->json + d->extents.metadata.at, d->extents.metadata.len);
	struct span list;

	if (json_text_member(meta, "finalizers", &list) == 0 &&
	    json_text_type(list) == JSON_ARRAY) {
		struct span key, value;
		size_t pos = 0, at = (size_t)(list.ptr - d->json) + 1;
		bool any = false;
		while (json_text_next(list, &pos, &key, &value)) {
			any = true;
			if (span_is(json_text_plain(value), OBJECT_HUB_FINALIZER))
				return;
		}
		draft_insert(
		    d, at, any ? "\"" OBJECT_HUB_FINALIZER "\"," : "\"" OBJECT_HUB_FINALIZER "\"");
	} else {
		draft_insert(d, d->extents.metadata.at + 1,
			     "\"finalizers\":[\"" OBJECT_HUB_FINALIZER "\"],");
	}
	d->flags |= OBJECT_HAS_FINALIZERS;
}

static bool has_hub_finalizer(struct core *c, const struct command *cmd)
{
	struct store_object o;

	return registry_get(c->batch, cmd->kind, span_of(cmd->ns), span_of(cmd->name), &o) == 0 &&
	       core_has_hub_finalizer(&o);
}

static bool is_main(const struct command *cmd)
{
	return !cmd->subresource || !cmd->subresource[0];
}

/* What the hub adds. Negative: the command's answer is filled in. */
static int admit(struct core *c, struct command *cmd)
{
	const struct kind *k = cmd->kind;

	/* Also what an update leaves out: a PUT of a manifest must not let go of copies on members.
	 * The hub takes it off itself when they are proven gone. */
	if ((k->is_job || k->type == TYPE_CLUSTER) &&
	    (cmd->verb == COMMAND_CREATE ||
	     (cmd->verb == COMMAND_UPDATE && has_hub_finalizer(c, cmd))))
		add_finalizer(&cmd->draft);
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

static void answer(struct core *c, struct command *cmd)
{
	if (cmd->verb == COMMAND_QUERY)
		query_answer(c, cmd);
	else
		err_set(&cmd->err, ERR_NO_SPACE,
			"the hub's store has no room left; the write was not taken");
	registry_answer(c->batch, cmd);
}

bool intake_starved(struct core *c)
{
	struct command *cmd;
	bool deletes = false;

	while (!registry_batch_full(c->batch) && (cmd = inbox_take(c->inbox))) {
		if (cmd->verb != COMMAND_DELETE) {
			answer(c, cmd);
			continue;
		}
		deletes = true;
		if (registry_execute(c->batch, cmd) == -EINPROGRESS) {
			inbox_untake(c->inbox, cmd);
			break;
		}
	}
	return deletes;
}

/* No commit may raise usage above a max that stands in it or before it: what was admitted by the
 * old tree is written first, and nobody is admitted by it in the batch that holds the new one. */
static bool must_wait(struct core *c, const struct command *cmd)
{
	if (cmd->kind->type != TYPE_ELASTIC_QUOTA_TREE)
		return false;
	c->quota.edited = true;
	return flush_owes_admissions(c);
}

bool intake_run(struct core *c)
{
	struct command *cmd;

	while (!registry_batch_full(c->batch) && (cmd = inbox_take(c->inbox))) {
		/* Deletions give room back: they are let through. */
		if (cmd->verb == COMMAND_QUERY || (!c->has_room && cmd->verb != COMMAND_DELETE)) {
			answer(c, cmd);
			continue;
		}
		if (must_wait(c, cmd)) {
			inbox_untake(c->inbox, cmd);
			break;
		}
		if (!cmd->admitted && admit(c, cmd) < 0) {
			registry_answer(c->batch, cmd);
			continue;
		}
		cmd->admitted = true;
		if (registry_execute(c->batch, cmd) == -EINPROGRESS) {
			inbox_untake(c->inbox, cmd);
			break;
		}
	}
	return !inbox_is_empty(c->inbox);
}
