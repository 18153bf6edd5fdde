#include "command.h"
#include "live.h"
#include "sheet.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/map.h"

#include <strings.h>
#include <unistd.h>

int command_fail(const struct err *err)
{
	fprintf(stderr, "error: %s\n", err->text);
	switch (err->kind) {
	case ERR_NOT_FOUND:
		return EXIT_NOT_FOUND;
	case ERR_UNAUTHORIZED:
	case ERR_FORBIDDEN:
		return EXIT_FORBIDDEN;
	case ERR_UNAVAILABLE:
		return EXIT_UNREACHABLE;
	case ERR_TIMEOUT:
		return EXIT_TIMEOUT;
	default:
		return EXIT_ERROR;
	}
}

const char *command_namespace(const struct command_line *line, const struct client *c)
{
	return line->ns ? line->ns : client_namespace(c);
}

void command_write(const struct buf *b)
{
	fwrite(b->ptr ? b->ptr : "", 1, b->len, stdout);
	fflush(stdout);
}

/* ---- YAML of a tree: block style, strings quoted as JSON where they need it ---- */

static bool is_plain(const char *s)
{
	if (!s[0] || strlen(s) > 60)
		return false;
	if (!((s[0] >= 'a' && s[0] <= 'z') || (s[0] >= 'A' && s[0] <= 'Z') || s[0] == '/'))
		return false;
	for (const char *p = s; *p; p++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./",
			    *p))
			return false;
	static const char *const words[] = {"true", "false", "null", "yes", "no",
					    "on",   "off",   "y",    "n"};
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcasecmp(s, words[i]) == 0)
			return false;
	return true;
}

static void yaml_scalar(const struct cJSON *node, struct buf *out)
{
	const char *s = json_value_str(node);

	if (s && is_plain(s))
		buf_add_str(out, s);
	else
		json_print(node, out);
}

static void yaml_node(const struct cJSON *node, int level, bool in_list, struct buf *out)
{
	bool object = json_is(node, JSON_OBJECT), first = true;

	if ((!object && !json_is(node, JSON_ARRAY)) || json_len(node) == 0) {
		buf_add_char(out, ' ');
		yaml_scalar(node, out);
		buf_add_char(out, '\n');
		return;
	}
	if (!in_list || !object)
		buf_add_char(out, '\n');
	json_foreach (node, child) {
		for (int i = 0; i < level * 2 && !(in_list && object && first); i++)
			buf_add_char(out, ' ');
		if (in_list && object && first)
			buf_add_char(out, ' ');
		first = false;
		if (object) {
			if (is_plain(json_key(child)))
				buf_add_str(out, json_key(child));
			else
				buf_add_json_str(out, span_of(json_key(child)));
			buf_add_char(out, ':');
			yaml_node(child, json_is(child, JSON_ARRAY) ? level : level + 1, false,
				  out);
		} else {
			buf_add_char(out, '-');
			yaml_node(child, level + 1, true, out);
		}
	}
}

void command_print_tree(const struct cJSON *tree, enum output output)
{
	struct buf out = BUF_MAX((size_t)512 << 20);

	if (output == OUTPUT_YAML) {
		yaml_node(tree, 0, true, &out);
		if (out.len && out.ptr[0] == ' ') /* of the first key's list position */
			memmove(out.ptr, out.ptr + 1, out.len--);
	} else {
		json_print_pretty(tree, &out);
		buf_add_char(&out, '\n');
	}
	command_write(&out);
	buf_done(&out);
}

/* ---- values ---- */

struct sheet *command_sheet(const struct command_line *line, const char *const *heads, size_t n)
{
	struct sheet *s = sheet_create(heads, n);

	sheet_colour(s, line->colour);
	return s;
}

const char *command_age(const char *created, char out[CLOCK_TEXT_MAX])
{
	usec t;

	if (!created || clock_parse(span_of(created), &t) < 0)
		return "";
	return clock_human(clock_now() - t, out);
}

int64_t command_number(const struct cJSON *o, const char *key)
{
	int64_t v = 0;
	(void)json_int64(o, key, &v);
	return v;
}

/* With -o json or yaml the answer as it is; true when that was asked for. */
bool command_printed_raw(const struct command_line *line, const struct cJSON *tree, struct buf *out)
{
	if (line->output == OUTPUT_JSON) {
		json_print_pretty(tree, out);
		buf_add_char(out, '\n');
		return true;
	}
	if (line->output == OUTPUT_YAML) {
		command_print_tree(tree, OUTPUT_YAML);
		return true;
	}
	return false;
}

/* ---- views ---- */

#define REDRAW_AFTER (100 * USEC_PER_MS)

struct row {
	char *text;	/* owned; without padding */
	uint64_t round; /* picture that it was last in */
};

