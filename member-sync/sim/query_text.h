#ifndef MEMBER_SYNC_SIM_QUERY_TEXT_H
#define MEMBER_SYNC_SIM_QUERY_TEXT_H
/* Query strings of a URL, still encoded, as the kubelets' part gets them. PURE. */
#include "base/buf.h"
#include "base/span.h"
#include <stdbool.h>

/* Takes the next parameter from *rest: its name, as it stands, and its value, decoded, appended to
 * `value`. */
struct span query_text_next(struct span *rest, struct buf *value);

/* Present, and neither "0" nor "false". */
bool query_text_bool(struct span value);

#endif
