#ifndef API_UPDATE_H
#define API_UPDATE_H
/* What PUT and PATCH share; on workers. */
#include "api/call.h"

struct cJSON;

/* Makes `object` the next state of `old`: metadata, defaults, validation. Its managedFields are
 * old's. */
int update_admit(struct call *c, const struct cJSON *old, struct cJSON *object, bool is_patch,
		 struct err *reterr) MUST_CHECK;
/* Whether the request changes nothing but the status, of a kind whose stored objects are as its
 * schema and hooks would leave them: then the stored tree lends the rest (json_lend). */
bool update_lends(const struct call *c);
/* The same, and its managers and generation. *ret_changed: whether anything is to be written.
 * With update_lends `object` borrows from `old`, which must live longer. */
int update_prepare(struct call *c, const struct cJSON *old, struct cJSON *object, bool is_patch,
		   bool *ret_changed, struct err *reterr) MUST_CHECK;

/* Sends the result to the core. */
void update_submit(struct call *c, const struct store_object *o, struct cJSON *object);

#endif
