#include "api/process_metrics.h"

#include "base/num.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

/* Fields of /proc/self/stat (proc(5)), counted from 1; they follow the name in parentheses. */
enum {
	STAT_UTIME = 14,
	STAT_STIME = 15,
	STAT_THREADS = 20,
	STAT_START = 22,
	STAT_VSIZE = 23,
	STAT_RSS = 24,
	STAT_MAX = 25
};

static size_t read_whole(const char *path, char *to, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;
	if (fd < 0)
		return 0;
	n = read(fd, to, size - 1);
	close(fd);
	to[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

static bool read_stat(uint64_t fields[STAT_MAX])
{
	char text[2048];
	struct span rest;
	char *paren;
	if (!read_whole("/proc/self/stat", text, sizeof(text)) || !(paren = strrchr(text, ')')))
		return false;
	rest = span_of(paren + 2);
	for (int i = 3; i < STAT_MAX; i++) {
		struct span word = span_split(&rest, ' ');
		if (num_parse_u64(word, UINT64_MAX, &fields[i]) < 0)
			fields[i] = 0; /* a letter, or a negative number */
	}
	return true;
}

static uint64_t boot_time(void)
{
	char text[32768];
	const char *at;
	struct span line;
	uint64_t v = 0;
	if (!read_whole("/proc/stat", text, sizeof(text)) || !(at = strstr(text, "\nbtime ")))
		return 0;
	line = span_of(at + strlen("\nbtime "));
	return num_parse_u64(span_split(&line, '\n'), UINT64_MAX, &v) < 0 ? 0 : v;
}

static size_t count_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;
	if (!d)
		return 0;
	for (struct dirent *e = readdir(d); e; e = readdir(d))
		n += e->d_name[0] != '.';
	closedir(d);
	return n - (n > 0); /* the directory's own */
}

static void add(struct buf *out, const char *name, const char *type, const char *help, uint64_t v)
{
	buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n%s %llu\n", name, help, name, type, name,
		 (unsigned long long)v);
}

void process_metrics_print(struct buf *out)
{
	uint64_t f[STAT_MAX] = {0};
	struct rlimit l = {0};
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK), page = (uint64_t)sysconf(_SC_PAGESIZE), ticks;
	if (!read_stat(f) || !hz)
		return;
	ticks = f[STAT_UTIME] + f[STAT_STIME];
	buf_addf(out,
		 "# HELP process_cpu_seconds_total Total user and system CPU time spent in "
		 "seconds.\n# TYPE process_cpu_seconds_total counter\n"
		 "process_cpu_seconds_total %llu.%02llu\n",
		 (unsigned long long)(ticks / hz), (unsigned long long)(ticks % hz * 100 / hz));
	add(out, "process_resident_memory_bytes", "gauge", "Resident memory size in bytes.",
	    f[STAT_RSS] * page);
	add(out, "process_virtual_memory_bytes", "gauge", "Virtual memory size in bytes.",
	    f[STAT_VSIZE]);
	add(out, "process_open_fds", "gauge", "Number of open file descriptors.", count_files());
	if (getrlimit(RLIMIT_NOFILE, &l) == 0)
		add(out, "process_max_fds", "gauge", "Maximum number of open file descriptors.",
		    l.rlim_cur);
	add(out, "process_threads", "gauge", "Number of threads.", f[STAT_THREADS]);
	add(out, "process_start_time_seconds", "gauge",
	    "Start time of the process since unix epoch in seconds.",
	    boot_time() + f[STAT_START] / hz);
}
