#include "api/pki.h"

#include "api/x509.h"
#include "base/buf.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#define YEAR		((usec)365 * 24 * 3600 * USEC_PER_SEC)
#define RENEW_BEFORE	((usec)30 * 24 * 3600 * USEC_PER_SEC)
#define CLOCK_TOLERANCE ((usec)3600 * USEC_PER_SEC) /* clients whose clock is late */
#define MAX_FILE	65536
#define MAX_NAMES	64
#define TOKEN_BYTES	32

struct pki {
	char *dir;
	usec now;
	const char *names[MAX_NAMES + 5];
	char host[256];
	struct buf ca_cert, ca_key, serving_cert, serving_key, admin_cert, admin_key, token,
	    account_key, older_account_keys, proxy_ca;
};

static int failed(struct err *reterr, const char *what, const char *path)
{
	bool full = errno == ENOSPC || errno == EDQUOT;
	return err_set(reterr, full ? ERR_NO_SPACE : ERR_INTERNAL, "%s %s: %s", what, path,
		       strerror(errno));
}

/* -ENOENT when there is no such file. */
static int append_file(const char *path, struct buf *out, struct err *reterr)
{
	ssize_t n = -1;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		int e = errno;
		(void)failed(reterr, "cannot open", path);
		return e == ENOENT ? -ENOENT : err_errno(ERR_INTERNAL);
	}
	for (;;) {
		char *at = buf_reserve(out, 4096);
		n = at ? read(fd, at, 4096) : -1;
		if (n <= 0)
			break;
		buf_advance(out, (size_t)n);
	}
	close(fd);
	return n == 0 ? 0 : failed(reterr, "cannot read", path);
}

static int read_file(const char *dir, const char *name, struct buf *out, struct err *reterr)
{
	char path[PATH_MAX];
	buf_clear(out);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return append_file(path, out, reterr);
}

