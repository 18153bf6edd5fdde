#ifndef KUBE_NAMES_H
#define KUBE_NAMES_H
/*
 * Which strings may be names, label keys and label values (apimachinery util/validation).
 *
 * Plain predicates on bytes, and the sentences that upstream says when they are false of some
 * text: the detail of a field error.
 */
#include "base/span.h"
#include <stdbool.h>

#define NAMES_MAX_LABEL	    63
#define NAMES_MAX_SUBDOMAIN 253

bool names_is_dns_label(struct span s);	    /* RFC 1123 label: namespaces */
bool names_is_dns_subdomain(struct span s); /* RFC 1123 subdomain: most objects */
bool names_is_dns1035(struct span s);	    /* RFC 1035 label: as a DNS label, letter first */
bool names_is_qualified(struct span s);	    /* [prefix/]name: label and annotation keys */
bool names_is_label_value(struct span s);   /* may be empty */
/* What may stand in a URL path: RBAC names. Not "", ".", "..", no '/' and no '%'. */
bool names_is_path_segment(struct span s);

const char *names_dns_label_rule(struct span s);
const char *names_dns_subdomain_rule(struct span s);
const char *names_dns1035_rule(struct span s);
const char *names_qualified_rule(struct span s);
const char *names_label_value_rule(struct span s);
const char *names_path_segment_rule(struct span s);

#endif
