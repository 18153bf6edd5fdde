#include "kube/admit.h"

#include "base/json.h"
#include "kube/field_errors.h"
#include "kube/schema.h"

void admit_object(const struct kind_set *set, const struct kind *k, struct cJSON *object,
		  const struct kind_write *w, struct field_errors *errors, struct buf *unknown)
{
	const struct kind *stored = kind_by_type(set, k->type);
	struct kind_write as_stored = *w;
	auto_json *old = NULL;

	schema_admit(k, object, w, errors, unknown);
	if (!k->convert || k->same_shape || !stored || stored == k || field_errors_any(errors))
		return;
	if (w->old) {
		as_stored.old = old = json_dup(w->old);
		k->convert(k, old, KIND_TO_STORED);
	}
	k->convert(k, object, KIND_TO_STORED);
	schema_admit(stored, object, &as_stored, errors, NULL);
	k->convert(k, object, KIND_FROM_STORED);
}
