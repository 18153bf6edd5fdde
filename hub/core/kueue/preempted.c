#include "core/kueue/preempted.h"

#include "core/job.h"
#include "core/member.h"

#define MOST_NAMED 3

static bool has(const struct workload *w, const struct workload *victim)
{
	vec_foreach (&w->victims, v)
		if (memcmp(v->uid, victim->uid, STORE_UID_LEN) == 0)
			return true;
	return false;
}

void preempted_drop(struct workload *w)
{
	vec_foreach (&w->victims, v)
		free(v->key);
	vec_done(&w->victims);
}

bool preempted_take(struct workload *w, const struct kueue_victims *victims)
{
	bool more = false;

	vec_foreach (&victims->items, v)
		more |= !has(w, v->workload->owner);
	preempted_drop(w);
	vec_foreach (&victims->items, v) {
		const struct workload *victim = v->workload->owner;
		struct workload_victim it = {.key = xstrdup(victim->key)};
		memcpy(it.uid, victim->uid, STORE_UID_LEN);
		vec_push(&w->victims, it);
	}
	return more;
}

size_t preempted_left(const struct core *c, const struct workload *w, const struct workload **out,
		      size_t max)
{
	size_t n = 0;

	vec_foreach (&w->victims, v) {
		const struct workload *it = map_get_str(&c->kueue->workloads, v->key);
		if (!it || memcmp(it->uid, v->uid, STORE_UID_LEN) != 0 || !it->unit ||
		    it->unit->state != KUEUE_EVICTED)
			continue;
		if (n < max)
			out[n] = it;
		n++;
	}
	return n;
}

void preempted_words(const struct core *c, const struct kueue_victims *victims, struct buf *out)
{
	char text[JOB_TEXT_MAX];
	size_t n = victims->items.len;

	for (size_t i = 0; i < n && i < MOST_NAMED; i++) {
		const struct workload *w = victims->items.items[i].workload->owner;
		const struct member *m = w->job ? member_of(c, w->job) : NULL;
		buf_add_str(out, i ? ", " : ": ");
		if (w->job)
			buf_add_str(out, job_text(w->job, text));
		else
			buf_addf(out, "Workload %s", w->key);
		if (m)
			buf_addf(out, " on %s", m->name);
	}
	if (n > MOST_NAMED)
		buf_addf(out, " and %zu more", n - MOST_NAMED);
}

const struct job *preempted_by(const struct core *c, struct span words)
{
	static const char mark[] = "JobUID: ";
	const char *at = words.len ? memmem(words.ptr, words.len, mark, strlen(mark)) : NULL;

	if (!at)
		return NULL;
	at += strlen(mark);
	size_t left = words.len - (size_t)(at - words.ptr);
	return left < OBJECT_UID_TEXT - 1 ? NULL
					  : job_by_uid(c, span_make(at, OBJECT_UID_TEXT - 1));
}
