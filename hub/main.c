/*
 * musterd: wires the rooms together; the only file that knows all of them.
 *
 * Start: configuration, stores, certificates, core (which rebuilds its memory), net thread, API.
 * `ready URL` on standard output once it serves, and sd_notify. SIGTERM ends it within 5 s with
 * status 0; an I/O error of the store ends it with status 1; SIGHUP reloads what may be reloaded.
 */
#include "api/api.h"
#include "api/pki.h"
#include "base/buf.h"
#include "base/heap.h"
#include "config.h"
#include "core/core.h"
#include "kinds/kinds.h"
#include "member-sync/net.h"
#include "secrets.h"
#include "store/store.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#ifndef MUSTER_VERSION
#define MUSTER_VERSION "0.1.0"
#endif

const char *argp_program_version = "musterd " MUSTER_VERSION;

/* clients compare minor versions; features follow this Kubernetes release */
#define KUBERNETES_VERSION "v1.34.0-muster" MUSTER_VERSION
#define STOP_GRACE	   (4 * USEC_PER_SEC)
#define STOP_DRAIN	   (200 * USEC_PER_MS)

struct flags {
	const char *config, *data_dir, *listen, *kubeconfig_out;
	bool require_policy;
};

struct hub {
	struct config config;
	struct log log;
	struct store *truth, *mirror;
	struct pki *pki;
	struct core *core;
	struct net *net;
	struct api *api;
};

static const struct argp_option options[] = {
    {"config", 'c', "FILE", 0, "YAML configuration; flags win over it", 0},
    {"data-dir", 'd', "DIR", 0, "where everything is kept (default /var/lib/muster)", 0},
    {"listen", 'l', "HOST:PORT", 0, "default 127.0.0.1:6443; port 0 picks a free one", 0},
    {"kubeconfig-out", 'k', "FILE", 0, "write the admin's kubeconfig there", 0},
    {"require-policy", 'p', NULL, 0, "leave jobs alone that no policy selects", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct flags *f = state->input;

	switch (key) {
	case 'c':
		f->config = arg;
		return 0;
	case 'd':
		f->data_dir = arg;
		return 0;
	case 'l':
		f->listen = arg;
		return 0;
	case 'k':
		f->kubeconfig_out = arg;
		return 0;
	case 'p':
		f->require_policy = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void set_text(char **at, const char *value)
{
	if (!value)
		return;
	free(*at);
	*at = xstrdup(value);
}

static int configure(struct config *c, const struct flags *f, struct err *reterr)
{
	config_init(c);
	int r = f->config ? config_read(c, f->config, reterr) : 0;
	set_text(&c->data_dir, f->data_dir);
	set_text(&c->listen, f->listen);
	set_text(&c->kubeconfig_out, f->kubeconfig_out);
	c->require_policy = c->require_policy || f->require_policy;
	return r;
}

static char *path_in(const struct config *c, const char *name)
{
	auto_buf b = BUF_INIT;
	buf_addf(&b, "%s/%s", c->data_dir, name);
	return buf_steal(&b, NULL);
}

/* A mirror that was not synced may be torn after the machine (not the process) went down: the
 * boot id tells, and then the mirror is learned again. */
static bool same_boot(const struct config *c)
{
	auto_free char *path = path_in(c, "boot-id");
	char now[64] = "", then[64] = "";
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		ssize_t n = read(fd, now, sizeof(now) - 1);
		(void)n;
		close(fd);
	}
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, then, sizeof(then) - 1);
	bool same = n > 0 && strcmp(now, then) == 0;
	if (!same && (ftruncate(fd, 0) < 0 || pwrite(fd, now, strlen(now), 0) < 0))
		same = false;
	close(fd);
	return same;
}

static void drop_mirror(const char *dir)
{
	static const char *const files[] = {"data.mdb", "lock.mdb"};

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		auto_buf path = BUF_INIT;
		buf_addf(&path, "%s/%s", dir, files[i]);
		(void)unlink(path.ptr);
	}
}

