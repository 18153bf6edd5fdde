#include "api/audit.h"

#include "api/call.h"
#include "base/json.h"
#include "base/yaml.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_POLICY ((size_t)1 << 20)
#define FLUSH_AT   ((size_t)64 << 10)

struct audit {
	struct task task; /* of the worker that writes */
	const struct log *log;
	char *path, *policy_path;
	pthread_mutex_t lock; /* over what follows: */
	struct audit_policy *policy;
	struct buf pending;
	/* Under the lock; the last: those that the log was not told of. */
	uint64_t taken, dropped, unsaid;
	_Atomic bool writing;
	int fd; /* the writer's */
	size_t size;
};

/* ---- events ---- */

static void add_text(struct buf *b, const char *key, struct span value)
{
	if (!value.len)
		return;
	buf_addf(b, ",\"%s\":", key);
	buf_add_json_str(b, value);
}

/* Each key once, with its values in their order. */
static void add_extra(struct buf *b, const struct auth_user *u)
{
	for (size_t i = 0; i < u->n_extra; i++) {
		size_t first = 0;
		while (!span_eq(u->extra[first].key, u->extra[i].key))
			first++;
		if (first < i)
			continue;
		buf_add_str(b, i ? "," : ",\"extra\":{");
		buf_add_json_str(b, u->extra[i].key);
		buf_add_str(b, ":[");
		for (size_t j = i; j < u->n_extra; j++) {
			if (!span_eq(u->extra[j].key, u->extra[i].key))
				continue;
			if (j > i)
				buf_add_char(b, ',');
			buf_add_json_str(b, u->extra[j].value);
		}
		buf_add_char(b, ']');
	}
	if (u->n_extra)
		buf_add_char(b, '}');
}

static void add_user(struct buf *b, const char *key, const struct auth_user *u)
{
	buf_addf(b, ",\"%s\":{\"username\":", key);
	buf_add_json_str(b, u->name);
	add_text(b, "uid", u->uid);
	buf_add_str(b, ",\"groups\":[");
	for (size_t i = 0; i < u->n_groups; i++) {
		if (i)
			buf_add_char(b, ',');
		buf_add_json_str(b, u->groups[i]);
	}
	buf_add_char(b, ']');
	add_extra(b, u);
	buf_add_char(b, '}');
}

static void add_object_ref(struct buf *b, const struct call *c, const struct rbac_request *q)
{
	if (!q->is_resource)
		return;
	buf_add_str(b, ",\"objectRef\":{\"resource\":");
	buf_add_json_str(b, q->resource);
	add_text(b, "namespace", q->ns);
	add_text(b, "name", q->name);
	add_text(b, "apiGroup", q->group);
	add_text(b, "apiVersion", c->info.version);
	add_text(b, "subresource", q->subresource);
	buf_add_char(b, '}');
}

static void add_body(struct buf *b, const char *key, struct span body)
{
	if (!body.len || body.len > AUDIT_MAX_BODY || json_check(body, NULL, NULL) < 0)
		return;
	buf_addf(b, ",\"%s\":", key);
	while (body.len && body.ptr[body.len - 1] == '\n')
		body.len--;
	if (memchr(body.ptr, '\n', body.len)) { /* pretty: one line it must be */
		auto_json *tree = NULL;
		if (json_parse(body, NULL, &tree, NULL) == 0)
			json_print(tree, b);
		else
			buf_add_str(b, "null");
		return;
	}
	buf_add_span(b, body);
}

static void add_outcome(struct buf *b, const struct call *c, enum audit_level level,
			enum audit_stage stage)
{
	buf_addf(b, ",\"responseStatus\":{\"metadata\":{},\"code\":%d}", c->answer.code);
	if (level >= AUDIT_REQUEST)
		add_body(b, "requestObject", buf_span(&c->request->body));
	if (level >= AUDIT_REQUEST_RESPONSE && stage == AUDIT_RESPONSE_COMPLETE &&
	    !c->answer.gzipped)
		add_body(b, "responseObject", buf_span(&c->answer.body));
}

