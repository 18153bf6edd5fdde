/*
 * A library to be preloaded that makes the n-th write or sync of a file fail, on command, for
 * tests: the real program then runs on a disk that breaks at a chosen moment.
 *
 *   IO_FAULTS=FILE LD_PRELOAD=.../io_faults.so musterd ...
 *
 * FILE holds a struct io_faults, mapped shared, so that the test arms a fault while the program
 * runs, and reads what came of it. Only files whose path ends in `suffix` are touched. A call that
 * fails does not reach the kernel; a short write writes half of what it was asked to.
 *
 * The calls go straight to the kernel instead of through dlsym(): so it does not matter whether a
 * sanitizer's interceptors are loaded before or behind this library.
 */
#undef _FILE_OFFSET_BITS /* with it pwrite is another name of pwrite64; here both are defined */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { CALL_WRITE = 1, CALL_SYNC = 2 };

/* The layout that tests/fault/io_faults.py knows. */
struct io_faults {
	_Atomic uint32_t calls; /* bits of CALL_*: which calls count; 0: nothing fails */
	uint32_t error;		/* errno; 0: a short write (a sync then succeeds) */
	uint32_t sticky;	/* the calls behind the first one that failed fail too */
	uint32_t padding;
	_Atomic int64_t left;	    /* how many calls until the one that fails: 1 is the next */
	_Atomic uint64_t seen;	    /* calls that counted since the start */
	_Atomic uint64_t injected;  /* calls that failed */
	_Atomic int64_t first_time; /* CLOCK_MONOTONIC, nanoseconds, of the first; 0: none yet */
	char suffix[64];
};

static struct io_faults *faults;

__attribute__((constructor)) static void map_faults(void)
{
	const char *path = getenv("IO_FAULTS");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	void *at = mmap(NULL, sizeof(*faults), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (at != MAP_FAILED)
		faults = at;
}

static bool is_chosen(int fd)
{
	char link[48], path[PATH_MAX];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof(path) - 1);
	size_t len = strnlen(faults->suffix, sizeof(faults->suffix));
	return n > 0 && (size_t)n >= len &&
	       memcmp(path + (size_t)n - len, faults->suffix, len) == 0;
}

static void note_time(void)
{
	struct timespec t;
	int64_t none = 0;

	clock_gettime(CLOCK_MONOTONIC, &t);
	atomic_compare_exchange_strong(&faults->first_time, &none,
				       (int64_t)t.tv_sec * 1000000000 + t.tv_nsec);
}

/* Whether this call is to fail. */
static bool strikes(int fd, uint32_t call)
{
	if (!faults || !(atomic_load(&faults->calls) & call))
		return false;
	int keep = errno;
	bool chosen = is_chosen(fd);
	errno = keep;
	if (!chosen)
		return false;
	atomic_fetch_add(&faults->seen, 1);
	int64_t left = atomic_fetch_sub(&faults->left, 1);
	if (left > 1 || (left < 1 && !faults->sticky))
		return false;
	note_time();
	atomic_fetch_add(&faults->injected, 1);
	return true;
}

static int fail(void)
{
	errno = (int)faults->error;
	return -1;
}

ssize_t pwrite(int fd, const void *bytes, size_t len, off_t at)
{
	if (strikes(fd, CALL_WRITE)) {
		if (faults->error)
			return fail();
		len /= 2;
	}
	return syscall(SYS_pwrite64, fd, bytes, len, at);
}

ssize_t pwrite64(int fd, const void *bytes, size_t len, off64_t at)
{
	return pwrite(fd, bytes, len, at);
}

ssize_t write(int fd, const void *bytes, size_t len)
{
	if (strikes(fd, CALL_WRITE)) {
		if (faults->error)
			return fail();
		len /= 2;
	}
	return syscall(SYS_write, fd, bytes, len);
}

/* A short one is the first part alone, or half of an only one. */
ssize_t writev(int fd, const struct iovec *parts, int n)
{
	if (n > 0 && strikes(fd, CALL_WRITE)) {
		if (faults->error)
			return fail();
		size_t len = n > 1 ? parts[0].iov_len : parts[0].iov_len / 2;
		return syscall(SYS_write, fd, parts[0].iov_base, len);
	}
	return syscall(SYS_writev, fd, parts, n);
}

int fsync(int fd)
{
	if (strikes(fd, CALL_SYNC) && faults->error)
		return fail();
	return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	if (strikes(fd, CALL_SYNC) && faults->error)
		return fail();
	return (int)syscall(SYS_fdatasync, fd);
}
