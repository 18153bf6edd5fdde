#ifndef CORE_RECORDER_H
#define CORE_RECORDER_H
/*
 * Event objects about jobs, as `kubectl describe` shows them. They live in the mirror store, for
 * one hour. The hub's own come from default-scheduler (DESIGN section 4, item 5).
 */
#include "core/state.h"

/* An event about any object. */
struct recorder_event {
	const struct kind *kind;
	struct span ns, name;
	const char *uid_text, *component, *type, *reason, *message;
};
void recorder_write_about(struct core *c, const struct recorder_event *e);
/* About a job; what its Kueue queue says comes from Kueue's component for its kind. */
void recorder_write(struct core *c, const struct job *j, const struct job_event *e);

#endif
