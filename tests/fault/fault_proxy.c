/*
 * A TCP proxy that misbehaves on command, for tests: there is no netem on the machines that run
 * them, and one byte stream between two programs is all that a fault needs to touch.
 *
 *   fault_proxy --to HOST:PORT [--listen HOST:PORT] [--control PORT]
 *
 * Prints "ready LISTEN_PORT CONTROL_PORT" (control 0: none), then takes one command per line from
 * standard input and from connections to the control port; each is answered with one line, "ok"
 * or "error: WORDS". Ends on "quit", SIGTERM or the end of standard input (unless it was given a
 * control port).
 *
 *   pass              forward everything; ends every mode below
 *   refuse            new connections are refused (nothing listens); open ones live on
 *   hang              accept and never answer; open connections freeze both ways
 *   reset             new connections are accepted and reset; open ones are reset now
 *   kick              open connections are reset now; the mode stays
 *   close             open connections are closed in good order now; the mode stays
 *   cut client N      once: the first connection over which N more bytes came from the client
 *   cut server N      (or the server) is reset; exactly N of them are forwarded. Then as before
 *   delay MS          every byte is forwarded MS later, in order
 *   rate N            at most N bytes a second, per connection and direction; 0: unlimited
 *   stats             "connections TOTAL open OPEN client BYTES server BYTES cuts CUTS"
 *
 * Addresses are numeric IPv4. Works on bytes: TLS passes through untouched.
 */
#include "base/compat.h"
#include "base/num.h"

#include <signal.h>
#include <unistd.h>
#include <uv.h>

#define MAX_QUEUED (1 << 20) /* bytes that wait for a slow reader before its writer is stopped */
#define CHUNK	   65536
#define LINE_MAX_  256

enum mode { MODE_PASS, MODE_REFUSE, MODE_HANG, MODE_RESET };
enum side { SIDE_CLIENT, SIDE_SERVER, SIDES };

struct chunk {
	struct chunk *next;
	uint64_t due; /* loop time, ms */
	size_t len;
	char bytes[];
};

struct pair;

/* One direction: what comes from side `from` goes to the other. */
struct flow {
	struct pair *pair;
	enum side from;
	struct chunk *head, *tail; /* delayed */
	size_t queued;
	uv_timer_t later;    /* the next delayed chunk, or the end of a pause for the rate */
	uint64_t cut_count;  /* bytes since the cut command */
	uint64_t rest_until; /* no reading before (rate) */
	bool ended, reading;
};

struct pair {
	struct pair *prev, *next;
	struct proxy *p;
	uv_tcp_t ends[SIDES];
	struct flow flows[SIDES];
	uv_connect_t connecting;
	int open_handles;
	bool connected, dead;
};

struct proxy {
	uv_loop_t loop;
	struct sockaddr_in listen_at, target;
	uv_tcp_t *listener; /* NULL: nothing listens */
	uv_tcp_t control;
	bool has_control;
	uv_signal_t term;
	uv_pipe_t input;
	struct pair *pairs;
	enum mode mode;
	uint64_t delay_ms, rate;
	bool cut_armed;
	enum side cut_side;
	uint64_t cut_after;
	uint64_t total, open, cuts, bytes[SIDES];
};

static void pump(struct flow *f);

/* ---- the end of a pair ---- */

static void on_handle_closed(uv_handle_t *h)
{
	struct pair *pair = h->data;

	if (--pair->open_handles > 0)
		return;
	for (int s = 0; s < SIDES; s++)
		while (pair->flows[s].head) {
			struct chunk *c = pair->flows[s].head;
			pair->flows[s].head = c->next;
			free(c);
		}
	free(pair);
}

static void end_pair(struct pair *pair, bool reset)
{
	struct proxy *p = pair->p;

	if (pair->dead)
		return;
	pair->dead = true;
	if (pair->prev)
		pair->prev->next = pair->next;
	else
		p->pairs = pair->next;
	if (pair->next)
		pair->next->prev = pair->prev;
	p->open--;
	for (int s = 0; s < SIDES; s++) {
		uv_close((uv_handle_t *)&pair->flows[s].later, on_handle_closed);
		if (!reset || uv_tcp_close_reset(&pair->ends[s], on_handle_closed) != 0)
			uv_close((uv_handle_t *)&pair->ends[s], on_handle_closed);
	}
}

/* ---- bytes ---- */

struct outgoing {
	uv_write_t request;
	struct chunk *chunk;
	struct flow *flow;
};

