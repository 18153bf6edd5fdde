#include "live.h"

#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool live_is_possible(void)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && term && term[0] && strcmp(term, "dumb") != 0;
}

static struct winsize size_of_terminal(void)
{
	struct winsize w = {0};

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0 || w.ws_row < 2 || w.ws_col < 2)
		w = (struct winsize){.ws_row = 24, .ws_col = 80};
	return w;
}

/* What of the line fits into `columns`; a character of several bytes is one column, a colour none.
 */
static struct span cut(struct span line, size_t columns)
{
	size_t at = 0;

	for (size_t n = 0; at < line.len; at++) {
		if (line.ptr[at] == '\033') {
			while (at < line.len && line.ptr[at] != 'm')
				at++;
			continue;
		}
		bool begins = ((unsigned char)line.ptr[at] & 0xc0) != 0x80;
		if (begins && n++ == columns)
			break;
	}
	return span_make(line.ptr, at);
}

static size_t count_lines(struct span text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.len; i++)
		n += text.ptr[i] == '\n';
	return n;
}

void live_draw(struct live *l, struct span text)
{
	struct winsize w = size_of_terminal();
	size_t room = (size_t)w.ws_row - 1, all = count_lines(text), shown = 0;
	auto_buf out = BUF_INIT;

	if (l->lines)
		buf_addf(&out, "\033[%zuA", l->lines < room ? l->lines : room);
	buf_add_char(&out, '\r');
	for (; text.len && shown < room; shown++) {
		struct span line = span_split(&text, '\n');
		if (all > room && shown + 1 == room)
			buf_addf(&out, "... %zu more lines", all - shown);
		else
			buf_add_span(&out, cut(line, (size_t)w.ws_col - 1));
		buf_add_str(&out, "\033[0m\033[K\n");
	}
	buf_add_str(&out, "\033[J");
	l->lines = shown;
	(void)fwrite(out.ptr, 1, out.len, stdout);
	(void)fflush(stdout);
}
