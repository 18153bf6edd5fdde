/* The key file of sealed.h. */
#include "store/sealed.h"

#include "base/base64.h"
#include "store/sealed_box.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE 16384

_Static_assert(SEALED_MAX_KEYS == ARRAY_LEN(((struct sealed_keys *)0)->keys), "one maximum");

static int failed(struct err *reterr, const char *path)
{
	return err_set(reterr, ERR_INTERNAL, "%s: %s", path, strerror(errno));
}

static int make_file(const char *path, struct err *reterr)
{
	uint8_t key[SEALED_KEY_BYTES];
	struct buf text = BUF_MAX(1024);
	int fd = -1;
	ssize_t n = -1;
	if (!buf_reserve(&text, 512) || RAND_bytes(key, sizeof(key)) != 1)
		return err_set(reterr, ERR_INTERNAL, "no randomness for a key");
	buf_add_str(&text, "# Keys that seal Secrets in the store; the first one seals, all of "
			   "them open.\n# Without this file Secrets cannot be read.\nfirst ");
	base64_add(&text, span_make((const char *)key, sizeof(key)));
	buf_add_char(&text, '\n');
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0)
		n = write(fd, text.ptr, text.len);
	if (fd >= 0 && (n != (ssize_t)text.len || fsync(fd) < 0))
		n = -1;
	explicit_bzero(key, sizeof(key));
	explicit_bzero(text.ptr, text.cap);
	buf_done(&text);
	if (fd >= 0)
		close(fd);
	return n < 0 ? failed(reterr, path) : 0;
}

static int read_all(const char *path, struct buf *out, struct err *reterr)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	ssize_t n;
	if (fd < 0)
		return failed(reterr, path);
	if (fstat(fd, &st) < 0 || (st.st_mode & 077)) {
		close(fd);
		return err_set(reterr, ERR_INVALID, "%s: others may read it; its mode must be 0600",
			       path);
	}
	n = read(fd, buf_reserve(out, MAX_FILE), MAX_FILE);
	close(fd);
	if (n < 0 || n == MAX_FILE)
		return err_set(reterr, ERR_INVALID, "%s: cannot be read, or is too long", path);
	buf_advance(out, (size_t)n);
	return 0;
}

static bool read_line(struct span line, struct sealed_keys *k)
{
	struct span name = span_split(&line, ' ');
	struct buf bytes = BUF_MAX(SEALED_KEY_BYTES + 3);
	struct sealed_key *key = &k->keys[k->n];
	uint8_t digest[EVP_MAX_MD_SIZE];
	unsigned n = 0;
	bool ok;
	while (line.len && line.ptr[0] == ' ')
		line = span_make(line.ptr + 1, line.len - 1);
	ok = name.len && line.len && buf_reserve(&bytes, SEALED_KEY_BYTES + 3) &&
	     base64_read(line, &bytes) == 0 && bytes.len == SEALED_KEY_BYTES &&
	     EVP_Digest(bytes.ptr, bytes.len, digest, &n, EVP_sha256(), NULL) == 1;
	if (ok) {
		memcpy(key->bytes, bytes.ptr, SEALED_KEY_BYTES);
		memcpy(key->id, digest, SEALED_ID_BYTES);
		k->n++;
	}
	if (bytes.ptr)
		explicit_bzero(bytes.ptr, bytes.cap);
	buf_done(&bytes);
	return ok;
}

static int parse(struct span text, const char *path, struct sealed_keys *k, struct err *reterr)
{
	int number = 0;
	while (text.ptr) {
		struct span line = span_split(&text, '\n');
		number++;
		while (line.len &&
		       (line.ptr[line.len - 1] == '\r' || line.ptr[line.len - 1] == ' '))
			line.len--;
		if (!line.len || line.ptr[0] == '#')
			continue;
		if (k->n == SEALED_MAX_KEYS || !read_line(line, k))
			return err_set(reterr, ERR_INVALID,
				       "%s: line %d: a name and 32 bytes in base64 are wanted, at "
				       "most %d times",
				       path, number, SEALED_MAX_KEYS);
	}
	return k->n ? 0 : err_set(reterr, ERR_INVALID, "%s: no key in it", path);
}

int sealed_keys_open(const char *path, bool create, struct sealed_keys **ret, struct err *reterr)
{
	struct sealed_keys *k = xcalloc(1, sizeof(*k));
	struct buf text = BUF_MAX(MAX_FILE);
	int r = 0;
	if (create && access(path, F_OK) < 0 && errno == ENOENT)
		r = make_file(path, reterr);
	if (!r)
		r = read_all(path, &text, reterr);
	if (!r)
		r = parse(buf_span(&text), path, k, reterr);
	if (text.ptr)
		explicit_bzero(text.ptr, text.cap);
	buf_done(&text);
	if (r) {
		sealed_keys_close(k);
		return r;
	}
	*ret = k;
	return 0;
}

struct sealed_keys *sealed_keys_close(struct sealed_keys *k)
{
	if (!k)
		return NULL;
	explicit_bzero(k, sizeof(*k));
	free(k);
	return NULL;
}