static void on_written(uv_write_t *request, int status)
{
	struct outgoing *o = request->data;
	struct flow *f = o->flow;

	free(o->chunk);
	free(o);
	if (status < 0)
		end_pair(f->pair, true);
	else
		pump(f);
}

static void write_chunk(struct flow *f, struct chunk *c)
{
	struct outgoing *o = xcalloc(1, sizeof(*o));
	uv_buf_t bytes = uv_buf_init(c->bytes, (unsigned)c->len);
	uv_stream_t *to = (uv_stream_t *)&f->pair->ends[!f->from];

	o->request.data = o;
	o->chunk = c;
	o->flow = f;
	if (uv_write(&o->request, to, &bytes, 1, on_written) != 0) {
		free(c);
		free(o);
		end_pair(f->pair, true);
	}
}

static void on_shut(uv_shutdown_t *request, int status)
{
	free(request);
}

/* The other side hears the end once everything before it went out. */
static void pass_end(struct flow *f)
{
	struct pair *pair = f->pair;

	if (pair->flows[SIDE_CLIENT].ended && pair->flows[SIDE_SERVER].ended &&
	    !pair->flows[SIDE_CLIENT].head && !pair->flows[SIDE_SERVER].head) {
		end_pair(pair, false);
		return;
	}
	uv_shutdown_t *request = xcalloc(1, sizeof(*request));
	if (uv_shutdown(request, (uv_stream_t *)&pair->ends[!f->from], on_shut) != 0)
		free(request);
}

static void on_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *ret)
{
	struct pair *pair = h->data;
	uint64_t slice = pair->p->rate ? pair->p->rate / 10 + 1 : CHUNK;
	size_t size = slice < CHUNK ? (size_t)slice : CHUNK;
	struct chunk *c = xcalloc(1, sizeof(*c) + size);

	*ret = uv_buf_init(c->bytes, (unsigned)size);
}

/* How many of `n` bytes may pass before the armed cut; *ret_cut when it falls here. */
static size_t apply_cut(struct flow *f, size_t n, bool *ret_cut)
{
	struct proxy *p = f->pair->p;

	if (!p->cut_armed || p->cut_side != f->from)
		return n;
	f->cut_count += n;
	if (f->cut_count < p->cut_after)
		return n;
	*ret_cut = true;
	return n - (size_t)(f->cut_count - p->cut_after);
}

/* The bytes that may still pass are handed to the kernel before the reset: libuv would drop what
 * it queued. */
static void cut(struct flow *f, const char *bytes, size_t n)
{
	struct proxy *p = f->pair->p;
	uv_buf_t out = uv_buf_init((char *)(uintptr_t)bytes, (unsigned)n);
	uv_os_fd_t fd;

	p->cut_armed = false;
	p->cuts++;
	if (n && !f->head && uv_fileno((uv_handle_t *)&f->pair->ends[!f->from], &fd) == 0)
		(void)uv_try_write((uv_stream_t *)&f->pair->ends[!f->from], &out, 1);
	end_pair(f->pair, true);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct pair *pair = stream->data;
	struct flow *f = &pair->flows[(uv_tcp_t *)stream == &pair->ends[SIDE_SERVER]];
	struct chunk *c =
	    buf->base ? (struct chunk *)(void *)(buf->base - offsetof(struct chunk, bytes)) : NULL;
	bool is_cut = false;

	if (n <= 0) {
		free(c);
		if (n == UV_EOF) {
			f->ended = true;
			if (!f->head)
				pass_end(f);
		} else if (n < 0) {
			end_pair(pair, true);
		}
		return;
	}
	struct proxy *p = pair->p;
	p->bytes[f->from] += (uint64_t)n;
	size_t pass = apply_cut(f, (size_t)n, &is_cut);
	if (is_cut) {
		cut(f, c->bytes, pass);
		free(c);
		return;
	}
	c->len = pass;
	c->due = uv_now(&p->loop) + p->delay_ms;
	if (f->tail)
		f->tail->next = c;
	else
		f->head = c;
	f->tail = c;
	f->queued += c->len;
	if (p->rate)
		f->rest_until = uv_now(&p->loop) + (uint64_t)n * 1000 / p->rate;
	pump(f);
}

static void on_later(uv_timer_t *t)
{
	struct pair *pair = t->data;

	pump(&pair->flows[t == &pair->flows[SIDE_SERVER].later]);
}

