/*
 * muster-sim: simulated member clusters in one process.
 *
 * The main thread opens everything, waits for a signal and closes everything. One core thread
 * steps all clusters; the API front has its own thread and workers.
 */
#include "api/api.h"
#include "api/pki.h"
#include "base/heap.h"
#include "member-sync/sim/cluster.h"
#include "member-sync/sim/options.h"
#include <errno.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define VERSION_TEXT "v1.34.0-muster-sim0.1.0"
/* Finish in-flight writes and leave within 5 s (DESIGN section 8): the API gets most of it. */
#define GRACE (3 * USEC_PER_SEC)
/* Address space per cluster: a thousand of them fit, and sanitizers stay calm. */
#define MAP_BYTES ((size_t)4 << 30)

struct member {
	struct cluster *cluster;
	struct pki *pki;
	struct api_listener *listener;
	usec due;
	char name[256];
};

struct sim {
	struct options options;
	struct log log;
	struct member *members;
	struct wakeup *wakeup;
	struct api *api;
	pthread_t core;
	bool core_runs;
	atomic_bool stop;
	atomic_bool broken; /* the core met a disk that fails */
	char temp[64];	    /* directory of what is only kept while it runs, or "" */
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int make_dir(const char *path, struct err *reterr)
{
	if (mkdir(path, 0700) == 0 || errno == EEXIST)
		return 0;
	return err_set(reterr, ERR_INTERNAL, "%s: %s", path, strerror(errno));
}

/* Where member i keeps its things; made. */
static int member_dir(struct sim *s, int i, char *out, size_t size, struct err *reterr)
{
	const char *base = s->options.data_dir ? s->options.data_dir : s->temp;
	int rc = make_dir(base, reterr);
	if (rc || (s->options.count == 1 && s->options.data_dir)) {
		snprintf(out, size, "%s", base);
		return rc;
	}
	snprintf(out, size, "%s/%s", base, s->members[i].name);
	return make_dir(out, reterr);
}

static int open_member(struct sim *s, int i, struct err *reterr)
{
	struct member *m = &s->members[i];
	char dir[4000], pki_dir[4100], listen[256], out[4096];
	options_numbered(&s->options, s->options.name, i, m->name, sizeof(m->name));
	int rc = member_dir(s, i, dir, sizeof(dir), reterr);
	if (rc)
		return rc;
	struct cluster_options co = {
	    .name = m->name,
	    .data_dir = s->options.data_dir ? dir : NULL,
	    .nodes_file = s->options.nodes,
	    .time_scale = s->options.time_scale,
	    .seed = s->options.seed + (uint64_t)i * 0x9e3779b97f4a7c15ull,
	    .map_bytes = MAP_BYTES,
	    .events = !s->options.no_events,
	    .sync = s->options.sync,
	    .wakeup = s->wakeup,
	    .log = &s->log,
	    .version = VERSION_TEXT,
	};
	rc = cluster_open(&co, &m->cluster, reterr);
	if (rc)
		return rc;
	snprintf(pki_dir, sizeof(pki_dir), "%s/pki", dir);
	struct pki_options po = {.dir = pki_dir, .now = clock_now()};
	rc = pki_open(&po, &m->pki, reterr);
	if (!rc)
		rc = options_listen(&s->options, i, listen, sizeof(listen), reterr);
	if (rc)
		return rc;
	struct api_listener_options lo = {
	    .listen = listen, .backend = cluster_backend(m->cluster), .pki = m->pki};
	rc = api_add_listener(s->api, &lo, &m->listener, reterr);
	if (rc || !s->options.kubeconfig_out)
		return rc;
	options_numbered(&s->options, s->options.kubeconfig_out, i, out, sizeof(out));
	return pki_write_kubeconfig(m->pki, api_listener_url(m->listener), m->name, out, reterr);
}

static bool step_all(struct sim *s, usec *ret_due)
{
	usec now = clock_now(), first = INT64_MAX;
	for (int i = 0; i < s->options.count; i++) {
		struct member *m = &s->members[i];
		struct err why = ERR_INIT;
		if (cluster_step(m->cluster, now, &m->due, &why)) {
			if (why.kind == ERR_INTERNAL) {
				log_error(&s->log, "store failed", "cluster=%s cause=\"%s\"",
					  m->name, why.text);
				return false;
			}
			/* Out of space: try again when there may be room. */
			m->due = now + USEC_PER_SEC;
		}
		if (m->due < first)
			first = m->due;
	}
	*ret_due = first;
	return true;
}

static void *core_main(void *arg)
{
	struct sim *s = arg;
	pthread_setname_np(pthread_self(), "core");
	while (!atomic_load(&s->stop)) {
		usec due;
		if (!step_all(s, &due)) {
			atomic_store(&s->broken, true);
			kill(getpid(), SIGTERM);
			return NULL;
		}
		if (due == 0)
			continue;
		usec until = INT64_MAX;
		if (due != INT64_MAX) {
			usec wait = due - clock_now();
			until = clock_monotonic() + (wait > 0 ? wait : 0);
		}
		wakeup_wait(s->wakeup, until);
	}
	return NULL;
}

static int start(struct sim *s, struct err *reterr)
{
	if (!s->options.seed &&
	    getrandom(&s->options.seed, sizeof(s->options.seed), 0) != sizeof(s->options.seed))
		return err_set(reterr, ERR_INTERNAL, "getrandom: %s", strerror(errno));
	if (!s->options.data_dir) {
		snprintf(s->temp, sizeof(s->temp), "/tmp/muster-sim-XXXXXX");
		if (!mkdtemp(s->temp)) {
			s->temp[0] = '\0';
			return err_set(reterr, ERR_INTERNAL, "/tmp: %s", strerror(errno));
		}
	}
	s->members = xcalloc((size_t)s->options.count, sizeof(*s->members));
	int rc = wakeup_create(&s->wakeup, reterr);
	if (!rc)
		rc = api_create(&(struct api_options){.log = &s->log}, &s->api, reterr);
	for (int i = 0; !rc && i < s->options.count; i++)
		rc = open_member(s, i, reterr);
	if (rc)
		return rc;
	int e = pthread_create(&s->core, NULL, core_main, s);
	if (e)
		return err_set(reterr, ERR_INTERNAL, "pthread_create: %s", strerror(e));
	s->core_runs = true;
	return api_start(s->api, reterr);
}

static void finish(struct sim *s)
{
	for (int i = 0; s->members && i < s->options.count; i++)
		if (s->members[i].cluster)
			cluster_shut(s->members[i].cluster);
	if (s->api && s->core_runs)
		api_stop(s->api, GRACE);
	atomic_store(&s->stop, true);
	if (s->wakeup)
		wakeup_ring(s->wakeup);
	if (s->core_runs)
		pthread_join(s->core, NULL);
	/* What came in at the last moment is still answered, while there is a front to take it. */
	usec due;
	if (s->core_runs && !atomic_load(&s->broken))
		(void)step_all(s, &due);
	api_destroy(s->api);
	for (int i = 0; s->members && i < s->options.count; i++)
		s->members[i].cluster = cluster_close(s->members[i].cluster);
	for (int i = 0; s->members && i < s->options.count; i++)
		pki_close(s->members[i].pki);
	wakeup_destroy(s->wakeup);
	free(s->members);
	if (*s->temp)
		nftw(s->temp, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void announce(const struct sim *s)
{
	for (int i = 0; i < s->options.count; i++)
		printf("ready %s %s\n", api_listener_url(s->members[i].listener),
		       s->members[i].name);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static struct sim s;
	struct err why = ERR_INIT;
	sigset_t signals;
	int caught;
	heap_setup();
	s.log = LOG_DEFAULT;
	if (options_parse(argc, argv, &s.options, &why)) {
		fprintf(stderr, "muster-sim: %s\n\n%s", why.text, options_usage());
		return 2;
	}
	if (s.options.help || s.options.version) {
		fputs(s.options.help ? options_usage() : VERSION_TEXT "\n", stdout);
		return 0;
	}
	s.log.level = s.options.log_level;
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	pthread_sigmask(SIG_BLOCK, &signals, NULL); /* every thread inherits it */
	int rc = start(&s, &why);
	if (!rc) {
		announce(&s);
		sigwait(&signals, &caught);
	} else {
		log_error(&s.log, "cannot start", "cause=\"%s\"", why.text);
	}
	finish(&s);
	return rc || atomic_load(&s.broken) ? 1 : 0;
}