static int write_all(int fd, struct span s)
{
	while (s.len) {
		ssize_t n = write(fd, s.ptr, s.len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		s = span_make(s.ptr + n, s.len - (size_t)n);
	}
	return 0;
}

/* Replaces `path` by a file of mode 0600 that is complete or not there, also after a crash. */
static int replace_file(const char *path, struct span content, struct err *reterr)
{
	char tmp[PATH_MAX];
	int fd, r = 0;
	if (snprintf(tmp, sizeof(tmp), "%s.XXXXXX", path) >= (int)sizeof(tmp))
		return err_set(reterr, ERR_INTERNAL, "path too long: %s", path);
	fd = mkostemp(tmp, O_CLOEXEC); /* mode 0600 */
	if (fd < 0)
		return failed(reterr, "cannot create", tmp);
	r = write_all(fd, content);
	if (!r && fsync(fd) < 0)
		r = -errno;
	close(fd);
	if (!r && rename(tmp, path) < 0)
		r = -errno;
	if (r) {
		errno = -r;
		r = failed(reterr, "cannot write", path);
		unlink(tmp);
	}
	return r;
}

static int write_file(const char *dir, const char *name, const struct buf *content,
		      struct err *reterr)
{
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return replace_file(path, buf_span(content), reterr);
}

struct pair {
	const char *cert_file, *key_file;
	struct buf *cert, *key;
	struct x509_request request;
	bool check_ca;
};

/* The pair on disk when it is fit, else a new one. The key is written first: a certificate
 * without its key is what a crash may not leave. On a full disk a new pair serves from memory, and
 * the next start makes another; not so the CA, which everybody else has to keep. */
static int open_pair(struct pki *p, struct pair *pair, struct err *reterr)
{
	int a = read_file(p->dir, pair->cert_file, pair->cert, reterr);
	int b = read_file(p->dir, pair->key_file, pair->key, reterr);
	struct span ca = pair->check_ca ? buf_span(&p->ca_cert) : SPAN_NONE;
	if ((a && a != -ENOENT) || (b && b != -ENOENT))
		return a && a != -ENOENT ? a : b;
	if (!a && !b &&
	    x509_is_fit(buf_span(pair->cert), buf_span(pair->key), ca, pair->request.names,
			p->now + RENEW_BEFORE))
		return 0;
	buf_clear(pair->cert);
	buf_clear(pair->key);
	if (pair->check_ca) {
		pair->request.ca_cert = buf_span(&p->ca_cert);
		pair->request.ca_key = buf_span(&p->ca_key);
	}
	pair->request.not_before = p->now - CLOCK_TOLERANCE;
	a = x509_make(&pair->request, pair->cert, pair->key, reterr);
	if (!a)
		a = write_file(p->dir, pair->key_file, pair->key, reterr);
	if (!a)
		a = write_file(p->dir, pair->cert_file, pair->cert, reterr);
	return a == -ENOSPC && pair->check_ca ? 0 : a;
}

static int open_token(struct pki *p, struct err *reterr)
{
	unsigned char bytes[TOKEN_BYTES];
	int r = read_file(p->dir, "admin.token", &p->token, reterr);
	while (!r && p->token.len && p->token.ptr[p->token.len - 1] == '\n')
		p->token.ptr[--p->token.len] = '\0';
	if (!r && p->token.len >= 16)
		return 0;
	if (r && r != -ENOENT)
		return r;
	if (RAND_bytes(bytes, sizeof(bytes)) != 1)
		return err_set(reterr, ERR_INTERNAL, "no randomness for the admin token");
	buf_clear(&p->token);
	for (size_t i = 0; i < sizeof(bytes); i++)
		buf_addf(&p->token, "%02x", bytes[i]);
	return write_file(p->dir, "admin.token", &p->token, reterr);
}

static int open_account_key(struct pki *p, struct err *reterr)
{
	int r = read_file(p->dir, "sa.key", &p->account_key, reterr);
	if (r != -ENOENT)
		return r;
	buf_clear(&p->account_key);
	r = x509_make_key(&p->account_key, reterr);
	return r ? r : write_file(p->dir, "sa.key", &p->account_key, reterr);
}

static int open_older_account_keys(struct pki *p, const char *const *files, struct err *reterr)
{
	for (; files && *files; files++) {
		size_t before = p->older_account_keys.len;
		int r = append_file(*files, &p->older_account_keys, reterr);
		if (r)
			return r;
		if (!strstr(p->older_account_keys.ptr ? p->older_account_keys.ptr + before : "",
			    "-----BEGIN "))
			return err_set(reterr, ERR_INVALID, "%s: holds no key", *files);
		buf_add_char(&p->older_account_keys, '\n');
	}
	return 0;
}

static void collect_names(struct pki *p, const char *const *more)
{
	size_t n = 0;
	p->names[n++] = "localhost";
	p->names[n++] = "127.0.0.1";
	p->names[n++] = "::1";
	if (gethostname(p->host, sizeof(p->host) - 1) == 0 && p->host[0])
		p->names[n++] = p->host;
	for (; more && *more && n < MAX_NAMES; more++)
		p->names[n++] = *more;
	p->names[n] = NULL;
}

static int make_dir(const char *dir, struct err *reterr)
{
	char path[PATH_MAX];
	size_t n = strlen(dir);
	if (n >= sizeof(path))
		return err_set(reterr, ERR_INTERNAL, "path too long: %s", dir);
	memcpy(path, dir, n + 1);
	for (char *at = path + 1; (at = strchr(at, '/')); *at++ = '/') {
		*at = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return failed(reterr, "cannot create", path);
	}
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return failed(reterr, "cannot create", dir);
	return 0;
}

int pki_open(const struct pki_options *o, struct pki **ret, struct err *reterr)
{
	struct pki *p = xcalloc(1, sizeof(*p));
	struct pair pairs[] = {
	    {"ca.crt",
	     "ca.key",
	     &p->ca_cert,
	     &p->ca_key,
	     {.use = X509_CA, .common_name = "muster-ca", .not_after = o->now + 10 * YEAR},
	     false},
	    {"serving.crt",
	     "serving.key",
	     &p->serving_cert,
	     &p->serving_key,
	     {.use = X509_SERVER,
	      .common_name = "muster",
	      .names = p->names,
	      .not_after = o->now + 2 * YEAR},
	     true},
	    {"admin.crt",
	     "admin.key",
	     &p->admin_cert,
	     &p->admin_key,
	     {.use = X509_CLIENT,
	      .common_name = "muster-admin",
	      .organization = "system:masters",
	      .not_after = o->now + 5 * YEAR},
	     true},
	};
	int r;
	p->dir = xstrdup(o->dir);
	p->now = o->now;
	collect_names(p, o->names);
	r = make_dir(o->dir, reterr);
	for (size_t i = 0; !r && i < ARRAY_LEN(pairs); i++)
		r = open_pair(p, &pairs[i], reterr);
	if (!r)
		r = open_token(p, reterr);
	if (!r)
		r = open_account_key(p, reterr);
	if (!r)
		r = open_older_account_keys(p, o->account_key_files, reterr);
	if (!r && o->proxy_ca_file)
		r = append_file(o->proxy_ca_file, &p->proxy_ca, reterr);
	if (r) {
		pki_close(p);
		return r;
	}
	*ret = p;
	return 0;
}

struct pki *pki_close(struct pki *p)
{
	struct buf *parts[10];
	if (!p)
		return NULL;
	parts[0] = &p->ca_cert;
	parts[1] = &p->ca_key;
	parts[2] = &p->serving_cert;
	parts[3] = &p->serving_key;
	parts[4] = &p->admin_cert;
	parts[5] = &p->admin_key;
	parts[6] = &p->token;
	parts[7] = &p->account_key;
	parts[8] = &p->older_account_keys;
	parts[9] = &p->proxy_ca;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (parts[i]->ptr)
			explicit_bzero(parts[i]->ptr, parts[i]->cap);
		buf_done(parts[i]);
	}
	free(p->dir);
	free(p);
	return NULL;
}

