#include "api/decode.h"

#include "api/option_errors.h"
#include "api/protobuf.h"
#include "base/json.h"
#include "base/yaml.h"
#include "kinds/types.h"

/* "data.k\n" -> `duplicate field "data.k"`. */
static void name_duplicates(struct span text, struct buf *out)
{
	auto_buf paths = BUF_INIT;
	struct span rest;

	json_text_duplicates(text, &paths);
	rest = buf_span(&paths);
	while (rest.len) {
		struct span line = span_split(&rest, '\n');
		if (line.len)
			buf_addf(out, "duplicate field \"%.*s\"\n", SPAN_ARGS(line));
	}
}

int decode_json(struct span text, struct cJSON **ret, struct buf *duplicates, struct err *reterr)
{
	static const struct json_limits lenient = {.allow_duplicates = true};
	struct err e = ERR_INIT;
	int r = json_parse(text, NULL, ret, &e);

	if (r && strstr(e.text, "duplicate") && json_parse(text, &lenient, ret, NULL) == 0) {
		name_duplicates(text, duplicates);
		r = 0;
	}
	if (r && reterr)
		*reterr = e;
	return r;
}

/* kubectl sends JSON as application/apply-patch+yaml, too. */
static enum body_form apply_form(struct span body)
{
	while (body.len && strchr(" \t\r\n", body.ptr[0]))
		body = span_make(body.ptr + 1, body.len - 1);
	return body.len && body.ptr[0] == '{' ? BODY_JSON : BODY_YAML;
}

static int decode(const struct call *c, enum body_form form, struct cJSON **ret,
		  struct buf *duplicates, struct err *reterr)
{
	struct span body = buf_span(&c->request->body);
	struct cJSON *tree = NULL;
	struct err e = ERR_INIT;
	int r;
	if (form == BODY_JSON)
		r = decode_json(body, &tree, duplicates, &e);
	else if (form == BODY_YAML)
		r = yaml_parse_noting(body, duplicates, &tree, &e);
	else if (form == BODY_PROTOBUF)
		r = protobuf_decode(body, &tree, &e);
	else
		return err_set(reterr, ERR_UNSUPPORTED_MEDIA,
			       "the body of the request was in an unknown format - accepted media "
			       "types include: application/json, application/yaml, "
			       "application/vnd.kubernetes.protobuf");
	if (r) {
		*reterr = e;
		return err_wrap(reterr, "couldn't read the request's body");
	}
	if (!json_is(tree, JSON_OBJECT)) {
		r = err_set(reterr, ERR_BAD_REQUEST,
			    "couldn't read the request's body: an object is expected, not %s",
			    json_type_name(json_type_of(tree)));
		json_free(tree);
		return r;
	}
	*ret = tree;
	return 0;
}

int decode_object(const struct call *c, struct cJSON **ret, struct buf *duplicates,
		  struct err *reterr)
{
	return decode(c, negotiate_body(c->request->content_type), ret, duplicates, reterr);
}

int decode_apply(const struct call *c, struct cJSON **ret, struct buf *duplicates,
		 struct err *reterr)
{
	return decode(c, apply_form(buf_span(&c->request->body)), ret, duplicates, reterr);
}

int decode_delete_options(const struct call *c, struct cJSON **ret, struct err *reterr)
{
	struct span policy = call_param(c, "propagationPolicy");
	struct span orphan = call_param(c, "orphanDependents");
	struct span body = buf_span(&c->request->body);
	struct buf ignored = BUF_INIT;
	struct cJSON *tree = NULL;
	int64_t grace = 0;
	int r = option_number(c, "gracePeriodSeconds", &grace, reterr);
	/* "null" is what a client sends that encodes options which it has not. */
	if (!r && body.len && !span_is(body, "null") && !span_is(body, "null\n"))
		r = decode_object(c, &tree, &ignored, reterr);
	buf_done(&ignored);
	if (r)
		return r;
	if (!tree)
		tree = json_object();
	if (policy.len && !json_get(tree, "propagationPolicy"))
		json_set(tree, "propagationPolicy", json_new_span(policy));
	if (call_param(c, "gracePeriodSeconds").len && !json_get(tree, "gracePeriodSeconds"))
		json_set_int(tree, "gracePeriodSeconds", grace);
	if (orphan.len && !json_get(tree, "orphanDependents"))
		json_set_bool(tree, "orphanDependents", request_bool(orphan));
	*ret = tree;
	return 0;
}

int decode_check_kind(const struct call *c, const struct cJSON *object, struct field_errors *errors,
		      struct err *reterr)
{
	const struct kind *k = c->kind;
	const char *kind = json_str(object, "kind"), *version = json_str(object, "apiVersion");
	char want[KIND_API_VERSION_MAX];
	auto_buf shown = BUF_INIT;

	if (k->strategic || k->type == TYPE_CUSTOM_RESOURCE_DEFINITION)
		return 0;
	if (!kind || !kind[0])
		return err_set(reterr, ERR_BAD_REQUEST,
			       "the object provided is unrecognized (must be of type %s): Object "
			       "'Kind' is missing",
			       k->kind);
	if (!version || !version[0])
		return err_set(reterr, ERR_BAD_REQUEST,
			       "the API version in the data () does not match the expected API "
			       "version (%s)",
			       kind_api_version(k, want));
	if (strcmp(kind, k->kind) == 0)
		return 0;
	buf_add_json_str(&shown, span_of(kind));
	field_errors_add(errors, FIELD_INVALID, "kind", shown.ptr, "must be %s", k->kind);
	return status_set_invalid(reterr, k, json_str(json_get(object, "metadata"), "name"),
				  errors);
}
