#ifndef CORE_KUEUE_ADMISSION_H
#define CORE_KUEUE_ADMISSION_H
/*
 * Kueue's cycle in a fleet: quota from the engine, a member for the whole gang from placement, both
 * in one commit (DESIGN section 4, item 3).
 *
 * The engine offers heads in Kueue's order with the flavors that they would get. The node labels
 * and tolerations of those flavors go into what the gang asks; when no member takes it so, the
 * engine is asked for the next combination, and a head without any left parks until placement has
 * room for it again. A workload without a job takes quota alone. One whose queue has admission
 * checks takes quota first, and a member when they are all Ready. So does one that starves, once a
 * member is kept free for it (core/admission/starvation.h): its quota is reserved ahead.
 */
#include "core/kueue/workload.h"

/* Admits while something can start and the budget lasts. True when it stopped for lack of it. */
bool admission_run(struct core *c);
/* All checks of a workload that holds its quota are Ready. */
void admission_checks_ready(struct core *c, struct workload *w);
/* Starts one that holds quota and waits for nodes alone, where they are there now. */
bool admission_start(struct core *c, struct workload *w);
/* Takes back the quota that a starving one was given ahead; it waits again. */
void admission_give_back(struct core *c, struct workload *w);

#endif