/* Writes what is due, and reads on or stops as the state asks for. */
static void pump(struct flow *f)
{
	struct pair *pair = f->pair;
	struct proxy *p = pair->p;
	uint64_t now = uv_now(&p->loop), wake = 0;

	if (pair->dead || !pair->connected)
		return;
	while (p->mode != MODE_HANG && f->head && f->head->due <= now && !pair->dead) {
		struct chunk *c = f->head;
		f->head = c->next;
		if (!f->head)
			f->tail = NULL;
		f->queued -= c->len;
		write_chunk(f, c);
		if (!f->head && f->ended && !pair->dead)
			pass_end(f);
	}
	if (pair->dead)
		return;
	size_t stuck =
	    f->queued + uv_stream_get_write_queue_size((uv_stream_t *)&pair->ends[!f->from]);
	bool read = p->mode != MODE_HANG && !f->ended && stuck < MAX_QUEUED && now >= f->rest_until;
	if (read && !f->reading)
		uv_read_start((uv_stream_t *)&pair->ends[f->from], on_alloc, on_read);
	else if (!read && f->reading)
		uv_read_stop((uv_stream_t *)&pair->ends[f->from]);
	f->reading = read;
	if (p->mode != MODE_HANG && f->head)
		wake = f->head->due;
	if (now < f->rest_until && (!wake || f->rest_until < wake))
		wake = f->rest_until;
	if (wake)
		uv_timer_start(&f->later, on_later, wake > now ? wake - now : 0, 0);
}

static void pump_all(struct proxy *p)
{
	for (struct pair *pair = p->pairs, *next; pair; pair = next) {
		next = pair->next;
		pump(&pair->flows[SIDE_CLIENT]);
		if (!pair->dead)
			pump(&pair->flows[SIDE_SERVER]);
	}
}

static void end_all(struct proxy *p, bool reset)
{
	while (p->pairs)
		end_pair(p->pairs, reset);
}

/* ---- new connections ---- */

static void on_connected(uv_connect_t *request, int status)
{
	struct pair *pair = request->data;

	if (pair->dead)
		return;
	if (status < 0) {
		end_pair(pair, true);
		return;
	}
	pair->connected = true;
	uv_tcp_nodelay(&pair->ends[SIDE_SERVER], 1);
	pump(&pair->flows[SIDE_CLIENT]);
	if (!pair->dead)
		pump(&pair->flows[SIDE_SERVER]);
}

static void on_connection(uv_stream_t *listener, int status)
{
	struct proxy *p = listener->data;
	struct pair *pair = xcalloc(1, sizeof(*pair));

	pair->p = p;
	pair->open_handles = 4;
	for (int s = 0; s < SIDES; s++) {
		uv_tcp_init(&p->loop, &pair->ends[s]);
		uv_timer_init(&p->loop, &pair->flows[s].later);
		pair->ends[s].data = pair->flows[s].later.data = pair;
		pair->flows[s].pair = pair;
		pair->flows[s].from = (enum side)s;
	}
	pair->next = p->pairs;
	if (pair->next)
		pair->next->prev = pair;
	p->pairs = pair;
	p->open++;
	p->total++;
	if (status < 0 || uv_accept(listener, (uv_stream_t *)&pair->ends[SIDE_CLIENT]) < 0 ||
	    p->mode == MODE_RESET) {
		end_pair(pair, true);
		return;
	}
	uv_tcp_nodelay(&pair->ends[SIDE_CLIENT], 1);
	pair->connecting.data = pair;
	if (uv_tcp_connect(&pair->connecting, &pair->ends[SIDE_SERVER],
			   (const struct sockaddr *)&p->target, on_connected) < 0)
		end_pair(pair, true);
}

static void on_listener_closed(uv_handle_t *h)
{
	free(h);
}

static void stop_listening(struct proxy *p)
{
	if (p->listener)
		uv_close((uv_handle_t *)p->listener, on_listener_closed);
	p->listener = NULL;
}

static int start_listening(struct proxy *p)
{
	struct sockaddr_storage at;
	int len = sizeof(at);

	if (p->listener)
		return 0;
	p->listener = xcalloc(1, sizeof(*p->listener));
	uv_tcp_init(&p->loop, p->listener);
	p->listener->data = p;
	int r = uv_tcp_bind(p->listener, (const struct sockaddr *)&p->listen_at, 0);
	if (r == 0)
		r = uv_listen((uv_stream_t *)p->listener, 512, on_connection);
	if (r < 0) {
		stop_listening(p);
		return r;
	}
	uv_tcp_getsockname(p->listener, (struct sockaddr *)&at, &len);
	p->listen_at.sin_port = ((struct sockaddr_in *)&at)->sin_port; /* kept over "refuse" */
	return 0;
}

