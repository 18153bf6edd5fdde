#include "member-sync/sim/cluster_logs.h"
#include "kube/status.h"
#include "member-sync/sim/cluster_priv.h"
#include "member-sync/sim/kubelet_request.h"
#include "member-sync/sim/pod_log.h"
#include "registry/wakeup.h"
#include <pthread.h>

#define MAX_READERS 1000
#define PIECE	    ((size_t)16 << 10)
#define STEP_BYTES  RELAY_WINDOW
/* A follower hears of new lines in pieces, however fast they come. */
#define FOLLOW_EVERY (100 * USEC_PER_MS)

struct log_reader {
	struct log_reader *prev, *next;
	struct relay *relay;
	struct pod_log_options options;
	char *ns, *name; /* owned */
	uint8_t uid[STORE_UID_LEN];
	size_t container; /* index in the pod's class */
	usec started;	  /* of the run that is read: the status has whole seconds only */
	int32_t restarts; /* which run that is */
	int64_t next_line, left;
	bool full; /* until the relay's asker took something */
};

struct relay_list VEC(struct relay *);

struct cluster_logs {
	struct cluster *c;
	struct log_reader *readers;
	size_t n_readers;
	pthread_mutex_t lock; /* over what follows: */
	struct relay_list asked, attended;
};

/* ---- other threads ---- */

static void post(struct cluster_logs *l, struct relay_list *list, struct relay *r)
{
	pthread_mutex_lock(&l->lock);
	vec_push(list, relay_ref(r));
	pthread_mutex_unlock(&l->lock);
	if (l->c->options.wakeup)
		wakeup_ring(l->c->options.wakeup);
}

static void on_attend(void *answerer, struct relay *r)
{
	struct cluster_logs *l = answerer;
	post(l, &l->attended, r);
}

int cluster_logs_proxy(struct cluster_logs *l, struct relay *r, struct err *reterr)
{
	(void)reterr;
	relay_accept(r, on_attend, l);
	post(l, &l->asked, r);
	return 0;
}

/* ---- runs ---- */

static struct pod_log_run run_of(const struct cluster *c, const struct sim_pod *p, size_t container,
				 bool previous)
{
	struct pod_log_run r = {
	    .container = span_of(p->class->containers[container].name),
	    .pod = p->name,
	    .node = p->node,
	    .started = p->started,
	    .ended = sim_pod_over(p) ? p->ended : 0,
	    .duration = p->duration,
	    .forever = p->forever,
	    .killed = p->lost,
	    .time_scale = c->options.time_scale,
	    .exit_code = p->exit_code,
	};
	memcpy(&r.seed, p->uid, sizeof(r.seed));
	r.seed += container;
	/* Between two runs, and for the one before, only the end of the last is known. */
	if (previous || !p->started) {
		r.ended = p->ended;
		r.started = p->ended - p->duration / c->options.time_scale;
	}
	return r;
}

/* ---- readers ---- */

static void reader_end(struct cluster_logs *l, struct log_reader *r)
{
	if (r->prev)
		r->prev->next = r->next;
	else
		l->readers = r->next;
	if (r->next)
		r->next->prev = r->prev;
	l->n_readers--;
	relay_set_local(r->relay, NULL);
	relay_end(r->relay, NULL);
	free(r->ns);
	free(r->name);
	free(r);
}

static int check_run(const struct sim_pod *p, const char *container, bool previous,
		     struct err *reterr)
{
	if (previous && p->restarts == 0 && (p->started || !p->ended))
		return err_set(reterr, ERR_BAD_REQUEST,
			       "previous terminated container \"%s\" in pod \"%.*s\" not found",
			       container, SPAN_ARGS(p->name));
	if (!p->started && !p->ended)
		return err_set(reterr, ERR_BAD_REQUEST,
			       "container \"%s\" in pod \"%.*s\" is waiting to start: "
			       "ContainerCreating",
			       container, SPAN_ARGS(p->name));
	return 0;
}

static void start_reader(struct cluster_logs *l, struct log_reader *r, const struct sim_pod *p,
			 struct relay *take)
{
	struct pod_log_run run = run_of(l->c, p, r->container, r->options.previous);

	r->ns = xstrndup(p->ns.ptr, p->ns.len);
	r->name = xstrndup(p->name.ptr, p->name.len);
	memcpy(r->uid, p->uid, STORE_UID_LEN);
	r->started = run.started;
	r->restarts = p->restarts;
	r->next_line = pod_log_first(&run, &r->options, l->c->now);
	r->left = r->options.limit ? r->options.limit : INT64_MAX;
	r->relay = take;
	relay_set_local(take, r);
	r->next = l->readers;
	if (r->next)
		r->next->prev = r;
	l->readers = r;
	l->n_readers++;
	relay_head(take, 200, "text/plain", SPAN_NONE);
}

