#include "sheet.h"

#include "base/vec.h"

#include <stdarg.h>

struct sheet {
	const char *const *heads;
	size_t n_columns;
	struct VEC(char *) cells;
	struct VEC(const char *) colours; /* SGR parameters of each cell, or NULL */
	bool colour;
};

struct sheet *sheet_create(const char *const *heads, size_t n_columns)
{
	struct sheet *s = xcalloc(1, sizeof(*s));

	s->heads = heads;
	s->n_columns = n_columns < SHEET_MAX_COLUMNS ? n_columns : SHEET_MAX_COLUMNS;
	return s;
}

struct sheet *sheet_destroy(struct sheet *s)
{
	if (!s)
		return NULL;
	vec_foreach (&s->cells, c)
		free(*c);
	vec_done(&s->cells);
	vec_done(&s->colours);
	free(s);
	return NULL;
}

void sheet_colour(struct sheet *s, bool on)
{
	s->colour = on;
}

static void add(struct sheet *s, const char *text, const char *colour)
{
	vec_push(&s->cells, xstrdup(text && text[0] ? text : "-"));
	vec_push(&s->colours, colour);
}

void sheet_cell(struct sheet *s, const char *text)
{
	add(s, text, NULL);
}

#define GREEN  "32"
#define YELLOW "33"
#define RED    "31"
#define GREY   "2"

void sheet_state(struct sheet *s, const char *text)
{
	static const struct {
		const char *word, *colour;
	} states[] = {
	    {"Running", GREEN},	 {"True", GREEN},	{"Succeeded", GREY}, {"Queued", YELLOW},
	    {"Placing", YELLOW}, {"Starting", YELLOW},	{"Pending", YELLOW}, {"Syncing", YELLOW},
	    {"Failed", RED},	 {"Conflict", RED},	{"False", RED},	     {"Deleting", GREY},
	    {"never", RED},	 {"Withdrawing", GREY},
	};
	const char *colour = NULL;

	for (size_t i = 0; text && i < ARRAY_LEN(states); i++)
		if (strcmp(states[i].word, text) == 0)
			colour = states[i].colour;
	add(s, text, colour);
}

void sheet_cellf(struct sheet *s, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	sheet_cell(s, text);
}

/* Characters shown, not bytes: names and messages may hold UTF-8. */
static size_t width(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static void add_cell(struct buf *out, const char *text, const char *colour, size_t wide, bool last)
{
	if (colour)
		buf_addf(out, "\033[%sm%s\033[0m", colour, text);
	else
		buf_add_str(out, text);
	for (size_t n = width(text); !last && n < wide + 3; n++)
		buf_add_char(out, ' ');
}

void sheet_print(const struct sheet *s, bool headers, struct buf *out)
{
	size_t wide[SHEET_MAX_COLUMNS];

	for (size_t i = 0; i < s->n_columns; i++)
		wide[i] = headers ? width(s->heads[i]) : 0;
	for (size_t i = 0; i < s->cells.len; i++) {
		size_t w = width(s->cells.items[i]);
		if (w > wide[i % s->n_columns])
			wide[i % s->n_columns] = w;
	}
	for (size_t i = 0; headers && i < s->n_columns; i++)
		add_cell(out, s->heads[i], NULL, wide[i], i + 1 == s->n_columns);
	if (headers)
		buf_add_char(out, '\n');
	for (size_t i = 0; i < s->cells.len; i++) {
		bool last = (i + 1) % s->n_columns == 0;
		add_cell(out, s->cells.items[i], s->colour ? s->colours.items[i] : NULL,
			 wide[i % s->n_columns], last);
		if (last)
			buf_add_char(out, '\n');
	}
}
