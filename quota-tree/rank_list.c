#include "quota-tree/rank_list.h"
#include "base/compat.h"
#include <assert.h>
#include <string.h>

/* Members of a page: 8 keys' lines are looked at least, and shifting half of them costs less than a
 * line that is not in the cache. */
#define FAN 32

/* A page of members has no `firsts` and no `counts`: it is allocated without them. */
struct rank_page {
	uint32_t n;
	struct rank_key keys[FAN]; /* of the first member below */
	int64_t marks[FAN];	   /* the least below */
	void *at[FAN];		   /* the member, or the page below */
	void *firsts[FAN];	   /* the first member below */
	size_t counts[FAN];	   /* members below */
};

struct path { /* what is looked for */
	const struct rank_list *list;
	struct rank_key key;
	const void *item;
	void *put; /* the same, to be inserted */
	int64_t mark;
};

static struct rank_page *page_new(unsigned height)
{
	size_t size = height ? sizeof(struct rank_page) : offsetof(struct rank_page, firsts);
	return xcalloc(1, size);
}

static void page_free(struct rank_page *p, unsigned height)
{
	for (uint32_t i = 0; height && i < p->n; i++)
		page_free(p->at[i], height - 1);
	free(p);
}

void rank_list_init(struct rank_list *list, int (*cmp)(const void *a, const void *b))
{
	*list = (struct rank_list){.cmp = cmp};
}

void rank_list_clear(struct rank_list *list)
{
	if (list->root)
		page_free(list->root, list->height);
	rank_list_init(list, list->cmp);
}

static void *member(const struct rank_page *p, unsigned height, uint32_t i)
{
	return height ? p->firsts[i] : p->at[i];
}

static size_t page_count(const struct rank_page *p, unsigned height)
{
	size_t sum = 0;
	if (!height)
		return p->n;
	for (uint32_t i = 0; i < p->n; i++)
		sum += p->counts[i];
	return sum;
}

static int64_t page_mark(const struct rank_page *p)
{
	int64_t least = INT64_MAX;
	for (uint32_t i = 0; i < p->n; i++)
		least = p->marks[i] < least ? p->marks[i] : least;
	return least;
}

/* ---- looking ---- */

/* Whether what is looked for goes before the i-th of the page. */
static bool goes_before(const struct path *path, const struct rank_page *p, unsigned height,
			uint32_t i)
{
	const struct rank_key *a = &path->key, *b = &p->keys[i];
	if (a->major != b->major)
		return a->major < b->major;
	if (a->minor != b->minor)
		return a->minor < b->minor;
	if (a->tie != b->tie)
		return a->tie < b->tie;
	const void *other = member(p, height, i);
	return other != path->item && path->list->cmp(path->item, other) < 0;
}

/* How many of the page are not after what is looked for. */
static uint32_t page_upto(const struct path *path, const struct rank_page *p, unsigned height)
{
	uint32_t from = 0, to = p->n;
	while (from < to) {
		uint32_t mid = from + (to - from) / 2;
		if (goes_before(path, p, height, mid))
			to = mid;
		else
			from = mid + 1;
	}
	return from;
}

/* The page below in which it stands, or would. */
static uint32_t page_way(const struct path *path, const struct rank_page *p, unsigned height)
{
	uint32_t upto = page_upto(path, p, height);
	return upto ? upto - 1 : 0;
}

size_t rank_list_before(const struct rank_list *list, struct rank_key key, const void *item)
{
	const struct path path = {.list = list, .key = key, .item = item};
	const struct rank_page *p = list->root;
	size_t place = 0;
	if (!p)
		return 0;
	for (unsigned height = list->height; height > 0; height--) {
		uint32_t way = page_way(&path, p, height);
		for (uint32_t i = 0; i < way; i++)
			place += p->counts[i];
		p = p->at[way];
	}
	uint32_t upto = page_upto(&path, p, 0);
	return place + upto - (upto > 0 && p->at[upto - 1] == item);
}

size_t rank_list_of(const struct rank_list *list, struct rank_key key, const void *item)
{
	size_t place = rank_list_before(list, key, item);
	assert(rank_list_at(list, place) == item);
	return place;
}

void *rank_list_at(const struct rank_list *list, size_t place)
{
	const struct rank_page *p = list->root;
	if (place >= list->len)
		return NULL;
	for (unsigned height = list->height; height > 0; height--) {
		uint32_t i = 0;
		while (place >= p->counts[i])
			place -= p->counts[i++];
		p = p->at[i];
	}
	return p->at[place];
}

void *rank_list_first(const struct rank_list *list)
{
	return list->root ? member(list->root, list->height, 0) : NULL;
}

int64_t rank_list_least_mark(const struct rank_list *list)
{
	return list->root ? page_mark(list->root) : INT64_MAX;
}

void *rank_list_first_within(const struct rank_list *list, int64_t bound)
{
	const struct rank_page *p = list->root;
	for (unsigned height = list->height; p; height--) {
		uint32_t i = 0;
		while (i < p->n && p->marks[i] > bound)
			i++;
		if (i == p->n)
			return NULL;
		if (height == 0)
			return p->at[i];
		p = p->at[i];
	}
	return NULL;
}

/* ---- moving slots ---- */

