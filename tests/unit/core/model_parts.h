#ifndef TESTS_CORE_MODEL_PARTS_H
#define TESTS_CORE_MODEL_PARTS_H
/*
 * What the parts of a model cluster (cluster_model.h) know of each other; nobody else includes it.
 * model_orders.c carries out what the hub asks for, model_nodes.c has nodes and the pods on them,
 * cluster_model.c lets copies run and end, and all of them tell model_stream.c what changed.
 */
#include "cluster_model.h"

/* ---- model_stream.c ---- */

/* The stream that objects of this type come on; STREAM_MAX when there is none. */
enum member_stream model_stream_of(const struct model *m, uint16_t type);
/* A new event about what the thing is like now, under the next revision, which it gets as well. */
void model_tell_copy(struct model *m, struct model_copy *c);
void model_tell_pod(struct model *m, struct model_pod *p);
void model_tell_node(struct model *m, struct model_node *n);
/* The copy as facts have it; its texts are in `mem`. */
void model_fill_copy(const struct model_copy *c, struct arena *mem, struct copy_info *ret);
/* The pod as a GET shows it, in `mem`. */
struct span model_pod_json(const struct model *m, const struct model_pod *p, struct arena *mem);
/* Facts that are listed and not read yet are forgotten. */
void model_drop_out(struct model *m);

/* ---- model_nodes.c ---- */

/* Bound, and not ended. */
bool model_pod_works(const struct model_pod *p);
/* Gives the room of a pod that works back; before its phase says that it has ended. */
void model_pod_leave(struct model *m, struct model_pod *p);
/* Deletes it, once. */
void model_pod_gone(struct model *m, struct model_pod *p);
/* The pods of a copy, as `tree` has them: made when it is created, told of when it starts. */
void model_make_pods(struct model *m, struct model_copy *c, const struct cJSON *tree);
/* The scheduler's one step for a pod; false when no node has room for it. */
bool model_bind_pod(struct model *m, struct model_pod *p);

#endif
