#include "api/feed_index.h"

#include "api/render.h"

static size_t make_key(char *out, uint16_t type, struct span ns, struct span name)
{
	char *at = out;
	*at++ = (char)(type >> 8);
	*at++ = (char)(type & 255);
	*at++ = ns.ptr ? 1 : 0; /* one namespace, or all */
	if (ns.len)
		memcpy(at, ns.ptr, ns.len);
	at += ns.len;
	*at++ = '\0';
	if (name.len)
		memcpy(at, name.ptr, name.len);
	return (size_t)(at + name.len - out);
}

struct feed_list *feed_index_find(const struct feed_index *ix, uint16_t type, struct span ns,
				  struct span name)
{
	char key[sizeof(((struct feed_list *)0)->key)];
	size_t len = make_key(key, type, ns, name);
	return map_get(&ix->lists, span_make(key, len));
}

static struct feed_list *list_of(struct feed_index *ix, uint16_t type, struct span ns,
				 struct span name)
{
	struct feed_list *l = feed_index_find(ix, type, ns, name);
	if (l)
		return l;
	l = xcalloc(1, sizeof(*l));
	l->key_len = make_key(l->key, type, ns, name);
	map_put(&ix->lists, span_make(l->key, l->key_len), l);
	return l;
}

bool feed_same_form(const struct render *a, const struct render *b)
{
	return a == b || (a->kind == b->kind && a->form == b->form && a->include == b->include &&
			  a->meta_version == b->meta_version);
}

/* A table's first event has more than the others, and its cells change with time. */
static bool is_plain(const struct feed_watcher *w)
{
	return selector_is_empty(w->selector) && w->render->form != FORM_TABLE;
}

static void put(struct feed_list *l, struct feed_watcher *w, bool plain)
{
	struct feed_group *g = l->groups;
	while (g && (g->plain != plain || (plain && !feed_same_form(g->head->render, w->render))))
		g = g->next;
	if (!g) {
		g = xcalloc(1, sizeof(*g));
		*g = (struct feed_group){.list = l, .next = l->groups, .plain = plain};
		l->groups = g;
	}
	w->group = g;
	w->prev = NULL;
	w->next = g->head;
	if (w->next)
		w->next->prev = w;
	g->head = w;
}

static void take_out(struct feed_watcher *w)
{
	struct feed_group *g = w->group, **at = &g->list->groups;
	w->group = NULL;
	if (w->prev)
		w->prev->next = w->next;
	else
		g->head = w->next;
	if (w->next)
		w->next->prev = w->prev;
	if (g->head)
		return;
	while (*at != g)
		at = &(*at)->next;
	*at = g->next;
	buf_done(&g->text);
	free(g);
}

void feed_index_join(struct feed_index *ix, struct feed_watcher *w, uint64_t revision,
		     uint16_t type, struct span ns, struct span name)
{
	bool plain = is_plain(w);
	w->ahead = plain && w->cursor > revision;
	ix->n_ahead += w->ahead;
	put(list_of(ix, type, ns, name), w, plain && !w->ahead);
	ix->n_live++;
}

void feed_index_leave(struct feed_index *ix, struct feed_watcher *w)
{
	struct feed_list *l;
	if (!w->group)
		return;
	l = w->group->list;
	take_out(w);
	ix->n_ahead -= w->ahead;
	w->ahead = false;
	ix->n_live--;
	if (l->groups)
		return;
	map_remove(&ix->lists, span_make(l->key, l->key_len));
	free(l);
}

static void settle(struct feed_index *ix, struct feed_group *g, uint64_t revision)
{
	struct feed_list *l = g->list;
	struct feed_watcher *next;
	for (struct feed_watcher *w = g->head; w; w = next) {
		next = w->next; /* the group is gone with its last one */
		if (!w->ahead || w->cursor > revision)
			continue;
		take_out(w);
		put(l, w, true);
		w->ahead = false;
		ix->n_ahead--;
	}
}

void feed_index_settle(struct feed_index *ix, uint64_t revision)
{
	if (!ix->n_ahead)
		return;
	map_foreach (&ix->lists, e) {
		struct feed_list *l = e->value;
		struct feed_group *g = l->groups;
		while (g && g->plain)
			g = g->next;
		if (g)
			settle(ix, g, revision);
	}
}

void feed_index_done(struct feed_index *ix)
{
	map_done(&ix->lists);
}