/* `n` slots of one page to another, or within one. */
static void slots_move(struct rank_page *to, uint32_t at, const struct rank_page *from, uint32_t i,
		       uint32_t n, unsigned height)
{
	memmove(&to->keys[at], &from->keys[i], n * sizeof(to->keys[0]));
	memmove(&to->marks[at], &from->marks[i], n * sizeof(to->marks[0]));
	memmove(&to->at[at], &from->at[i], n * sizeof(to->at[0]));
	if (!height)
		return;
	memmove(&to->firsts[at], &from->firsts[i], n * sizeof(to->firsts[0]));
	memmove(&to->counts[at], &from->counts[i], n * sizeof(to->counts[0]));
}

/* Makes room for one slot before the i-th: in the page, or in the new one beside it that is
 * returned through ret_right. What goes behind the last opens an empty page, so that lists which
 * grow at their end stay full. Returns the page with the room, and the place in it. */
static struct rank_page *slot_open(struct rank_page *p, uint32_t *i, unsigned height,
				   struct rank_page **ret_right)
{
	if (p->n == FAN) {
		struct rank_page *right = page_new(height);
		uint32_t keep = *i == FAN ? FAN : FAN / 2;
		slots_move(right, 0, p, keep, FAN - keep, height);
		right->n = FAN - keep;
		p->n = keep;
		*ret_right = right;
		if (*i > keep || keep == FAN) {
			*i -= keep;
			p = right;
		}
	}
	slots_move(p, *i + 1, p, *i, p->n - *i, height);
	p->n++;
	return p;
}

static void slot_close(struct rank_page *p, uint32_t i, unsigned height)
{
	p->n--;
	slots_move(p, i, p, i + 1, p->n - i, height);
}

/* What an inner page says of the page below. */
static void slot_describe(struct rank_page *p, uint32_t i, unsigned height)
{
	const struct rank_page *below = p->at[i];
	p->keys[i] = below->keys[0];
	p->firsts[i] = member(below, height - 1, 0);
	p->marks[i] = page_mark(below);
	p->counts[i] = page_count(below, height - 1);
}

/* ---- insert ---- */

/* Returns the page that was split off to the right, or NULL. */
static struct rank_page *page_insert(const struct path *path, struct rank_page *p, unsigned height)
{
	struct rank_page *right = NULL;
	if (height == 0) {
		uint32_t i = page_upto(path, p, 0);
		p = slot_open(p, &i, 0, &right);
		p->keys[i] = path->key;
		p->marks[i] = path->mark;
		p->at[i] = path->put;
		return right;
	}
	uint32_t i = page_way(path, p, height);
	struct rank_page *split = page_insert(path, p->at[i], height - 1);
	slot_describe(p, i, height);
	if (!split)
		return NULL;
	i++;
	p = slot_open(p, &i, height, &right);
	p->at[i] = split;
	slot_describe(p, i, height);
	return right;
}

void rank_list_insert(struct rank_list *list, struct rank_key key, void *item, int64_t mark)
{
	const struct path path = {list, key, item, item, mark};
	if (!list->root)
		list->root = page_new(0);
	struct rank_page *right = page_insert(&path, list->root, list->height);
	list->len++;
	if (!right)
		return;
	struct rank_page *root = page_new(++list->height);
	root->n = 2;
	root->at[0] = list->root;
	root->at[1] = right;
	slot_describe(root, 0, list->height);
	slot_describe(root, 1, list->height);
	list->root = root;
}

/* ---- remove ---- */

/* Joins the page below with its right neighbour when both would fit in half a page. */
static bool join(struct rank_page *p, uint32_t i, unsigned height)
{
	if (i + 1 >= p->n)
		return false;
	struct rank_page *left = p->at[i], *right = p->at[i + 1];
	if (left->n + right->n > FAN / 2)
		return false;
	slots_move(left, left->n, right, 0, right->n, height - 1);
	left->n += right->n;
	free(right);
	slot_close(p, i + 1, height);
	slot_describe(p, i, height);
	return true;
}

static void page_remove(const struct path *path, struct rank_page *p, unsigned height)
{
	if (height == 0) {
		uint32_t upto = page_upto(path, p, 0);
		assert(upto > 0 && p->at[upto - 1] == path->item);
		slot_close(p, upto - 1, 0);
		return;
	}
	uint32_t i = page_way(path, p, height);
	struct rank_page *below = p->at[i];
	page_remove(path, below, height - 1);
	if (below->n == 0) {
		free(below);
		slot_close(p, i, height);
		return;
	}
	slot_describe(p, i, height);
	if (!join(p, i, height) && i > 0)
		(void)join(p, i - 1, height);
}

void rank_list_remove(struct rank_list *list, struct rank_key key, const void *item)
{
	const struct path path = {.list = list, .key = key, .item = item};
	assert(list->root);
	page_remove(&path, list->root, list->height);
	list->len--;
	while (list->height && list->root->n == 1) {
		struct rank_page *below = list->root->at[0];
		free(list->root);
		list->root = below;
		list->height--;
	}
	if (list->root->n == 0)
		rank_list_clear(list);
}

/* ---- marks ---- */

static void page_set_mark(const struct path *path, struct rank_page *p, unsigned height)
{
	uint32_t i = page_way(path, p, height);
	if (height == 0) {
		assert(p->at[i] == path->item);
		p->marks[i] = path->mark;
		return;
	}
	page_set_mark(path, p->at[i], height - 1);
	p->marks[i] = page_mark(p->at[i]);
}

void rank_list_set_mark(struct rank_list *list, struct rank_key key, const void *item, int64_t mark)
{
	const struct path path = {list, key, item, NULL, mark};
	page_set_mark(&path, list->root, list->height);
}
