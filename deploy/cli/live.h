#ifndef CLI_LIVE_H
#define CLI_LIVE_H
/*
 * A picture on a terminal that is drawn again in its place: each line is overwritten and its end
 * erased, in one write, so nothing flickers and what stood above stays in the scrollback. Lines
 * are cut to the terminal's width, and the picture to its height.
 *
 * Not for pipes, nor for a terminal that cannot move its cursor (TERM=dumb): live_is_possible().
 */
#include "base/span.h"
#include <stdbool.h>
#include <stddef.h>

struct live {
	size_t lines; /* of the last picture */
};

bool live_is_possible(void);
void live_draw(struct live *l, struct span text);

#endif
