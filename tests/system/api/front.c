#include "front.h"

#include "registry/inbox.h"
#include "registry/registry.h"
#include "registry/wakeup.h"
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

struct front {
	struct store *truth, *mirror;
	struct registry *registry;
	struct wakeup *wakeup;
	struct inbox *inbox;
	struct pki *pki;
	struct api *api;
	struct api_listener *listener;
	pthread_t core;
	bool core_runs;
	_Atomic bool stop;
	char busy_file[PATH_MAX]; /* while it is there the core does nothing */
};

static bool one_batch(struct front *f)
{
	struct registry_batch *b = NULL;
	struct err e = ERR_INIT;
	bool more;
	if (registry_begin(f->registry, clock_now(), &b, &e) < 0)
		return false;
	inbox_drain(f->inbox, b);
	more = registry_work(b, 32);
	if (registry_commit(b, &e) < 0)
		fprintf(stderr, "commit: %s\n", e.text);
	inbox_release(f->inbox, b);
	registry_end(b);
	return more;
}

static void *core(void *arg)
{
	struct front *f = arg;
	pthread_setname_np(pthread_self(), "core");
	while (!atomic_load(&f->stop)) {
		while (access(f->busy_file, F_OK) == 0 && !atomic_load(&f->stop))
			(void)usleep(5000);
		bool more = one_batch(f);
		if (!more && inbox_is_empty(f->inbox))
			wakeup_wait(f->wakeup, clock_monotonic() + USEC_PER_SEC);
	}
	return NULL;
}

static int open_stores(struct front *f, const struct front_options *o, struct err *reterr)
{
	char path[PATH_MAX];
	struct store_options s = {.path = path,
				  .map_bytes = (size_t)8 << 30,
				  .no_sync = !o->sync,
				  .first_revision = STORE_FIRST_REVISION,
				  .log_max_bytes = o->log_max_bytes};
	int r;
	snprintf(path, sizeof(path), "%s/store", o->dir);
	if (!o->durable)
		s.path = NULL;
	r = o->durable ? store_open_lmdb(&s, &f->truth, reterr)
		       : store_open_memory(&s, &f->truth, reterr);
	s.path = NULL;
	if (!r)
		r = store_open_memory(&s, &f->mirror, reterr);
	return r;
}

static int open_registry(struct front *f, const struct front_options *o, struct err *reterr)
{
	static const char *const names[] = {"default", "kube-system"};
	struct registry_options reg = {.kinds = o->kinds,
				       .truth = f->truth,
				       .mirror = f->mirror,
				       .seed = (uint64_t)clock_now()};
	struct registry_batch *b = NULL;
	int r = registry_open(&reg, &f->registry, reterr);
	if (!r)
		r = registry_begin(f->registry, clock_now(), &b, reterr);
	for (size_t i = 0; !r && i < ARRAY_LEN(names); i++)
		r = registry_ensure_namespace(b, names[i], reterr);
	if (!r)
		r = registry_ensure_system_classes(b, reterr);
	if (!r)
		r = registry_commit(b, reterr);
	registry_end(b);
	return r;
}

static int open_api(struct front *f, const struct front_options *o, struct err *reterr)
{
	struct inbox_options inbox = {.kinds = o->kinds,
				      .source = registry_kind_source(f->registry),
				      .truth = f->truth,
				      .mirror = f->mirror,
				      .version = "v1.34.0-muster0.1.0",
				      .wakeup = f->wakeup};
	struct api_options api = {.n_workers = o->workers,
				  .seats = o->seats,
				  .max_watches = o->max_watches,
				  .queue_per_user = o->queue_per_user,
				  .queue_bytes_per_user = o->queue_bytes_per_user,
				  .queue_bytes = o->queue_bytes,
				  .drain = o->drain,
				  .random = o->random};
	struct api_listener_options l = {.listen = o->listen, .pki = f->pki};
	int r = api_create(&api, &f->api, reterr);
	f->inbox = inbox_create(&inbox);
	l.backend = inbox_backend(f->inbox);
	if (!r)
		r = api_add_listener(f->api, &l, &f->listener, reterr);
	if (!r)
		registry_set_token_maker(
		    f->registry,
		    &(struct token_maker){.make = api_make_secret_token, .arg = f->listener});
	if (!r)
		r = api_start(f->api, reterr);
	return r;
}

int front_open(const struct front_options *o, struct front **ret, struct err *reterr)
{
	struct front *f = xcalloc(1, sizeof(*f));
	char path[PATH_MAX];
	struct pki_options pki = {.dir = path, .now = clock_now()};
	int r;
	snprintf(path, sizeof(path), "%s/pki", o->dir);
	snprintf(f->busy_file, sizeof(f->busy_file), "%s/busy", o->dir);
	r = pki_open(&pki, &f->pki, reterr);
	if (!r)
		r = open_stores(f, o, reterr);
	if (!r)
		r = open_registry(f, o, reterr);
	if (!r)
		r = wakeup_create(&f->wakeup, reterr);
	if (!r)
		r = open_api(f, o, reterr);
	if (!r && pthread_create(&f->core, NULL, core, f) == 0)
		f->core_runs = true;
	if (r) {
		front_close(f);
		return r;
	}
	*ret = f;
	return 0;
}

struct front *front_close(struct front *f)
{
	if (!f)
		return NULL;
	if (f->api)
		api_stop(f->api, 3 * USEC_PER_SEC);
	atomic_store(&f->stop, true);
	if (f->core_runs) {
		wakeup_ring(f->wakeup);
		pthread_join(f->core, NULL);
	}
	api_destroy(f->api);
	inbox_destroy(f->inbox);
	wakeup_destroy(f->wakeup);
	registry_close(f->registry);
	store_close(f->truth);
	store_close(f->mirror);
	pki_close(f->pki);
	free(f);
	return NULL;
}

const char *front_url(const struct front *f)
{
	return api_listener_url(f->listener);
}

struct pki *front_pki(struct front *f)
{
	return f->pki;
}

struct store *front_truth(struct front *f)
{
	return f->truth;
}
