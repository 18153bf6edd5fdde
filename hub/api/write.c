#include "api/write.h"

#include "api/option_errors.h"
#include "api/read_options.h"
#include "api/render.h"
#include "base/json.h"
#include "kinds/types.h"
#include "kube/schema.h"
#include "kube/status_draft.h"
#include <errno.h>
#include <sys/random.h>

struct write *write_of(struct call *c)
{
	return c->state;
}

static void fill_random(void *arg, void *out, size_t n)
{
	(void)arg;
	/* The kernel's own: less than half of what OpenSSL's generator costs for the bytes of a
	 * uid. Up to 256 bytes come whole. */
	if (getrandom(out, n, 0) != (ssize_t)n)
		abort(); /* no randomness: no uid may be given */
}

static const struct meta_random random_source = {fill_random, NULL};

struct meta_write write_meta(const struct call *c)
{
	const struct meta_random *given = call_api(c)->options.random;
	return (struct meta_write){.kind = c->kind,
				   .ns = c->info.ns.ptr ? c->info.ns : SPAN(""),
				   .name = c->info.name,
				   .subresource =
				       c->info.subresource.len ? c->info.subresource.ptr : "",
				   .now = clock_now(),
				   .random = given ? given : &random_source};
}

const struct kind *write_stored_kind(const struct call *c)
{
	const struct kind *k = kind_by_type(c->kinds, c->kind->type);
	return k ? k : c->kind;
}

