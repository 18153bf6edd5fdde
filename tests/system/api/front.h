#ifndef TESTS_API_FRONT_H
#define TESTS_API_FRONT_H
/*
 * A whole API server for tests and benches: the api room over a registry and memory (or LMDB)
 * stores, with a core thread that does nothing but execute commands.
 */
#include "api/api.h"
#include "api/pki.h"
#include "kube/kind.h"
#include "store/store.h"

struct front;

struct front_options {
	const char *dir;    /* for the pki, and the stores when `durable` */
	const char *listen; /* "127.0.0.1:0" */
	bool durable;	    /* LMDB under dir/store */
	bool sync;	    /* ... with fsync */
	uint64_t log_max_bytes;
	int workers;
	int seats, max_watches, queue_per_user; /* of api_options */
	size_t queue_bytes_per_user, queue_bytes;
	usec drain;
	const struct meta_random *random;
	const struct kind_set *kinds;
};

int front_open(const struct front_options *o, struct front **ret, struct err *reterr) MUST_CHECK;
struct front *front_close(struct front *f);
const char *front_url(const struct front *f);
struct pki *front_pki(struct front *f);
struct store *front_truth(struct front *f);

#endif
