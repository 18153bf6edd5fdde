#ifndef TESTS_BENCH_FLEET_H
#define TESTS_BENCH_FLEET_H
/*
 * The real hub and simulated members as child processes, in a directory of their own under /tmp.
 *
 * What goes wrong ends the benchmark with the cause on standard error; the directory is left then,
 * with programs.log in it. The programs are those of MUSTER_BUILD, or of the working directory.
 * Thread: the one that opened it.
 */
#include "process.h"

#define FLEET_MEMBERS_MAX 16

struct fleet {
	char dir[64], kubeconfig[96], log[96], token[128];
	struct process hub, sims;
	char listen[64];
	int n_members;
	char sim_tokens[FLEET_MEMBERS_MAX][128]; /* of members that keep a directory */
};

/* A hub, and no members yet. */
void fleet_open(struct fleet *f);
/* Simulated members of `nodes` nodes. With a directory they keep their tokens where watches find
 * them; in memory they cost the machine less. Once per fleet. */
void fleet_start_members(struct fleet *f, int members, int nodes, bool in_memory);
/* `muster join` for each of them; returns when the hub knows all their nodes and pods. */
void fleet_join(struct fleet *f);
/* Starts the hub again over its data, on the same port; it was stopped before. */
void fleet_start_hub(struct fleet *f);
/* Ends the programs and removes the directory. False when a program did not end well. */
bool fleet_close(struct fleet *f);

/* Ends the benchmark: what, and why. */
void fleet_die(const char *what, const struct err *e) __attribute__((noreturn));

#endif
