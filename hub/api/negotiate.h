#ifndef API_NEGOTIATE_H
#define API_NEGOTIATE_H
/*
 * Which form of an answer a client takes (its Accept header), and in which form its body comes
 * (its Content-Type); kubernetes-api.md 1.3 and 1.4.
 */
#include "base/span.h"
#include <stdbool.h>

enum answer_form {
	FORM_JSON,
	FORM_TABLE,   /* as=Table;g=meta.k8s.io */
	FORM_PARTIAL, /* as=PartialObjectMetadata(List);g=meta.k8s.io */
	FORM_DISCOVERY_V2,
	FORM_DISCOVERY_V2BETA1,
	FORM_OPENAPI_V2, /* protobuf document */
	FORM_NONE,	 /* nothing that we can give: 406 */
};

#define FORM_BIT(f) (1u << (f))

struct negotiated {
	enum answer_form form;
	const char *version; /* of meta.k8s.io for tables and partial objects: "v1", "v1beta1" */
	bool yaml;	     /* the same as YAML */
};

/* With a mask of forms: each may be had as YAML too. */
#define FORM_YAML (1u << 31)

/* The acceptable media range with the greatest weight, of equal ones the first, among the forms in
 * the mask; q=0 excludes one. An absent header is JSON. */
struct negotiated negotiate_accept(struct span accept, unsigned forms);
bool negotiate_gzip(struct span accept_encoding);

enum body_form {
	BODY_JSON, /* also when no Content-Type is given */
	BODY_YAML,
	BODY_PROTOBUF,
	BODY_JSON_PATCH,
	BODY_MERGE_PATCH,
	BODY_STRATEGIC_PATCH,
	BODY_APPLY_PATCH,
	BODY_UNKNOWN,
};
enum body_form negotiate_body(struct span content_type);

#endif
