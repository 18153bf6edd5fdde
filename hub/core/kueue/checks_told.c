#include "core/kueue/checks_told.h"

#include "core/job.h"
#include "core/recorder.h"

/* "name: message; name: message" of those that are Pending. */
static void add_words(const struct workload_status *s, struct buf *out)
{
	for (size_t i = 0; i < s->n_checks; i++) {
		const struct workload_check *k = &s->checks[i];
		if (!span_is(k->state, "Pending") || !k->message.len)
			continue;
		buf_addf(out, "%s%.*s: %.*s", out->len ? "; " : "", SPAN_ARGS(k->name),
			 SPAN_ARGS(k->message));
	}
}

/* FNV-1a; never 0. */
static uint64_t hash_of(struct span words)
{
	uint64_t h = 14695981039346656037u;

	for (size_t i = 0; i < words.len; i++)
		h = (h ^ (unsigned char)words.ptr[i]) * 1099511628211u;
	return h | 1;
}

void checks_told_review(struct core *c, struct workload *w, const struct workload_status *s)
{
	auto_buf words = BUF_MAX(STORE_MAX_OBJECT);

	if (!w->job || !workload_holds_quota(w) || w->admitted_at || w->evicted_at)
		return;
	add_words(s, &words);
	uint64_t told = words.len ? hash_of(buf_span(&words)) : 0;
	if (told == w->checks_told)
		return;
	w->checks_told = told;
	if (told)
		recorder_write(
		    c, w->job,
		    &(struct job_event){"Normal", "UpdatedAdmissionCheck", words.ptr, true, NULL});
}
