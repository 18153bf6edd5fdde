#ifndef QUOTA_TREE_RANK_LIST_H
#define QUOTA_TREE_RANK_LIST_H
/*
 * An ordered list of many things that knows the place of each, in pages of keys: a B+ tree whose
 * inner pages count what lies below.
 *
 * It does what rank_tree.h does where lists are long: a look goes through three pages instead of
 * twenty cold nodes, since keys stand in the pages and the things themselves are not read. A key is
 * the beginning of the order; things whose keys are equal are told apart by `cmp`, which must make
 * the order total. The key of a member must not change while it is in the list, nor what `cmp`
 * reads: its owner remembers whether it is in, takes it out and puts it back.
 *
 * Every member carries a mark, a number that the order does not know; the first member whose mark
 * is at most a bound is found in O(log n), and the least of all marks is at hand.
 *
 * Members are borrowed. Pages are allocated as they are needed (an empty list has none, one of a
 * few members has one of 1.3 KB) and merged when two neighbours would fit in half of one.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rank_key { /* compared in this order */
	uint64_t major, minor, tie;
};

struct rank_page;

struct rank_list {
	struct rank_page *root; /* NULL: empty */
	size_t len;
	unsigned height; /* of the root: 0 is a page of members */
	int (*cmp)(const void *a, const void *b);
};

void rank_list_init(struct rank_list *list, int (*cmp)(const void *a, const void *b));
/* Frees the pages, whatever is in them; it is empty and usable then. */
void rank_list_clear(struct rank_list *list);

void rank_list_insert(struct rank_list *list, struct rank_key key, void *item, int64_t mark);
/* It must be in the list, with this key. */
void rank_list_remove(struct rank_list *list, struct rank_key key, const void *item);
void rank_list_set_mark(struct rank_list *list, struct rank_key key, const void *item,
			int64_t mark);

/* 0-based place of a member. */
size_t rank_list_of(const struct rank_list *list, struct rank_key key, const void *item);
void *rank_list_at(const struct rank_list *list, size_t place); /* NULL when beyond */
void *rank_list_first(const struct rank_list *list);		/* NULL when empty */
/* How many members go before this one, which need not be in the list. */
size_t rank_list_before(const struct rank_list *list, struct rank_key key, const void *item);

int64_t rank_list_least_mark(const struct rank_list *list); /* INT64_MAX when empty */
/* The first member whose mark is at most `bound`; NULL: none. */
void *rank_list_first_within(const struct rank_list *list, int64_t bound);

static inline size_t rank_list_len(const struct rank_list *list)
{
	return list->len;
}

#endif
