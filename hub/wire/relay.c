#include "wire/relay.h"

#include <pthread.h>

struct relay {
	struct relay_question question;
	relay_wake_fn wake;
	relay_attend_fn attend; /* NULL: not accepted yet, or ended */
	void *asker, *answerer, *local;
	unsigned refs;	      /* atomic */
	pthread_mutex_t lock; /* over what follows: */
	struct relay_answer answer;
	struct buf bytes;
	struct buf up; /* the asker's, of an upgraded connection */
	size_t up_at;  /* of it: what was received */
	bool woken, left, starved, told;
	bool up_starved; /* the asker waits for room */
};

struct relay *relay_create(struct relay_question *take, relay_wake_fn wake, void *asker)
{
	struct relay *r = xcalloc(1, sizeof(*r));

	r->question = *take;
	*take = (struct relay_question){0};
	r->wake = wake;
	r->asker = asker;
	r->refs = 1;
	r->answer.err = ERR_INIT;
	pthread_mutex_init(&r->lock, NULL);
	return r;
}

const struct relay_question *relay_question(const struct relay *r)
{
	return &r->question;
}

struct relay *relay_ref(struct relay *r)
{
	/* Hooks call this under the lock: the count is apart from it. */
	__atomic_add_fetch(&r->refs, 1, __ATOMIC_RELAXED);
	return r;
}

struct relay *relay_unref(struct relay *r)
{
	if (!r || __atomic_sub_fetch(&r->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return NULL;
	free(r->question.cluster);
	free(r->question.method);
	free(r->question.path);
	free(r->question.accept);
	free(r->question.content_type);
	if (r->question.body)
		explicit_bzero(r->question.body, r->question.body_len);
	free(r->question.body);
	free(r->question.ws_key);
	free(r->question.ws_version);
	free(r->question.ws_protocols);
	free((char *)(uintptr_t)r->answer.headers.ptr);
	buf_done(&r->bytes);
	buf_done(&r->up);
	pthread_mutex_destroy(&r->lock);
	free(r);
	return NULL;
}

/* ---- the asker ---- */

/* Under the lock. */
static void tell_answerer(struct relay *r)
{
	if (!r->attend || r->told)
		return;
	r->told = true;
	r->attend(r->answerer, r);
}

void relay_take(struct relay *r, struct buf *bytes, struct relay_answer *ret)
{
	struct buf mine = *bytes;

	pthread_mutex_lock(&r->lock);
	r->woken = false;
	*ret = r->answer;
	*bytes = r->bytes;
	r->bytes = mine;
	buf_clear(&r->bytes);
	if (r->starved) {
		r->starved = false;
		tell_answerer(r);
	}
	pthread_mutex_unlock(&r->lock);
}

/* Under the lock: bytes for the answerer, behind those that it has received in part. */
static void put_up(struct relay *r, struct span bytes)
{
	if (r->up_at && r->up.len + bytes.len > 2 * RELAY_WINDOW) {
		memmove(r->up.ptr, r->up.ptr + r->up_at, r->up.len - r->up_at);
		r->up.len -= r->up_at;
		r->up_at = 0;
	}
	buf_add_span(&r->up, bytes);
}

bool relay_send(struct relay *r, struct span bytes)
{
	bool taken = true;

	pthread_mutex_lock(&r->lock);
	if (!r->answer.ended && r->attend) {
		size_t waits = r->up.len - r->up_at;
		taken = waits == 0 || waits + bytes.len <= RELAY_WINDOW;
		if (taken) {
			put_up(r, bytes);
			tell_answerer(r);
		}
		r->up_starved = !taken;
	}
	pthread_mutex_unlock(&r->lock);
	return taken;
}

void relay_leave(struct relay *r)
{
	pthread_mutex_lock(&r->lock);
	r->left = true;
	r->wake = NULL;
	buf_clear(&r->bytes);
	tell_answerer(r);
	pthread_mutex_unlock(&r->lock);
	relay_unref(r);
}

/* ---- the answerer ---- */

void relay_accept(struct relay *r, relay_attend_fn attend, void *answerer)
{
	pthread_mutex_lock(&r->lock);
	r->attend = attend;
	r->answerer = answerer;
	if (r->left)
		tell_answerer(r);
	pthread_mutex_unlock(&r->lock);
}

bool relay_attended(struct relay *r)
{
	pthread_mutex_lock(&r->lock);
	r->told = false;
	bool there = !r->left;
	pthread_mutex_unlock(&r->lock);
	return there;
}

void relay_set_local(struct relay *r, void *local)
{
	r->local = local;
}

void *relay_local(const struct relay *r)
{
	return r->local;
}

/* Under the lock. */
static void wake_asker(struct relay *r)
{
	if (r->woken || !r->wake)
		return;
	r->woken = true;
	r->wake(r->asker);
}

void relay_head(struct relay *r, int http_code, const char *content_type, struct span headers)
{
	pthread_mutex_lock(&r->lock);
	if (headers.len && headers.len <= RELAY_MAX_HEADERS && !r->answer.headers.ptr)
		r->answer.headers = span_make(xstrndup(headers.ptr, headers.len), headers.len);
	r->answer.http_code = http_code;
	snprintf(r->answer.content_type, sizeof(r->answer.content_type), "%s",
		 content_type ? content_type : "");
	wake_asker(r);
	pthread_mutex_unlock(&r->lock);
}

bool relay_push(struct relay *r, struct span bytes)
{
	bool taken = true;

	pthread_mutex_lock(&r->lock);
	if (!r->left) {
		taken = r->bytes.len == 0 || r->bytes.len + bytes.len <= RELAY_WINDOW;
		if (taken)
			buf_add_span(&r->bytes, bytes);
		else
			r->starved = true;
		wake_asker(r);
	}
	pthread_mutex_unlock(&r->lock);
	return taken;
}

size_t relay_receive(struct relay *r, char *into, size_t room)
{
	pthread_mutex_lock(&r->lock);
	size_t n = r->left ? 0 : r->up.len - r->up_at;
	if (n > room)
		n = room;
	memcpy(into, r->up.ptr ? r->up.ptr + r->up_at : "", n);
	r->up_at += n;
	if (r->up_at == r->up.len) {
		buf_clear(&r->up);
		r->up_at = 0;
	}
	/* Half a window at a time, so that the two do not wake each other for every record. */
	if (r->up_starved && r->up.len - r->up_at <= RELAY_WINDOW / 2) {
		r->up_starved = false;
		wake_asker(r);
	}
	pthread_mutex_unlock(&r->lock);
	return n;
}

void relay_end(struct relay *r, const struct err *err)
{
	pthread_mutex_lock(&r->lock);
	r->answer.ended = true;
	if (err)
		r->answer.err = *err;
	r->attend = NULL;
	wake_asker(r);
	pthread_mutex_unlock(&r->lock);
	relay_unref(r);
}
