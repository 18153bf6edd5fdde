#ifndef KUBE_CEL_FUNCTION_H
#define KUBE_CEL_FUNCTION_H
/*
 * Functions of CEL, as tables of overloads: cel_functions.c has those of the language,
 * cel_strings.c and cel_lists.c the extensions, cel_kubernetes.c what Kubernetes adds. The check
 * finds overloads by types, the run by the kinds of the values. Internal to kube/cel.
 */
#include "kube/cel/cel_ast.h"

#define CEL_MAX_SLOTS 64 /* variables and those of macros within macros */

struct cel_run {
	struct arena *mem;
	struct cel_heap heap;
	struct cel_value slots[CEL_MAX_SLOTS];
	size_t memory;	    /* that the arena had when it began */
	unsigned unchecked; /* steps since memory was looked at */
	int64_t steps;	    /* that are left; negative: none */
};

/* What an overload gives, where that is no plain kind. */
enum cel_gives {
	CEL_GIVES_KIND,	    /* `result` */
	CEL_GIVES_LIST,	    /* a list of `result` */
	CEL_GIVES_SAME,	    /* the type of its first argument */
	CEL_GIVES_ITEM,	    /* of the list, or in the optional, that is its first argument */
	CEL_GIVES_OPTIONAL, /* an optional of its first argument */
};

/* What the check asks of lists beyond that they are ones. */
enum cel_asks {
	CEL_ASKS_NOTHING,
	CEL_ASKS_TEXTS,	  /* items are strings */
	CEL_ASKS_ORDERED, /* items can be ordered */
	CEL_ASKS_SUMMED,  /* items can be added up */
	CEL_ASKS_ITEM,	  /* the second argument is like an item of the first */
	CEL_ASKS_ALIKE,	  /* both have items alike */
};

struct cel_function {
	const char *name; /* "sets.contains": with what stands before it */
	bool method;
	uint8_t n;	 /* arguments, with what a method is called on */
	uint8_t args[4]; /* enum cel_kind; CEL_DYN: any */
	uint8_t result;	 /* enum cel_kind */
	uint8_t gives;	 /* enum cel_gives */
	struct cel_value (*call)(struct cel_run *r, const struct cel_value *args, size_t n);
	uint8_t asks; /* enum cel_asks */
};

struct cel_table {
	const struct cel_function *functions;
	size_t n;
};
extern const struct cel_table cel_table_core, cel_table_strings, cel_table_lists,
    cel_table_optionals, cel_table_quantities, cel_table_addresses;

/* The value of a checked tree, and of one that is a macro (cel_run.c, cel_macro.c). */
struct cel_value cel_eval(struct cel_run *r, const struct cel_node *n);
struct cel_value cel_eval_macro(struct cel_run *r, const struct cel_node *n);

/* Counts steps; false when there are none left, or no memory. */
bool cel_step(struct cel_run *r, size_t n);
/* An error with these words, for a caller that cel_step() said false to. */
struct cel_value cel_exhausted(void);

/* The next overload of the name behind `from` (NULL: the first), or NULL. */
const struct cel_function *cel_function_next(const struct cel_function *from, const char *name,
					     bool method);
/* An object that a schema knows as a map counts as one. */
enum cel_kind cel_kind_of(const struct cel_value *v);

/* Characters, not bytes. */
size_t cel_characters(struct span s);
/* The double in the fewest digits that read back, as Go's strconv 'g' prints it. */
void cel_print_double(double v, struct buf *out);

#endif
