#include "case_loop.h"

#include "base/json.h"

int case_loop(void (*answer)(const struct cJSON *c, struct buf *out))
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	int status = 0;

	while (status == 0 && (n = getline(&line, &cap, stdin)) > 0) {
		auto_json *c = NULL;
		auto_buf out = BUF_INIT;
		struct err e = ERR_INIT;
		if (json_parse(span_make(line, (size_t)n), NULL, &c, &e) < 0) {
			fprintf(stderr, "bad case: %s: %s\n", line, e.text);
			status = 1;
			continue;
		}
		answer(c, &out);
		buf_add_char(&out, '\n');
		(void)fwrite(out.ptr, 1, out.len, stdout);
		(void)fflush(stdout);
	}
	free(line);
	return status;
}
