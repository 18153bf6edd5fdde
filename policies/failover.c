#include "policies/failover.h"

#include "base/num.h"

static const struct {
	const char *text;
	enum failover_purge purge;
} spellings[] = {
    {"Directly", FAILOVER_DIRECTLY},	 {"Gracefully", FAILOVER_GRACEFULLY},
    {"Never", FAILOVER_NEVER},		 {"Immediately", FAILOVER_DIRECTLY},
    {"Graciously", FAILOVER_GRACEFULLY},
};

enum failover_purge failover_purge_from_string(struct span text)
{
	for (size_t i = 0; i < ARRAY_LEN(spellings); i++)
		if (span_is(text, spellings[i].text))
			return spellings[i].purge;
	return FAILOVER_GRACEFULLY;
}

const char *failover_purge_to_string(enum failover_purge p)
{
	for (size_t i = 0; i < ARRAY_LEN(spellings); i++)
		if (spellings[i].purge == p)
			return spellings[i].text;
	return "Gracefully";
}

static struct failover_plan stands(const char *why)
{
	return (struct failover_plan){.outcome = FAILOVER_STANDS, .why = why};
}

struct failover_plan failover_decide(const struct failover_case *f, int64_t now)
{
	int64_t until = num_add_sat(f->failed_at, f->rule.toleration_us);

	if (!f->rule.enabled)
		return stands("");
	if (f->bound)
		return stands("its nodes were provisioned on this cluster alone");
	if (f->left + 1 >= FAILOVER_MOST)
		return stands("it has failed on as many clusters as a job may leave");
	if (f->others == 0)
		return stands(f->left ? "every other cluster that could take it has failed it, too"
				      : "no other cluster can ever take it");
	if (now < until && !f->stopping)
		return (struct failover_plan){.outcome = FAILOVER_WAITS, .until = until};
	return (struct failover_plan){.outcome = FAILOVER_MOVES};
}

size_t failover_others(const struct verdict *v, size_t n, uint32_t present)
{
	size_t others = 0;

	for (size_t i = 0; i < n; i++)
		others += v[i].cluster != present && !verdict_is_never(v[i].code);
	return others;
}
