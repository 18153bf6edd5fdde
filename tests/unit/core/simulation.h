#ifndef TESTS_CORE_SIMULATION_H
#define TESTS_CORE_SIMULATION_H
/*
 * A hub and its members under other people's luck: how they begin (simulation_scene.c), and what
 * may happen to them (simulation_steps.c). What must hold at the end is test_simulation.c's.
 */
#include "seeds.h"
#include "world.h"

#define MAX_JOBS 24

struct sim_job {
	char name[32];
	const char *ns;
	bool acknowledged, deleted, suspended, disturbed, impossible, fails;
};

struct sim {
	struct world w;
	uint64_t random;
	struct sim_job jobs[MAX_JOBS];
	size_t n_jobs;
	uint64_t restarts, lost;
	uint8_t identities;
	bool shrunk;   /* the tree was edited: usage may stand above max */
	bool fails;    /* nodes do, and some jobs are urgent */
	bool failover; /* jobs do, and leave for another cluster then */
	bool reclaims; /* the tree takes jobs back from borrowers */
};

#define below(s, n) seeds_below(&(s)->random, n)

extern const char *const sim_spaces[3];

/* Tree, policies and two or three members, as the seed has it. */
void sim_open(struct sim *s, uint64_t seed);

/* One thing happens. */
void sim_step(struct sim *s);
bool sim_exists(struct sim *s, const struct sim_job *j);
bool sim_is_joined(struct sim *s, const struct model *m);
/* Its operator says that the member is gone for good. */
void sim_declare_dead(struct sim *s, const struct model *m);
void sim_mend_nodes(struct sim *s);

#endif
