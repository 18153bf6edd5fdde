#ifndef KINDS_KINDS_H
#define KINDS_KINDS_H
/*
 * The served kinds as compact static tables, generated at build time from one YAML schema file
 * per kind in this folder, plus each kind's small C hooks.
 */
#include "kube/kind.h"

const struct kind_set *kinds_hub(void); /* DESIGN section 3, those that exist so far */
const struct kind_set *kinds_sim(void); /* a member cluster: core kinds, job kinds, Node, Pod */

#endif
