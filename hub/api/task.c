#include "api/task.h"

#include <pthread.h>

struct workers {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct task *head, **tail;
	int idle;  /* threads that wait */
	int woken; /* of them: signalled, and not running yet */
	bool stop;
	int n;
	pthread_t threads[];
};

static void *work(void *arg)
{
	struct workers *w = arg;
	pthread_mutex_lock(&w->lock);
	for (;;) {
		struct task *t = w->head;
		if (t) {
			w->head = t->next;
			if (!w->head)
				w->tail = &w->head;
			pthread_mutex_unlock(&w->lock);
			t->next = NULL;
			t->run(t);
			pthread_mutex_lock(&w->lock);
			continue;
		}
		if (w->stop)
			break;
		w->idle++;
		pthread_cond_wait(&w->more, &w->lock);
		w->idle--;
		w->woken -= w->woken > 0;
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

int workers_create(int n, struct workers **ret, struct err *reterr)
{
	struct workers *w = xcalloc(1, sizeof(*w) + (size_t)n * sizeof(w->threads[0]));
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->more, NULL);
	w->tail = &w->head;
	for (; w->n < n; w->n++) {
		int e = pthread_create(&w->threads[w->n], NULL, work, w);
		if (e) {
			workers_destroy(w);
			return err_set(reterr, ERR_INTERNAL, "cannot start a worker: %s",
				       strerror(e));
		}
		pthread_setname_np(w->threads[w->n], "api-worker");
	}
	*ret = w;
	return 0;
}

struct workers *workers_destroy(struct workers *w)
{
	if (!w)
		return NULL;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_broadcast(&w->more);
	pthread_mutex_unlock(&w->lock);
	for (int i = 0; i < w->n; i++)
		pthread_join(w->threads[i], NULL);
	pthread_cond_destroy(&w->more);
	pthread_mutex_destroy(&w->lock);
	free(w);
	return NULL;
}

void workers_submit(struct workers *w, struct task *t)
{
	bool wake;
	t->next = NULL;
	pthread_mutex_lock(&w->lock);
	*w->tail = t;
	w->tail = &t->next;
	/* Who was signalled takes whatever is there by the time that it runs. */
	wake = w->idle > w->woken;
	w->woken += wake;
	pthread_mutex_unlock(&w->lock);
	if (wake)
		pthread_cond_signal(&w->more);
}

static void on_async(uv_async_t *a)
{
	mailbox_drain(a->data);
}

int mailbox_open(struct mailbox *m, uv_loop_t *loop)
{
	atomic_init(&m->head, NULL);
	if (uv_async_init(loop, &m->async, on_async) < 0)
		return -1;
	m->async.data = m;
	return 0;
}

void mailbox_post(struct mailbox *m, struct task *t)
{
	struct task *head = atomic_load_explicit(&m->head, memory_order_relaxed);
	do {
		t->next = head;
	} while (!atomic_compare_exchange_weak_explicit(&m->head, &head, t, memory_order_release,
							memory_order_relaxed));
	if (!head)
		uv_async_send(&m->async);
}

bool mailbox_is_empty(const struct mailbox *m)
{
	return !atomic_load(&m->head);
}

void mailbox_drain(struct mailbox *m)
{
	struct task *newest = atomic_exchange_explicit(&m->head, NULL, memory_order_acquire);
	struct task *oldest = NULL;
	while (newest) {
		struct task *next = newest->next;
		newest->next = oldest;
		oldest = newest;
		newest = next;
	}
	while (oldest) {
		struct task *next = oldest->next;
		oldest->next = NULL;
		oldest->run(oldest);
		oldest = next;
	}
}

void mailbox_close(struct mailbox *m)
{
	uv_close((uv_handle_t *)&m->async, NULL);
}
