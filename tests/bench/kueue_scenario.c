#include "kueue_scenario.h"

#include "base/compat.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const struct kueue_scenario scenarios[] = {
    {"kueue-baseline",
     5,
     6,
     {{"small", 350, 100000, 200000, 1000, 50},
      {"medium", 100, 500000, 500000, 5000, 100},
      {"large", 50, 1200000, 1000000, 20000, 200}},
     66.0},
    {"kueue-large",
     10,
     100,
     {{"small", 35, 60000, 150000, 1000, 50},
      {"medium", 11, 300000, 350000, 5000, 100},
      {"large", 4, 700000, 700000, 20000, 200}},
     4.0},
};

const struct kueue_scenario *kueue_scenario_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(scenarios); i++)
		if (strcmp(scenarios[i].name, name) == 0)
			return &scenarios[i];
	return NULL;
}

size_t kueue_scenario_workloads(const struct kueue_scenario *s)
{
	size_t n = 0;

	for (size_t i = 0; i < KUEUE_CLASSES; i++)
		n += s->classes[i].per_queue;
	return n * kueue_scenario_queues(s);
}

static int cmp_creation(const void *a, const void *b)
{
	const struct kueue_creation *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

struct kueue_creation *kueue_scenario_creations(const struct kueue_scenario *s)
{
	size_t all = kueue_scenario_workloads(s);
	struct kueue_creation *out = xcalloc(all, sizeof(*out));
	uint32_t number = 0;

	for (uint32_t q = 0; q < kueue_scenario_queues(s); q++)
		for (uint32_t k = 0; k < KUEUE_CLASSES; k++)
			for (size_t n = 0; n < s->classes[k].per_queue; n++, number++)
				out[number] = (struct kueue_creation){
				    (int64_t)(n + 1) * s->classes[k].every, number, q, k};
	qsort(out, all, sizeof(*out), cmp_creation);
	return out;
}
