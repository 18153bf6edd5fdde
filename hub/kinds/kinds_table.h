#ifndef KINDS_KINDS_TABLE_H
#define KINDS_KINDS_TABLE_H
/* What generate.py makes of the YAML files here; kinds.c is the only user. */
#include "kube/kind.h"

extern const struct kind_set kinds_table_hub, kinds_table_sim;

#endif
