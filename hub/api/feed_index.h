#ifndef API_FEED_INDEX_H
#define API_FEED_INDEX_H
/*
 * Who is told of a row: watchers by (type, namespace, name), each of the latter two may be "all".
 * Private to the feed; belongs to the loop's thread.
 *
 * The watchers of one entry stand in groups. Those of a plain group take every row, in one form,
 * so that they share the text of all rows of a read. All others of an entry are one group, whose
 * members are looked at one by one.
 */
#include "api/feed.h"

struct feed_group {
	struct feed_list *list;
	struct feed_group *next; /* of the list */
	struct feed_watcher *head;
	bool plain;
	/* Of a plain group, while rows are read: */
	struct feed_group *next_touched;
	struct buf text; /* events so far */
	uint64_t first, last;
	uint32_t events;
};

struct feed_list {
	struct feed_group *groups;
	size_t key_len;
	char key[2 + 1 + STORE_MAX_NAMESPACE + 1 + STORE_MAX_NAME];
};

struct feed_index {
	struct map lists; /* key -> struct feed_list */
	size_t n_live;
	size_t n_ahead; /* who will be of a plain group, and are ahead of the feed */
};

/* No watcher may be left. */
void feed_index_done(struct feed_index *ix);

/* Puts w where it belongs while the feed has read up to `revision`. */
void feed_index_join(struct feed_index *ix, struct feed_watcher *w, uint64_t revision,
		     uint16_t type, struct span ns, struct span name);
/* Frees what becomes empty. Fine when it is not in the index. */
void feed_index_leave(struct feed_index *ix, struct feed_watcher *w);
/* The feed has read up to `revision`: who was ahead of it may not be any more. */
void feed_index_settle(struct feed_index *ix, uint64_t revision);

/* Watchers of exactly that entry, or NULL. An absent namespace or name: of all. */
struct feed_list *feed_index_find(const struct feed_index *ix, uint16_t type, struct span ns,
				  struct span name);

/* Whether both are told the same of a row that both are told of. */
bool feed_same_form(const struct render *a, const struct render *b);

#endif
