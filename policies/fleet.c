#include "policies/fleet.h"

#include "base/buf.h"
#include "base/num.h"
#include "policies/cluster_nodes.h"
#include "policies/fit_scratch.h"
#include "policies/node_class.h"
#include "policies/node_state.h"
#include "policies/row.h"

struct fleet *fleet_create(void)
{
	struct fleet *f = xcalloc(1, sizeof(*f));

	intern_init(&f->names);
	resource_table_init(&f->resources);
	f->stride = 8;
	f->vector = xcalloc(f->stride, sizeof(*f->vector));
	f->free_class = CLASS_NONE;
	f->free_state = f->cached_head = f->cached_tail = STATE_NONE;
	f->first_changed = f->last_changed = CLUSTER_NONE;
	return f;
}

static void free_shape(struct fleet *f, struct shape *s)
{
	for (uint32_t i = 0; i < s->n_parts; i++)
		row_unref(f, s->parts[i].row);
	vec_push(&f->free_shape_ids, s->id);
	arena_done(&s->arena);
	free(s);
}

struct fleet *fleet_destroy(struct fleet *f)
{
	if (!f)
		return NULL;
	for (uint32_t c = 0; c < f->n_clusters; c++)
		if (f->clusters[c].used)
			cluster_view_remove(f, c);
	map_foreach (&f->shapes, e)
		free_shape(f, e->value);
	map_done(&f->shapes);
	map_done(&f->rows);
	map_done(&f->interest);
	vec_done(&f->free_shape_ids);
	node_class_done(f);
	node_state_done(f);
	free(f->vector);
	arena_done(&f->tmp);
	free(f->clusters);
	free(f->hot);
	free(f->holes);
	free(f->by_name);
	map_done(&f->cluster_ids);
	vec_done(&f->pending);
	fit_scratch_destroy(f->scratch);
	resource_table_done(&f->resources);
	intern_done(&f->names);
	free(f);
	return NULL;
}

struct intern *fleet_intern(struct fleet *f)
{
	return &f->names;
}

struct resource_table *fleet_resources(struct fleet *f)
{
	return &f->resources;
}

const struct resource_table *fleet_resource_names(const struct fleet *f)
{
	return &f->resources;
}

void fleet_widen(struct fleet *f)
{
	for (; f->n_masked < f->resources.n; f->n_masked++)
		if (resource_table_is_extended(&f->resources, f->n_masked))
			f->extended |= (uint64_t)1 << f->n_masked;
	while (f->resources.n > f->stride) {
		uint32_t stride = f->stride * 2;

		node_state_widen(f, stride);
		for (uint32_t c = 0; c < f->n_clusters; c++) {
			struct cluster *k = &f->clusters[c];
			int64_t *wide = xcalloc((size_t)k->cap_nodes * stride, sizeof(*wide));
			for (uint32_t n = 0; n < k->n_nodes; n++)
				memcpy(wide + (size_t)n * stride,
				       k->allocatable + (size_t)n * f->stride,
				       f->stride * sizeof(*wide));
			free(k->allocatable);
			k->allocatable = wide;
		}
		free(f->vector);
		f->vector = xcalloc(stride, sizeof(*f->vector));
		f->stride = stride;
	}
}

/* ---- what changed ---- */

static void unlink_changed(struct fleet *f, uint32_t cluster)
{
	struct cluster_hot *h = &f->hot[cluster];

	if (h->prev != CLUSTER_NONE)
		f->hot[h->prev].next = h->next;
	else
		f->first_changed = h->next;
	if (h->next != CLUSTER_NONE)
		f->hot[h->next].prev = h->prev;
	else
		f->last_changed = h->prev;
}

void fleet_touch(struct fleet *f, uint32_t cluster, bool spec)
{
	struct cluster_hot *h = &f->hot[cluster];
	struct cluster *k = &f->clusters[cluster];

	if (f->trial)
		return;
	h->version = ++f->version;
	if (spec) {
		h->spec_version = h->version;
		k->changed = true;
	}
	if (!k->pending && (k->freed || k->changed)) {
		k->pending = true;
		vec_push(&f->pending, cluster);
	}
	if (f->first_changed == cluster)
		return;
	unlink_changed(f, cluster);
	h->prev = CLUSTER_NONE;
	h->next = f->first_changed;
	if (f->first_changed != CLUSTER_NONE)
		f->hot[f->first_changed].prev = cluster;
	else
		f->last_changed = cluster;
	f->first_changed = cluster;
}

uint32_t fleet_load(struct fleet *f, uint32_t cluster)
{
	struct cluster_hot *h = &f->hot[cluster];
	const struct cluster *k = &f->clusters[cluster];
	int64_t load = 0;

	if (h->load_version == h->version)
		return h->load;
	for (uint32_t i = 0; i < f->stride; i++) {
		int64_t all = k->allocatable_sum[i] >> k->load_shift[i];
		int64_t used = (k->allocatable_sum[i] - k->free_sum[i]) >> k->load_shift[i];
		/* A division only where this resource may be the most used one. */
		if (used > 0 && used * 1000 >= (load + 1) * all)
			load = used * 1000 / all;
	}
	h->load_version = h->version;
	h->load = (uint32_t)num_min(load, 1000);
	return h->load;
}

/* ---- shapes ---- */

static int64_t asked(const struct row *r, uint32_t resource)
{
	for (uint32_t i = 0; i < r->n_requests; i++)
		if (r->resource[i] == resource)
			return r->amount[i];
	return 0;
}

