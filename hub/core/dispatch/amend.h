#ifndef CORE_DISPATCH_AMEND_H
#define CORE_DISPATCH_AMEND_H
/*
 * Edits of a job whose copy stands on a member: what the copy lacks, and how it gets that.
 *
 * The commit of an edit notes, in a row of truth beside it ("edit/JOBUID"), the paths that the edit
 * touched (kinds/job_amend.h). While that row is there the running copy is read and patched with
 * what the job has at these paths (DISPATCH_ORDER_AMEND); the row goes when the member took the
 * patch of the job as it is. So nothing is lost with a process or a connection, and a patch whose
 * answer was lost is made again to no harm. Labels and annotations do not wait for a spec that the
 * member refuses: they go by themselves then. A refusal is noted in the row: it is told once, by an
 * event and by the binding's condition EditApplied, and not tried again before the next edit.
 *
 * The row goes with the placement too: the next copy is made of the job as it is then. Edits that
 * make the job another one for its queue never come here (kueue/workload_sync.h). Core thread.
 */
#include "core/state.h"
#include "wire/command.h"

struct amendment {
	char *paths; /* JSON text */
	size_t len;
	uint64_t sent;	  /* hash of the job that the order under way was made of */
	uint64_t refused; /* of the one that its member refused; 0: none */
	usec refused_at;
	char *words; /* the member's, or NULL */
	/* While labels and annotations go by themselves: their paths, and why the whole did not. */
	char *part, *part_words;
	bool row_due; /* the row is to be written again */
};

/* Before a command is executed: notes what an UPDATE of a job edits that its copy is to have. One
 * row. ERR_TOO_LARGE into cmd->err: more than can be kept. */
int amend_note(struct core *c, struct command *cmd);
/* The job was edited, or read again: begins, unless its member refused just that. */
void amend_begin(struct core *c, struct job *j);
/* An order is made of the stored job `o`; its paths, borrowed. */
struct span amend_sent(struct job *j, const struct store_object *o);
/* The member took it; or it did not, in these words. */
void amend_answered(struct core *c, struct job *j, bool taken, const char *words);
/* There is no copy any more that is to have it. */
void amend_drop(struct core *c, struct job *j);
void amend_free(struct job *j);

/* Writes or deletes the row. One row. */
void amend_flush(struct core *c, struct job *j);
/* The job's record was read from the store. */
void amend_revive(struct core *c, struct job *j);

/* Its member refused an edit: in which words, and when; NULL otherwise. Borrowed. */
const char *amend_refusal(const struct job *j, usec *ret_since);

#endif
