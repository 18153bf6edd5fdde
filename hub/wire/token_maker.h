#ifndef WIRE_TOKEN_MAKER_H
#define WIRE_TOKEN_MAKER_H
/*
 * Who makes the tokens that Secrets of ServiceAccounts hold: the front has the key, and the
 * registry the Secrets.
 */
#include "base/buf.h"
#include "base/clock.h"
#include "base/span.h"

struct token_subject { /* uids as text */
	struct span ns, account, account_uid, secret, secret_uid;
};

struct token_maker {
	/* Appends a token of the account that is good as long as the Secret holds it. Pure, any
	 * thread. Negative errno. */
	int (*make)(void *arg, const struct token_subject *s, usec now, struct buf *out);
	void *arg;
};

#endif
