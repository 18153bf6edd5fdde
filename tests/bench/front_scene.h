#ifndef TESTS_BENCH_FRONT_SCENE_H
#define TESTS_BENCH_FRONT_SCENE_H
/*
 * The API's front over a registry, and the floor beside it (http_floor.c), as two processes with a
 * directory of their own: what benchmarks over TLS compare. Whatever goes wrong ends the program.
 */
#include "process.h"

struct front_scene {
	/* Fills the store in DIR/store before it is served, or NULL. */
	void (*seed)(const struct front_scene *s);
	void *arg;
	/* Set by front_scene_start(): */
	char dir[64], token[128]; /* the admin's token */
	struct process server, floor;
	int port, floor_port;
};

void front_scene_start(struct front_scene *s);
void front_scene_stop(struct front_scene *s);
/* Ends the program with a word about why. */
_Noreturn void front_scene_die(const char *what, const char *why);

#endif
