#ifndef KINDS_QUEUE_REQUEST_H
#define KINDS_QUEUE_REQUEST_H
/*
 * What a job's labels and annotations ask of its queue: rules and words of Kueue's webhooks
 * (pkg/controller/jobframework/validation.go, pkg/controller/jobs/job/job_webhook.go). They hold
 * for every job, queued or not, when it is made and when one of them changes. What Kueue reads and
 * the hub does not gets a warning.
 *
 * What may change while quota is held: core/kueue/workload_sync.h.
 */
#include "kinds/hooks.h"

void queue_request_check_job(const struct kind *k, const struct cJSON *job,
			     const struct kind_write *w, struct field_errors *errors);
/* For kinds of users' own: the hub keeps their objects and runs none, so a queue's name on a new
 * one says nothing. */
void queue_request_check_foreign(const struct cJSON *object, const struct kind_write *w);

#endif
