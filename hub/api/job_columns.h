#ifndef API_JOB_COLUMNS_H
#define API_JOB_COLUMNS_H
/*
 * QUEUE, CLUSTER, POS and REASON: the columns that the hub adds to the tables of job kinds, shown
 * by `kubectl get -o wide` alone (priority 1), since the upstream columns of a kind stay as they
 * are without it (DESIGN section 8).
 *
 * What is stored comes from the job's ResourceBinding, one short read in the snapshot that the row
 * is from. A job that waits has its place in a queue and its reason in the core's memory only: for
 * those of an answer the core is asked once, after the rows were read and the store was let go of,
 * and what it says takes the place of the cells. No more than JOB_COLUMNS_ASKED rows of an answer
 * are asked about; the others, and rows of watch events, which are framed once for all watchers,
 * show what is stored. Belongs to the thread that has the call.
 */
#include "api/call.h"
#include "api/render.h"
#include "base/vec.h"
#include "kube/table.h"

#define JOB_COLUMNS_ASKED 1000

extern const struct table_more job_columns_more;

struct job_columns_asked {
	size_t at, len; /* of its cells, in the buffer of the rows */
};

struct job_columns {
	struct store_reader *reader; /* of the rows; the reader of a row sets it */
	bool ask;		     /* notes who waits */
	struct VEC(struct job_columns_asked) asked;
	struct buf question;
	struct command *answer; /* NULL until there is one */
};

/* Of the row whose object is `json`: ",VALUE" four times. */
void job_columns_cells(const struct render *r, struct span json, struct buf *out);
/* Asks the core when there is something to ask; `next` runs on a worker when it answered. False:
 * nothing was asked, and `next` will not run. */
bool job_columns_ask(struct call *c, struct job_columns *jobs, void (*next)(struct call *c));
/* Puts what the core said into `rows`, whose rows begin at `base`, and forgets who was asked. */
void job_columns_fill(struct job_columns *jobs, size_t base, struct buf *rows);
void job_columns_done(struct job_columns *jobs);

#endif
