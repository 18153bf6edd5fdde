#ifndef API_TIMEOUT_H
#define API_TIMEOUT_H
/*
 * The parameter `timeout`, by which a client says how long it will wait (kubectl's
 * --request-timeout): a duration as Go writes it, "1m30s".
 *
 * Nothing here takes so long that it would have to be given up for it; but what is no duration is a
 * mistake that the server tells (apiserver's filter WithRequestDeadline, and time.ParseDuration for
 * the words).
 */
#include "base/err.h"
#include "base/span.h"

/* ERR_BAD_REQUEST when it is given and is no duration. */
int timeout_check(struct span text, struct err *reterr) MUST_CHECK;

#endif
