#ifndef TESTS_BENCH_KUEUE_ROW_H
#define TESTS_BENCH_KUEUE_ROW_H
/* A Workload as one line of a watch says it. */
#include "base/buf.h"
#include "base/span.h"
#include "kueue_ledger.h"

struct kueue_row {
	uint32_t number; /* the digits that its name ends in */
	uint64_t revision;
	int64_t created; /* s */
	enum ledger_state state;
	struct span conditions; /* the list, in the line; SPAN_NONE when there is none */
};

/* False for a line that is not of a Workload that stands. */
bool kueue_row_read(struct span line, struct kueue_row *ret);

/* The body that makes it Finished. */
void kueue_row_finish(uint64_t revision, struct span conditions, struct buf *out);
/* The body that takes the reservation off. */
void kueue_row_release(uint64_t revision, struct span conditions, struct buf *out);

#endif
