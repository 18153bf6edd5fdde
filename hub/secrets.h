#ifndef HUB_SECRETS_H
#define HUB_SECRETS_H
/*
 * Secrets at rest: the truth store is sealed for them (store/sealed.h), and at every start those
 * that are plain, or under an older key, are written again under the first key of the file. Main
 * thread, before anything else uses the store.
 */
#include "base/clock.h"
#include "base/err.h"
#include "store/store.h"

/* Takes *store and puts the sealed one in its place. The key
 * file is made when it is absent. *ret_rewritten: Secrets that were written again. ERR_INVALID
 * when a Secret is sealed with a key that the file does not have. */
int secrets_seal(struct store **store, const char *key_file, usec now, size_t *ret_rewritten,
		 struct err *reterr) MUST_CHECK;

#endif
