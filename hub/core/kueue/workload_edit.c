#include "core/kueue/workload_edit.h"

#include <stdarg.h>

static struct workload_edit *edit_of(struct core *c, struct workload *w)
{
	if (!w->edit)
		w->edit = xcalloc(1, sizeof(*w->edit));
	workload_dirty(c, w);
	return w->edit;
}

static void check_edit_done(struct check_edit *k)
{
	vec_foreach (&k->names, n)
		free(*n);
	vec_done(&k->names);
	free(k->name);
	free(k->state);
	free(k->message);
	free(k->updates);
}

void workload_edit_free(struct workload *w)
{
	struct workload_edit *e = w->edit;

	if (!e)
		return;
	vec_foreach (&e->conditions, k)
		free(k->message);
	vec_done(&e->conditions);
	vec_foreach (&e->checks, k)
		check_edit_done(k);
	vec_done(&e->checks);
	free(e->admission);
	free(e->domains);
	free(e->unhealthy);
	free(e->reclaimable);
	free(e->cluster);
	free(e);
	w->edit = NULL;
}

static void put_condition(struct workload_edit *e, struct condition_edit take)
{
	vec_foreach (&e->conditions, k) {
		if (strcmp(k->type, take.type) != 0)
			continue;
		free(k->message);
		*k = take;
		return;
	}
	vec_push(&e->conditions, take);
}

void workload_clear_condition(struct core *c, struct workload *w, const char *type,
			      const char *reason)
{
	put_condition(edit_of(c, w),
		      (struct condition_edit){.type = type, .reason = reason, .clear = true});
}

/* As Kueue shortens them (TruncateConditionMessage), but never within a character. */
void workload_edit_shorten(char *message)
{
	size_t len = strlen(message);

	if (len <= WORKLOAD_MAX_MESSAGE)
		return;
	len = WORKLOAD_MAX_MESSAGE - strlen(" ...");
	while (len && ((unsigned char)message[len] & 0xC0) == 0x80)
		len--;
	memcpy(message + len, " ...", sizeof(" ..."));
}

void workload_set_condition(struct core *c, struct workload *w, const char *type, bool status,
			    const char *reason, const char *fmt, ...)
{
	struct workload_edit *e = edit_of(c, w);
	char *message;
	va_list ap;

	va_start(ap, fmt);
	int r = vasprintf(&message, fmt, ap);
	va_end(ap);
	if (r < 0)
		abort();
	workload_edit_shorten(message);
	put_condition(e, (struct condition_edit){
			     .type = type, .reason = reason, .status = status, .message = message});
}

void workload_set_admission(struct core *c, struct workload *w, char *take_json)
{
	struct workload_edit *e = edit_of(c, w);

	free(e->admission);
	e->admission = take_json;
	e->has_admission = true;
}

void workload_end_delay(struct core *c, struct workload *w)
{
	edit_of(c, w)->ends_delay = true;
}

void workload_set_domains(struct core *c, struct workload *w, const char *domains)
{
	struct workload_edit *e = edit_of(c, w);

	free(e->domains);
	e->domains = xstrdup(domains);
}

void workload_set_unhealthy(struct core *c, struct workload *w, const char *const *nodes, size_t n)
{
	struct workload_edit *e = edit_of(c, w);
	auto_buf b = BUF_INIT;

	for (size_t i = 0; i < n; i++) {
		buf_add_str(&b, i ? ",{\"name\":" : "[{\"name\":");
		buf_add_json_str(&b, span_of(nodes[i]));
		buf_add_str(&b, i + 1 < n ? "}" : "}]");
	}
	free(e->unhealthy);
	e->unhealthy = b.len ? buf_steal(&b, NULL) : xstrdup("");
}

void workload_set_reclaimable(struct core *c, struct workload *w, char *take_json)
{
	struct workload_edit *e = edit_of(c, w);

	free(e->reclaimable);
	e->reclaimable = take_json;
}

void workload_set_checks(struct core *c, struct workload *w, const char *const *names, size_t n)
{
	struct workload_edit *e = edit_of(c, w);
	struct check_edit k = {.reset = true};

	for (size_t i = 0; i < n; i++)
		vec_push(&k.names, xstrdup(names[i]));
	vec_push(&e->checks, k);
}

static char *dup_or_null(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

void workload_set_check(struct core *c, struct workload *w, const struct workload_check_edit *e)
{
	vec_push(&edit_of(c, w)->checks, (struct check_edit){.name = xstrdup(e->name),
							     .state = xstrdup(e->state),
							     .message = dup_or_null(e->message),
							     .updates = dup_or_null(e->updates),
							     .requeue_after = e->requeue_after});
}

void workload_set_cluster(struct core *c, struct workload *w, const char *cluster)
{
	struct workload_edit *e = edit_of(c, w);

	free(e->cluster);
	e->cluster = xstrdup(cluster);
}

void workload_set_requeue(struct core *c, struct workload *w)
{
	edit_of(c, w)->has_requeue = true;
}

void workload_count_eviction(struct core *c, struct workload *w, const char *reason,
			     const char *cause)
{
	struct workload_edit *e = edit_of(c, w);

	e->evicted_for = reason;
	e->evicted_by = cause;
}

void workload_deactivate(struct core *c, struct workload *w)
{
	edit_of(c, w)->deactivate = true;
}

bool workload_edit_admits(const struct workload *w)
{
	return w->edit && w->edit->has_admission && w->edit->admission;
}

bool workload_edit_has_checks(const struct workload *w)
{
	return w->edit && w->edit->checks.len;
}

bool workload_edit_deactivates(const struct workload *w)
{
	return w->edit && w->edit->deactivate;
}

/* ---- writing ---- */

void workload_status_write(const struct workload *w, struct span stored, usec now, struct buf *out,
			   bool *ret_finished)
{
	if (!workload_text_write(w, stored, now, out, ret_finished))
		workload_tree_write(w, stored, now, out, ret_finished);
}
