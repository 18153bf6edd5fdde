#ifndef QUOTA_TREE_ELASTIC_LANE_H
#define QUOTA_TREE_ELASTIC_LANE_H
/*
 * The inside of the queues: units in lanes, lanes ready or filed in waiting groups
 * (elastic_group.h), and the set of offers from which the next candidate comes. Private to the
 * elastic queues' files.
 *
 * A lane is ready, or stands in exactly one group.
 *
 * An offer is one unit in the set `offers`:
 *   a lane's     the first unit of a ready lane, in a queue that does not stand still
 *   a queue's    the head of a queue that is strict now, if its lane is ready
 *   a group's    the first unit of the best lane that could fit
 * Offers are set again (lane_sync, queue_sync, group_sync) whenever something improves for them;
 * what gets worse by a charge is found when the offer is taken. So an offer may be wrong, but a
 * unit that could be admitted is never without one.
 */
#include "base/map.h"
#include "quota-tree/elastic_queue.h"
#include "quota-tree/rank_tree.h"

enum group_kind {
	GROUP_MAX = 0, /* at a node: counted + need > max */
	GROUP_FIRM,    /* at a node: non-preemptible */
	GROUP_OVERFLOW,
	GROUP_NODE_KINDS, /* the three above stand at (node, resource) */
	GROUP_SHAPE = GROUP_NODE_KINDS,
	GROUP_MIN, /* another leaf below its min, by resource */
	GROUP_SKIP,
	GROUP_HOLD, /* kept from it for one that starves */
};

enum offer_kind { OFFER_LANE, OFFER_QUEUE, OFFER_GROUP };

struct offer {
	struct rank_node by_order;
	enum offer_kind kind;
	struct elastic_unit *unit; /* NULL: not in the set */
};

struct group {
	enum group_kind kind;
	uint32_t node;
	uint32_t resource;
	uint32_t shape;
	bool parked; /* GROUP_SHAPE: core said that nothing fits */
	struct rank_tree lanes;
	struct offer offer;
};

struct lane {
	uint32_t node; /* whose queue this is */
	uint32_t shape;
	bool nonpreemptible;
	size_t n_amounts;
	struct quota_amount *amounts;
	size_t refs;		/* units, pending and admitted */
	struct rank_tree units; /* pending ones */
	struct offer offer;
	struct group *group; /* NULL: ready */
	struct rank_node by_group;
	int64_t need;
	int64_t least_need;	  /* of the lanes below it in the group's treap */
	struct lane *prev, *next; /* of its queue */
};

/* What a comparison reads stands in the first cache line, with the nodes that are compared on the
 * way down: in a long queue each step is a line from memory. */
struct elastic_unit {
	_Alignas(64) uint64_t rank; /* queue's priority, then the unit's; less goes first */
	uint64_t age;		    /* later in Intelligent, then first attempt; less goes first */
	struct rank_node by_queue;
	struct rank_node by_lane;
	struct span name;
	uint64_t sequence;
	struct lane *lane;
	void *owner;
	struct elastic_unit *prev, *next; /* of all units */
	int32_t priority;
	bool admitted;
	int64_t first_attempt;
};

struct queue {
	struct rank_tree units;
	struct elastic_queue_config config;
	bool strict; /* only the head is offered now */
	struct offer offer;
	struct lane *lanes;
	uint32_t n_min_lanes; /* in GROUP_MIN */
	uint64_t below;	      /* leaf with pending units: resources where used < min */
};

struct elastic_queues {
	struct elastic_tree *tree;
	struct quota_tree *quota;
	struct elastic_queue_options options;
	uint32_t n_nodes;
	uint32_t n_resources;
	struct queue *queues;	    /* by node */
	struct group **node_groups; /* [node][resource][kind], made when needed */
	uint32_t *n_node_groups;    /* by node */
	uint32_t *waiting_above;  /* by node, where floors are: lanes below it that wait above it */
	struct group *min_groups; /* by resource */
	uint32_t *n_below;	  /* by resource: leaves below their min with pending units */
	struct group skipped, held;
	struct map shapes; /* 4 bytes of shape -> group, while parked or not empty */
	struct map lanes;  /* lane_key -> lane */
	struct rank_tree offers;
	struct elastic_unit *units;
	uint64_t sequence;
	size_t n_pending, n_admitted;
	uint64_t releases;
};

extern const struct rank_order elastic_by_queue_order;

struct lane *elastic_lane_get(struct elastic_queues *q, const struct elastic_unit_spec *spec);
void elastic_lane_unref(struct elastic_queues *q, struct lane *lane);
struct quota_request elastic_lane_request(const struct lane *lane);
struct elastic_unit *elastic_lane_head(const struct lane *lane); /* NULL when none pends */

/* Puts a unit among the pending ones of its queue and lane, or takes it out; offers follow. */
void elastic_lane_enter(struct elastic_queues *q, struct elastic_unit *unit);
void elastic_lane_leave(struct elastic_queues *q, struct elastic_unit *unit);

void elastic_lane_file(struct elastic_queues *q, struct lane *lane, struct group *group,
		       int64_t need);
void elastic_lane_ready(struct elastic_queues *q, struct lane *lane);

/* After a release at `node`: the groups on its path, and what its floors absorb. */
void elastic_lane_released(struct elastic_queues *q, uint32_t node,
			   const struct quota_request *req);
/* After any change of use or of the pending units at `node`. */
void elastic_lane_changed(struct elastic_queues *q, uint32_t node);

/* The resource for which another leaf's min stands before this lane, or QUOTA_NO_RESOURCE. A lane
 * whose own quota is below its min in something it asks may go; a leaf counted in n_below for a
 * resource that is asked is then never the lane's own. */
uint32_t elastic_lane_oversold_by(const struct elastic_queues *q, const struct lane *lane);

#endif
