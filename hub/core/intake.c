#include "core/intake.h"

#include "core/admit.h"
#include "core/dispatch/amend.h"
#include "core/flush.h"
#include "core/kueue/kueue.h"
#include "core/query.h"
#include "core/quota.h"

#include <errno.h>

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
	if (kueue_is_quota(cmd->kind)) {
		c->kueue->edited = true;
		return kueue_owes_admissions(c);
	}
	if (cmd->kind->type != TYPE_ELASTIC_QUOTA_TREE)
		return false;
	c->quota.edited = true;
	return flush_owes_admissions(c);
}

/* However many commands wait, what was decided for those before them goes out beside them: while
 * there is something to decide or to write they take half of a batch at first. */
static bool has_room_for_commands(const struct core *c)
{
	bool owes = c->dirty.len || c->kueue->dirty.len || kueue_queues_is_due(c->kueue->queues);
	size_t room = registry_batch_room(c->batch);

	return !registry_batch_full(c->batch) && (!owes || room > STORE_MAX_CHANGES / 2);
}

/* False: the batch can take no more, and the command waits for the next one. */
static bool take(struct core *c, struct command *cmd)
{
	/* Deletions give room back: they are let through. */
	if (cmd->verb == COMMAND_QUERY || (!c->has_room && cmd->verb != COMMAND_DELETE)) {
		answer(c, cmd);
		return true;
	}
	if (must_wait(c, cmd)) {
		inbox_untake(c->inbox, cmd);
		return false;
	}
	if (!cmd->admitted && admit_command(c, cmd) < 0) {
		registry_answer(c->batch, cmd);
		return true;
	}
	cmd->admitted = true;
	if (amend_note(c, cmd) < 0) {
		registry_answer(c->batch, cmd);
		return true;
	}
	if (registry_execute(c->batch, cmd) != -EINPROGRESS)
		return true;
	inbox_untake(c->inbox, cmd);
	return false;
}

void intake_run(struct core *c)
{
	struct command *cmd;

	while (has_room_for_commands(c) && (cmd = inbox_take(c->inbox)))
		if (!take(c, cmd))
			break;
}

bool intake_fill(struct core *c)
{
	struct command *cmd;

	while (!registry_batch_full(c->batch) && (cmd = inbox_take(c->inbox))) {
		if (cmd->verb != COMMAND_QUERY &&
		    (kueue_is_quota(cmd->kind) || cmd->kind->type == TYPE_ELASTIC_QUOTA_TREE)) {
			inbox_untake(c->inbox, cmd);
			break;
		}
		if (!take(c, cmd))
			break;
	}
	return !inbox_is_empty(c->inbox);
}