/* With the keys in the configured file, else beside the certificates, outside of the store. */
static int seal_secrets(struct hub *h, struct err *reterr)
{
	auto_free char *pki = path_in(&h->config, "pki"),
		       *own = path_in(&h->config, "pki/secrets.keys");
	size_t n = 0;

	if (mkdir(pki, 0700) < 0 && errno != EEXIST)
		return err_set(reterr, ERR_INTERNAL, "%s: %s", pki, strerror(errno));
	int r = secrets_seal(&h->truth, h->config.key_file ? h->config.key_file : own, clock_now(),
			     &n, reterr);
	if (r == 0 && n > 0)
		log_info(&h->log, "Secrets are sealed under the first key", "rewritten=%zu", n);
	return r;
}

static int open_stores(struct hub *h, struct err *reterr)
{
	auto_free char *truth = path_in(&h->config, "store"),
		       *mirror = path_in(&h->config, "mirror");

	if (mkdir(h->config.data_dir, 0700) < 0 && errno != EEXIST)
		return err_set(reterr, ERR_INTERNAL, "%s: %s", h->config.data_dir, strerror(errno));
	int r = store_open_lmdb(&(struct store_options){.path = truth,
							.map_bytes = h->config.map_bytes,
							.log_max_bytes = h->config.log_max_bytes,
							.log_max_age = h->config.log_max_age,
							.first_revision = STORE_FIRST_REVISION},
				&h->truth, reterr);
	if (r == 0)
		r = seal_secrets(h, reterr);
	if (r < 0)
		return r;
	if (!same_boot(&h->config))
		drop_mirror(mirror);
	return store_open_lmdb(&(struct store_options){.path = mirror,
						       .map_bytes = h->config.map_bytes,
						       .no_sync = true,
						       .log_max_bytes = (uint64_t)256 << 20,
						       .log_max_age = 3600 * USEC_PER_SEC,
						       .first_revision = STORE_FIRST_REVISION},
			       &h->mirror, reterr);
}

static int proxy(void *arg, struct relay *r, struct err *reterr)
{
	(void)reterr;
	net_proxy(arg, r);
	return 0;
}

static int open_core(struct hub *h, struct err *reterr)
{
	int r = core_create(
	    &(struct core_options){.kinds = kinds_hub(),
				   .truth = h->truth,
				   .mirror = h->mirror,
				   .log = &h->log,
				   .version = KUBERNETES_VERSION,
				   .require_policy = h->config.require_policy,
				   .keep_finished = h->config.keep_finished,
				   .starve_after = h->config.starve_after,
				   .hot_swap = h->config.hot_swap,
				   .not_ready_for = h->config.not_ready_for,
				   .provision_parallel = (uint32_t)h->config.provision_parallel,
				   .provision_patience = h->config.provision_patience,
				   .provision_discovery = h->config.provision_discovery,
				   .kueue = &h->config.kueue,
				   .main_thread = pthread_self()},
	    &h->core, reterr);
	if (r == 0)
		r = net_create(&(struct net_options){.hub_uid = core_hub_uid(h->core),
						     .sink = core_fact_sink(h->core),
						     .log = &h->log,
						     .streams = NET_DEFAULT_STREAMS |
								(uint32_t)1 << STREAM_EVENTS,
						     .times = {.probe = h->config.probe_interval}},
			       &h->net, reterr);
	if (r == 0)
		core_set_net(h->core, h->net, proxy, h->net);
	return r;
}

