/*
 * Conflicts of an apply: in whose way it is, and the words that kubectl shows.
 */
#include "kube/managed_conflicts.h"

static void print_manager(const struct managed_entry *e, struct buf *out)
{
	buf_add_json_str(out, span_of(e->manager));
	if (e->subresource[0]) {
		buf_add_str(out, " with subresource ");
		buf_add_json_str(out, span_of(e->subresource));
	}
	if (!e->applied)
		buf_addf(out, " using %s", e->api_version);
}

struct managed_conflict managed_conflict_of_scale(struct arena *mem, const struct managed_entry *e)
{
	static struct field_child replicas[] = {
	    {.key = {FIELD_NAME, {"replicas", 8}}, .set = {.here = true}}};
	static struct field_child spec[] = {
	    {.key = {FIELD_NAME, {"spec", 4}}, .set = {.n = 1, .children = replicas}}};
	struct managed_entry *shown = arena_new(mem, struct managed_entry);

	*shown = *e;
	shown->api_version = "autoscaling/v1";
	return (struct managed_conflict){shown, {.n = 1, .children = spec}};
}

struct count {
	size_t n;
	const struct managed_conflict *of;
	struct managed_conflicts *out;
	struct arena *mem;
	struct buf *message;
	const char *who;
};

static bool count_path(void *arg, struct span path)
{
	struct count *c = arg;
	(void)path;
	c->n++;
	return true;
}

static bool add_cause(void *arg, struct span path)
{
	struct count *c = arg;

	buf_addf(c->message, c->out->n == 1 ? ": %.*s" : "\n- %.*s", SPAN_ARGS(path));
	if (c->out->n_causes == MANAGED_MAX_CAUSES)
		return false;
	c->out->causes[c->out->n_causes++] = (struct status_cause){
	    .reason = "FieldManagerConflict",
	    .message = c->who,
	    .field = arena_strndup(c->mem, path.ptr, path.len),
	};
	return true;
}

static const char *in_arena(struct arena *mem, const struct buf *b)
{
	return arena_strndup(mem, buf_span(b).ptr, b->len);
}

static int by_manager(const void *a, const void *b)
{
	const struct managed_conflict *x = a, *y = b;
	int c = strcmp(x->entry->manager, y->entry->manager);
	if (!c)
		c = (int)y->entry->applied - (int)x->entry->applied;
	return c ? c : strcmp(x->entry->api_version, y->entry->api_version);
}

void managed_conflicts_tell(struct arena *mem, struct managed_conflict *list, size_t n,
			    struct managed_conflicts *out)
{
	auto_buf message = BUF_MAX((size_t)256 << 10);
	struct count c = {.out = out, .mem = mem, .message = &message};

	*out = (struct managed_conflicts){0};
	for (size_t i = 0; i < n; i++)
		field_set_each(&list[i].set, count_path, &c);
	out->n = c.n;
	out->causes = arena_array(mem, struct status_cause,
				  c.n < MANAGED_MAX_CAUSES ? c.n : MANAGED_MAX_CAUSES);
	qsort(list, n, sizeof(*list), by_manager);
	buf_addf(&message, "Apply failed with %zu conflict%s: ", out->n, out->n == 1 ? "" : "s");
	for (size_t i = 0; i < n; i++) {
		auto_buf manager = BUF_INIT, who = BUF_INIT;
		if (field_set_is_empty(&list[i].set))
			continue;
		print_manager(list[i].entry, &manager);
		buf_addf(&who, "conflict with %s", manager.ptr);
		c.who = in_arena(mem, &who);
		if (out->n == 1)
			buf_add_str(&message, c.who);
		else
			buf_addf(&message, "%sconflicts with %s:", out->n_causes ? "\n" : "",
				 manager.ptr);
		field_set_each(&list[i].set, add_cause, &c);
	}
	out->message = buf_ok(&message) ? in_arena(mem, &message) : "Apply failed with conflicts";
}
