#ifndef REGISTRY_BELONGINGS_H
#define REGISTRY_BELONGINGS_H
/*
 * What every namespace has: a ServiceAccount `default`, and, where the server has a certificate
 * authority of its own, a ConfigMap `kube-root-ca.crt` with its certificate, by which pods and
 * tools verify the server (kube-controller-manager's serviceaccounts and rootcacertpublisher).
 *
 * Both are born with the namespace, in its commit. One that is deleted, or edited away from what it
 * is for, is looked at again right after that commit, and made anew in the next batch: what it
 * costs follows what changed. Once after a start all namespaces are looked at, some in each batch
 * and behind everything else: for those of an older version, and for another certificate. Labels
 * and annotations that others put there stay.
 *
 * A namespace that is being deleted gets nothing back.
 */
#include "base/vec.h"
#include "store/store.h"
#include <stdbool.h>

struct registry;
struct registry_batch;

struct belongings {
	char *root_ca;		  /* owned, PEM; NULL: none is published */
	struct VEC(char *) named; /* namespaces to look at, oldest first; owned */
	bool walks;		  /* over all namespaces: after `after` */
	char *after;		  /* owned; NULL: from the first */
};

struct belongings_batch { /* what a commit makes true */
	size_t looked;	  /* of `named`, from its front */
	bool walked, walk_ended;
	char *after; /* owned */
};

void belongings_done(struct belongings *n);
void belongings_batch_clear(struct belongings_batch *nb);
/* What the namespace lacks. Two rows. -EINPROGRESS: this batch deletes one of them. */
int belongings_ensure(struct registry_batch *b, struct span ns) MUST_CHECK;
/* At most *rows rows of work. True when more could be done at once. */
bool belongings_work(struct registry_batch *b, size_t *rows);
bool belongings_is_due(const struct belongings *n);
void belongings_committed(struct registry_batch *b);

#endif
