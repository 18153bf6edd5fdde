#include "kueue_ledger.h"

#include "base/compat.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* A workload that became pending in the same batch as an admission, or in the one before, was not
 * looked at yet when that was decided; a batch has at most 128 rows. */
#define UNSEEN_REVISIONS 256

void kueue_ledger_init(struct kueue_ledger *l, const struct kueue_scenario *s)
{
	size_t queues = kueue_scenario_queues(s);
	uint32_t number = 0;

	*l = (struct kueue_ledger){.s = s};
	l->entries = xcalloc(kueue_scenario_workloads(s), sizeof(*l->entries));
	l->first = xcalloc(queues * KUEUE_CLASSES, sizeof(*l->first));
	l->held = xcalloc(queues, sizeof(*l->held));
	for (uint32_t q = 0; q < queues; q++) {
		for (uint8_t k = 0; k < KUEUE_CLASSES; k++) {
			l->first[q * KUEUE_CLASSES + k] = number;
			for (size_t i = 0; i < s->classes[k].per_queue; i++, number++)
				l->entries[number] = (struct ledger_entry){.queue = q, .class = k};
		}
	}
}

void kueue_ledger_done(struct kueue_ledger *l)
{
	free(l->entries);
	free(l->first);
	free(l->held);
}

static void violated(struct kueue_ledger *l, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void violated(struct kueue_ledger *l, const char *fmt, ...)
{
	va_list ap;

	if (l->violations++)
		return;
	va_start(ap, fmt);
	vsnprintf(l->first_violation, sizeof(l->first_violation), fmt, ap);
	va_end(ap);
}

static bool holds(enum ledger_state s)
{
	return s == LEDGER_HOLDS || s == LEDGER_EVICTED;
}

static void check_sums(struct kueue_ledger *l, uint32_t queue)
{
	size_t cohort = queue / l->s->width;

	if (l->held[queue] > KUEUE_NOMINAL_MILLI + KUEUE_BORROWING_MILLI)
		violated(l, "revision %llu: queue %u holds %lld", (unsigned long long)l->revision,
			 queue, (long long)l->held[queue]);
	if (l->cohorts[cohort] > KUEUE_NOMINAL_MILLI * (int64_t)l->s->width)
		violated(l, "revision %llu: cohort %zu holds %lld", (unsigned long long)l->revision,
			 cohort, (long long)l->cohorts[cohort]);
}

static bool is_older(const struct ledger_entry *a, const struct ledger_entry *b)
{
	return a->created != b->created ? a->created < b->created : a->since < b->since;
}

static void check_order(struct kueue_ledger *l, uint32_t number)
{
	const struct ledger_entry *e = &l->entries[number];
	uint32_t first = l->first[e->queue * KUEUE_CLASSES + e->class];

	if (e->was_preempted)
		return;
	for (uint32_t i = first; i < first + l->s->classes[e->class].per_queue; i++) {
		const struct ledger_entry *o = &l->entries[i];
		if (o->state == LEDGER_PENDING && !o->was_preempted && is_older(o, e) &&
		    o->since + UNSEEN_REVISIONS < l->revision)
			violated(l, "revision %llu: %s %u of queue %u is admitted before %u",
				 (unsigned long long)l->revision, l->s->classes[e->class].name,
				 number, e->queue, i);
	}
}

enum ledger_state kueue_ledger_take(struct kueue_ledger *l, uint32_t number,
				    enum ledger_state state, uint64_t revision, int64_t created)
{
	struct ledger_entry *e = &l->entries[number];
	enum ledger_state was = e->state;
	int64_t cpu = l->s->classes[e->class].cpu;

	if (revision <= l->revision)
		violated(l, "revision %llu comes after %llu", (unsigned long long)revision,
			 (unsigned long long)l->revision);
	l->revision = revision;
	l->revisions++;
	e->state = (uint8_t)state;
	if (was == LEDGER_ABSENT) {
		e->created = created;
		e->since = revision;
	}
	if (holds(state) != holds(was)) {
		int64_t change = holds(state) ? cpu : -cpu;
		l->held[e->queue] += change;
		l->cohorts[e->queue / l->s->width] += change;
		check_sums(l, e->queue);
	}
	if (state == LEDGER_HOLDS && was == LEDGER_PENDING)
		check_order(l, number);
	if (state == LEDGER_EVICTED)
		e->was_preempted = true;
	if (was == LEDGER_FINISHED && state != LEDGER_FINISHED)
		violated(l, "revision %llu: %u is not finished any more",
			 (unsigned long long)revision, number);
	return was;
}
