#ifndef TESTS_CONTRACT_FIXTURE_H
#define TESTS_CONTRACT_FIXTURE_H
/*
 * One store of one backend for one test, in a directory of its own, and short words to write to
 * it. An object made here is {"metadata":{"name":NAME,"resourceVersion":""},"spec":SPEC,
 * "status":STATUS}, with its extents.
 */
#include "base/buf.h"
#include "store/store.h"
#include <setjmp.h>
#include <stdarg.h>
/* cmocka wants the three above first. */
#include <cmocka.h>

enum fixture_backend {
	ON_MEMORY,
	ON_LMDB,
	ON_FAULTY_MEMORY,
	ON_FAULTY_LMDB,
	ON_SEALED_MEMORY,
	ON_SEALED_LMDB,
	BACKEND_MAX
};

struct fixture {
	enum fixture_backend backend;
	struct store_options options; /* path owned when durable */
	struct store *store;
	char key_file[64]; /* of a sealed one: made once, kept until fixture_done */
};

const char *fixture_backend_name(enum fixture_backend b);
bool fixture_is_durable(const struct fixture *f);
/* A new directory, and options that suit tests: a small map, generous limits. */
void fixture_init(struct fixture *f, enum fixture_backend b);
void fixture_open(struct fixture *f); /* fails the test when it cannot */
void fixture_close(struct fixture *f);
void fixture_done(struct fixture *f); /* closes and removes the directory */
void fixture_remove_dir(const char *path);

/* An object change with the memory behind it. */
struct made {
	struct store_change change;
	char *json; /* owned */
	char name[STORE_MAX_NAME + 1], ns[STORE_MAX_NAMESPACE + 1];
	char digest[24];
};
void made_put(struct made *m, uint16_t type, const char *ns, const char *name, const char *spec,
	      const char *status);
void made_done(struct made *m);
/* The bytes as they must be read at a revision; freed by the caller. */
char *made_expected(const char *name, uint64_t revision, const char *spec, const char *status);

struct store_key key_of(uint16_t type, const char *ns, const char *name);

/* One change in a batch of its own at time `now`; the revision. */
uint64_t put_at(struct fixture *f, usec now, uint16_t type, const char *ns, const char *name,
		const char *spec, const char *status);
uint64_t put(struct fixture *f, const char *name, const char *spec); /* type 1, namespace "ns" */
uint64_t delete_at(struct fixture *f, usec now, uint16_t type, const char *ns, const char *name);
uint64_t delete (struct fixture *f, const char *name);
int put_aux(struct fixture *f, uint8_t table, const char *key, const char *value);

struct store_reader *begin(struct fixture *f);

/* Names of the objects of a range, each followed by a blank, into out. */
void list_names(struct store_reader *r, const struct store_range *range, struct buf *out);
/* Asserts that a range lists these names, as list_names writes them. */
void assert_names(struct store_reader *r, const struct store_range *range, const char *want);
/* Asserts that the object's bytes are those of made_expected(). */
void assert_object(const struct store_object *o, uint64_t revision, const char *spec,
		   const char *status);

#endif
