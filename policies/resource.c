#include "policies/resource.h"

#include <errno.h>
#include <inttypes.h>

void resource_table_init(struct resource_table *t)
{
	static const char *const fixed[RESOURCE_FIRST_OTHER] = {
	    [RESOURCE_CPU] = "cpu",
	    [RESOURCE_MEMORY] = "memory",
	    [RESOURCE_EPHEMERAL] = "ephemeral-storage",
	    [RESOURCE_PODS] = "pods",
	};

	*t = (struct resource_table){.n = RESOURCE_FIRST_OTHER};
	for (uint32_t i = 0; i < RESOURCE_FIRST_OTHER; i++)
		t->names[i] = xstrdup(fixed[i]);
}

void resource_table_done(struct resource_table *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		free(t->names[i]);
	*t = (struct resource_table){0};
}

int resource_table_find(const struct resource_table *t, struct span name, uint32_t *ret)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (span_is(name, t->names[i])) {
			*ret = i;
			return 0;
		}
	return -ENOENT;
}

int resource_table_index(struct resource_table *t, struct span name, uint32_t *ret,
			 struct err *reterr)
{
	if (resource_table_find(t, name, ret) == 0)
		return 0;
	if (name.len == 0 || name.len > RESOURCE_NAME_MAX)
		return err_set(reterr, ERR_INVALID, "resource name of %zu bytes, must be 1 to %d",
			       name.len, RESOURCE_NAME_MAX);
	if (t->n >= RESOURCE_MAX)
		return err_set(reterr, ERR_TOO_LARGE,
			       "resource %.*s is one too many: the fleet counts %d kinds",
			       SPAN_ARGS(name), RESOURCE_MAX);
	t->names[t->n] = xstrndup(name.ptr, name.len);
	*ret = t->n++;
	return 0;
}

const char *resource_table_name(const struct resource_table *t, uint32_t index)
{
	return index < t->n ? t->names[index] : "";
}

bool resource_table_is_extended(const struct resource_table *t, uint32_t index)
{
	if (index < RESOURCE_FIRST_OTHER || index >= t->n)
		return false;
	struct span name = span_of(t->names[index]);
	return !span_starts(name, SPAN("hugepages-")) &&
	       !span_starts(name, SPAN("attachable-volumes-"));
}

static bool counts_bytes(const struct resource_table *t, uint32_t index)
{
	return index == RESOURCE_MEMORY || index == RESOURCE_EPHEMERAL ||
	       span_starts(span_of(resource_table_name(t, index)), SPAN("hugepages-"));
}

const char *resource_format(const struct resource_table *t, uint32_t index, int64_t amount,
			    char *out, size_t size)
{
	static const char *const unit[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};
	size_t u = 0;

	if (index == RESOURCE_CPU && amount % 1000 != 0) {
		snprintf(out, size, "%" PRId64 "m", amount);
		return out;
	}
	if (index == RESOURCE_CPU)
		amount /= 1000;
	if (counts_bytes(t, index))
		while (amount != 0 && amount % 1024 == 0 && u + 1 < ARRAY_LEN(unit)) {
			amount /= 1024;
			u++;
		}
	snprintf(out, size, "%" PRId64 "%s", amount, unit[u]);
	return out;
}
