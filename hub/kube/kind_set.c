#include "kube/kind_set.h"

#include "base/num.h"
#include "base/vec.h"

struct kind_set_owner {
	struct kind_set set;
	_Atomic uint32_t refs;
	struct definition **definitions;
	size_t n_definitions;
	const struct kind **kinds, **stored;
};

/* ---- versions ---- */

struct version {
	int stage; /* 2: v1, 1: beta, 0: alpha, -1: not such a name */
	uint64_t major, minor;
};

static bool digits(struct span *rest, uint64_t *ret)
{
	size_t n = 0;

	while (n < rest->len && rest->ptr[n] >= '0' && rest->ptr[n] <= '9')
		n++;
	if (!n || num_parse_u64(span_make(rest->ptr, n), UINT32_MAX, ret) < 0)
		return false;
	*rest = span_make(rest->ptr + n, rest->len - n);
	return true;
}

static struct version parse(const char *text)
{
	static const struct version other = {.stage = -1};
	struct version v = {.stage = 2};
	struct span rest = span_of(text);

	if (!rest.len || rest.ptr[0] != 'v')
		return other;
	rest = span_make(rest.ptr + 1, rest.len - 1);
	if (!digits(&rest, &v.major))
		return other;
	if (!rest.len)
		return v;
	bool beta = span_starts(rest, SPAN("beta"));
	size_t word = beta ? 4 : 5;
	if (!beta && !span_starts(rest, SPAN("alpha")))
		return other;
	v.stage = beta;
	rest = span_make(rest.ptr + word, rest.len - word);
	return digits(&rest, &v.minor) && !rest.len ? v : other;
}

int kind_version_cmp(const char *a, const char *b)
{
	struct version x = parse(a), y = parse(b);

	if (x.stage != y.stage)
		return y.stage - x.stage;
	if (x.stage < 0)
		return strcmp(a, b);
	if (x.major != y.major)
		return x.major > y.major ? -1 : 1;
	return x.minor == y.minor ? strcmp(a, b) : x.minor > y.minor ? -1 : 1;
}

/* ---- sets ---- */

static int in_discovery_order(const void *a, const void *b)
{
	const struct kind *x = *(const struct kind *const *)a, *y = *(const struct kind *const *)b;
	int c = strcmp(x->group, y->group);

	if (c == 0)
		c = kind_version_cmp(x->version, y->version);
	return c ? c : strcmp(x->plural, y->plural);
}

static int by_type(const void *a, const void *b)
{
	const struct kind *x = *(const struct kind *const *)a, *y = *(const struct kind *const *)b;
	return (x->type > y->type) - (x->type < y->type);
}

struct kind_list VEC(const struct kind *);

static bool in_group(const struct kind_set *base, const char *group)
{
	for (size_t i = 0; i < base->n_kinds; i++)
		if (strcmp(base->kinds[i]->group, group) == 0)
			return true;
	return false;
}

/* Whether a definition took the place of a compiled kind that is known by name only. */
static bool is_defined(const struct kind *k, const struct kind_list *own)
{
	if (!k->definable)
		return false;
	vec_foreach (own, o)
		if (strcmp((*o)->group, k->group) == 0 &&
		    (strcmp((*o)->plural, k->plural) == 0 || strcmp((*o)->kind, k->kind) == 0))
			return true;
	return false;
}

/* The compiled kinds in their order, each group followed by the users' kinds in it; then the
 * users' own groups. */
static void merge(const struct kind_set *base, const struct kind_list *own, struct kind_list *out)
{
	for (size_t i = 0; i < base->n_kinds; i++) {
		const char *group = base->kinds[i]->group;
		if (!is_defined(base->kinds[i], own))
			vec_push(out, base->kinds[i]);
		if (i + 1 < base->n_kinds && strcmp(base->kinds[i + 1]->group, group) == 0)
			continue;
		vec_foreach (own, k)
			if (strcmp((*k)->group, group) == 0)
				vec_push(out, *k);
	}
	vec_foreach (own, k)
		if (!in_group(base, (*k)->group))
			vec_push(out, *k);
}

const struct kind_set *kind_set_create(const struct kind_set *base,
				       struct definition *const *definitions, size_t n)
{
	struct kind_set_owner *o = xcalloc(1, sizeof(*o));
	struct kind_list own = {0}, all = {0}, stored = {0};

	atomic_init(&o->refs, 1);
	o->definitions = xcalloc(n + 1, sizeof(*o->definitions));
	for (size_t i = 0; i < n; i++) {
		size_t n_kinds;
		const struct kind *kinds = definition_kinds(definitions[i], &n_kinds);
		o->definitions[o->n_definitions++] = definition_ref(definitions[i]);
		for (size_t j = 0; j < n_kinds; j++)
			vec_push(&own, &kinds[j]);
		vec_push(&stored, definition_stored(definitions[i]));
	}
	if (own.len)
		qsort(own.items, own.len, sizeof(*own.items), in_discovery_order);
	if (stored.len)
		qsort(stored.items, stored.len, sizeof(*stored.items), by_type);
	merge(base, &own, &all);
	vec_done(&own);
	o->kinds = all.items;
	o->stored = stored.items;
	o->set = (struct kind_set){.kinds = o->kinds,
				   .n_kinds = all.len,
				   .stored = o->stored,
				   .n_stored = stored.len,
				   .owner = o};
	return &o->set;
}

const struct kind_set *kind_set_ref(const struct kind_set *s)
{
	if (s && s->owner)
		atomic_fetch_add_explicit(&s->owner->refs, 1, memory_order_relaxed);
	return s;
}

void kind_set_unref(const struct kind_set *s)
{
	struct kind_set_owner *o = s ? s->owner : NULL;

	if (!o || atomic_fetch_sub_explicit(&o->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (size_t i = 0; i < o->n_definitions; i++)
		definition_unref(o->definitions[i]);
	free(o->definitions);
	free(o->kinds);
	free(o->stored);
	free(o);
}

/* ---- the source ---- */

void kind_source_init(struct kind_source *s, const struct kind_set *first)
{
	atomic_init(&s->generation, 1);
	pthread_mutex_init(&s->lock, NULL);
	s->current = kind_set_ref(first);
}

void kind_source_done(struct kind_source *s)
{
	kind_set_unref(s->current);
	s->current = NULL;
	pthread_mutex_destroy(&s->lock);
}

void kind_source_publish(struct kind_source *s, const struct kind_set *take_set)
{
	const struct kind_set *old;

	pthread_mutex_lock(&s->lock);
	old = s->current;
	s->current = take_set;
	atomic_fetch_add_explicit(&s->generation, 1, memory_order_release);
	pthread_mutex_unlock(&s->lock);
	kind_set_unref(old);
}

const struct kind_set *kind_source_get(struct kind_source *s, uint64_t *ret_generation)
{
	const struct kind_set *set;

	pthread_mutex_lock(&s->lock);
	set = kind_set_ref(s->current);
	*ret_generation = atomic_load_explicit(&s->generation, memory_order_relaxed);
	pthread_mutex_unlock(&s->lock);
	return set;
}
