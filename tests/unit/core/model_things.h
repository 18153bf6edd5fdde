#ifndef TESTS_CORE_MODEL_THINGS_H
#define TESTS_CORE_MODEL_THINGS_H
/*
 * What a model cluster keeps besides nodes, pods and copies: namespaces, classes, ConfigMaps and
 * such, as JSON by path. Creates, reads, JSON patches and deletes with a uid as a real API server
 * answers them.
 */
#include "cluster_model.h"

/* An order about a thing; NULL when its path is a job's. */
struct fact *model_things_call(struct model *m, const struct order *o);
bool model_things_has(const struct model *m, struct span path);
void model_things_free(struct model *m);

#endif