struct span pki_ca_pem(const struct pki *p)
{
	return buf_span(&p->ca_cert);
}

struct span pki_serving_cert_pem(const struct pki *p)
{
	return buf_span(&p->serving_cert);
}

struct span pki_serving_key_pem(const struct pki *p)
{
	return buf_span(&p->serving_key);
}

struct span pki_admin_token(const struct pki *p)
{
	return buf_span(&p->token);
}

struct span pki_account_key_pem(const struct pki *p)
{
	return buf_span(&p->account_key);
}

struct span pki_older_account_keys_pem(const struct pki *p)
{
	return buf_span(&p->older_account_keys);
}

struct span pki_proxy_ca_pem(const struct pki *p)
{
	return p->proxy_ca.len ? buf_span(&p->proxy_ca) : SPAN_NONE;
}

static void add_base64(struct buf *out, const struct buf *bytes)
{
	char *at = buf_reserve(out, bytes->len / 3 * 4 + 5);
	if (at)
		buf_advance(out, (size_t)EVP_EncodeBlock((unsigned char *)at,
							 (const unsigned char *)bytes->ptr,
							 (int)bytes->len));
}

static bool file_is(const char *path, struct span content)
{
	char *bytes = xcalloc(1, content.len + 1);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, bytes, content.len + 1);
	bool same = n >= 0 && span_eq(span_make(bytes, (size_t)n), content);

	if (fd >= 0)
		close(fd);
	explicit_bzero(bytes, content.len + 1);
	free(bytes);
	return same;
}

int pki_write_kubeconfig(const struct pki *p, const char *server, const char *cluster_name,
			 const char *path, struct err *reterr)
{
	struct buf out = BUF_MAX(MAX_FILE * 4);
	int r;
	buf_addf(&out,
		 "apiVersion: v1\nkind: Config\nclusters:\n- name: %s\n  cluster:\n"
		 "    server: %s\n    certificate-authority-data: ",
		 cluster_name, server);
	add_base64(&out, &p->ca_cert);
	buf_addf(&out,
		 "\nusers:\n- name: %s\n  user:\n    client-certificate-data: ", cluster_name);
	add_base64(&out, &p->admin_cert);
	buf_add_str(&out, "\n    client-key-data: ");
	add_base64(&out, &p->admin_key);
	buf_addf(&out,
		 "\ncontexts:\n- name: %s\n  context:\n    cluster: %s\n    user: %s\n"
		 "current-context: %s\n",
		 cluster_name, cluster_name, cluster_name, cluster_name);
	if (!buf_ok(&out))
		r = err_set(reterr, ERR_INTERNAL, "kubeconfig too large");
	else
		r = file_is(path, buf_span(&out)) ? 0 : replace_file(path, buf_span(&out), reterr);
	if (out.ptr)
		explicit_bzero(out.ptr, out.cap);
	buf_done(&out);
	return r;
}
