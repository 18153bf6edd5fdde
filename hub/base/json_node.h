#ifndef BASE_JSON_NODE_H
#define BASE_JSON_NODE_H
/*
 * The memory and the links of cJSON nodes, private to json*.c: the node, its key and its text in
 * one piece. cJSON's marks for "not mine to free" say that they are; the key of a node that gets
 * another one through json.h is memory of its own from then on. A container with that mark has the
 * children of another (json_lend).
 *
 * Nodes that come together, of a parsed text or of a copy, lie together too: in blocks that are
 * freed with the last node in them, wherever those nodes have gone meanwhile. A tree is then some
 * mallocs instead of hundreds, and so is its end. A block is counted without a lock: trees, and
 * what was taken out of them, stay on one thread.
 */
#include <stddef.h>

struct cJSON;

/* Gives nodes out of a block, and takes the next one when it is full. */
struct json_nodes {
	struct json_block *block;
	size_t left; /* bytes in it */
	size_t n;    /* nodes given */
};

#define JSON_NODES_INIT ((struct json_nodes){NULL, 0, 0})

/* key_room and text_room: bytes with their NUL, to be written by the caller at node->string and
 * node->valuestring; 0: none, the pointer stays NULL. */
struct cJSON *json_nodes_new(struct json_nodes *from, int type, size_t key_room, size_t text_room);
void json_nodes_done(struct json_nodes *from);

/* A node in no block. */
struct cJSON *json_node_new(int type, size_t key_room, size_t text_room);
/* The node alone, and a key of its own. */
void json_node_free(struct cJSON *node);

/* ---- links: cJSON keeps the last child in the first one's prev ---- */

void json_node_link_last(struct cJSON *parent, struct cJSON *child);
/* Returns child. */
struct cJSON *json_node_unlink(struct cJSON *parent, struct cJSON *child);
/* Puts `child` where `old` stood, which is then linked nowhere. */
void json_node_relink(struct cJSON *parent, struct cJSON *old, struct cJSON *child);

#endif
