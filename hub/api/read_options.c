#include "api/read_options.h"

#include "api/option_errors.h"
#include "api/render.h"
#include "base/num.h"
#include "kinds/types.h"
#include <errno.h>

#define MAX_TIMEOUT_SECS 86400

static void forbid(struct call *c, const char *field, const char *words)
{
	option_refuse(c, "ListOptions", FIELD_FORBIDDEN, field, NULL, "%s", words);
}

static void refuse_match(struct call *c, const char *words)
{
	option_refuse_text(c, "ListOptions", FIELD_NOT_SUPPORTED, "resourceVersionMatch",
			   call_param(c, "resourceVersionMatch"), words);
}

static void parse_match(const struct call *c, struct read_options *o)
{
	struct span m = call_param(c, "resourceVersionMatch");

	o->has_match = m.len > 0;
	if (span_is(m, "NotOlderThan"))
		o->match = MATCH_NOT_OLDER;
	else if (span_is(m, "Exact"))
		o->match = MATCH_EXACT;
}

static void check_watch(struct call *c, const struct read_options *o)
{
	if (o->has_send_initial && o->match != MATCH_NOT_OLDER)
		forbid(c, "resourceVersionMatch",
		       "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
	if (o->has_match && !o->has_send_initial)
		forbid(c, "resourceVersionMatch",
		       "resourceVersionMatch is forbidden for watch unless sendInitialEvents is "
		       "provided");
	if (o->has_match && o->match != MATCH_NOT_OLDER)
		refuse_match(c, "supported values: \"NotOlderThan\"");
	if (call_param(c, "continue").len)
		forbid(c, "resourceVersionMatch",
		       "resourceVersionMatch is forbidden when continue is provided");
}

static void check_list(struct call *c, const struct read_options *o)
{
	if (o->has_match && !o->has_revision)
		forbid(c, "resourceVersionMatch",
		       "resourceVersionMatch is forbidden unless resourceVersion is provided");
	if (o->has_match && o->continue_text.len)
		forbid(c, "resourceVersionMatch",
		       "resourceVersionMatch is forbidden when continue is provided");
	if (o->has_match && o->match == MATCH_ANY)
		refuse_match(c, "supported values: \"Exact\", \"NotOlderThan\", \"\"");
	if (o->match == MATCH_EXACT && span_is(call_param(c, "resourceVersion"), "0"))
		forbid(c, "resourceVersionMatch",
		       "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
	if (o->has_send_initial)
		forbid(c, "sendInitialEvents", "sendInitialEvents is forbidden for list");
}

/* 0 when it is negative: none, as upstream has it. */
static int parse_number(const struct call *c, const char *name, int64_t max, int64_t *ret,
			struct err *reterr)
{
	int r = option_number(c, name, ret, reterr);
	*ret = num_max(0, num_min(*ret, max));
	return r;
}

static int parse_revision(const struct call *c, struct read_options *o, struct err *reterr)
{
	struct span v = call_param(c, "resourceVersion");
	int r;
	if (!v.len)
		return 0;
	r = num_parse_u64(v, INT64_MAX, &o->revision);
	if (r) {
		int n = (int)(v.len < 80 ? v.len : 80);
		return err_set(reterr, ERR_BAD_REQUEST,
			       "invalid resource version: resourceVersion: Invalid value: "
			       "\"%.*s\": strconv.ParseUint: parsing \"%.*s\": %s",
			       n, v.ptr, n, v.ptr,
			       r == -ERANGE ? "value out of range" : "invalid syntax");
	}
	if (o->continue_text.len && o->revision)
		return err_set(reterr, ERR_BAD_REQUEST,
			       "specifying resource version is not "
			       "allowed when using continue");
	return 0;
}

/* /api/v1/watch/namespaces/a/configmaps/NAME is a watch of what has that name: apiserver's
 * endpoints/handlers, ListResource. */
static int select_name(const struct call *c, struct read_options *o, struct err *reterr)
{
	struct span name = c->info.name, given = selector_name(&o->selector);
	struct buf term = BUF_INIT;
	int r;

	if (o->fields.len) {
		if (span_eq(given, name))
			return 0;
		return err_set(reterr, ERR_BAD_REQUEST,
			       "fieldSelector metadata.name doesn't match requested name");
	}
	buf_add_str(&term, "metadata.name=");
	for (size_t i = 0; i < name.len; i++) {
		if (name.ptr[i] == '\\' || name.ptr[i] == ',' || name.ptr[i] == '=')
			buf_add_char(&term, '\\');
		buf_add_char(&term, name.ptr[i]);
	}
	r = selector_add_fields(&o->selector, c->kind, arena_span(c->mem, buf_span(&term)), reterr);
	buf_done(&term);
	return r;
}

static int parse_all(struct call *c, bool watch, struct read_options *o, struct err *reterr)
{
	int64_t seconds = 0;
	int r = parse_number(c, "limit", INT32_MAX, &o->limit, reterr);
	if (!r)
		r = parse_number(c, "timeoutSeconds", MAX_TIMEOUT_SECS, &seconds, reterr);
	o->timeout = seconds * USEC_PER_SEC;
	if (r)
		return r;
	o->continue_text = watch ? SPAN_NONE : call_param(c, "continue");
	o->labels = call_param(c, "labelSelector");
	o->fields = call_param(c, "fieldSelector");
	o->has_send_initial = call_param(c, "sendInitialEvents").len > 0;
	o->send_initial = request_bool(call_param(c, "sendInitialEvents"));
	o->bookmarks = request_bool(call_param(c, "allowWatchBookmarks"));
	o->has_revision = call_param(c, "resourceVersion").len > 0;
	parse_match(c, o);
	if (watch)
		check_watch(c, o);
	else
		check_list(c, o);
	r = option_check(c, reterr);
	if (!r)
		r = parse_revision(c, o, reterr);
	if (!r && o->labels.len)
		r = selector_add_labels(&o->selector, o->labels, reterr);
	if (!r && o->fields.len)
		r = selector_add_fields(&o->selector, c->kind, o->fields, reterr);
	if (!r && watch && c->info.name.len)
		r = select_name(c, o, reterr);
	return r;
}

int read_options_parse(struct call *c, bool watch, struct read_options *ret, struct err *reterr)
{
	int r;
	*ret = (struct read_options){0};
	if (!c->request->n_params && !(watch && c->info.name.len))
		return 0;
	r = parse_all(c, watch, ret, reterr);
	if (r)
		read_options_done(ret);
	return r;
}

void read_options_done(struct read_options *o)
{
	selector_done(&o->selector);
}

int read_options_render(const struct call *c, struct render *ret, struct err *reterr)
{
	struct span include = call_param(c, "includeObject");
	*ret = (struct render){.kinds = c->kinds,
			       .kind = c->kind,
			       .stored = c->kind ? kind_by_type(c->kinds, c->kind->type) : NULL,
			       .form = c->accept.form,
			       .meta_version = c->accept.version,
			       .now = clock_now()};
	if (c->kind && c->kind->is_job && c->accept.form == FORM_TABLE)
		ret->bindings = kind_by_type(c->kinds, TYPE_RESOURCE_BINDING);
	if (c->accept.form != FORM_TABLE)
		return 0;
	if (table_include_parse(include.ptr ? include : SPAN(""), &ret->include) < 0)
		return err_set(
		    reterr, ERR_BAD_REQUEST,
		    "Unable to convert to Table as requested: includeObject: Invalid value: "
		    "\"%.*s\": must be 'Metadata', 'Object', 'None', or empty",
		    SPAN_ARGS(include));
	return 0;
}

void read_fail_future(struct call *c, uint64_t wanted, uint64_t now)
{
	struct status_cause cause = {"ResourceVersionTooLarge", "Too large resource version", NULL};
	struct status_subject s = {
	    .kind = c->kind, .causes = &cause, .n_causes = 1, .retry_after_seconds = 1};
	struct err e = ERR_INIT;
	(void)err_set(&e, ERR_TIMEOUT, "Timeout: Too large resource version: %llu, current: %llu",
		      (unsigned long long)wanted, (unsigned long long)now);
	call_fail_with(c, &e, &s);
}

int read_failed(int r, struct err *reterr)
{
	return err_set(reterr, ERR_INTERNAL, "cannot read the store: %s", strerror(-r));
}
