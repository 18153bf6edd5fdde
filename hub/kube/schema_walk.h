#ifndef KUBE_SCHEMA_WALK_H
#define KUBE_SCHEMA_WALK_H
/*
 * The state of one schema pass and the path to where it is. Internal to schema*.c.
 *
 * The path is a stack of pointers into the tree; it becomes text only when there is something to
 * say, since nearly every object is fine.
 */
#include "kube/field_errors.h"
#include "kube/schema.h"

enum schema_step { SCHEMA_STEP_FIELD, SCHEMA_STEP_KEY, SCHEMA_STEP_INDEX };

struct schema_segment {
	enum schema_step step;
	const char *name; /* of a field or map key */
	size_t index;
};

struct schema_walk {
	struct field_errors *errors;
	struct buf *unknown;
	size_t n_unknown;
	size_t type_errors;
	bool native; /* with native defaults */
	struct schema_segment path[SCHEMA_MAX_DEPTH];
	size_t depth;
};

static inline void schema_walk_push(struct schema_walk *w, enum schema_step step, const char *name,
				    size_t index)
{
	if (w->depth < SCHEMA_MAX_DEPTH)
		w->path[w->depth] = (struct schema_segment){step, name, index};
	w->depth++;
}

static inline void schema_walk_pop(struct schema_walk *w)
{
	w->depth--;
}

/* Whether the rules of its kind judge everything of the value but its type. */
static inline bool schema_walk_is_ruled(const struct schema_walk *w, const struct schema *s)
{
	return w->native && s->flags & SCHEMA_RULED;
}

/* Renders the path. brackets: map keys as [key], as field.Path does, else as .key. */
void schema_walk_path(const struct schema_walk *w, bool brackets, struct buf *out);
/* Adds an error at the present place; value is JSON text or NULL. */
void schema_walk_refuse(struct schema_walk *w, enum field_reason reason, const char *value,
			const char *fmt, ...) PRINTF_LIKE(4, 5);
/* `spec.x in body must be of type integer: "string"` */
void schema_walk_refuse_type(struct schema_walk *w, const struct cJSON *value, const char *wanted);

/* Checks a value that is neither object, map nor array against its node. */
void schema_value_check(struct schema_walk *w, const struct schema *s, const struct cJSON *value);
/* Whether the text is a time as metav1.MicroTime reads it: RFC 3339 with just six digits behind the
 * seconds. */
bool schema_is_micro_time(struct span s);
/* Checks that no two items of a list with declared keys, or of a set, are the same. */
void schema_list_check(struct schema_walk *w, const struct schema *s, const struct cJSON *list);

#endif
