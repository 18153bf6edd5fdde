#include "member-sync/multi_loop.h"

#include "base/compat.h"

struct multi_loop {
	uv_loop_t *loop;
	uv_timer_t timer; /* libcurl's; it is told of changes only, so nobody else may set it */
	uv_timer_t kick;  /* multi_loop_poke()'s */
	uv_prepare_t before_poll;
	struct socket_watch *watches, *changed;
	CURLM *multi;
	const struct multi_loop_ops *ops;
	void *arg;
	int handles; /* open uv handles; the last one to close frees a dead one */
	bool dead;
};

struct socket_watch {
	uv_poll_t poll;
	struct socket_watch *prev, *next;
	struct multi_loop *m;
	curl_socket_t fd;
	bool owned;	    /* multi_loop_closing() will come */
	int wanted, polled; /* by libcurl, by libuv: UV_READABLE, UV_WRITABLE */
	bool is_changed;    /* in m->changed */
	struct socket_watch *next_changed;
};

static void release(struct multi_loop *m)
{
	if (--m->handles == 0)
		free(m);
}

static void report(struct multi_loop *m)
{
	CURLMsg *msg;
	int left;

	while (!m->dead && (msg = curl_multi_info_read(m->multi, &left)))
		if (msg->msg == CURLMSG_DONE)
			m->ops->finished(m->arg, msg->easy_handle, msg->data.result);
}

static void on_timer(uv_timer_t *t)
{
	struct multi_loop *m = t->data;
	int running;

	curl_multi_socket_action(m->multi, CURL_SOCKET_TIMEOUT, 0, &running);
	report(m);
}

static void act(struct multi_loop *m, curl_socket_t fd, int flags)
{
	int running;

	curl_multi_socket_action(m->multi, fd, flags, &running);
	report(m);
}

static void want(struct socket_watch *w, int events);

static void on_socket(uv_poll_t *p, int status, int events)
{
	struct socket_watch *w = p->data;
	int flags = 0;

	/* libuv reports an error on the socket without its kind, and stops polling. Bytes that
	 * came before the error still count, so let libcurl read up to it. */
	if (status < 0) {
		events = w->wanted;
		w->polled = 0;
		want(w, w->wanted);
	}
	if (!w->wanted) { /* an idle connection was closed, most likely: seen when it is used */
		uv_poll_stop(p);
		w->polled = 0;
		return;
	}
	if (events & UV_READABLE)
		flags |= CURL_CSELECT_IN;
	if (events & UV_WRITABLE)
		flags |= CURL_CSELECT_OUT;
	act(w->m, w->fd, flags);
}

static void apply(struct socket_watch *w)
{
	/* An idle connection stays as it is. */
	if (w->wanted == w->polled || (!w->wanted && w->polled == UV_READABLE))
		return;
	w->polled = w->wanted;
	if (!w->wanted)
		uv_poll_stop(&w->poll);
	else if (uv_poll_start(&w->poll, w->wanted, on_socket) < 0)
		act(w->m, w->fd, CURL_CSELECT_ERR);
}

static void on_before_poll(uv_prepare_t *p)
{
	struct multi_loop *m = p->data;
	struct socket_watch *w;

	uv_prepare_stop(p);
	while ((w = m->changed)) {
		m->changed = w->next_changed;
		w->is_changed = false;
		apply(w);
	}
}

static void want(struct socket_watch *w, int events)
{
	struct multi_loop *m = w->m;

	w->wanted = events;
	if (w->is_changed)
		return;
	w->is_changed = true;
	w->next_changed = m->changed;
	m->changed = w;
	if (!m->dead)
		uv_prepare_start(&m->before_poll, on_before_poll);
}

static void on_socket_closed(uv_handle_t *h)
{
	struct socket_watch *w = h->data;

	release(w->m);
	free(w);
}

static void link_watch(struct multi_loop *m, struct socket_watch *w)
{
	w->m = m;
	w->next = m->watches;
	if (w->next)
		w->next->prev = w;
	m->watches = w;
	m->handles++;
}

static void forget_change(struct socket_watch *w)
{
	struct socket_watch **at = &w->m->changed;

	while (w->is_changed && *at != w)
		at = &(*at)->next_changed;
	if (w->is_changed)
		*at = w->next_changed;
	w->is_changed = false;
}