static int open_api(struct hub *h, const char **ret_url, struct err *reterr)
{
	auto_free char *dir = path_in(&h->config, "pki"), *audit = path_in(&h->config, "audit.log");
	struct api_listener *listener;

	int r =
	    pki_open(&(struct pki_options){.dir = dir,
					   .names = (const char *const *)h->config.names,
					   .account_key_files =
					       (const char *const *)h->config.account_key_files,
					   .proxy_ca_file = h->config.request_header.client_ca_file,
					   .now = clock_now()},
		     &h->pki, reterr);
	if (r == 0)
		core_set_root_ca(h->core, pki_ca_pem(h->pki));
	if (r == 0)
		r = api_create(
		    &(struct api_options){.log = &h->log,
					  .n_workers = h->config.workers,
					  .drain = STOP_DRAIN,
					  .seats = h->config.seats,
					  .max_watches = h->config.max_watches,
					  .queue_per_user = h->config.queue_per_user,
					  .queue_bytes_per_user = h->config.queue_bytes_per_user,
					  .queue_bytes = h->config.queue_bytes,
					  .max_connections = h->config.max_connections,
					  .audit_policy_file = h->config.audit_policy_file,
					  .audit_log_file = h->config.audit_log_file
								? h->config.audit_log_file
								: audit},
		    &h->api, reterr);
	if (r == 0)
		r = api_add_listener(h->api,
				     &(struct api_listener_options){
					 .listen = h->config.listen,
					 .backend = core_backend(h->core),
					 .pki = h->pki,
					 .issuer = h->config.account_issuer,
					 .oidc = h->config.oidc.issuer ? &h->config.oidc : NULL,
					 .request_header = h->config.request_header.client_ca_file
							       ? &h->config.request_header
							       : NULL},
				     &listener, reterr);
	if (r < 0)
		return r;
	core_set_token_maker(h->core,
			     &(struct token_maker){.make = api_make_secret_token, .arg = listener});
	*ret_url = api_listener_url(listener);
	if (h->config.kubeconfig_out)
		r = pki_write_kubeconfig(h->pki, *ret_url, "muster", h->config.kubeconfig_out,
					 reterr);
	if (r == -ENOSPC) {
		log_error(&h->log, "kubeconfig not written", "error=\"%s\"", reterr->text);
		r = 0;
	}
	if (r == 0)
		r = core_start(h->core, reterr);
	if (r == 0)
		r = api_start(h->api, reterr);
	return r;
}

/* A core that failed acknowledges nothing more: then there is nothing to wait for. True when it
 * did. */
static bool close_all(struct hub *h)
{
	bool failed = h->core && core_has_failed(h->core);

	if (h->api)
		api_stop(h->api, failed ? 0 : STOP_GRACE);
	if (h->core)
		core_stop(h->core);
	failed = h->core && core_has_failed(h->core);
	net_stop(h->net);
	api_destroy(h->api);
	core_destroy(h->core);
	pki_close(h->pki);
	store_close(h->mirror);
	store_close(h->truth);
	config_done(&h->config);
	return failed;
}

static void reload(struct hub *h, const struct flags *f)
{
	struct config fresh;
	struct err err = ERR_INIT;

	if (configure(&fresh, f, &err) < 0) {
		log_error(&h->log, "configuration not reloaded", "error=\"%s\"", err.text);
		config_done(&fresh);
		return;
	}
	const char *fixed = config_fixed_difference(&h->config, &fresh);
	if (fixed)
		log_error(&h->log, "a setting needs a restart; nothing reloaded", "setting=%s",
			  fixed);
	else if (api_reload(h->api, &err) < 0)
		log_error(&h->log, "the audit policy is not valid; nothing reloaded",
			  "error=\"%s\"", err.text);
	else {
		h->log.level = h->config.log_level = fresh.log_level;
		h->config.keep_finished = fresh.keep_finished;
		core_set_keep_finished(h->core, fresh.keep_finished);
		log_info(&h->log, "configuration reloaded", "file=%s",
			 f->config ? f->config : "none");
	}
	config_done(&fresh);
}

/* Returns the exit status. */
static int serve(struct hub *h, const struct flags *f, const sigset_t *signals)
{
	for (;;) {
		int sig = 0;
		if (sigwait(signals, &sig) != 0)
			return 1;
		if (sig == SIGHUP) {
			reload(h, f);
			continue;
		}
		sd_notify(0, "STOPPING=1");
		return 0;
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
	    .options = options,
	    .parser = parse,
	    .doc = "The Muster hub: a fleet hub for batch and training jobs."};
	struct flags flags = {0};
	struct hub hub = {.log = LOG_DEFAULT};
	struct err err = ERR_INIT;
	const char *url = NULL;
	sigset_t signals;

	heap_setup();
	argp_parse(&argp, argc, argv, 0, NULL, &flags);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &signals, NULL);
	umask(0077);

	int r = configure(&hub.config, &flags, &err);
	hub.log.level = hub.config.log_level;
	if (r == 0)
		r = open_stores(&hub, &err);
	if (r == 0)
		r = open_core(&hub, &err);
	if (r == 0)
		r = open_api(&hub, &url, &err);
	if (r < 0) {
		log_error(&hub.log, "musterd cannot start", "error=\"%s\"", err.text);
		(void)close_all(&hub);
		return 1;
	}
	printf("ready %s\n", url);
	fflush(stdout);
	sd_notify(0, "READY=1");
	int status = serve(&hub, &flags, &signals);
	return close_all(&hub) ? 1 : status;
}
