#ifndef TESTS_DIFFERENTIAL_KUEUE_WORLD_H
#define TESTS_DIFFERENTIAL_KUEUE_WORLD_H
/*
 * The engine as kueue_driver.c's scenarios see it: what each file of the driver reads and writes.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "quota-tree/kueue_queues.h"
#include "quota-tree/kueue_shadow.h"

struct names VEC(struct span);
struct texts VEC(char *);

struct job {
	struct kueue_workload *record;
	struct span name;
	struct names pod_sets;
	bool waits;
	char why[64]; /* what the last attempt said */
	int64_t created;
	/* kueue_checks.c's */
	bool inactive;
	int64_t requeue_at;	/* us; 0: none */
	const char *evicted_as; /* static; NULL: preempted */
};

struct world {
	struct arena mem;
	struct kueue_options options;
	struct kueue_forest *forest;
	struct kueue_queues *queues;
	struct map jobs;   /* by name: struct job */
	struct map checks; /* by the name of its queue: struct span, a list as in its line */
	struct names queue_names, cohort_names, flavor_names, resource_names;
	int64_t now;
	bool rounds;
	const char *trouble; /* of the cycles, or NULL */
};

/* ---- kueue_line.c: reading a line of a scenario; absent parts read as nothing ---- */

struct span line_text(struct world *w, struct span object, const char *key);
int64_t line_number(struct span object, const char *key, int64_t otherwise);
/* Weights: the generator's are halves. */
double line_weight(struct span object);
bool line_yes(struct span object, const char *key);
bool line_is(struct span object, const char *key, const char *word);
struct span line_member(struct span object, const char *key);
size_t line_count(struct span container);
struct span *line_strings(struct world *w, struct span list, size_t *ret_n);
struct label *line_labels(struct world *w, struct span object, size_t *ret_n);
struct toleration *line_tolerations(struct world *w, struct span list, size_t *ret_n);
/* A name once, in order. */
void names_note(struct names *names, struct span name);

/* ---- kueue_objects.c: objects and workloads of a line, into the engine ---- */

void objects_set_options(struct world *w, struct span line);
int objects_set_flavor(struct world *w, struct span line, struct err *err);
int objects_set_cohort(struct world *w, struct span line, struct err *err);
int objects_set_queue(struct world *w, struct span line, struct err *err);
int objects_add(struct world *w, struct span line, struct err *err);
/* What a LocalQueue consumed, in cores. */
void objects_set_usage(struct world *w, struct span line);
int objects_act(struct world *w, struct span op, struct span line, struct err *err);

/* ---- kueue_checks.c: what follows from checks and spec.active ---- */

/* Whether an admission to the queue waits for a check: one that is for a flavor which it got. */
bool checks_apply(struct world *w, struct span queue, const struct kueue_assignment *a);
void checks_say(struct world *w, struct job *job, struct span line);
void checks_deactivate(struct world *w, struct job *job);
void checks_activate(struct world *w, struct job *job);
/* It is about to give its quota back, and may have to wait. */
void checks_keep_back(struct world *w, struct job *job, int64_t now);
/* Back-offs that are over at w->now. */
void checks_look_back(struct world *w);

/* ---- kueue_starving.c ---- */

/* When those that wait will have their quota, in the model's words; who could take it back, and who
 * may pass them, is compared. */
int starving_cast(struct world *w, struct span line, struct texts *out, struct err *err);

/* ---- kueue_passing.c ---- */

/* Compares the line's "lenders" and "asks" with what has been cast. */
int passing_compare(struct world *w, struct span line, struct kueue_shadow *const *shadows,
		    size_t n, struct err *err);

/* ---- kueue_decide.c: cycles until they rest, and what they decided in the model's words ---- */

/* Takes the buffer's text. */
void texts_push(struct texts *t, struct buf *b);
void decide_run(struct world *w, struct texts *out);

/* ---- kueue_compare.c ---- */

/* The same of shadow times. */
int compare_shadows(struct world *w, struct span line, struct err *err);
/* Whether decisions, reasons, usage, shares, counts and order are those that the line expects; says
 * what is not. */
bool compare_run(struct world *w, struct span expect);

#endif