static void add_event(struct buf *b, const struct call *c, enum audit_level level,
		      const struct rbac_request *q, enum audit_stage stage)
{
	usec now = clock_now(), began = now - (clock_monotonic() - c->started);
	struct buf query = BUF_INIT;
	char text[CLOCK_TEXT_MAX];
	buf_addf(b,
		 "{\"kind\":\"Event\",\"apiVersion\":\"audit.k8s.io/v1\",\"level\":\"%s\","
		 "\"auditID\":\"%s\",\"stage\":\"%s\",\"requestURI\":",
		 audit_level_name(level), c->audit_id, audit_stage_name(stage));
	request_encode_path(c->info.path, &query);
	request_encode_query(c->request, &query);
	buf_add_json_str(b, buf_span(&query));
	buf_done(&query);
	add_text(b, "verb", q->verb);
	add_user(b, "user", c->asker ? c->asker : &c->user);
	if (c->asker)
		add_user(b, "impersonatedUser", &c->user);
	if (c->address.len) {
		buf_add_str(b, ",\"sourceIPs\":[");
		buf_add_json_str(b, c->address);
		buf_add_char(b, ']');
	}
	add_text(b, "userAgent", c->request->user_agent);
	add_object_ref(b, c, q);
	if (stage != AUDIT_REQUEST_RECEIVED)
		add_outcome(b, c, level, stage);
	buf_addf(b, ",\"requestReceivedTimestamp\":\"%s\"", clock_format_micro(began, text));
	buf_addf(b, ",\"stageTimestamp\":\"%s\"", clock_format_micro(now, text));
	if (stage != AUDIT_REQUEST_RECEIVED)
		buf_addf(b, ",\"annotations\":{\"authorization.k8s.io/decision\":\"%s\"}",
			 c->answer.code == 403 || c->answer.code == 401 ? "forbid" : "allow");
	buf_add_str(b, "}\n");
}

void audit_call(struct audit *a, const struct call *c, enum audit_stage stage)
{
	struct rbac_user u = auth_rbac_user(&c->user);
	struct rbac_request q;
	enum audit_level level;
	struct buf line = BUF_MAX(4 * AUDIT_MAX_BODY);
	bool fits;
	auth_request(&c->info, c->request, &q);
	pthread_mutex_lock(&a->lock);
	level = audit_policy_level(a->policy, &u, &q, stage);
	pthread_mutex_unlock(&a->lock);
	if (level == AUDIT_NONE)
		return;
	add_event(&line, c, level, &q, stage);
	pthread_mutex_lock(&a->lock);
	fits = buf_ok(&line) && a->pending.len + line.len <= AUDIT_MAX_PENDING;
	if (!fits)
		a->unsaid++;
	else
		buf_add_span(&a->pending, buf_span(&line));
	*(fits ? &a->taken : &a->dropped) += 1;
	pthread_mutex_unlock(&a->lock);
	buf_done(&line);
}

/* ---- the file ---- */

