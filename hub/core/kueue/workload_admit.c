#include "core/kueue/workload_admit.h"

#include "base/json.h"
#include "core/kueue/kueue.h"
#include "core/kueue/priority_boost.h"
#include "core/kueue/workload.h"

static struct span part(struct span status, const char *key)
{
	struct span v;

	if (!status.len || json_text_member(status, key, &v) < 0 || json_text_type(v) == JSON_NULL)
		return SPAN_NONE;
	return v;
}

static bool is_true(struct span status, const char *type)
{
	struct span list = part(status, "conditions"), one, value;

	if (!list.len || json_text_type(list) != JSON_ARRAY)
		return false;
	for (size_t pos = 0; json_text_next(list, &pos, NULL, &one);)
		if (json_text_member(one, "type", &value) == 0 &&
		    span_is(json_text_plain(value), type))
			return json_text_member(one, "status", &value) == 0 &&
			       span_is(value, "\"True\"");
	return false;
}

/* Equal as values: a client may print the same otherwise. */
static bool same(struct span a, struct span b)
{
	auto_json *x = NULL, *y = NULL;

	if (span_eq(a, b))
		return true;
	return json_parse(a, NULL, &x, NULL) == 0 && json_parse(b, NULL, &y, NULL) == 0 &&
	       json_equal(x, y);
}

/* What a job's workload holds is given back when its pods are gone, and it ends with its job: who
 * took the row's word away would have its quota given to others while it runs. */
static int check_of_job(const struct workload *w, struct span was, struct span now,
			struct err *reterr)
{
	static const char *const given[] = {"QuotaReserved", "Admitted"};

	if (!w || !w->job)
		return 0;
	if (is_true(now, "Finished") && !is_true(was, "Finished"))
		return err_set_field(reterr, ERR_INVALID, "status.conditions",
				     "Finished becomes True when the job of the workload ends");
	if (!workload_holds_quota(w))
		return 0;
	if (part(was, "admission").len && !part(now, "admission").len)
		return err_set_field(reterr, ERR_INVALID, "status.admission",
				     "the admission of a job's workload is taken away by the hub, "
				     "when the job has stopped");
	for (size_t i = 0; i < ARRAY_LEN(given); i++)
		if (is_true(was, given[i]) && !is_true(now, given[i]))
			return err_set_field(reterr, ERR_INVALID, "status.conditions",
					     "%s of a job's workload becomes False by the hub's "
					     "decision alone",
					     given[i]);
	return 0;
}

int workload_admit_command(struct core *c, struct command *cmd)
{
	static const char *const given[] = {"QuotaReserved", "Admitted"};
	struct store_extent e = cmd->draft.extents.status;
	struct span now = SPAN_NONE, was = SPAN_NONE;
	struct store_object o;

	if (cmd->verb != COMMAND_CREATE && cmd->verb != COMMAND_UPDATE)
		return 0;
	if (c->kueue->settings.priority_boost && priority_boost_check(&cmd->draft, &cmd->err) < 0)
		return err_errno(cmd->err.kind);
	if (e.len)
		now = span_make(cmd->draft.json + e.at, e.len);
	if (cmd->verb == COMMAND_UPDATE &&
	    registry_get(c->batch, cmd->kind, span_of(cmd->ns), span_of(cmd->name), &o) == 0)
		was = store_object_part(&o, o.extents.status);
	if (span_eq(now, was))
		return 0;
	struct span admission = part(now, "admission");
	if (admission.len && !same(admission, part(was, "admission")))
		return err_set_field(&cmd->err, ERR_INVALID, "status.admission",
				     "quota is given by the hub: an admission can be taken away, "
				     "not written");
	for (size_t i = 0; i < ARRAY_LEN(given); i++)
		if (is_true(now, given[i]) && !is_true(was, given[i]))
			return err_set_field(&cmd->err, ERR_INVALID, "status.conditions",
					     "%s becomes True by the hub's decision alone",
					     given[i]);
	if (cmd->verb == COMMAND_UPDATE)
		return check_of_job(workload_find(c, span_of(cmd->ns), span_of(cmd->name)), was,
				    now, &cmd->err);
	return 0;
}