static void open_reader(struct cluster_logs *l, struct relay *take)
{
	struct log_reader *r = xcalloc(1, sizeof(*r));
	struct kubelet_request at;
	struct err e = ERR_INIT;
	struct sim_pod *p = NULL, spare;
	char text[STORE_MAX_NAME + 1];

	if (kubelet_request_parse(relay_question(take)->path, &at))
		p = kubelet_pod_get(l->c, at.ns, at.name, NULL, &spare);
	snprintf(text, sizeof(text), "%.*s", SPAN_ARGS(at.name));
	if (!p)
		(void)status_set_not_found(&e, l->c->pod_kind, text);
	else if (l->n_readers >= MAX_READERS)
		(void)err_set(&e, ERR_TOO_MANY, "%d logs are being read already", MAX_READERS);
	else if (pod_log_parse(at.query, &r->options, &e) == 0 &&
		 kubelet_choose_container(p, r->options.container, &r->container, &e) == 0)
		(void)check_run(p, p->class->containers[r->container].name, r->options.previous,
				&e);
	if (e.kind) {
		free(r);
		kubelet_refuse(l->c, take, &e, text);
	} else {
		start_reader(l, r, p, take);
	}
	if (p)
		kubelet_pod_put(l->c, p, &spare);
}

/* The next lines as one push; false when the asker must take some first. */
static bool push_lines(struct log_reader *r, const struct pod_log_run *run, int64_t count,
		       size_t *sent)
{
	auto_buf piece = BUF_INIT;
	int64_t k = r->next_line;

	while (k < count && piece.len < PIECE && (int64_t)piece.len < r->left)
		pod_log_line(run, k++, r->options.timestamps, &piece);
	if ((int64_t)piece.len > r->left)
		piece.len = (size_t)r->left;
	if (!relay_push(r->relay, buf_span(&piece)))
		return false;
	r->next_line = k;
	r->left -= (int64_t)piece.len;
	*sent += piece.len;
	return true;
}

static usec serve_run(struct cluster_logs *l, struct log_reader *r, const struct sim_pod *p)
{
	const struct cluster *c = l->c;
	struct pod_log_run run = run_of(c, p, r->container, r->options.previous);
	size_t sent = 0;

	run.started = r->started;
	int64_t count = pod_log_count(&run, c->now);
	while (r->next_line < count && r->left > 0) {
		if (sent >= STEP_BYTES)
			return 0;
		if (!push_lines(r, &run, count, &sent)) {
			r->full = true;
			return INT64_MAX;
		}
	}
	if (run.ended || !r->options.follow || r->left <= 0) {
		reader_end(l, r);
		return INT64_MAX;
	}
	usec next = pod_log_time(&run, r->next_line), soon = c->now + FOLLOW_EVERY;
	return next > soon ? next : soon;
}

/* What the container printed since; when there is more, as cluster_logs_step(). */
static usec serve(struct cluster_logs *l, struct log_reader *r)
{
	struct sim_pod spare;
	struct sim_pod *p = kubelet_pod_get(l->c, span_of(r->ns), span_of(r->name), r->uid, &spare);
	usec due = INT64_MAX;

	if (p && (r->options.previous || p->restarts == r->restarts))
		due = serve_run(l, r, p);
	else
		reader_end(l, r);
	if (p)
		kubelet_pod_put(l->c, p, &spare);
	return due;
}

static void attend(struct cluster_logs *l, struct relay *r)
{
	struct log_reader *reader = relay_local(r);

	if (reader && relay_attended(r))
		reader->full = false;
	else if (reader)
		reader_end(l, reader);
	relay_unref(r);
}

usec cluster_logs_step(struct cluster_logs *l)
{
	usec due = INT64_MAX;

	pthread_mutex_lock(&l->lock);
	struct relay_list asked = l->asked, attended = l->attended;
	l->asked = l->attended = (struct relay_list){0};
	pthread_mutex_unlock(&l->lock);
	vec_foreach (&asked, r)
		open_reader(l, *r);
	vec_foreach (&attended, r)
		attend(l, *r);
	vec_done(&asked);
	vec_done(&attended);
	for (struct log_reader *r = l->readers, *next; r; r = next) {
		next = r->next;
		usec at = r->full ? INT64_MAX : serve(l, r);
		if (at < due)
			due = at;
	}
	return due;
}

struct cluster_logs *cluster_logs_create(struct cluster *c)
{
	struct cluster_logs *l = xcalloc(1, sizeof(*l));
	l->c = c;
	pthread_mutex_init(&l->lock, NULL);
	return l;
}

struct cluster_logs *cluster_logs_destroy(struct cluster_logs *l)
{
	struct err e = ERR_INIT;

	if (!l)
		return NULL;
	(void)err_set(&e, ERR_UNAVAILABLE, "the simulator is stopping");
	while (l->readers)
		reader_end(l, l->readers);
	vec_foreach (&l->asked, r)
		relay_end(*r, &e);
	vec_foreach (&l->attended, r)
		relay_unref(*r);
	vec_done(&l->asked);
	vec_done(&l->attended);
	pthread_mutex_destroy(&l->lock);
	free(l);
	return NULL;
}
