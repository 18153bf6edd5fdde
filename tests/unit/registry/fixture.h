#ifndef TESTS_REGISTRY_FIXTURE_H
#define TESTS_REGISTRY_FIXTURE_H
/*
 * A registry over memory stores with a handful of kinds, and short ways to say what a test does:
 * objects are JSON literals with single quotes for double ones.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "registry/registry.h"

struct fixture {
	struct store *truth, *mirror;
	struct registry *reg;
	usec now;
	struct err err; /* of the last command */
};

extern const struct kind kind_namespace, kind_config_map, kind_account, kind_event, kind_job,
    kind_training /* a job */, kind_definition, kind_secret;

void fixture_open(struct fixture *f);	/* with the namespace "team" */
void fixture_reopen(struct fixture *f); /* the registry only: what a restart does */
void fixture_close(struct fixture *f);

/* uid number n as text: "00000000-0000-4000-8000-00000000000n". */
const char *fixture_uid(int n);
/* A draft from a JSON literal. */
struct object_draft fixture_draft(const struct kind *k, const char *json);
struct command *fixture_command(enum command_verb verb, const struct kind *k, const char *ns,
				const char *name, const char *json, uint64_t revision);

/* One batch with this one command; its err goes to f->err, its revision is returned. */
uint64_t fixture_run(struct fixture *f, struct command *c);
uint64_t fixture_create(struct fixture *f, const struct kind *k, const char *ns, const char *name,
			const char *json);
uint64_t fixture_update(struct fixture *f, const struct kind *k, const char *ns, const char *name,
			const char *json, uint64_t revision);
uint64_t fixture_delete(struct fixture *f, const struct kind *k, const char *ns, const char *name,
			enum command_propagation how);
/* A job with the uid n and `more` members of metadata, such as ",'finalizers':['a']". */
uint64_t fixture_job(struct fixture *f, const char *name, int n, const char *more);

/* Background work, at most `max_rows` per batch, until none is due; the number of batches. */
int fixture_work(struct fixture *f, size_t max_rows);
/* Revision of the stored object, 0 when it is absent. */
uint64_t fixture_revision(struct fixture *f, const struct kind *k, const char *ns,
			  const char *name);
/* Whether the stored object's text contains `needle` (single quotes for double ones). */
bool fixture_contains(struct fixture *f, const struct kind *k, const char *ns, const char *name,
		      const char *needle);
size_t fixture_count(struct fixture *f, const struct kind *k, const char *ns);

#endif
