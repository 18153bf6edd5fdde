#ifndef MEMBER_SYNC_SIM_OPTIONS_H
#define MEMBER_SYNC_SIM_OPTIONS_H
/* muster-sim's command line. */
#include "base/err.h"
#include "base/log.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTIONS_MAX_CLUSTERS 1000

struct options {
	const char *name, *nodes, *listen, *data_dir, *kubeconfig_out; /* borrowed from argv */
	int32_t time_scale;
	uint64_t seed; /* 0: a random one */
	int count;
	bool no_events, sync, help, version;
	enum log_level log_level;
};

/* ERR_BAD_REQUEST with the option and the reason. */
int options_parse(int argc, char **argv, struct options *ret, struct err *reterr) MUST_CHECK;
const char *options_usage(void);

/* "demo", or "demo-3" when there are several; "f" or "f-3" alike, before a suffix of the last
 * path component: "a/b.kubeconfig" gives "a/b-3.kubeconfig". */
void options_numbered(const struct options *o, const char *base, int i, char *out, size_t size);
/* HOST:PORT of cluster i: port 0 stays 0, any other grows by i. */
int options_listen(const struct options *o, int i, char *out, size_t size,
		   struct err *reterr) MUST_CHECK;

#endif
