#include "job_times.h"

#include "bench.h"
#include "http_watch.h"
#include <errno.h>
#include <time.h>

double job_times_now(void)
{
	return (double)bench_now_ns() / 1e9;
}

void job_times_init(struct job_times *t)
{
	pthread_condattr_t attr;
	*t = (struct job_times){.lock = PTHREAD_MUTEX_INITIALIZER};
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&t->more, &attr);
	pthread_condattr_destroy(&attr);
	t->created = xcalloc(JOB_TIMES_MAX, sizeof(double));
	for (int s = 0; s < JOB_STAGES; s++)
		t->at[s] = xcalloc(JOB_TIMES_MAX, sizeof(double));
}

void job_times_done(struct job_times *t)
{
	job_times_unwatch(t);
	pthread_cond_destroy(&t->more);
	free(t->created);
	for (int s = 0; s < JOB_STAGES; s++)
		free(t->at[s]);
}

/* ---- what watches say ---- */

static uint64_t number_of(const char *line)
{
	const char *at = strstr(line, "\"name\":\"job-");
	return at ? strtoull(at + 12, NULL, 10) : JOB_TIMES_MAX;
}

static void once(struct job_times *t, enum job_stage s, uint64_t job)
{
	if (job >= JOB_TIMES_MAX || t->at[s][job] > 0)
		return;
	t->at[s][job] = job_times_now();
	pthread_mutex_lock(&t->lock);
	if (atomic_fetch_add(&t->n[s], 1) + 1 == t->wanted[s])
		pthread_cond_signal(&t->more);
	pthread_mutex_unlock(&t->lock);
}

static bool hub_line(void *arg, char *line, size_t len)
{
	bool over = memmem(line, len, "\"type\":\"Succeeded\"", 18);
	if (over || memmem(line, len, "\"type\":\"Running\"", 16))
		once(arg, JOB_RUNNING, number_of(line));
	if (over)
		once(arg, JOB_FINISHED, number_of(line));
	return true;
}

static bool member_line(void *arg, char *line, size_t len)
{
	if (!memmem(line, len, "\"suspend\":true", 14))
		once(arg, JOB_STARTED, number_of(line));
	return true;
}

void job_times_watch(struct job_times *t, struct fleet *f, bool members)
{
	struct http_watch hub = {.port = process_port(&f->hub, 0),
				 .path = JOB_TIMES_PATH "?watch=true",
				 .token = f->token,
				 .line = hub_line,
				 .arg = t};
	struct err e = ERR_INIT;
	t->watches[FLEET_MEMBERS_MAX] = http_watch_start(&hub, &e);
	for (int i = 0; members && i < f->n_members; i++) {
		struct http_watch m = {.port = process_port(&f->sims, i),
				       .path = JOB_TIMES_PATH "?watch=true",
				       .token = f->sim_tokens[i],
				       .line = member_line,
				       .arg = t};
		t->watches[i] = http_watch_start(&m, &e);
	}
	if (e.kind != ERR_NONE)
		fleet_die("watch", &e);
}

void job_times_unwatch(struct job_times *t)
{
	for (int i = 0; i <= FLEET_MEMBERS_MAX; i++) {
		http_watch_stop(t->watches[i]);
		t->watches[i] = NULL;
	}
}

bool job_times_await(struct job_times *t, enum job_stage s, uint64_t n, double seconds)
{
	struct timespec until;
	int rc = 0;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)seconds;
	pthread_mutex_lock(&t->lock);
	t->wanted[s] = n;
	while (atomic_load(&t->n[s]) < n && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&t->more, &t->lock, &until);
	t->wanted[s] = 0;
	pthread_mutex_unlock(&t->lock);
	return atomic_load(&t->n[s]) >= n;
}
