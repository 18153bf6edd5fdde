#include "member-sync/sim/runs.h"
#include "base/buf.h"
#include "base/json.h"
#include "base/map.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* What may have been written by a process that died before its commit: one batch. Many times
 * that is remembered. */
#define TAIL_BYTES (256 << 10)

struct runs {
	int fd;		 /* -1: none */
	struct map tail; /* "podUid/start" of the last lines before this process */
};

static void add_key(struct buf *out, struct span pod_uid, usec start)
{
	buf_add_span(out, pod_uid);
	buf_add_char(out, '/');
	buf_add_i64(out, start);
}

static void remember(struct runs *r, struct span line)
{
	struct span uid, start;
	int64_t at;
	auto_buf key = BUF_INIT;
	if (json_check(line, NULL, NULL) || json_text_member(line, "podUid", &uid) ||
	    json_text_member(line, "start", &start) || json_text_int64(start, &at))
		return;
	add_key(&key, json_text_plain(uid), at);
	map_put(&r->tail, buf_span(&key), r);
}

/* Also cuts off a last line that was not written whole. */
static int read_tail(struct runs *r)
{
	struct stat st;
	if (fstat(r->fd, &st) < 0)
		return -errno;
	off_t from = st.st_size > TAIL_BYTES ? st.st_size - TAIL_BYTES : 0;
	size_t n = (size_t)(st.st_size - from);
	auto_free char *text = xcalloc(1, n + 1);
	if (pread(r->fd, text, n, from) != (ssize_t)n)
		return -EIO;
	const char *end = n ? memrchr(text, '\n', n) : NULL;
	size_t whole = end ? (size_t)(end - text) + 1 : 0;
	if (whole < n && ftruncate(r->fd, from + (off_t)whole) < 0)
		return -errno;
	struct span rest = span_make(text, whole);
	if (from)
		(void)span_split(&rest, '\n');
	while (rest.ptr && rest.len)
		remember(r, span_split(&rest, '\n'));
	return 0;
}

int runs_open(const char *path, struct runs **ret, struct err *reterr)
{
	struct runs *r = xcalloc(1, sizeof(*r));
	r->fd = -1;
	if (path) {
		r->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
		int rc = r->fd < 0 ? -errno : read_tail(r);
		if (rc) {
			runs_close(r);
			return err_set(reterr, ERR_INTERNAL, "%s: %s", path, strerror(-rc));
		}
	}
	*ret = r;
	return 0;
}

struct runs *runs_close(struct runs *r)
{
	if (!r)
		return NULL;
	if (r->fd >= 0)
		close(r->fd);
	map_done(&r->tail);
	free(r);
	return NULL;
}

static void add_text(struct buf *out, const char *key, struct span value)
{
	if (!value.ptr)
		return;
	buf_addf(out, "%s\"%s\":", out->len > 1 ? "," : "", key);
	buf_add_json_str(out, value);
}

int runs_append(struct runs *r, const struct runs_line *line, struct err *reterr)
{
	auto_buf key = BUF_INIT, out = BUF_INIT;
	if (r->fd < 0)
		return 0;
	add_key(&key, line->pod_uid, line->start);
	if (r->tail.len && map_has(&r->tail, buf_span(&key)))
		return 0;
	buf_add_char(&out, '{');
	add_text(&out, "jobUid", line->job_uid);
	add_text(&out, "epoch", line->epoch);
	add_text(&out, "ns", line->ns);
	add_text(&out, "job", line->job);
	add_text(&out, "pod", line->pod);
	add_text(&out, "podUid", line->pod_uid);
	add_text(&out, "node", line->node);
	buf_addf(&out, ",\"start\":%lld,\"end\":%lld,\"result\":\"%s\"}\n", (long long)line->start,
		 (long long)line->end, line->result);
	if (write(r->fd, out.ptr, out.len) != (ssize_t)out.len)
		return err_set(reterr, ERR_INTERNAL, "runs.jsonl: %s", strerror(errno));
	return 0;
}
