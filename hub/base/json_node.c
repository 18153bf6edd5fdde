#include "base/json_node.h"

#include "base/compat.h"

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifndef __has_feature
#define __has_feature(x) 0 /* gcc, which has a macro for it */
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h> /* who reads a freed node in a living block is to be told */
#else
#define ASAN_POISON_MEMORY_REGION(at, n)   ((void)(at), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(at, n) ((void)(at), (void)(n))
#endif

/* The first block is small, and of a size that malloc has at hand: most trees are. */
#define FIRST_BLOCK 1000
#define BLOCK	    8000
#define LARGE	    1000 /* a piece over this lies alone */

struct json_block {
	size_t used;
	size_t held; /* nodes that live, and one for who gives them out */
	_Alignas(8) char bytes[];
};

struct piece {
	struct json_block *block; /* NULL: alone */
	size_t size;
	cJSON node;
	char texts[];
};

static struct piece *piece_of(cJSON *node)
{
	return (struct piece *)((char *)node - offsetof(struct piece, node));
}

static size_t size_of(size_t key_room, size_t text_room)
{
	size_t n = sizeof(struct piece) + key_room + text_room;

	if (n < key_room || n > SIZE_MAX - 8)
		abort();
	return (n + 7) & ~(size_t)7;
}

static cJSON *open_piece(struct piece *p, struct json_block *block, int type, size_t key_room,
			 size_t text_room)
{
	p->block = block;
	p->size = size_of(key_room, text_room);
	p->node = (cJSON){.type = type};
	if (key_room) {
		p->node.string = p->texts;
		p->node.type |= cJSON_StringIsConst;
	}
	if (text_room) {
		p->node.valuestring = p->texts + key_room;
		p->node.type |= cJSON_IsReference;
	}
	return &p->node;
}

/* ---- blocks ---- */

static struct json_block *block_create(size_t size)
{
	struct json_block *b = xrealloc(NULL, size);

	b->used = 0;
	b->held = 1;
	ASAN_POISON_MEMORY_REGION(b->bytes, size - sizeof(*b));
	return b;
}

static void block_release(struct json_block *b)
{
	if (b && --b->held == 0)
		free(b);
}

static size_t room_of_block(const struct json_nodes *from)
{
	return (from->n ? BLOCK : FIRST_BLOCK) - sizeof(struct json_block);
}

struct cJSON *json_nodes_new(struct json_nodes *from, int type, size_t key_room, size_t text_room)
{
	size_t n = size_of(key_room, text_room);

	if (n > LARGE - sizeof(struct json_block))
		return json_node_new(type, key_room, text_room);
	if (!from->block || from->left < n) {
		block_release(from->block);
		from->left = room_of_block(from);
		from->block = block_create(from->left + sizeof(struct json_block));
	}
	struct piece *p = (struct piece *)(from->block->bytes + from->block->used);
	ASAN_UNPOISON_MEMORY_REGION(p, n);
	from->block->used += n;
	from->left -= n;
	from->block->held++;
	from->n++;
	return open_piece(p, from->block, type, key_room, text_room);
}

void json_nodes_done(struct json_nodes *from)
{
	block_release(from->block);
	*from = JSON_NODES_INIT;
}

struct cJSON *json_node_new(int type, size_t key_room, size_t text_room)
{
	struct piece *p = xrealloc(NULL, size_of(key_room, text_room));

	return open_piece(p, NULL, type, key_room, text_room);
}

void json_node_free(struct cJSON *node)
{
	struct piece *p = piece_of(node);
	struct json_block *block = p->block;

	if (!(node->type & cJSON_StringIsConst))
		free(node->string);
	if (!block) {
		free(p);
		return;
	}
	ASAN_POISON_MEMORY_REGION(p, p->size);
	block_release(block);
}

/* ---- links ---- */

void json_node_link_last(struct cJSON *parent, struct cJSON *child)
{
	cJSON *first = parent->child;

	child->next = NULL;
	if (!first) {
		parent->child = child;
		child->prev = child;
		return;
	}
	child->prev = first->prev;
	first->prev->next = child;
	first->prev = child;
}

struct cJSON *json_node_unlink(struct cJSON *parent, struct cJSON *child)
{
	if (child->next)
		child->next->prev = child->prev;
	else if (parent->child != child)
		parent->child->prev = child->prev;
	if (parent->child == child)
		parent->child = child->next;
	else
		child->prev->next = child->next;
	child->next = child->prev = NULL;
	return child;
}

void json_node_relink(struct cJSON *parent, struct cJSON *old, struct cJSON *child)
{
	bool only = old->prev == old, first = parent->child == old;

	child->next = old->next;
	child->prev = only ? child : old->prev;
	if (first)
		parent->child = child;
	else
		old->prev->next = child;
	if (old->next)
		old->next->prev = child;
	else if (!only)
		parent->child->prev = child;
	old->next = old->prev = NULL;
}
