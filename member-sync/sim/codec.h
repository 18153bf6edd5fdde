#ifndef MEMBER_SYNC_SIM_CODEC_H
#define MEMBER_SYNC_SIM_CODEC_H
/*
 * How each job kind is read and printed, and the small readers and printers they share. Private
 * to job_codec.c and the *_codec.c files.
 *
 * Objects come from users: numbers are cut to what can be simulated, texts to their fields, and
 * anything of the wrong type reads as absent.
 */
#include "member-sync/sim/job_codec.h"

struct cJSON;

int64_t codec_int(const struct cJSON *o, const char *key, int64_t otherwise);
/* Seconds that stay far from the end of time when they are counted in microseconds; below 0 is
 * `otherwise`. */
int64_t codec_seconds(const struct cJSON *o, const char *key, int64_t otherwise);
/* Numbers of pods and indexes: from 0 to BATCH_JOB_MAX_COMPLETIONS. */
int32_t codec_count(const struct cJSON *o, const char *key, int32_t otherwise);
usec codec_time(const struct cJSON *o, const char *key); /* 0: absent or no time */
/* Cut to the field; NULL gives "". */
void codec_copy_text(char *out, size_t size, const char *s);
/* A part of object names: what may not stand in one becomes a dash. */
void codec_copy_name(char *out, size_t size, const char *s);
/* The list of conditions of a status. */
void codec_conditions(const struct cJSON *status, struct conditions *ret);
/* One more pod set, from a pod template. restart: what the controller writes into the pods, or
 * NULL to leave the template's. */
void codec_add_set(struct sim_job *j, const char *name, const struct cJSON *template,
		   const char *restart);
/* `,"key":value`, or nothing for 0. */
void codec_print_time(struct buf *out, const char *key, usec t);
void codec_print_count(struct buf *out, const char *key, int64_t n);

/* Each kind: `o` is the whole object; `fresh` as in job_codec_read(). */
void batch_job_codec_read(struct sim_job *j, const struct cJSON *o, bool fresh);
void batch_job_codec_print(const struct sim_job *j, struct buf *out);
/* A Job's spec alone, as JobSets carry it. */
void batch_job_codec_spec(struct batch_job_spec *s, const struct cJSON *spec);
/* same: the templates are those of the last reading, and are not in `o`. */
void training_codec_read(struct sim_job *j, const struct cJSON *o, bool fresh, bool same);
/* The member of a training job's spec that holds its templates. */
const char *training_codec_templates(uint16_t type);
void training_codec_print(const struct sim_job *j, struct buf *out);
void job_set_codec_read(struct sim_job *j, const struct cJSON *o, bool fresh);
void job_set_codec_print(const struct sim_job *j, struct buf *out);
void ray_job_codec_read(struct sim_job *j, const struct cJSON *o, bool fresh);
void ray_job_codec_print(const struct sim_job *j, struct buf *out);
void ray_cluster_codec_read(struct sim_job *j, const struct cJSON *o, bool fresh);
void ray_cluster_codec_print(const struct sim_job *j, struct buf *out);

#endif
