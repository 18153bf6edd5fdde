#ifndef BASE_JSON_NODE_H
#define BASE_JSON_NODE_H
/*
 * The memory of a cJSON node, private to json*.c: the node, its key and its text in one piece,
 * which is a third of the allocations. cJSON's marks for "not mine to free" keep it from freeing
 * key and text by themselves. The key of a node that gets another one through json.h is a piece
 * of its own from then on. The library's own copy would share such a key: json_dup() does not.
 */
#include <stddef.h>

struct cJSON;

/* key_room and text_room: bytes with their NUL, to be written by the caller at node->string and
 * node->valuestring; 0: none, the pointer stays NULL. */
struct cJSON *json_node_new(int type, size_t key_room, size_t text_room);

#endif
