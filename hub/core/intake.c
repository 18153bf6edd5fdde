#include "core/intake.h"

#include "core/admit.h"
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
		if (!cmd->admitted && admit_command(c, cmd) < 0) {
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
