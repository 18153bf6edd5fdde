#include "policies/node_class.h"

#include "base/buf.h"
#include "policies/row.h"

/* Labels in question, as (key, value) ids; the node's own name last. */
static void collect_labels(struct fleet *f, const struct node *n, struct buf *key)
{
	for (uint32_t i = 0; i < n->n_labels && f->interest.len; i++)
		if (map_has(&f->interest, intern_text(&f->names, n->labels[i].key)))
			buf_add(key, &n->labels[i], sizeof(n->labels[i]));
	if (f->interest.len && map_has(&f->interest, NODE_CLASS_NAME_KEY)) {
		struct node_label own = {0, n->name}; /* key 0 stands for the name */
		buf_add(key, &own, sizeof(own));
	}
}

static uint32_t take_slot(struct fleet *f)
{
	uint32_t id = f->free_class;

	if (id != CLASS_NONE) {
		f->free_class = f->classes[id].n_labels;
		return id;
	}
	if (f->n_classes >= f->cap_classes) {
		f->cap_classes = f->cap_classes ? f->cap_classes * 2 : 16;
		f->classes = xrealloc(f->classes, f->cap_classes * sizeof(*f->classes));
	}
	return f->n_classes++;
}

static struct span text_of(struct fleet *f, struct node_class *c, uint32_t id)
{
	c->ids[c->n_ids++] = intern_dup(&f->names, id);
	return id ? intern_text(&f->names, id) : SPAN("");
}

static void fill_class(struct fleet *f, struct node_class *c, const struct node *n,
		       const struct node_label *pairs, uint32_t n_pairs)
{
	*c = (struct node_class){
	    .usable = n->known && n->ready && !n->unschedulable,
	    .labels = xcalloc(n_pairs, sizeof(*c->labels)),
	    .taints = xcalloc(n->n_taints, sizeof(*c->taints)),
	    .ids = xcalloc(2 * ((size_t)n_pairs + n->n_taints), sizeof(*c->ids)),
	    .n_labels = n_pairs,
	};
	for (uint32_t i = 0; i < n_pairs; i++) {
		c->labels[i].key = pairs[i].key ? text_of(f, c, pairs[i].key) : NODE_CLASS_NAME_KEY;
		c->labels[i].value = text_of(f, c, pairs[i].value);
	}
	for (uint32_t i = 0; i < n->n_taints; i++)
		c->taints[c->n_taints++] = (struct taint){
		    .key = text_of(f, c, n->taints[i].key),
		    .value = text_of(f, c, n->taints[i].value),
		    .effect = n->taints[i].effect,
		};
	for (uint32_t lane = 0; lane < f->n_lanes; lane++)
		if (f->lanes[lane] && row_accepts(f->lanes[lane], c))
			c->accepts[lane / 64] |= (uint64_t)1 << (lane % 64);
}

uint32_t node_class_of(struct fleet *f, const struct node *n)
{
	auto_buf key = BUF_INIT;
	bool usable = n->known && n->ready && !n->unschedulable;

	collect_labels(f, n, &key);
	size_t n_pairs = key.len / sizeof(struct node_label);
	for (uint32_t i = 0; i < n->n_taints; i++) {
		uint32_t t[3] = {n->taints[i].key, n->taints[i].value,
				 (uint32_t)n->taints[i].effect};
		buf_add(&key, t, sizeof(t));
	}
	uint32_t tail[2] = {(uint32_t)n_pairs, usable};
	buf_add(&key, tail, sizeof(tail));

	uintptr_t found = (uintptr_t)map_get(&f->class_ids, buf_span(&key));
	if (found)
		return node_class_dup(f, (uint32_t)found - 1);
	uint32_t id = take_slot(f);
	struct node_class *c = &f->classes[id];
	auto_free struct node_label *pairs = xcalloc(n_pairs, sizeof(*pairs));
	if (n_pairs)
		memcpy(pairs, key.ptr, n_pairs * sizeof(*pairs));
	fill_class(f, c, n, pairs, (uint32_t)n_pairs);
	c->key = span_make(xstrndup(key.ptr, key.len), key.len);
	c->refs = 1;
	map_put(&f->class_ids, c->key, (void *)(uintptr_t)(id + 1));
	return id;
}

uint32_t node_class_dup(struct fleet *f, uint32_t class_id)
{
	f->classes[class_id].refs++;
	return class_id;
}

static void free_class(struct fleet *f, struct node_class *c)
{
	for (uint32_t i = 0; i < c->n_ids; i++)
		intern_unref(&f->names, c->ids[i]);
	free(c->ids);
	free(c->labels);
	free(c->taints);
	free((void *)(uintptr_t)c->key.ptr);
}

void node_class_unref(struct fleet *f, uint32_t class_id)
{
	struct node_class *c = &f->classes[class_id];

	if (--c->refs > 0)
		return;
	map_remove(&f->class_ids, c->key);
	free_class(f, c);
	*c = (struct node_class){.n_labels = f->free_class};
	f->free_class = class_id;
}

void node_class_fill_lane(struct fleet *f, uint32_t lane)
{
	uint64_t bit = (uint64_t)1 << (lane % 64);

	for (uint32_t i = 0; i < f->n_classes; i++) {
		struct node_class *c = &f->classes[i];
		if (!c->refs)
			continue;
		c->accepts[lane / 64] &= ~bit;
		if (row_accepts(f->lanes[lane], c))
			c->accepts[lane / 64] |= bit;
	}
}

void node_class_done(struct fleet *f)
{
	for (uint32_t i = 0; i < f->n_classes; i++)
		if (f->classes[i].refs)
			free_class(f, &f->classes[i]);
	free(f->classes);
	map_done(&f->class_ids);
}
