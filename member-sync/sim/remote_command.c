#include "member-sync/sim/remote_command.h"

#include "api/ws_frame.h"
#include "base/num.h"
#include "member-sync/sim/query_text.h"

#define PIECE	  ((size_t)16 << 10)
#define MAX_SEQ	  1000000000
#define KILLED	  137 /* 128 + SIGKILL */
#define NOT_FOUND 127

/* ---- options ---- */

static int add_word(struct remote_options *o, struct span word, struct err *reterr)
{
	if (o->words_len + word.len + 1 > sizeof(o->words) || memchr(word.ptr, 0, word.len))
		return err_set(reterr, ERR_BAD_REQUEST, "the command is over %zu bytes",
			       sizeof(o->words));
	memcpy(o->words + o->words_len, word.ptr, word.len);
	o->words_len += word.len;
	o->words[o->words_len++] = '\0';
	return 0;
}

int remote_options_parse(struct span query, bool attach, struct remote_options *ret,
			 struct err *reterr)
{
	int r = 0;

	*ret = (struct remote_options){0};
	while (query.len && r == 0) {
		auto_buf text = BUF_MAX(REMOTE_COMMAND_TEXT);
		struct span name = query_text_next(&query, &text);
		struct span value = buf_span(&text);
		if (span_is(name, "command"))
			r = add_word(ret, value, reterr);
		else if (span_is(name, "container"))
			snprintf(ret->container, sizeof(ret->container), "%.*s", SPAN_ARGS(value));
		else if (span_is(name, "stdin"))
			ret->has_stdin = query_text_bool(value);
		else if (span_is(name, "stdout"))
			ret->has_stdout = query_text_bool(value);
		else if (span_is(name, "stderr"))
			ret->has_stderr = query_text_bool(value);
		else if (span_is(name, "tty"))
			ret->tty = query_text_bool(value);
	}
	if (r == 0 && !ret->has_stdin && !ret->has_stdout && !ret->has_stderr)
		r = err_set(reterr, ERR_BAD_REQUEST,
			    "you must specify at least one of stdin, stdout, stderr");
	if (r == 0 && !attach && !ret->words_len)
		r = err_set(reterr, ERR_BAD_REQUEST, "you must specify at least 1 command");
	return r;
}

/* ---- output ---- */

static void put(struct remote_command *c, int channel, struct span bytes, struct buf *out)
{
	const struct remote_options *o = c->options;

	if (channel == CHANNEL_STDERR && o->tty)
		channel = CHANNEL_STDOUT;
	if ((channel == CHANNEL_STDOUT && !o->has_stdout) ||
	    (channel == CHANNEL_STDERR && !o->has_stderr) || !bytes.len)
		return;
	ws_frame_begin(out, WS_BINARY, bytes.len + 1);
	buf_add_char(out, (char)channel);
	buf_add_span(out, bytes);
}

/* The Status that kubelet ends with, and the end of the WebSocket (code 1000). */
static void finish(struct remote_command *c, int code, struct buf *out)
{
	auto_buf status = BUF_MAX(512);

	if (c->over)
		return;
	c->over = true;
	c->copies = false;
	c->next = 1;
	c->last = 0;
	if (code == 0)
		buf_add_str(&status, "{\"metadata\":{},\"status\":\"Success\"}");
	else
		buf_addf(&status,
			 "{\"metadata\":{},\"status\":\"Failure\",\"message\":\"command terminated "
			 "with non-zero exit code: exit status %d\",\"reason\":"
			 "\"NonZeroExitCode\",\"details\":{\"causes\":[{\"reason\":\"ExitCode\","
			 "\"message\":\"%d\"}]}}",
			 code, code);
	put(c, CHANNEL_ERROR, buf_span(&status), out);
	ws_frame_begin(out, WS_CLOSE, 2);
	buf_add(out, "\x03\xe8", 2);
}

/* ---- commands ---- */

static const char *next_word(const struct remote_options *o, size_t *at)
{
	const char *word = o->words + *at;

	if (*at >= o->words_len)
		return NULL;
	*at += strlen(word) + 1;
	return word;
}