static int64_t devices(const struct row *r)
{
	int64_t n = 0;

	for (uint32_t i = 0; i < r->n_requests; i++)
		if (r->extended >> r->resource[i] & 1)
			n += r->amount[i];
	return n;
}

/* Whether pods of `a` are larger than those of `b`: devices, then cpu, then memory. */
static bool is_larger(const struct row *a, const struct row *b)
{
	int64_t x = devices(a), y = devices(b);

	if (x == y) {
		x = asked(a, RESOURCE_CPU);
		y = asked(b, RESOURCE_CPU);
	}
	if (x == y) {
		x = asked(a, RESOURCE_MEMORY);
		y = asked(b, RESOURCE_MEMORY);
	}
	return x > y;
}

/* Sets that ask the same of a node become one part; larger pods come first, else set order. */
static void add_part(struct fleet *f, struct shape *s, const struct pod_set *set)
{
	struct row *r = row_ref(f, set);

	for (uint32_t i = 0; i < s->n_parts; i++)
		if (s->parts[i].row == r) {
			s->parts[i].count += set->count;
			row_unref(f, r);
			return;
		}
	uint32_t at = s->n_parts++;
	for (; at > 0 && is_larger(r, s->parts[at - 1].row); at--)
		s->parts[at] = s->parts[at - 1];
	s->parts[at] = (struct shape_part){r, set->count};
	s->mask |= r->mask;
}

static void add_need(struct shape *s, const struct shape_part *p)
{
	for (uint32_t i = 0; i < p->row->n_requests; i++) {
		uint32_t at = 0;
		while (at < s->n_need && s->need[at].resource != p->row->resource[i])
			at++;
		if (at == s->n_need)
			s->need[s->n_need++] = (struct amount){p->row->resource[i], 0};
		s->need[at].value =
		    num_add_sat(s->need[at].value, num_mul_sat(p->row->amount[i], p->count));
	}
}

/* Resources that so many sets can ask for. */
#define SHAPE_NEED_MAX(sets)                                                                       \
	((sets) * (POD_SET_MAX_REQUESTS + 1) < RESOURCE_MAX ? (sets) * (POD_SET_MAX_REQUESTS + 1)  \
							    : RESOURCE_MAX)

/* What fill_shape() needs in the arena. */
static size_t shape_size(size_t n_sets)
{
	return n_sets * (sizeof(struct shape_part) + sizeof(uint32_t)) +
	       SHAPE_NEED_MAX(n_sets) * sizeof(struct amount) + 3 * 16;
}

static void fill_shape(struct fleet *f, struct shape *s)
{
	const struct job_shape *spec = &s->spec;

	s->parts = arena_array(&s->arena, struct shape_part, spec->n_sets);
	s->part_of_set = arena_array(&s->arena, uint32_t, spec->n_sets);
	s->need = arena_array(&s->arena, struct amount, SHAPE_NEED_MAX(spec->n_sets));
	s->exclusive = spec->exclusive_topology.len > 0;
	for (size_t i = 0; i < spec->n_sets && !s->exclusive; i++)
		s->leveled |= spec->sets[i].count > 0 && spec->sets[i].topology.mode;
	for (size_t i = 0; i < spec->n_sets; i++)
		if (spec->sets[i].count > 0)
			add_part(f, s, &spec->sets[i]);
	for (size_t i = 0; i < spec->n_sets; i++) {
		s->part_of_set[i] = UINT32_MAX;
		if (spec->sets[i].count == 0)
			continue;
		struct row *r = row_ref(f, &spec->sets[i]);
		for (uint32_t p = 0; p < s->n_parts; p++)
			if (s->parts[p].row == r)
				s->part_of_set[i] = p;
		row_unref(f, r);
	}
	for (uint32_t p = 0; p < s->n_parts; p++)
		add_need(s, &s->parts[p]);
}

int fleet_shape_ref(struct fleet *f, const struct job_shape *shape, struct shape **ret,
		    struct err *reterr)
{
	auto_buf key = BUF_INIT;
	int r = job_shape_check(shape, reterr);

	if (r < 0)
		return r;
	fleet_widen(f);
	arena_reset(&f->tmp);
	struct job_shape canonical = job_shape_canonical(&f->tmp, shape);
	job_shape_key(&canonical, &key);
	if (!buf_ok(&key))
		return err_set(reterr, ERR_TOO_LARGE, "pod sets are too large to compare");
	struct shape *s = map_get(&f->shapes, buf_span(&key));
	if (s) {
		*ret = shape_dup_ref(s);
		return 0;
	}
	s = xcalloc(1, sizeof(*s));
	arena_reserve(&s->arena, arena_used(&f->tmp) + shape_size(shape->n_sets) + key.len + 16);
	s->spec = job_shape_canonical(&s->arena, &canonical);
	s->refs = 1;
	s->key = arena_span(&s->arena, buf_span(&key));
	s->id = f->free_shape_ids.len ? f->free_shape_ids.items[--f->free_shape_ids.len]
				      : f->n_shape_ids++;
	fill_shape(f, s);
	map_put(&f->shapes, s->key, s);
	*ret = s;
	return 0;
}

struct shape *shape_dup_ref(struct shape *s)
{
	s->refs++;
	return s;
}

void fleet_shape_unref(struct fleet *f, struct shape *s)
{
	if (!s || --s->refs > 0)
		return;
	map_remove(&f->shapes, s->key);
	free_shape(f, s);
}

const struct job_shape *shape_spec(const struct shape *s)
{
	return &s->spec;
}

uint32_t shape_id(const struct shape *s)
{
	return s->id;
}
