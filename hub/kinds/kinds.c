#include "kinds/kinds.h"

#include "kinds/kinds_table.h"

const struct kind_set *kinds_hub(void)
{
	return &kinds_table_hub;
}

const struct kind_set *kinds_sim(void)
{
	return &kinds_table_sim;
}