static void forget_socket(struct socket_watch *w)
{
	forget_change(w);
	if (w->prev)
		w->prev->next = w->next;
	else
		w->m->watches = w->next;
	if (w->next)
		w->next->prev = w->prev;
	uv_poll_stop(&w->poll);
	uv_close((uv_handle_t *)&w->poll, on_socket_closed);
}

static struct socket_watch *find_watch(const struct multi_loop *m, curl_socket_t fd)
{
	struct socket_watch *w = m->watches;

	while (w && w->fd != fd)
		w = w->next;
	return w;
}

static struct socket_watch *add_watch(struct multi_loop *m, curl_socket_t fd)
{
	struct socket_watch *w = xcalloc(1, sizeof(*w));

	w->fd = fd;
	if (uv_poll_init_socket(m->loop, &w->poll, fd) < 0) {
		free(w);
		return NULL;
	}
	w->poll.data = w;
	link_watch(m, w);
	return w;
}

void multi_loop_opened(struct multi_loop *m, curl_socket_t fd)
{
	struct socket_watch *w = add_watch(m, fd);

	if (w)
		w->owned = true;
}

void multi_loop_closing(struct multi_loop *m, curl_socket_t fd)
{
	struct socket_watch *w = find_watch(m, fd);

	if (w && w->owned)
		forget_socket(w);
}

static int socket_changed(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
	struct multi_loop *m = arg;
	struct socket_watch *w = socket_arg;
	int events = 0;

	if (what == CURL_POLL_REMOVE) {
		if (w && w->owned)
			want(w, 0);
		else if (w)
			forget_socket(w);
		if (w)
			curl_multi_assign(m->multi, fd, NULL);
		return 0;
	}
	if (!w) {
		w = find_watch(m, fd);
		w = w ? w : add_watch(m, fd);
		if (!w)
			return -1;
		curl_multi_assign(m->multi, fd, w);
	}
	if (what & CURL_POLL_IN)
		events |= UV_READABLE;
	if (what & CURL_POLL_OUT)
		events |= UV_WRITABLE;
	want(w, events);
	return 0;
}

/* Even 0 ms must not call back into libcurl from here: the timer fires on the loop's next turn. */
static int timer_changed(CURLM *multi, long timeout_ms, void *arg)
{
	struct multi_loop *m = arg;

	if (timeout_ms < 0)
		uv_timer_stop(&m->timer);
	else
		uv_timer_start(&m->timer, on_timer, (uint64_t)timeout_ms, 0);
	return 0;
}

int multi_loop_create(uv_loop_t *loop, const struct multi_loop_ops *ops, void *arg,
		      struct multi_loop **ret, struct err *reterr)
{
	CURLM *multi = curl_multi_init();

	if (!multi)
		return err_set(reterr, ERR_INTERNAL, "libcurl gives no multi handle");
	struct multi_loop *m = xcalloc(1, sizeof(*m));
	m->loop = loop;
	m->multi = multi;
	m->ops = ops;
	m->arg = arg;
	uv_timer_init(loop, &m->timer);
	uv_timer_init(loop, &m->kick);
	uv_prepare_init(loop, &m->before_poll);
	m->timer.data = m->kick.data = m->before_poll.data = m;
	m->handles = 3;
	curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket_changed);
	curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, m);
	curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer_changed);
	curl_multi_setopt(multi, CURLMOPT_TIMERDATA, m);
	*ret = m;
	return 0;
}

static void on_handle_closed(uv_handle_t *h)
{
	release(h->data);
}

struct multi_loop *multi_loop_destroy(struct multi_loop *m)
{
	if (!m)
		return NULL;
	m->dead = true;
	curl_multi_cleanup(m->multi);
	while (m->watches)
		forget_socket(m->watches);
	uv_close((uv_handle_t *)&m->before_poll, on_handle_closed);
	uv_close((uv_handle_t *)&m->kick, on_handle_closed);
	uv_close((uv_handle_t *)&m->timer, on_handle_closed);
	return NULL;
}

CURLM *multi_loop_handle(struct multi_loop *m)
{
	return m->multi;
}

void multi_loop_poke(struct multi_loop *m)
{
	uv_timer_start(&m->kick, on_timer, 0, 0);
}
