#include "api/negotiate.h"

#include <strings.h>

static struct span trim(struct span s)
{
	while (s.len && (s.ptr[0] == ' ' || s.ptr[0] == '\t'))
		s = span_make(s.ptr + 1, s.len - 1);
	while (s.len && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t'))
		s.len--;
	return s;
}

static bool is_nocase(struct span s, const char *word)
{
	return s.len == strlen(word) && strncasecmp(s.ptr ? s.ptr : "", word, s.len) == 0;
}

struct range {
	struct span type, as, group, version;
	int weight; /* of 1000; 0 is a refusal */
};

/* "0.8", "1", "0" (RFC 9110 12.4.2); anything else counts fully. */
static int read_weight(struct span text)
{
	int weight = 0, place = 100;

	if (!text.len || text.ptr[0] != '0')
		return 1000;
	for (size_t i = 2; i < text.len && place; i++, place /= 10)
		if (text.ptr[i] >= '0' && text.ptr[i] <= '9')
			weight += (text.ptr[i] - '0') * place;
	return weight;
}

static struct range parse_range(struct span text)
{
	struct range r = {.type = trim(span_split(&text, ';')), .weight = 1000};
	while (text.ptr) {
		struct span value = span_split(&text, ';');
		struct span key = trim(span_split(&value, '='));
		value = trim(value);
		if (is_nocase(key, "as"))
			r.as = value;
		else if (is_nocase(key, "g"))
			r.group = value;
		else if (is_nocase(key, "v"))
			r.version = value;
		else if (is_nocase(key, "q"))
			r.weight = read_weight(value);
	}
	return r;
}

static const char *meta_version(const struct range *r)
{
	if (!span_is(r->group, "meta.k8s.io"))
		return NULL;
	return span_is(r->version, "v1") ? "v1" : span_is(r->version, "v1beta1") ? "v1beta1" : NULL;
}

static struct negotiated form_of_as(const struct range *r)
{
	struct negotiated n = {.form = FORM_NONE};
	if (span_is(r->as, "APIGroupDiscoveryList") && span_is(r->group, "apidiscovery.k8s.io")) {
		if (span_is(r->version, "v2"))
			n.form = FORM_DISCOVERY_V2;
		else if (span_is(r->version, "v2beta1"))
			n.form = FORM_DISCOVERY_V2BETA1;
		return n;
	}
	n.version = meta_version(r);
	if (!n.version)
		return n;
	if (span_is(r->as, "Table"))
		n.form = FORM_TABLE;
	else if (span_is(r->as, "PartialObjectMetadata") ||
		 span_is(r->as, "PartialObjectMetadataList"))
		n.form = FORM_PARTIAL;
	return n;
}

static struct negotiated form_of(const struct range *r, unsigned forms)
{
	struct negotiated n = {.form = FORM_NONE};
	bool any = is_nocase(r->type, "*/*");
	bool yaml = (forms & FORM_YAML) && is_nocase(r->type, "application/yaml");
	if (!r->weight)
		return n;
	if (is_nocase(r->type, "application/com.github.proto-openapi.spec.v2@v1.0+protobuf") ||
	    is_nocase(r->type, "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"))
		n.form = FORM_OPENAPI_V2;
	else if (any || yaml || is_nocase(r->type, "application/json") ||
		 is_nocase(r->type, "application/*"))
		n = r->as.ptr ? form_of_as(r) : (struct negotiated){.form = FORM_JSON};
	n.yaml = yaml;
	if (any && n.form == FORM_JSON && !(forms & FORM_BIT(FORM_JSON)) &&
	    (forms & FORM_BIT(FORM_OPENAPI_V2)))
		n.form = FORM_OPENAPI_V2;
	if (!(forms & FORM_BIT(n.form)))
		n.form = FORM_NONE;
	return n;
}

struct negotiated negotiate_accept(struct span accept, unsigned forms)
{
	struct negotiated best = {.form = FORM_NONE};
	int weight = 0;
	if (!trim(accept).len)
		return (struct negotiated){.form = FORM_JSON};
	while (accept.ptr && weight < 1000) {
		struct range r = parse_range(span_split(&accept, ','));
		struct negotiated n = form_of(&r, forms);
		if (n.form != FORM_NONE && r.weight > weight) {
			best = n;
			weight = r.weight;
		}
	}
	return best;
}

bool negotiate_gzip(struct span accept_encoding)
{
	while (accept_encoding.ptr) {
		struct range r = parse_range(span_split(&accept_encoding, ','));
		if (is_nocase(r.type, "gzip"))
			return r.weight > 0;
	}
	return false;
}

static const struct {
	const char *type;
	enum body_form form;
} body_types[] = {
    {"application/json", BODY_JSON},
    {"application/yaml", BODY_YAML},
    {"application/x-yaml", BODY_YAML},
    {"text/yaml", BODY_YAML},
    {"application/vnd.kubernetes.protobuf", BODY_PROTOBUF},
    {"application/json-patch+json", BODY_JSON_PATCH},
    {"application/merge-patch+json", BODY_MERGE_PATCH},
    {"application/strategic-merge-patch+json", BODY_STRATEGIC_PATCH},
    {"application/apply-patch+yaml", BODY_APPLY_PATCH},
    {"application/apply-patch+cbor", BODY_UNKNOWN},
};

enum body_form negotiate_body(struct span content_type)
{
	struct span type = trim(span_split(&content_type, ';'));
	if (!type.len)
		return BODY_JSON;
	for (size_t i = 0; i < sizeof(body_types) / sizeof(body_types[0]); i++)
		if (is_nocase(type, body_types[i].type))
			return body_types[i].form;
	return BODY_UNKNOWN;
}
