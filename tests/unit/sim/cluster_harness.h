#ifndef TESTS_SIM_CLUSTER_HARNESS_H
#define TESTS_SIM_CLUSTER_HARNESS_H
/*
 * A whole simulated cluster without its API front: commands go in, steps are made with a clock of
 * the test's own, and objects are read from the store as a client would see them. JSON is written
 * with single quotes.
 */
#include "sim_test.h"

#include "base/json.h"
#include "kinds/types.h"
#include "member-sync/sim/cluster.h"

struct harness {
	char dir[64], nodes[96];
	struct cluster *c;
	struct wakeup *wakeup;
	size_t map_bytes;
	usec now;
	struct err err;
	uint64_t revision;
};
extern struct harness t;

/* cmocka's setup and teardown around each test; the nodes are those of the YAML text. */
int harness_setup(const char *nodes_yaml);
int teardown(void **state);
void open_cluster(void);
void restart(void);
/* Steps until nothing is due before `t.now`; pass: again `d` later. */
void settle(void);
void pass(usec d);

const struct kind *kind(uint16_t type);
void done(struct command *c);
/* Gives it to the cluster and makes its steps; t.err and t.revision are its answer. */
void submit(struct command *c);
char *unquote(const char *s); /* free it */
struct object_draft draft(const struct kind *k, const struct cJSON *tree);
/* In namespace default, with a uid of its own. */
void create(uint16_t type, const char *json);
/* The object's tree, or NULL; free it. */
struct cJSON *get(uint16_t type, const char *ns, const char *name);
uint64_t revision_of(uint16_t type, const char *ns, const char *name); /* 0: absent */
/* Sets spec (or spec.runPolicy) .suspend as a client's patch would. */
void set_suspend(uint16_t type, const char *name, bool suspend);
/* In namespace default. */
void update(uint16_t type, const char *name, const struct cJSON *tree);
void delete (uint16_t type, const char *ns, const char *name);
const char *phase(const char *pod); /* "absent" */
/* "Created Suspended=False Running": the conditions of an object, in order. */
const char *conditions(uint16_t type, const char *name);
size_t count(uint16_t type); /* in namespace default */
/* The lines of runs.jsonl. */
size_t runs(char *out, size_t size);

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
