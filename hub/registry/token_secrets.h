#ifndef REGISTRY_TOKEN_SECRETS_H
#define REGISTRY_TOKEN_SECRETS_H
/*
 * Secrets of type kubernetes.io/service-account-token: each gets the token of the account that it
 * names, the certificate that verifies this server (ca.crt) and its namespace, and goes when the
 * account does, or was never there, or is another of the name (Kubernetes' tokens controller,
 * pkg/controller/serviceaccount). A token has no end of its own: it is good as long as its Secret
 * holds it, so whoever takes it out of there revokes it, and gets a new one.
 *
 * Namespaces in which a commit changed such a Secret, or removed an account, are walked some
 * Secrets per batch; all of them once after a start.
 */
#include "base/vec.h"
#include "wire/token_maker.h"
#include <stdbool.h>
#include <stddef.h>

struct registry;
struct registry_batch;

struct token_secrets {
	struct token_maker maker;      /* make NULL: nothing is done */
	struct VEC(char *) namespaces; /* to be walked, "" for all; owned */
	char *after_ns, *after;	       /* in the first of them; owned, NULL at its beginning */
};

struct token_secrets_batch {
	bool moved, ended; /* of the first namespace: some, all of it */
	char *after_ns, *after;
};

void token_secrets_done(struct token_secrets *t);
void token_secrets_batch_clear(struct token_secrets_batch *tb);
bool token_secrets_is_due(const struct token_secrets *t);
/* At most *rows rows of work. True when more could be done at once. */
bool token_secrets_work(struct registry_batch *b, size_t *rows);
void token_secrets_committed(struct registry_batch *b);

#endif
