#ifndef CORE_PROVISIONING_REQUEST_ROW_H
#define CORE_PROVISIONING_REQUEST_ROW_H
/*
 * What of a request is written: its row (request.h), and the status of the hub's object with the
 * annotation REQUEST_CLUSTER, which names the member whose status it is.
 */
#include "core/provisioning/request.h"

#define REQUEST_CLUSTER "muster.dev/cluster"
#define REQUEST_ROWS	3 /* that request_row_flush() writes at most */

/* Writes what has changed; the row goes when nothing is left to remember. */
void request_row_flush(struct core *c, struct provisioning_request *r);
/* Reads every row: records with their tries, whose calls under way are lost. */
int request_row_restore(struct core *c, struct err *reterr) MUST_CHECK;

#endif