struct watched {
	const struct command_line *line;
	struct client *queries;
	int (*render)(const struct command_line *line, struct client *c, struct buf *out,
		      struct err *reterr);
	struct map rows; /* first two words -> struct row, owned */
	uint64_t round;
	struct live live;
	bool terminal, changed;
	int code;
	usec last;
};

static struct span row_key(struct span row)
{
	size_t words = 0, i = 0;

	for (; i < row.len && words < 2; i++)
		if (row.ptr[i] == ' ' && (i == 0 || row.ptr[i - 1] != ' '))
			words++;
	return span_make(row.ptr, i);
}

/* The row without its padding: other rows make columns wider, which is no change of this one. */
static void collapse(struct span row, struct buf *out)
{
	for (size_t i = 0; i < row.len; i++)
		if (row.ptr[i] != ' ' || (out->len && out->ptr[out->len - 1] != ' '))
			buf_add_char(out, row.ptr[i]);
}

static void add_row(struct buf *out, const char *event, struct span row)
{
	buf_addf(out, "%-11s", event);
	buf_add_span(out, row);
	buf_add_char(out, '\n');
}

static void look_at_row(struct watched *w, struct span text, struct buf *out)
{
	auto_buf words = BUF_INIT;

	collapse(text, &words);
	struct row *row = map_get(&w->rows, row_key(buf_span(&words)));
	bool fresh = !row;
	if (fresh) {
		row = xcalloc(1, sizeof(*row));
		map_put(&w->rows, row_key(buf_span(&words)), row);
	}
	row->round = w->round;
	if (!fresh && span_is(buf_span(&words), row->text))
		return;
	free(row->text);
	row->text = xstrndup(words.ptr, words.len);
	add_row(out, fresh ? "ADDED" : "MODIFIED", text);
}

/* Off a terminal: only what changed, a line each, with what became of it in front. */
static void print_changes(struct watched *w, struct span text)
{
	bool head = !w->line->no_headers;
	auto_buf out = BUF_INIT;

	w->round++;
	for (; text.len; head = false) {
		struct span row = span_split(&text, '\n');
		if (head && w->round == 1)
			add_row(&out, "EVENT", row);
		if (!head && row.len)
			look_at_row(w, row, &out);
	}
	map_foreach (&w->rows, e) {
		struct row *row = e->value;
		if (row->round == w->round)
			continue;
		add_row(&out, "DELETED", span_of(row->text));
		(void)map_remove(&w->rows, span_make(e->key, e->key_len));
		free(row->text);
		free(row);
	}
	command_write(&out);
}

static int show(struct watched *w)
{
	struct buf text = BUF_MAX((size_t)256 << 20);
	struct err err = ERR_INIT;

	int r = w->render(w->line, w->queries, &text, &err);
	if (r < 0) {
		buf_done(&text);
		return command_fail(&err);
	}
	if (!w->line->watch || w->line->output >= OUTPUT_JSON)
		command_write(&text);
	else if (w->terminal)
		live_draw(&w->live, buf_span(&text));
	else
		print_changes(w, buf_span(&text));
	buf_done(&text);
	w->changed = false;
	w->last = clock_monotonic();
	return EXIT_OK;
}

/* A burst of changes is one picture, and its last change is never left out. On a terminal the
 * waiting times run on while nothing else does. */
static bool on_line(void *arg, struct span line)
{
	struct watched *w = arg;
	usec since = clock_monotonic() - w->last;

	w->changed = w->changed || line.ptr;
	if (since < REDRAW_AFTER || !(w->changed || (w->terminal && since >= USEC_PER_SEC)))
		return true;
	w->code = show(w);
	return w->code == EXIT_OK;
}

static void watch_path(const struct command_line *line, const struct client *c,
		       const struct view *v, struct buf *path)
{
	buf_add_str(path, v->group);
	if (v->namespaced && !line->all_namespaces)
		buf_addf(path, "/namespaces/%s", command_namespace(line, c));
	buf_addf(path, "/%s?watch=true", v->resource);
}

int command_view(const struct command_line *line, const struct view *v)
{
	auto_buf path = BUF_INIT;
	struct watched w = {.line = line, .render = v->render, .terminal = live_is_possible()};
	struct client *stream = NULL;
	struct err err = ERR_INIT;

	w.terminal = w.terminal && line->output < OUTPUT_JSON;
	if (client_open(&line->client, &w.queries, &err) < 0)
		return command_fail(&err);
	w.code = show(&w);
	if (line->watch && w.code == EXIT_OK) {
		watch_path(line, w.queries, v, &path);
		if (client_open(&line->client, &stream, &err) < 0 ||
		    client_stream(stream, path.ptr, on_line, &w, &err) < 0)
			w.code = command_fail(&err);
	}
	map_foreach (&w.rows, e) {
		struct row *row = e->value;
		free(row->text);
		free(row);
	}
	map_done(&w.rows);
	client_close(stream);
	client_close(w.queries);
	return w.code;
}
