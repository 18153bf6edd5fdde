#ifndef KUBE_CEL_REGEX_H
#define KUBE_CEL_REGEX_H
/* Regular expressions of CEL: unanchored, PCRE2 in UTF-8 mode, bounded in steps. */
#include "kube/cel/cel_function.h"

bool cel_regex_is_fine(struct span pattern);
struct cel_value cel_regex_matches(struct cel_run *r, struct span text, struct span pattern);
/* The first match, or all of them, at most `most`; "" and an empty list when there is none. */
struct cel_value cel_regex_find(struct cel_run *r, struct span text, struct span pattern);
struct cel_value cel_regex_find_all(struct cel_run *r, struct span text, struct span pattern,
				    int64_t most);

#endif
