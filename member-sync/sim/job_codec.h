#ifndef MEMBER_SYNC_SIM_JOB_CODEC_H
#define MEMBER_SYNC_SIM_JOB_CODEC_H
/*
 * Job objects to typed records and back: spec and status in, status out.
 *
 * A tree is parsed once, when an object comes or somebody else changed it, of what is read only;
 * status goes out as text. What a field of a status says is what its kind's controller would have
 * written; a field that nobody understands reads as absent. How each kind is read: codec.h.
 */
#include "member-sync/sim/cluster_priv.h"

/* Fills spec, sets and metadata of the record from an object, whose text is checked JSON. `fresh`:
 * the state too, else what is in memory stays. Errors are those of json_parse(); the record is then
 * as it was. */
int job_codec_read(struct sim_job *j, const struct store_object *o, bool fresh,
		   struct err *reterr) MUST_CHECK;
/* The JSON of its status. */
void job_codec_print_status(const struct sim_job *j, struct buf *out);
/* Frees what pods are made from; the list is empty then. */
void job_codec_clear_sets(struct sim_job *j);

#endif
