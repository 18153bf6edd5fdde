/* DELETE of one object. */
#include "api/delete.h"
#include "api/decode.h"
#include "api/option_errors.h"
#include "api/read_options.h"
#include "api/render.h"
#include "api/write.h"
#include "base/json.h"
#include "kinds/types.h"
#include <errno.h>

static const struct {
	const char *word;
	enum command_propagation value;
} policies[] = {
    {"Background", PROPAGATE_BACKGROUND},
    {"Foreground", PROPAGATE_FOREGROUND},
    {"Orphan", PROPAGATE_ORPHAN},
};

static int read_dry_run(struct call *c, const struct cJSON *options, struct err *reterr)
{
	struct span values[HTTP_MAX_PARAMS];
	size_t n = 0;

	json_foreach (json_get(options, "dryRun"), item)
		if (n < ARRAY_LEN(values))
			values[n++] = span_of(json_value_str(item));
	if (n)
		option_check_dry_run(c, "DeleteOptions", values, n);
	return option_check(c, reterr);
}

static int read_policy(struct call *c, const struct cJSON *options, enum command_propagation *ret,
		       struct err *reterr)
{
	const char *word = json_str(options, "propagationPolicy");
	*ret = PROPAGATE_DEFAULT;
	if (word && json_is(json_get(options, "orphanDependents"), JSON_BOOL))
		option_refuse_text(c, "DeleteOptions", FIELD_INVALID, "propagationPolicy",
				   span_of(word),
				   "orphanDependents and deletionPropagation cannot be both set");
	if (!word) {
		const struct cJSON *orphan = json_get(options, "orphanDependents");
		if (json_is(orphan, JSON_BOOL))
			*ret = json_value_bool(orphan, false) ? PROPAGATE_ORPHAN
							      : PROPAGATE_BACKGROUND;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(policies); i++)
		if (strcmp(word, policies[i].word) == 0) {
			*ret = policies[i].value;
			return option_check(c, reterr);
		}
	option_refuse_text(c, "DeleteOptions", FIELD_NOT_SUPPORTED, "propagationPolicy",
			   span_of(word),
			   "supported values: \"Foreground\", \"Background\", \"Orphan\", "
			   "\"nil\"");
	return option_check(c, reterr);
}

/* Every group has a DeleteOptions of its own name. */
static int check_kind(const struct cJSON *options, struct err *reterr)
{
	const char *kind = json_str(options, "kind"), *version = json_str(options, "apiVersion");

	if (!kind || !kind[0] || strcmp(kind, "DeleteOptions") == 0)
		return 0;
	return err_set(reterr, ERR_BAD_REQUEST,
		       "no kind \"%.100s\" is registered for version \"%.100s\": a delete takes "
		       "DeleteOptions",
		       kind, version ? version : "");
}

/* What is not understood must not be passed over: it may be what keeps something from going. */
static int check_types(const struct cJSON *options, struct err *reterr)
{
	static const struct {
		const char *of, *key;
		enum json_type type;
	} members[] = {
	    {NULL, "gracePeriodSeconds", JSON_NUMBER},
	    {NULL, "propagationPolicy", JSON_STRING},
	    {NULL, "orphanDependents", JSON_BOOL},
	    {NULL, "dryRun", JSON_ARRAY},
	    {NULL, "preconditions", JSON_OBJECT},
	    {"preconditions", "uid", JSON_STRING},
	    {"preconditions", "resourceVersion", JSON_STRING},
	};
	const struct cJSON *grace = json_get(options, "gracePeriodSeconds");
	int64_t seconds;

	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		const char *of = members[i].of;
		const struct cJSON *m =
		    json_get(of ? json_get(options, of) : options, members[i].key);
		if (m && !json_is(m, JSON_NULL) && !json_is(m, members[i].type))
			return err_set(reterr, ERR_BAD_REQUEST,
				       "cannot read %s into DeleteOptions.%s%s%s, which is %s",
				       json_type_name(json_type_of(m)), of ? of : "", of ? "." : "",
				       members[i].key, json_type_name(members[i].type));
	}
	if (json_is(grace, JSON_NUMBER) && json_value_int64(grace, &seconds) < 0)
		return err_set(reterr, ERR_BAD_REQUEST,
			       "cannot read the number %.*s into "
			       "DeleteOptions.gracePeriodSeconds, which is an integer",
			       SPAN_ARGS(json_number_text(grace)));
	return 0;
}

int delete_options_read(struct call *c, struct delete_options *ret, struct err *reterr)
{
	int r = decode_delete_options(c, &ret->tree, reterr);
	if (!r)
		r = check_kind(ret->tree, reterr);
	if (!r)
		r = check_types(ret->tree, reterr);
	if (!r)
		r = read_dry_run(c, ret->tree, reterr);
	if (!r)
		r = read_policy(c, ret->tree, &ret->propagation, reterr);
	return r;
}

/* What the policy asks of the garbage collector; true when something of it changed. A delete of
 * what is deleting already may still change its mind. */
static bool set_policy(struct cJSON *tree, enum command_propagation policy)
{
	switch (policy) {
	case PROPAGATE_ORPHAN:
		return meta_set_collection(tree, META_ORPHAN);
	case PROPAGATE_FOREGROUND:
		return meta_set_collection(tree, META_FOREGROUND);
	case PROPAGATE_BACKGROUND:
		return meta_set_collection(tree, NULL);
	case PROPAGATE_DEFAULT:
		break;
	}
	return false;
}

