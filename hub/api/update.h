#ifndef API_UPDATE_H
#define API_UPDATE_H
/* What PUT and PATCH share; on workers. */
#include "api/call.h"

struct cJSON;

/* Makes `object` the next state of `old`: metadata, defaults, validation. Its managedFields are
 * old's. */
int update_admit(struct call *c, const struct cJSON *old, struct cJSON *object, bool is_patch,
		 struct err *reterr) MUST_CHECK;
/* The same, and its managers and generation. *ret_changed: whether anything is to be written. */
int update_prepare(struct call *c, const struct cJSON *old, struct cJSON *object, bool is_patch,
		   bool *ret_changed, struct err *reterr) MUST_CHECK;

#endif