static int read_validation(struct call *c, struct write *w, struct err *reterr)
{
	struct span v = call_param(c, "fieldValidation");
	if (!v.len || span_is(v, "Warn"))
		return 0;
	if (span_is(v, "Strict"))
		w->strict = true;
	else if (span_is(v, "Ignore"))
		w->ignore = true;
	else
		option_refuse_text(c, option_kind_of_write(c), FIELD_NOT_SUPPORTED,
				   "fieldValidation", v,
				   "supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"");
	return option_check(c, reterr);
}

/* The words are those of apimachinery's ValidateFieldManager. */
static int read_manager(struct call *c, struct write *w, struct err *reterr)
{
	struct span v = call_param(c, "fieldManager");

	if (!v.len) {
		managed_name_from_agent(c->request->user_agent, w->manager);
		return 0;
	}
	if (v.len > MANAGED_MAX_NAME)
		option_refuse(c, option_kind_of_write(c), FIELD_TOO_LONG, "fieldManager", NULL,
			      "may not be more than %d bytes", MANAGED_MAX_NAME);
	for (size_t i = 0; i < v.len; i++)
		if ((unsigned char)v.ptr[i] < 0x20 || v.ptr[i] == 0x7f) {
			char words[60];
			(void)snprintf(words, sizeof(words),
				       "invalid character U+%04X (at position %zu)",
				       (unsigned)v.ptr[i], i);
			option_refuse_text(c, option_kind_of_write(c), FIELD_INVALID,
					   "fieldManager", v, words);
			break;
		}
	if (c->options)
		return option_check(c, reterr);
	memcpy(w->manager, v.ptr, v.len);
	w->manager[v.len] = '\0';
	w->named_manager = true;
	return 0;
}

struct managed_write write_manager(const struct call *c)
{
	const struct write *w = c->state;
	return (struct managed_write){.kinds = c->kinds,
				      .kind = c->kind,
				      .manager = w->manager,
				      .subresource = w->through ? w->through
						     : c->info.subresource.len
							 ? c->info.subresource.ptr
							 : "",
				      .now = clock_now()};
}

void write_record(struct call *c, const struct cJSON *old, struct cJSON *object,
		  const struct cJSON *sent)
{
	struct managed_write w = write_manager(c);
	if (c->kind->mirrored && !sent && !json_path(old, "metadata", "managedFields", NULL))
		return;
	managed_record(&w, old, object, sent);
}

void write_begin(struct call *c, void (*attempt)(struct call *c))
{
	struct write *w = arena_new(c->mem, struct write);
	struct err e = ERR_INIT;
	int r;
	c->state = w;
	w->attempt = attempt;
	w->finish = write_finish;
	w->code = 200;
	snprintf(w->name, sizeof(w->name), "%.*s", SPAN_ARGS(c->info.name));
	/* The subresource as a C string: the words of meta.h. */
	if (c->info.subresource.len)
		c->info.subresource.ptr =
		    arena_strndup(c->mem, c->info.subresource.ptr, c->info.subresource.len);
	r = call_read_dry_run(c, &e);
	if (!r)
		r = read_validation(c, w, &e);
	if (!r)
		r = read_manager(c, w, &e);
	if (!r) {
		call_to_worker(c, attempt);
		return;
	}
	call_fail(c, &e);
	call_finish(c);
}

void write_finish(struct call *c)
{
	struct write *w = write_of(c);
	call_warn(c, buf_span(&w->warnings));
	buf_done(&w->warnings);
	buf_done(&w->duplicates);
	buf_done(&w->message);
	field_errors_done(&w->errors);
	free(w->dry_text);
	command_destroy(w->command);
	call_finish(c);
}

void write_fail(struct call *c, const struct err *e)
{
	struct write *w = write_of(c);
	struct status_subject s = {.kind = w->about_body ? NULL : c->kind,
				   .name = w->about_body ? NULL : w->name,
				   .message = w->message.len ? w->message.ptr : NULL};
	if (e->kind == ERR_INVALID && field_errors_any(&w->errors))
		s.errors = &w->errors;
	call_fail_with(c, e, &s);
	call_to_loop(c, w->finish);
}

int write_read(struct call *c, struct span name, struct store_reader **ret_reader,
	       struct store_object *ret, struct err *reterr)
{
	struct store_reader *reader = NULL;
	struct store_key key = {c->kind->type, c->info.ns.ptr ? c->info.ns : SPAN(""), name};
	char text[STORE_MAX_NAME + 1];
	int r = -ENOENT;
	if (name.len <= STORE_MAX_NAME && key.ns.len <= STORE_MAX_NAMESPACE) {
		r = store_read_begin(call_store(c), &reader, reterr);
		if (r)
			return r;
		r = store_get(reader, &key, ret);
	}
	if (!r) {
		*ret_reader = reader;
		return 0;
	}
	store_read_end(reader);
	if (r != -ENOENT)
		return read_failed(r, reterr);
	snprintf(text, sizeof(text), "%.*s", SPAN_ARGS(name));
	return status_set_not_found(reterr, c->kind, text);
}

int write_tree(struct call *c, const struct store_object *o, struct cJSON **ret, struct err *reterr)
{
	struct render render = {.kinds = c->kinds, .kind = c->kind};
	struct buf text = BUF_INIT;
	int r;
	if (write_stored_kind(c) == c->kind) {
		r = object_tree(o, ret, reterr);
		if (!r)
			schema_renew(c->kind, *ret);
		return r;
	}
	render_json(&render, o, &text);
	r = json_parse(buf_span(&text), NULL, ret, reterr);
	buf_done(&text);
	return r;
}

/* ---- to the core and back ---- */

static void on_answer(struct call *c);

static void command_done(struct command *self)
{
	call_to_loop(self->origin, on_answer);
}

struct command *write_command(struct call *c, enum command_verb verb, struct span ns,
			      struct span name)
{
	struct command *cmd = command_create(verb, write_stored_kind(c), ns, name);
	cmd->user = xstrndup(c->user.name.ptr, c->user.name.len);
	cmd->origin = c;
	cmd->dry_run = c->dry_run;
	if (c->info.subresource.len)
		cmd->subresource = span_is(c->info.subresource, "status") ? "status" : "finalize";
	return cmd;
}

bool write_send(struct call *c, struct command *take, void (*done)(struct command *self))
{
	struct backend *b = c->listener->backend;
	struct err e = ERR_INIT;
	take->done = done;
	take->origin = c;
	if (b->ops->submit(b, take, &e) == 0)
		return true;
	command_destroy(take);
	if (!write_of(c)) {
		call_fail(c, &e);
		call_to_loop(c, call_finish);
		return false;
	}
	write_of(c)->command = NULL;
	write_fail(c, &e);
	return false;
}

static void to_stored(const struct call *c, struct cJSON *object)
{
	const struct kind *stored = write_stored_kind(c);
	char version[KIND_API_VERSION_MAX];
	struct cJSON *old = json_get(object, "apiVersion");
	if (stored == c->kind)
		return;
	if (c->kind->convert)
		c->kind->convert(c->kind, object, KIND_TO_STORED);
	else if (old)
		json_replace(object, old, json_new_str(kind_api_version(stored, version)));
}

/* A draft's text with its resourceVersion; 0: a new object, which has none yet. */
static void add_with_revision(const struct object_draft *d, uint64_t revision, struct buf *out)
{
	static const char member[] = ",\"resourceVersion\":\"";
	size_t at = d->extents.revision.at;
	bool cut = !revision && at >= sizeof(member) - 1 &&
		   memcmp(d->json + at - (sizeof(member) - 1), member, sizeof(member) - 1) == 0;

	buf_add(out, d->json, cut ? at - (sizeof(member) - 1) : at);
	if (revision)
		buf_add_u64(out, revision);
	buf_add(out, d->json + at + cut, d->len - at - cut);
}

/* Takes the draft. */
static void submit(struct call *c, enum command_verb verb, const struct object_draft *draft,
		   uint64_t expected_revision, enum command_propagation propagation)
{
	struct write *w = write_of(c);
	struct command *cmd;

	(void)object_uid_format(draft->uid, w->uid);
	if (c->dry_run) {
		struct buf text = BUF_MAX(STORE_MAX_OBJECT);
		add_with_revision(draft, verb == COMMAND_CREATE ? 0 : expected_revision, &text);
		free(w->dry_text);
		w->dry_text = buf_steal(&text, &w->dry_len);
	}
	cmd = write_command(c, verb, c->info.ns, span_of(w->name));
	cmd->expected_revision = expected_revision;
	cmd->propagation = propagation;
	cmd->draft = *draft;
	cmd->bytes += draft->len + draft->digest_len;
	w->command = cmd;
	(void)write_send(c, cmd, command_done);
}

void write_submit(struct call *c, enum command_verb verb, struct cJSON *object,
		  uint64_t expected_revision, enum command_propagation propagation)
{
	struct object_draft draft;
	struct err e = ERR_INIT;

	to_stored(c, object);
	if (object_draft_from_tree(write_stored_kind(c), object, &draft, &e) < 0)
		write_fail(c, &e);
	else
		submit(c, verb, &draft, expected_revision, propagation);
}

void write_submit_status(struct call *c, const struct store_object *o, struct cJSON *object)
{
	struct object_draft draft;
	struct err e = ERR_INIT;
	int r = status_draft_make(c->kind, o, object, &draft, &e);

	if (r == -ENOENT)
		write_submit(c, COMMAND_UPDATE, object, o->revision, PROPAGATE_DEFAULT);
	else if (r < 0)
		write_fail(c, &e);
	else
		submit(c, COMMAND_UPDATE, &draft, o->revision, PROPAGATE_DEFAULT);
}

static bool goes_round_again(const struct write *w)
{
	const struct command *cmd = w->command;
	if (cmd->verb == COMMAND_CREATE)
		return cmd->err.kind == ERR_ALREADY_EXISTS && (w->generated || w->upserts) &&
		       w->attempts < WRITE_MAX_NAMES;
	if (cmd->err.kind == ERR_NOT_FOUND && w->upserts)
		return w->attempts < WRITE_MAX_ATTEMPTS;
	return cmd->err.kind == ERR_CONFLICT && !w->conditional && w->attempts < WRITE_MAX_ATTEMPTS;
}

static struct render plain_render(struct call *c)
{
	struct render r;
	if (read_options_render(c, &r, NULL) < 0)
		r.include = TABLE_METADATA;
	if (write_of(c)->view) /* which makes what was asked for of the object itself */
		r.form = FORM_JSON;
	return r;
}

/* The object as the commit left it; a later change may have replaced it already. */
static int render_result(struct call *c, const struct command *cmd)
{
	struct render render = plain_render(c);
	struct store_key key = {c->kind->type, span_of(cmd->ns), span_of(cmd->name)};
	auto_reader *reader = NULL;
	struct store_object o;
	int r = store_read_begin(call_store(c), &reader, NULL);
	if (!r)
		r = store_get(reader, &key, &o);
	if (!r && o.revision != cmd->revision)
		r = -ENOENT;
	if (r == -ENOENT)
		r = store_get_at(reader, &key, cmd->revision, &o);
	if (!r)
		render_object(&render, &o, &c->answer.body);
	if (r == -ENOENT && cmd->verb == COMMAND_UPDATE && cmd->draft.json) {
		/* Its last finalizer went with this write, and it with that: its last state. */
		auto_buf text = BUF_MAX(STORE_MAX_OBJECT);
		add_with_revision(&cmd->draft, cmd->revision, &text);
		render_text(&render, buf_span(&text), &c->answer.body);
		r = 0;
	}
	return r;
}

static void answer_success(struct call *c)
{
	struct write *w = write_of(c);
	struct command *cmd = w->command;
	int r = 0;
	call_ok(c, w->code, "application/json");
	if (w->dry_text) {
		struct render render = plain_render(c);
		render_text(&render, span_make(w->dry_text, w->dry_len), &c->answer.body);
	} else {
		r = render_result(c, cmd);
	}
	if (r == -ENOENT) {
		/* Written, then deleted and forgotten: only its identity is left to tell. */
		struct status_subject s = {.kind = c->kind, .name = w->name, .uid = w->uid};
		status_success(&s, &c->answer.body);
	} else if (r < 0) {
		/* The store broke behind this write: the hub ends. */
		call_failf(c, ERR_INTERNAL, "the write is done, but cannot be read back");
	} else if (w->view) {
		w->view(c);
	}
}

static void answer_failure(struct call *c, const struct command *cmd)
{
	struct status_subject s = {
	    .kind = c->kind, .name = write_of(c)->name, .errors = cmd->causes};
	struct status_cause cause = {.reason = "NamespaceTerminating",
				     .field = "metadata.namespace"};
	char words[STORE_MAX_NAMESPACE + 40], unique[sizeof(cmd->err.text) + 80];

	/* Controllers stop trying by this cause (client-go's HasStatusCause). */
	if (cmd->err.kind == ERR_FORBIDDEN && strcmp(cmd->err.field, cause.field) == 0) {
		snprintf(words, sizeof(words), "namespace %s is being terminated", cmd->ns);
		cause.message = words;
		s.causes = &cause;
		s.n_causes = 1;
	}
	if (cmd->err.kind == ERR_ALREADY_EXISTS && write_of(c)->generated) {
		/* apimachinery's NewGenerateNameConflict */
		(void)snprintf(
		    unique, sizeof(unique),
		    "%s, the server was not able to generate a unique name for the object",
		    cmd->err.text);
		s.message = unique;
		s.retry_after_seconds = 1;
	}
	if (cmd->err.kind == ERR_NOT_FOUND && strcmp(cmd->err.field, cause.field) == 0) {
		s.kind = kind_by_type(c->kinds, TYPE_NAMESPACE);
		s.name = cmd->ns;
	}
	call_fail_with(c, &cmd->err, &s);
}

static void on_answer(struct call *c)
{
	struct write *w = write_of(c);
	struct command *cmd = w->command;
	if (cmd->warnings)
		buf_add_str(&w->warnings, cmd->warnings);
	if (cmd->err.kind != ERR_NONE && goes_round_again(w) && !c->gone) {
		w->command = command_destroy(cmd);
		buf_clear(&w->warnings);
		buf_clear(&w->duplicates);
		field_errors_done(&w->errors);
		w->errors = (struct field_errors){0};
		call_to_worker(c, w->attempt);
		return;
	}
	if (cmd->err.kind == ERR_NONE)
		answer_success(c);
	else
		answer_failure(c, cmd);
	write_finish(c);
}

void write_unchanged(struct call *c, const struct store_object *o)
{
	struct render render = plain_render(c);
	call_ok(c, 200, "application/json");
	render_object(&render, o, &c->answer.body);
	if (write_of(c)->view)
		write_of(c)->view(c);
	call_to_loop(c, write_finish);
}
