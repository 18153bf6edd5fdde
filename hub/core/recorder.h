#ifndef CORE_RECORDER_H
#define CORE_RECORDER_H
/*
 * Event objects about jobs, as `kubectl describe` shows them. They live in the mirror store, for
 * one hour. The hub's own come from default-scheduler (DESIGN section 4, item 5).
 *
 * An admission is one row of truth and two or three of Events. So that these do not make the batch
 * full at a third of its decisions, those that would take the mirror's last RECORDER_RESERVE rows
 * wait for a later batch, RECORDER_MAX_LATE of them at most. An end of the process loses them.
 */
#include "core/state.h"

#define RECORDER_RESERVE  32
#define RECORDER_MAX_LATE 4096

/* An event about any object. */
struct recorder_event {
	const struct kind *kind;
	struct span ns, name;
	const char *uid_text, *component, *type, *reason, *message;
};
void recorder_write_about(struct core *c, const struct recorder_event *e);
/* About a job; what its Kueue queue says comes from Kueue's component for its kind. */
void recorder_write(struct core *c, const struct job *j, const struct job_event *e);
/* Those that waited, while there is room. True when some are left. */
bool recorder_flush(struct core *c);
/* Whether as many wait as may: who would write more of them waits too. */
bool recorder_is_behind(const struct core *c);
/* Drops those that wait. */
void recorder_close(struct core *c);

#endif
