#include "api/job_columns.h"

#include "base/json.h"
#include "kinds/types.h"
#include <ctype.h>

static const struct kind_column columns[] = {
    {"Queue", "string", "", NULL, "The queue that the job is in", 1},
    {"Cluster", "string", "", NULL, "The member cluster that has it", 1},
    {"Pos", "string", "", NULL, "Its place in the queue, from 1", 1},
    {"Reason", "string", "", NULL, "Why it waits", 1},
};
const struct table_more job_columns_more = {columns, ARRAY_LEN(columns)};

static void add_cell(struct span value, struct buf *out)
{
	buf_add_char(out, ',');
	if (value.len)
		buf_add_span(out, value);
	else
		buf_add_str(out, "\"<none>\"");
}

/* As core/binding.h names it; absent when it would be too long for a name. */
static struct span binding_name(const struct kind *kind, struct span job, char out[STORE_MAX_NAME])
{
	size_t n = strlen(kind->kind), len = job.len + 1 + n;

	if (len > STORE_MAX_NAME)
		return SPAN_NONE;
	memcpy(out, job.ptr, job.len);
	out[job.len] = '-';
	for (size_t i = 0; i < n; i++)
		out[job.len + 1 + i] = (char)tolower((unsigned char)kind->kind[i]);
	return span_make(out, len);
}

struct stored {
	struct span queue, cluster, reason; /* JSON strings, or absent */
};

static void read_binding(const struct store_object *binding, struct stored *ret)
{
	struct span spec = store_object_part(binding, binding->extents.spec), list, first, key;
	size_t pos = 0;

	(void)json_text_path(binding->json, &ret->queue, "metadata", "annotations",
			     "muster.dev/queue", NULL);
	if (json_text_member(spec, "clusters", &list) == 0 &&
	    json_text_next(list, &pos, &key, &first)) {
		(void)json_text_member(first, "name", &ret->cluster);
		return;
	}
	struct span status = store_object_part(binding, binding->extents.status);
	pos = 0;
	if (json_text_member(status, "conditions", &list) == 0 &&
	    json_text_next(list, &pos, &key, &first))
		(void)json_text_member(first, "reason", &ret->reason);
}

static void note(struct job_columns *jobs, uint16_t type, struct span ns, struct span name,
		 size_t at, size_t len)
{
	vec_push(&jobs->asked, (struct job_columns_asked){at, len});
	buf_addf(&jobs->question, "%u/%.*s/%.*s\n", type, SPAN_ARGS(ns), SPAN_ARGS(name));
}

void job_columns_cells(const struct render *r, struct span json, struct buf *out)
{
	struct job_columns *jobs = r->jobs;
	struct span ns = SPAN_NONE, name = SPAN_NONE;
	char text[STORE_MAX_NAME];
	struct store_object binding;
	struct stored s = {0};
	size_t at = out->len;

	(void)json_text_path(json, &ns, "metadata", "namespace", NULL);
	(void)json_text_path(json, &name, "metadata", "name", NULL);
	ns = json_text_plain(ns);
	name = json_text_plain(name);
	struct span key = name.len ? binding_name(r->kind, name, text) : SPAN_NONE;
	if (jobs && key.len &&
	    store_get(jobs->reader, &(struct store_key){r->bindings->type, ns, key}, &binding) == 0)
		read_binding(&binding, &s);
	add_cell(s.queue, out);
	add_cell(s.cluster, out);
	add_cell(SPAN_NONE, out);
	add_cell(s.reason, out);
	if (jobs && jobs->ask && !s.cluster.len && name.len && jobs->asked.len < JOB_COLUMNS_ASKED)
		note(jobs, r->kind->type, ns, name, at, out->len - at);
}

static void answered(struct command *self)
{
	struct call *c = self->origin;
	call_to_worker(c, c->on_worker);
}

bool job_columns_ask(struct call *c, struct job_columns *jobs, void (*next)(struct call *c))
{
	struct backend *b = c->listener->backend;
	struct err e = ERR_INIT;

	if (!jobs->asked.len || jobs->question.failed)
		return false;
	struct command *cmd = command_create(COMMAND_QUERY, NULL, SPAN(""), SPAN(""));
	cmd->query = xstrdup(COMMAND_QUERY_COLUMNS);
	cmd->query_body = buf_steal(&jobs->question, NULL);
	cmd->user = xstrndup(c->user.name.ptr, c->user.name.len);
	cmd->origin = c;
	cmd->done = answered;
	jobs->answer = cmd;
	c->on_worker = next;
	if (b->ops->submit(b, cmd, &e) == 0)
		return true;
	jobs->answer = command_destroy(cmd);
	return false;
}

void job_columns_fill(struct job_columns *jobs, size_t base, struct buf *rows)
{
	struct command *cmd = jobs->answer;
	struct span lines = SPAN("");
	struct buf out = {.max = rows->max};
	size_t from = 0;

	if (cmd && cmd->err.kind == ERR_NONE && cmd->result)
		lines = span_make(cmd->result, cmd->result_len);
	vec_foreach (&jobs->asked, a) {
		struct span cells = span_split(&lines, '\n');
		if (!cells.len)
			continue;
		buf_add(&out, rows->ptr + from, base + a->at - from);
		buf_add_span(&out, cells);
		from = base + a->at + a->len;
	}
	vec_clear(&jobs->asked);
	buf_clear(&jobs->question);
	jobs->answer = command_destroy(cmd);
	if (!from)
		return;
	buf_add(&out, rows->ptr + from, rows->len - from);
	out.failed = out.failed || rows->failed;
	buf_done(rows);
	*rows = out;
}

void job_columns_done(struct job_columns *jobs)
{
	vec_done(&jobs->asked);
	buf_done(&jobs->question);
	jobs->answer = command_destroy(jobs->answer);
}