/* ---- commands ---- */

static const char *set_mode(struct proxy *p, enum mode mode)
{
	p->mode = mode;
	if (mode == MODE_REFUSE) {
		stop_listening(p);
		return "ok";
	}
	if (start_listening(p) < 0)
		return "error: cannot listen again";
	if (mode == MODE_RESET)
		end_all(p, true);
	pump_all(p);
	return "ok";
}

static const char *command_pass(struct proxy *p)
{
	p->delay_ms = p->rate = 0;
	p->cut_armed = false;
	return set_mode(p, MODE_PASS);
}

static const char *command_cut(struct proxy *p, const char *side, struct span count)
{
	uint64_t n;

	if ((strcmp(side, "client") != 0 && strcmp(side, "server") != 0) ||
	    num_parse_u64(count, INT64_MAX, &n) < 0)
		return "error: cut client|server BYTES";
	p->cut_side = strcmp(side, "server") == 0 ? SIDE_SERVER : SIDE_CLIENT;
	p->cut_after = n;
	p->cut_armed = true;
	for (struct pair *pair = p->pairs; pair; pair = pair->next)
		pair->flows[p->cut_side].cut_count = 0;
	return "ok";
}

static const char *command_number(struct proxy *p, uint64_t *to, struct span text)
{
	if (num_parse_u64(text, 1u << 30, to) < 0)
		return "error: not a number";
	pump_all(p);
	return "ok";
}

static const char *obey(struct proxy *p, const char *line, char out[LINE_MAX_])
{
	char word[16] = "", side[16] = "", count[32] = "";
	int n = sscanf(line, "%15s %15s %31s", word, side, count);

	if (n >= 1 && strcmp(word, "pass") == 0)
		return command_pass(p);
	if (strcmp(word, "refuse") == 0)
		return set_mode(p, MODE_REFUSE);
	if (strcmp(word, "hang") == 0)
		return set_mode(p, MODE_HANG);
	if (strcmp(word, "reset") == 0)
		return set_mode(p, MODE_RESET);
	if (strcmp(word, "kick") == 0 || strcmp(word, "close") == 0) {
		end_all(p, word[0] == 'k');
		return "ok";
	}
	if (strcmp(word, "cut") == 0)
		return command_cut(p, side, span_of(count));
	if (strcmp(word, "delay") == 0)
		return command_number(p, &p->delay_ms, span_of(side));
	if (strcmp(word, "rate") == 0)
		return command_number(p, &p->rate, span_of(side));
	if (strcmp(word, "stats") == 0) {
		snprintf(out, LINE_MAX_,
			 "connections %llu open %llu client %llu server %llu cuts %llu",
			 (unsigned long long)p->total, (unsigned long long)p->open,
			 (unsigned long long)p->bytes[SIDE_CLIENT],
			 (unsigned long long)p->bytes[SIDE_SERVER], (unsigned long long)p->cuts);
		return out;
	}
	if (strcmp(word, "quit") == 0) {
		uv_stop(&p->loop);
		return "ok";
	}
	return "error: unknown command";
}

/* A source of commands: standard input, or a connection to the control port. */
struct console {
	struct proxy *p;
	union {
		uv_stream_t stream;
		uv_tcp_t tcp;
		uv_pipe_t pipe;
	};
	bool is_input;
	size_t len;
	char line[LINE_MAX_];
	char bytes[LINE_MAX_];
};

static void on_console_closed(uv_handle_t *h)
{
	free(h->data);
}

static void on_console_alloc(uv_handle_t *h, size_t suggested, uv_buf_t *ret)
{
	struct console *c = h->data;
	*ret = uv_buf_init(c->bytes, sizeof(c->bytes));
}

static void say(struct console *c, const char *words)
{
	char text[LINE_MAX_ + 1];
	int n = snprintf(text, sizeof(text), "%s\n", words);
	uv_buf_t out = uv_buf_init(text, (unsigned)n);

	if (c->is_input) {
		ssize_t written = write(STDOUT_FILENO, text, (size_t)n);
		(void)written;
	} else {
		(void)uv_try_write(&c->stream, &out, 1); /* one short line always fits */
	}
}

