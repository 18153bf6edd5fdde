#ifndef KINDS_POD_SET_CODEC_H
#define KINDS_POD_SET_CODEC_H
/*
 * One pod set in the bytes of a digest: what job_digest.c and workload_digest.c share.
 */
#include "kinds/job_digest.h"
#include "kube/info_codec.h"

void pod_set_pack(const struct job_pod_set *s, struct buf *out);
/* Borrows strings from the reader's bytes; sets r->failed on a malformed one. `topology`: false in
 * rows that were written before a set could ask for one. */
void pod_set_unpack(struct info_reader *r, struct arena *mem, bool topology,
		    struct job_pod_set *ret);

#endif
