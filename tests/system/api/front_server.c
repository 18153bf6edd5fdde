/*
 * The front of front.h as a program, for clients in other languages: front_server DIR [OPTION...]
 * Writes DIR/kubeconfig, prints "ready URL", serves until SIGTERM.
 *	--durable --sync --listen HOST:PORT --sim --log-bytes N --seats N --watches N
 *	--queue N --queue-user-bytes N --queue-bytes N --drain MILLISECONDS
 *	--few-names: every generated name is one of two
 */
#include "front.h"

#include "base/num.h"
#include "kinds/kinds.h"
#include "kube/meta.h"
#include <limits.h>
#include <openssl/rand.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

struct few {
	_Atomic unsigned asked;
};

/* A uid is 16 random bytes, a name more. Every fourth name is the second of the two. */
static void few_names(void *arg, void *out, size_t n)
{
	struct few *f = arg;
	if (n <= 16)
		(void)RAND_bytes(out, (int)n);
	else
		memset(out, atomic_fetch_add(&f->asked, 1) % 4 == 3 ? 1 : 0, n);
}

static int usage(void)
{
	fprintf(stderr, "usage: front_server DIR [--durable] [--sync] [--sim] [--listen ADDRESS] "
			"[--log-bytes N] [--seats N] [--watches N] [--queue N] "
			"[--queue-user-bytes N] [--queue-bytes N] [--drain MS] [--few-names]\n");
	return 2;
}

/* The options that are numbers. */
static bool read_number(struct front_options *o, const char *name, const char *text)
{
	uint64_t v = 0;
	if (!text || num_parse_u64(span_of(text), UINT64_MAX / 2, &v) < 0)
		return false;
	if (!strcmp(name, "--log-bytes"))
		o->log_max_bytes = v;
	else if (!strcmp(name, "--seats"))
		o->seats = (int)v;
	else if (!strcmp(name, "--watches"))
		o->max_watches = (int)v;
	else if (!strcmp(name, "--queue"))
		o->queue_per_user = (int)v;
	else if (!strcmp(name, "--queue-user-bytes"))
		o->queue_bytes_per_user = v;
	else if (!strcmp(name, "--queue-bytes"))
		o->queue_bytes = v;
	else if (!strcmp(name, "--drain"))
		o->drain = (usec)v * USEC_PER_MS;
	else
		return false;
	return true;
}

int main(int argc, char **argv)
{
	struct few state = {0};
	const struct meta_random few = {few_names, &state};
	struct front_options o = {.listen = "127.0.0.1:0", .kinds = kinds_hub()};
	struct front *f = NULL;
	struct err e = ERR_INIT;
	char path[PATH_MAX];
	sigset_t set;
	int sig;
	if (argc < 2)
		return usage();
	o.dir = argv[1];
	for (int i = 2; i < argc; i++) {
		if (!strcmp(argv[i], "--durable"))
			o.durable = true;
		else if (!strcmp(argv[i], "--sync"))
			o.sync = true;
		else if (!strcmp(argv[i], "--few-names"))
			o.random = &few;
		else if (!strcmp(argv[i], "--sim"))
			o.kinds = kinds_sim();
		else if (!strcmp(argv[i], "--listen") && i + 1 < argc)
			o.listen = argv[++i];
		else if (i + 1 < argc && read_number(&o, argv[i], argv[i + 1]))
			i++;
		else
			return usage();
	}
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	snprintf(path, sizeof(path), "%s/kubeconfig", o.dir);
	if (front_open(&o, &f, &e) < 0 ||
	    pki_write_kubeconfig(front_pki(f), front_url(f), "test", path, &e) < 0) {
		fprintf(stderr, "front_server: %s\n", e.text);
		front_close(f);
		return 1;
	}
	printf("ready %s\n", front_url(f));
	fflush(stdout);
	sigwait(&set, &sig);
	front_close(f);
	return 0;
}