static void on_console(uv_stream_t *s, ssize_t n, const uv_buf_t *buf)
{
	struct console *c = s->data;
	char out[LINE_MAX_];

	if (n < 0) {
		if (c->is_input && !c->p->has_control)
			uv_stop(&c->p->loop);
		uv_close((uv_handle_t *)s, on_console_closed);
		return;
	}
	for (ssize_t i = 0; i < n; i++) {
		if (buf->base[i] != '\n') {
			if (c->len < sizeof(c->line) - 1)
				c->line[c->len++] = buf->base[i];
			continue;
		}
		c->line[c->len] = '\0';
		c->len = 0;
		say(c, obey(c->p, c->line, out));
	}
}

static void on_control(uv_stream_t *listener, int status)
{
	struct console *c = xcalloc(1, sizeof(*c));

	c->p = listener->data;
	uv_tcp_init(&c->p->loop, &c->tcp);
	c->tcp.data = c;
	if (status < 0 || uv_accept(listener, &c->stream) < 0)
		uv_close((uv_handle_t *)&c->tcp, on_console_closed);
	else
		uv_read_start(&c->stream, on_console_alloc, on_console);
}

static void open_input(struct proxy *p)
{
	struct console *c = xcalloc(1, sizeof(*c));

	c->p = p;
	c->is_input = true;
	uv_pipe_init(&p->loop, &c->pipe, 0);
	c->pipe.data = c;
	if (uv_pipe_open(&c->pipe, STDIN_FILENO) < 0)
		uv_close((uv_handle_t *)&c->pipe, on_console_closed);
	else
		uv_read_start(&c->stream, on_console_alloc, on_console);
}

static int open_control(struct proxy *p, int port)
{
	struct sockaddr_storage at;
	struct sockaddr_in local;
	int len = sizeof(at);

	uv_ip4_addr("127.0.0.1", port, &local);
	uv_tcp_init(&p->loop, &p->control);
	p->control.data = p;
	p->has_control = true;
	if (uv_tcp_bind(&p->control, (const struct sockaddr *)&local, 0) < 0 ||
	    uv_listen((uv_stream_t *)&p->control, 16, on_control) < 0 ||
	    uv_tcp_getsockname(&p->control, (struct sockaddr *)&at, &len) < 0)
		return -1;
	return ntohs(((struct sockaddr_in *)&at)->sin_port);
}

/* ---- main ---- */

static int parse_address(const char *text, struct sockaddr_in *ret)
{
	struct span rest = span_of(text);
	struct span host = span_split(&rest, ':');
	uint64_t port;
	char name[64];

	if (!rest.ptr || num_parse_u64(rest, 65535, &port) < 0)
		return -1;
	snprintf(name, sizeof(name), "%.*s", SPAN_ARGS(host));
	return uv_ip4_addr(name, (int)port, ret);
}

static void on_term(uv_signal_t *s, int number)
{
	uv_stop(s->loop);
}

static int usage(void)
{
	fprintf(stderr,
		"usage: fault_proxy --to HOST:PORT [--listen HOST:PORT] [--control PORT]\n");
	return 2;
}

int main(int argc, char **argv)
{
	static struct proxy p;
	int control = -1;
	uint64_t port;
	bool have_target = false;

	signal(SIGPIPE, SIG_IGN);
	uv_loop_init(&p.loop);
	uv_ip4_addr("127.0.0.1", 0, &p.listen_at);
	for (int i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--to") == 0 && parse_address(argv[i + 1], &p.target) == 0)
			have_target = true;
		else if (strcmp(argv[i], "--control") == 0 &&
			 num_parse_u64(span_of(argv[i + 1]), 65535, &port) == 0)
			control = (int)port;
		else if (strcmp(argv[i], "--listen") != 0 ||
			 parse_address(argv[i + 1], &p.listen_at) != 0)
			return usage();
	}
	if (!have_target || argc % 2 == 0)
		return usage();
	if (start_listening(&p) < 0 ||
	    (control >= 0 && (control = open_control(&p, control)) < 0)) {
		fprintf(stderr, "fault_proxy: cannot listen\n");
		return 1;
	}
	uv_signal_init(&p.loop, &p.term);
	uv_signal_start(&p.term, on_term, SIGTERM);
	open_input(&p);
	printf("ready %d %d\n", ntohs(p.listen_at.sin_port), control > 0 ? control : 0);
	fflush(stdout);
	uv_run(&p.loop, UV_RUN_DEFAULT);
	return 0;
}