static void echo(struct remote_command *c, size_t at, struct buf *out)
{
	auto_buf line = BUF_MAX(REMOTE_COMMAND_TEXT + 1);
	const char *word;

	while ((word = next_word(c->options, &at))) {
		if (line.len)
			buf_add_char(&line, ' ');
		buf_add_str(&line, word);
	}
	buf_add_char(&line, '\n');
	put(c, CHANNEL_STDOUT, buf_span(&line), out);
	finish(c, 0, out);
}

static void complain(struct remote_command *c, const char *word, struct buf *out)
{
	auto_buf line = BUF_MAX(REMOTE_COMMAND_TEXT + 200);

	buf_addf(&line,
		 "muster-sim: %s: not found: a simulated container has cat, echo, exit, false, "
		 "hostname, seq and true\n",
		 word);
	put(c, CHANNEL_STDERR, buf_span(&line), out);
	finish(c, NOT_FOUND, out);
}

static void begin(struct remote_command *c, struct span pod, struct buf *out)
{
	size_t at = 0;
	const char *word = next_word(c->options, &at), *arg;
	size_t rest = at;
	uint64_t n = 0;

	arg = next_word(c->options, &at);
	if (!strcmp(word, "cat")) {
		c->copies = true;
	} else if (!strcmp(word, "echo")) {
		echo(c, rest, out);
	} else if (!strcmp(word, "hostname")) {
		put(c, CHANNEL_STDOUT, pod, out);
		put(c, CHANNEL_STDOUT, SPAN("\n"), out);
		finish(c, 0, out);
	} else if (!strcmp(word, "true") || !strcmp(word, "false")) {
		finish(c, word[0] == 'f', out);
	} else if (!strcmp(word, "exit") && arg && num_parse_u64(span_of(arg), 255, &n) == 0) {
		finish(c, (int)n, out);
	} else if (!strcmp(word, "seq") && arg && num_parse_u64(span_of(arg), MAX_SEQ, &n) == 0) {
		c->next = 1;
		c->last = n;
		(void)remote_command_run(c, PIECE, out);
	} else {
		complain(c, word, out);
	}
}

void remote_command_start(struct remote_command *c, const struct remote_options *options,
			  bool attach, struct span pod, struct buf *out)
{
	*c = (struct remote_command){.options = options, .channel = -1, .next = 1};
	if (attach) {
		auto_buf hello = BUF_MAX(400);
		buf_addf(&hello, "muster-sim: attached to %.*s\n", SPAN_ARGS(pod));
		put(c, CHANNEL_STDOUT, buf_span(&hello), out);
		c->copies = true;
	} else {
		begin(c, pod, out);
	}
	if (c->copies && !options->has_stdin && !attach)
		finish(c, 0, out);
}

bool remote_command_run(struct remote_command *c, size_t room, struct buf *out)
{
	auto_buf piece = BUF_MAX(PIECE + 16);
	size_t until = out->len + room;

	if (c->over || c->copies)
		return false;
	while (c->next <= c->last && out->len < until) {
		buf_clear(&piece);
		while (c->next <= c->last && piece.len < PIECE) {
			buf_add_u64(&piece, c->next++);
			buf_add_char(&piece, '\n');
		}
		put(c, CHANNEL_STDOUT, buf_span(&piece), out);
	}
	if (c->next > c->last)
		finish(c, 0, out);
	return !c->over;
}

void remote_command_input(struct remote_command *c, struct span message, bool continues,
			  struct buf *out)
{
	if (!continues) {
		if (!message.len)
			return;
		c->channel = (unsigned char)message.ptr[0];
		message = span_make(message.ptr + 1, message.len - 1);
	}
	if (c->over || !c->copies)
		return;
	if (c->channel == CHANNEL_STDIN)
		put(c, CHANNEL_STDOUT, message, out);
	else if (c->channel == CHANNEL_CLOSE && message.len && message.ptr[0] == CHANNEL_STDIN)
		finish(c, 0, out);
}

void remote_command_kill(struct remote_command *c, struct buf *out)
{
	finish(c, KILLED, out);
}