/* The same object with its deletionTimestamp and what the policy asks for; 1 when it has them. */
static int mark_deleting(struct call *c, const struct store_object *o,
			 enum command_propagation policy, struct object_draft *ret,
			 struct err *reterr)
{
	const struct kind *k = write_stored_kind(c);
	auto_json *tree = NULL;
	int r = object_tree(o, &tree, reterr);
	if (r)
		return r;
	bool asked = set_policy(tree, policy);
	if (!meta_mark_deleting(tree, clock_now()) && !asked)
		return 1;
	return object_draft_from_tree(k, tree, ret, reterr);
}

int delete_plan(struct call *c, const struct store_object *o, const struct delete_options *options,
		struct command **ret, struct err *reterr)
{
	/* A namespace always does, and the registry knows for what, and which may not go at all. */
	bool waits = (o->flags & OBJECT_HAS_FINALIZERS) && c->kind->type != TYPE_NAMESPACE;
	struct object_draft draft;
	struct command *cmd;
	int64_t grace;
	int r = meta_check_preconditions(options->tree, c->kind, o, reterr);
	if (!r && waits)
		r = mark_deleting(c, o, options->propagation, &draft, reterr);
	if (r)
		return r;
	cmd = write_command(c, waits ? COMMAND_UPDATE : COMMAND_DELETE, o->key.ns, o->key.name);
	cmd->expected_revision = o->revision;
	cmd->propagation = options->propagation;
	cmd->force = json_int64(options->tree, "gracePeriodSeconds", &grace) == 0 && grace == 0;
	cmd->subresource = "";
	if (waits) {
		cmd->draft = draft;
		cmd->bytes += draft.len + draft.digest_len;
	}
	*ret = cmd;
	return 0;
}

struct deletion {
	struct write write; /* first */
	struct delete_options options;
	bool read;
};

static void finish(struct call *c)
{
	struct deletion *d = c->state;
	json_free(d->options.tree);
	d->options.tree = NULL;
	write_finish(c);
}

/* The object when it is still there, else a Success with the uid that kubectl waits for. */
static void answer(struct call *c, struct command *cmd)
{
	struct deletion *d = c->state;
	struct status_subject s = {.kind = c->kind, .name = d->write.name, .uid = d->write.uid};
	struct store_key key = {c->kind->type, span_of(cmd->ns), span_of(cmd->name)};
	auto_reader *reader = NULL;
	char uid[OBJECT_UID_TEXT];
	struct store_object o;
	struct render render;
	int r = store_read_begin(call_store(c), &reader, NULL);
	if (!r)
		r = store_get(reader, &key, &o);
	call_ok(c, 200, "application/json");
	if (!r && !c->dry_run && strcmp(object_uid_format(o.uid, uid), d->write.uid) == 0 &&
	    read_options_render(c, &render, NULL) == 0)
		render_object(&render, &o, &c->answer.body);
	else
		status_success(&s, &c->answer.body);
}

static void on_answer(struct call *c);
static void attempt(struct call *c);

static void command_done(struct command *self)
{
	call_to_loop(self->origin, on_answer);
}

static void on_answer(struct call *c)
{
	struct deletion *d = c->state;
	struct command *cmd = d->write.command;
	if (cmd->err.kind == ERR_CONFLICT && !d->write.conditional &&
	    d->write.attempts < WRITE_MAX_ATTEMPTS) {
		d->write.command = command_destroy(cmd);
		call_to_worker(c, attempt);
		return;
	}
	if (cmd->warnings)
		buf_add_str(&d->write.warnings, cmd->warnings);
	if (cmd->err.kind == ERR_NONE) {
		answer(c, cmd);
	} else {
		struct status_subject s = {
		    .kind = c->kind, .name = d->write.name, .errors = cmd->causes};
		call_fail_with(c, &cmd->err, &s);
	}
	finish(c);
}

static void attempt(struct call *c)
{
	struct deletion *d = c->state;
	struct write *w = &d->write;
	auto_reader *reader = NULL;
	struct store_object o;
	struct render render;
	struct err e = ERR_INIT;
	int r = 0;
	w->attempts++;
	if (!d->read) {
		d->read = true;
		r = delete_options_read(c, &d->options, &e);
		w->conditional =
		    json_path(d->options.tree, "preconditions", "resourceVersion", NULL);
	}
	if (!r)
		r = write_read(c, c->info.name, &reader, &o, &e);
	if (!r) {
		object_uid_format(o.uid, w->uid);
		r = delete_plan(c, &o, &d->options, &w->command, &e);
	}
	if (!r) {
		(void)write_send(c, w->command, command_done);
		return;
	}
	if (r == 1 && read_options_render(c, &render, &e) == 0) {
		call_ok(c, 200, "application/json");
		render_object(&render, &o, &c->answer.body);
	} else {
		struct status_subject s = {
		    .kind = c->kind, .name = w->name, .of_kind = e.kind == ERR_CONFLICT};
		call_fail_with(c, &e, &s);
	}
	call_to_loop(c, finish);
}

void call_delete(struct call *c)
{
	struct deletion *d = arena_new(c->mem, struct deletion);
	struct err e = ERR_INIT;
	c->state = d;
	d->write.finish = finish;
	snprintf(d->write.name, sizeof(d->write.name), "%.*s", SPAN_ARGS(c->info.name));
	if (call_read_dry_run(c, &e) == 0) {
		call_to_worker(c, attempt);
		return;
	}
	call_fail(c, &e);
	call_finish(c);
}
