#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H
/*
 * What the verbs of `muster` share: parsed options, exit codes (reference ux, section 1), output.
 * Data goes to standard output, narration to standard error.
 */
#include "base/clock.h"
#include "client.h"

enum exit_code {
	EXIT_OK = 0,
	EXIT_ERROR = 1,
	EXIT_USAGE = 2,
	EXIT_NOT_FOUND = 3,
	EXIT_FORBIDDEN = 4,
	EXIT_UNREACHABLE = 5,
	EXIT_TIMEOUT = 6,
	EXIT_JOB_FAILED = 7,
	EXIT_NEVER_FITS = 8,
};

enum output { OUTPUT_TABLE, OUTPUT_WIDE, OUTPUT_JSON, OUTPUT_YAML };

#define COMMAND_MAX_ARGS 16

struct command_line {
	const char *args[COMMAND_MAX_ARGS]; /* words after the verb */
	size_t n_args;
	const char *ns; /* -n; NULL: the context's */
	bool all_namespaces, watch, no_headers, all_members;
	enum output output;
	const char *member;	       /* -m */
	const char *member_kubeconfig; /* join --kubeconfig */
	bool colour;	      /* of tables: --color, NO_COLOR, and whether it is a terminal */
	bool follow, all;     /* logs */
	const char *replica;  /* logs, such as worker-0 */
	const char *wait_for; /* wait */
	int64_t timeout;      /* wait, seconds; 0: none */
	struct client_options client;
};

struct verb {
	const char *name, *arguments, *summary;
	int (*run)(const struct command_line *line); /* returns an exit code */
};

extern const struct verb verb_clusters, verb_jobs, verb_why, verb_queue, verb_quota, verb_join,
    verb_unjoin, verb_top, verb_wait, verb_pods, verb_logs, verb_completion;
/* All of them, in the order of the help; ended by NULL. */
extern const struct verb *const command_verbs[];
int amc_run(const struct command_line *line); /* kubectl amc get ... */

/* Where the hub answers questions. */
#define COMMAND_QUERY_PATH "/apis/muster.dev/v1alpha1"

struct sheet;
/* A sheet as the options ask for it. */
struct sheet *command_sheet(const struct command_line *line, const char *const *heads, size_t n);
/* Time since `created`, into out; "" when it is no time. */
const char *command_age(const char *created, char out[CLOCK_TEXT_MAX]);
int64_t command_number(const struct cJSON *o, const char *key); /* 0 when absent */
/* With -o json or yaml the tree as it is; true when that was asked for. */
bool command_printed_raw(const struct command_line *line, const struct cJSON *tree,
			 struct buf *out);

/* Prints "error: ..." and gives the exit code of the error's kind. */
int command_fail(const struct err *err);
int command_usage(const struct verb *v);
/* The namespace of a command: -n, else the context's. */
const char *command_namespace(const struct command_line *line, const struct client *c);
/* Writes everything to standard output. */
void command_write(const struct buf *b);
/* Prints a JSON answer as asked (OUTPUT_JSON or OUTPUT_YAML). */
void command_print_tree(const struct cJSON *tree, enum output output);

/* render returns an exit code and appends its rows to out; what changes it is watched. */
struct view {
	int (*render)(const struct command_line *line, struct client *c, struct buf *out,
		      struct err *reterr);
	const char *group, *resource; /* "/apis/GROUP/VERSION", plural */
	bool namespaced;	      /* of one namespace, unless all were asked for */
};

/* Shows a view once; with -w again whenever an object of its resource changes: in place on a
 * terminal, else the rows that changed, one line each. */
int command_view(const struct command_line *line, const struct view *v);

#endif
