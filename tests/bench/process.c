#include "process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t spawn(const char *const *argv, int out, const char *log)
{
	int err = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	pid_t pid = fork();
	if (pid != 0) {
		close(err);
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(out < 0 ? err : out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	execv(argv[0], (char *const *)(uintptr_t)argv);
	fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

int process_start(struct process *p, const char *const *argv, int n_ready, const char *log,
		  struct err *reterr)
{
	char line[512];
	int fds[2];
	*p = (struct process){0};
	if (pipe2(fds, O_CLOEXEC) < 0)
		return err_set(reterr, ERR_INTERNAL, "pipe: %s", strerror(errno));
	p->pid = spawn(argv, fds[1], log);
	close(fds[1]);
	p->out = fdopen(fds[0], "r");
	while (p->n_urls < n_ready && p->n_urls < PROCESS_READY_MAX) {
		if (!p->out || !fgets(line, sizeof(line), p->out) ||
		    sscanf(line, "ready %63s", p->urls[p->n_urls]) != 1) {
			(void)process_stop(p);
			return err_set(reterr, ERR_INTERNAL, "%s does not get ready", argv[0]);
		}
		p->n_urls++;
	}
	return 0;
}

int process_stop(struct process *p)
{
	int status = -1;
	if (p->pid <= 0)
		return 0;
	kill(p->pid, SIGTERM);
	waitpid(p->pid, &status, 0);
	if (p->out)
		fclose(p->out);
	*p = (struct process){0};
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EPROTO;
}

int process_run(const char *const *argv, const char *log, struct err *reterr)
{
	int status = -1;
	pid_t pid = spawn(argv, -1, log);
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return err_set(reterr, ERR_INTERNAL, "%s %s failed", argv[0], argv[1] ? argv[1] : "");
}

/* The name and the CPU seconds of one stat file. */
static bool read_stat(const char *path, char name[16], double *ret_cpu)
{
	char line[1024] = "", *open_at, *close_at;
	unsigned long user = 0, system = 0;
	FILE *f = fopen(path, "r");
	bool ok = f && fgets(line, sizeof(line), f);
	if (f)
		fclose(f);
	open_at = strchr(line, '(');
	close_at = strrchr(line, ')');
	if (!ok || !open_at || !close_at)
		return false;
	if (sscanf(close_at + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
		   &system) != 2)
		return false;
	snprintf(name, 16, "%.*s", (int)(close_at - open_at - 1), open_at + 1);
	*ret_cpu = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
	return true;
}

double process_cpu(const struct process *p)
{
	char path[64], name[16];
	double cpu = 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)p->pid);
	return read_stat(path, name, &cpu) ? cpu : 0;
}

size_t process_threads(const struct process *p, struct process_thread *ret, size_t max)
{
	char path[128];
	size_t n = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)p->pid);
	DIR *dir = opendir(path);
	for (struct dirent *d; dir && n < max && (d = readdir(dir));) {
		if (d->d_name[0] == '.' || sscanf(d->d_name, "%d", &ret[n].tid) != 1)
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)p->pid, ret[n].tid);
		if (read_stat(path, ret[n].name, &ret[n].cpu))
			n++;
	}
	if (dir)
		closedir(dir);
	return n;
}

int process_memory(const struct process *p, const char *except, size_t *ret_resident,
		   size_t *ret_private)
{
	char path[64], line[4096];
	bool counted = true;
	snprintf(path, sizeof(path), "/proc/%d/smaps", (int)p->pid);
	FILE *f = fopen(path, "r");
	if (!f)
		return -errno;
	*ret_resident = *ret_private = 0;
	while (fgets(line, sizeof(line), f)) {
		size_t kib, len = strcspn(line, "\n");
		line[len] = '\0';
		if (strchr(line, '-') && strchr(line, '-') < line + strcspn(line, " :"))
			counted = len < strlen(except) ||
				  strcmp(line + len - strlen(except), except) != 0;
		else if (sscanf(line, "Rss: %zu kB", &kib) == 1)
			*ret_resident += kib * 1024;
		else if (counted && (sscanf(line, "Private_Clean: %zu kB", &kib) == 1 ||
				     sscanf(line, "Private_Dirty: %zu kB", &kib) == 1))
			*ret_private += kib * 1024;
	}
	fclose(f);
	return 0;
}

void process_resident(const struct process *p, size_t *ret_resident, size_t *ret_of_files)
{
	char path[64], line[256];
	size_t kib;

	*ret_resident = *ret_of_files = 0;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)p->pid);
	FILE *f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "VmRSS: %zu kB", &kib) == 1)
			*ret_resident = kib * 1024;
		else if (sscanf(line, "RssFile: %zu kB", &kib) == 1 ||
			 sscanf(line, "RssShmem: %zu kB", &kib) == 1)
			*ret_of_files += kib * 1024;
	}
	if (f)
		fclose(f);
}

int process_port(const struct process *p, int i)
{
	const char *colon = strrchr(p->urls[i], ':');
	int port = 0;
	return colon && sscanf(colon + 1, "%d", &port) == 1 ? port : 0;
}