static int open_file(struct audit *a)
{
	struct stat st;
	a->fd = open(a->path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (a->fd < 0)
		return -errno;
	a->size = fstat(a->fd, &st) == 0 ? (size_t)st.st_size : 0;
	return 0;
}

static void rotate(struct audit *a)
{
	auto_buf old = BUF_INIT;
	buf_addf(&old, "%s.1", a->path);
	if (rename(a->path, old.ptr) < 0)
		return;
	close(a->fd);
	(void)open_file(a);
}

static void write_lines(struct audit *a, struct span lines)
{
	if (a->size > AUDIT_MAX_FILE)
		rotate(a);
	while (lines.len && a->fd >= 0) {
		ssize_t n = write(a->fd, lines.ptr, lines.len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			log_error(a->log, "the audit log cannot be written", "file=%s error=\"%s\"",
				  a->path, strerror(errno));
			return;
		}
		a->size += (size_t)n;
		lines = span_make(lines.ptr + n, lines.len - (size_t)n);
	}
}

static void flush(struct audit *a)
{
	struct buf lines;
	uint64_t dropped;
	pthread_mutex_lock(&a->lock);
	lines = a->pending;
	a->pending = BUF_MAX(AUDIT_MAX_PENDING);
	dropped = a->unsaid;
	a->unsaid = 0;
	pthread_mutex_unlock(&a->lock);
	if (dropped)
		log_warn(a->log, "audit events were dropped", "n=%llu",
			 (unsigned long long)dropped);
	write_lines(a, buf_span(&lines));
	buf_done(&lines);
}

static void run(struct task *t)
{
	struct audit *a = (struct audit *)t;
	flush(a);
	a->writing = false;
}

void audit_counts(struct audit *a, uint64_t *ret_taken, uint64_t *ret_dropped)
{
	pthread_mutex_lock(&a->lock);
	*ret_taken = a->taken;
	*ret_dropped = a->dropped;
	pthread_mutex_unlock(&a->lock);
}

void audit_tick(struct audit *a, struct workers *w)
{
	bool something;
	pthread_mutex_lock(&a->lock);
	something = a->pending.len || a->unsaid;
	pthread_mutex_unlock(&a->lock);
	if (!something || a->writing)
		return;
	a->writing = true;
	workers_submit(w, &a->task);
}

static int read_policy(const char *path, struct audit_policy **ret, struct err *reterr)
{
	struct buf text = BUF_MAX(MAX_POLICY);
	int fd = open(path, O_RDONLY | O_CLOEXEC), r;
	auto_json *tree = NULL;
	ssize_t n = fd < 0 ? -1 : 1;
	while (n > 0) {
		char *at = buf_reserve(&text, 4096);
		n = at ? read(fd, at, 4096) : -1;
		if (n > 0)
			buf_advance(&text, (size_t)n);
	}
	if (fd >= 0)
		close(fd);
	r = n < 0 ? err_set(reterr, ERR_INVALID, "%s: %s", path, strerror(errno))
		  : yaml_parse(buf_span(&text), &tree, reterr);
	if (!r)
		r = audit_policy_read(tree, ret, reterr);
	buf_done(&text);
	return r;
}

int audit_open(const char *policy_file, const char *log_file, const struct log *log,
	       struct audit **ret, struct err *reterr)
{
	struct audit *a = xcalloc(1, sizeof(*a));
	int r = read_policy(policy_file, &a->policy, reterr);
	a->task.run = run;
	a->log = log;
	a->path = xstrdup(log_file);
	a->policy_path = xstrdup(policy_file);
	a->fd = -1;
	a->pending.max = AUDIT_MAX_PENDING;
	pthread_mutex_init(&a->lock, NULL);
	if (!r && open_file(a) < 0)
		r = err_set(reterr, ERR_INTERNAL, "%s: %s", log_file, strerror(errno));
	if (r) {
		audit_close(a);
		return r;
	}
	*ret = a;
	return 0;
}

int audit_reload(struct audit *a, struct err *reterr)
{
	struct audit_policy *fresh = NULL, *old;
	int r = read_policy(a->policy_path, &fresh, reterr);
	if (r)
		return r;
	pthread_mutex_lock(&a->lock);
	old = a->policy;
	a->policy = fresh;
	pthread_mutex_unlock(&a->lock);
	audit_policy_free(old);
	return 0;
}

struct audit *audit_close(struct audit *a)
{
	if (!a)
		return NULL;
	if (a->fd >= 0)
		flush(a);
	if (a->fd >= 0)
		close(a->fd);
	buf_done(&a->pending);
	audit_policy_free(a->policy);
	pthread_mutex_destroy(&a->lock);
	free(a->path);
	free(a->policy_path);
	free(a);
	return NULL;
}
