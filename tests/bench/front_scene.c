#include "front_scene.h"

#include "front.h"
#include "kinds/kinds.h"
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

_Noreturn void front_scene_die(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
	exit(1);
}

static void serve(const struct front_scene *s, int out)
{
	struct front_options o = {
	    .dir = s->dir, .listen = "127.0.0.1:0", .durable = true, .kinds = kinds_hub()};
	struct front *f = NULL;
	struct err e = ERR_INIT;
	sigset_t set;
	int sig, port;
	if (s->seed)
		s->seed(s);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (front_open(&o, &f, &e) < 0)
		front_scene_die("front", e.text);
	port = (int)strtol(strrchr(front_url(f), ':') + 1, NULL, 10);
	if (write(out, &port, sizeof(port)) != sizeof(port))
		_exit(1);
	sigwait(&set, &sig);
	front_close(f);
	_exit(0);
}

/* The program lies beside this one. */
static void serve_floor(const struct front_scene *s, int out)
{
	char cert[PATH_MAX], key[PATH_MAX], program[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - sizeof("http_floor"));
	char *name;
	snprintf(cert, sizeof(cert), "%s/pki/serving.crt", s->dir);
	snprintf(key, sizeof(key), "%s/pki/serving.key", s->dir);
	program[n > 0 ? n : 0] = '\0';
	name = strrchr(program, '/');
	if (name && dup2(out, STDOUT_FILENO) >= 0) {
		memcpy(name + 1, "http_floor", sizeof("http_floor"));
		execl(program, program, cert, key, (char *)NULL);
	}
	_exit(1);
}

static int start(struct front_scene *s, struct process *p,
		 void (*child)(const struct front_scene *s, int out))
{
	int fds[2], port = 0;
	if (pipe(fds) < 0)
		front_scene_die("pipe", strerror(errno));
	p->pid = fork();
	if (p->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(fds[0]);
		child(s, fds[1]);
	}
	close(fds[1]);
	if (read(fds[0], &port, sizeof(port)) != sizeof(port))
		front_scene_die("start", "a server does not come up");
	close(fds[0]);
	return port;
}

static void read_token(struct front_scene *s)
{
	char path[PATH_MAX];
	FILE *f;
	snprintf(path, sizeof(path), "%s/pki/admin.token", s->dir);
	f = fopen(path, "r");
	if (!f || !fgets(s->token, sizeof(s->token), f))
		front_scene_die(path, "cannot be read");
	fclose(f);
}

void front_scene_start(struct front_scene *s)
{
	struct rlimit files;
	signal(SIGPIPE, SIG_IGN);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	snprintf(s->dir, sizeof(s->dir), "/var/tmp/bench-front-XXXXXX");
	if (!mkdtemp(s->dir))
		front_scene_die(s->dir, strerror(errno));
	s->port = start(s, &s->server, serve);
	read_token(s);
	s->floor_port = start(s, &s->floor, serve_floor);
}

void front_scene_stop(struct front_scene *s)
{
	char command[128];
	kill(s->floor.pid, SIGKILL);
	waitpid(s->floor.pid, NULL, 0);
	kill(s->server.pid, SIGTERM);
	waitpid(s->server.pid, NULL, 0);
	snprintf(command, sizeof(command), "rm -rf %s", s->dir);
	if (system(command) != 0)
		fprintf(stderr, "%s is left\n", s->dir);
}
