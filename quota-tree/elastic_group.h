#ifndef QUOTA_TREE_ELASTIC_GROUP_H
#define QUOTA_TREE_ELASTIC_GROUP_H
/*
 * Groups of lanes that wait for the same, and the offers that they make.
 *
 * A group is a reason to wait: a node, resource and kind of limit that refused; a parked shape;
 * somebody else's min; the pass; quota that is kept for one that starves. Each knows how much room
 * there is now, and a lane in it how much it needs; the group offers its best lane that the room
 * holds. Lanes are in the order of their heads, with the least need of each subtree beside it, so
 * that the best is found in O(log n). Groups of nodes and shapes are made when needed and freed
 * with their last lane. Private to the elastic queues' files.
 */
#include "quota-tree/elastic_lane.h"

void elastic_group_init(struct elastic_queues *q);
void elastic_group_done(struct elastic_queues *q);

/* What the offer is from now on; NULL: nobody. */
void elastic_group_offer(struct elastic_queues *q, struct offer *offer, struct elastic_unit *unit);
/* Where the group of a node, resource and kind of limit is kept; NULL while nobody waits there. */
struct group **elastic_group_slot(const struct elastic_queues *q, uint32_t node, uint32_t resource,
				  enum group_kind kind);
struct group *elastic_group_at(struct elastic_queues *q, uint32_t node, uint32_t resource,
			       enum group_kind kind);
struct group *elastic_group_of_shape(struct elastic_queues *q, uint32_t shape);
struct group *elastic_group_find_shape(const struct elastic_queues *q, uint32_t shape);
struct lane *elastic_group_best(const struct elastic_queues *q, const struct group *g);
void elastic_group_sync(struct elastic_queues *q, struct group *g);
/* Frees a shape's group that nothing needs any more. */
void elastic_group_drop_shape(struct elastic_queues *q, struct group *g);
/* Takes a lane out of its group; the group goes when it was the last. The lane's own offer is the
 * caller's to set. */
void elastic_group_leave(struct elastic_queues *q, struct lane *lane);

#endif
