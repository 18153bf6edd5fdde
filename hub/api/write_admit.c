/* What is wrong with an object that is to be written: fields that nobody knows, values of the wrong
 * type, and what validation says. */
#include "api/escalation.h"
#include "api/write.h"
#include "base/json.h"
#include "kinds/queue_request.h"
#include "kube/admit.h"
#include "kube/decoder_words.h"

/* "spec.bogus\nspec.x\n" -> `unknown field "spec.bogus"` and so on, a line each. */
static void name_unknown(struct span lines, struct buf *out)
{
	while (lines.len) {
		struct span line = span_split(&lines, '\n');
		if (line.len)
			buf_addf(out, "unknown field \"%.*s\"\n", SPAN_ARGS(line));
	}
}

static void join_lines(struct span lines, struct buf *out)
{
	for (bool first = true; lines.len; first = false) {
		struct span line = span_split(&lines, '\n');
		if (line.len)
			buf_addf(out, "%s%.*s", first ? "" : ", ", SPAN_ARGS(line));
	}
}

/* The words of apiserver: of a patch it is the patch that is invalid. */
static int refuse_decoding(struct call *c, const char *complaint, struct err *reterr)
{
	struct write *w = write_of(c);
	auto_buf shown = BUF_INIT;

	w->about_body = true;
	if (c->request->method != HTTP_PATCH || w->upserts) {
		buf_addf(&w->message, "%s in version \"%s\" cannot be handled as a %s: %s",
			 c->kind->kind, c->kind->version, c->kind->kind, complaint);
		return err_set(reterr, ERR_BAD_REQUEST, "%s", w->message.ptr);
	}
	buf_add_json_str(&shown, buf_span(&c->request->body));
	field_errors_done(&w->errors);
	field_errors_add(&w->errors, FIELD_INVALID, "patch", shown.ptr, "%s", complaint);
	buf_addf(&w->message, " \"\" is invalid: patch: Invalid value: %s: %s", shown.ptr,
		 complaint);
	return err_set(reterr, ERR_INVALID, "%s", w->message.ptr);
}

static int refuse_fields(struct call *c, struct span complaints, struct err *reterr)
{
	auto_buf words = BUF_INIT;

	buf_add_str(&words, "strict decoding error: ");
	if (span_starts(complaints, SPAN("line "))) /* of YAML; JSON's name fields */
		buf_add_str(&words, "yaml: unmarshal errors:\n  ");
	join_lines(complaints, &words);
	return refuse_decoding(c, words.ptr, reterr);
}

/* What upstream's decoder takes into no struct never comes to be validated. */
static int judge_types(struct call *c, const struct cJSON *object, struct err *reterr)
{
	auto_buf words = BUF_INIT;

	if (!field_errors_any(&write_of(c)->errors) || !decoder_words_apply(c->kind) ||
	    !decoder_words(c->kind, object, &words))
		return 0;
	return refuse_decoding(c, words.ptr, reterr);
}

/* What decoding had to say about fields: nothing, warnings, or an error. */
static int judge_fields(struct call *c, struct span unknown, struct err *reterr)
{
	struct write *w = write_of(c);
	auto_buf complaints = BUF_INIT;

	if (w->ignore || (!unknown.len && !w->duplicates.len))
		return 0;
	buf_add_span(&complaints, buf_span(&w->duplicates));
	name_unknown(unknown, &complaints);
	if (w->strict)
		return refuse_fields(c, buf_span(&complaints), reterr);
	buf_add_span(&w->warnings, buf_span(&complaints));
	return 0;
}

int write_admit(struct call *c, struct cJSON *object, const struct cJSON *old, struct err *reterr)
{
	struct write *w = write_of(c);
	auto_buf unknown = BUF_INIT;
	struct kind_write kw = {.old = old,
				.kinds = c->kinds,
				.subresource =
				    c->info.subresource.len ? c->info.subresource.ptr : "",
				.now = clock_now(),
				.warnings = &w->warnings};
	int r;
	admit_object(c->kinds, c->kind, object, &kw, &w->errors, w->ignore ? NULL : &unknown);
	if (c->kind->type >= KIND_FIRST_USER_TYPE)
		queue_request_check_foreign(object, &kw);
	r = judge_types(c, object, reterr);
	if (!r)
		r = judge_fields(c, buf_span(&unknown), reterr);
	if (!r && field_errors_any(&w->errors))
		r = status_set_invalid(reterr, c->kind, w->name, &w->errors);
	return r ? r : escalation_check(c, object, old, reterr);
}

/* Metadata of the right types, though with bad values, hides nothing of the rest. */
static bool is_sound(const struct field_errors *errors)
{
	for (size_t i = 0; i < errors->n; i++)
		if (errors->items[i].reason == FIELD_TYPE_INVALID)
			return false;
	return true;
}

int write_refuse(struct call *c, struct cJSON *object, const struct cJSON *old, int r,
		 struct err *reterr)
{
	struct write *w = write_of(c);

	if (!field_errors_any(&w->errors))
		return r;
	if (is_sound(&w->errors))
		return write_admit(c, object, old, reterr);
	r = judge_types(c, object, reterr);
	return r ? r : status_set_invalid(reterr, c->kind, w->name, &w->errors);
}
