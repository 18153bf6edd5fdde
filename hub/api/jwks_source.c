#include "api/jwks_source.h"

#include "base/json.h"
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#define MAX_BYTES    ((size_t)1 << 20)
#define TIMEOUT_MS   10000L
#define REFRESH_SECS 300
#define MIN_GAP_SECS 10
#define DISCOVERY    "/.well-known/openid-configuration"

struct jwks_source {
	struct jwks_source_options options;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool stop, kicked;
};

/* ---- reading ---- */

static int read_file(const char *path, struct buf *out, struct err *reterr)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : 1;
	while (n > 0) {
		char *at = buf_reserve(out, 4096);
		n = at ? read(fd, at, 4096) : -1;
		if (n > 0)
			buf_advance(out, (size_t)n);
	}
	if (fd >= 0)
		close(fd);
	return n < 0 ? err_set(reterr, ERR_UNAVAILABLE, "%s: %s", path, strerror(errno)) : 0;
}

static size_t take(char *bytes, size_t size, size_t n, void *arg)
{
	struct buf *out = arg;
	buf_add(out, bytes, size * n);
	return buf_ok(out) ? size * n : 0;
}

static int stopping(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	struct jwks_source *s = arg;
	bool stop;
	(void)a;
	(void)b;
	(void)c;
	(void)d;
	pthread_mutex_lock(&s->lock);
	stop = s->stop;
	pthread_mutex_unlock(&s->lock);
	return stop;
}

static int fetch(struct jwks_source *s, const char *url, struct buf *out, struct err *reterr)
{
	CURL *e = curl_easy_init();
	long code = 0;
	CURLcode r;
	buf_clear(out);
	if (!e)
		return err_set(reterr, ERR_INTERNAL, "no HTTP client");
	curl_easy_setopt(e, CURLOPT_URL, url);
	curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "https");
	curl_easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(e, CURLOPT_TIMEOUT_MS, TIMEOUT_MS);
	curl_easy_setopt(e, CURLOPT_WRITEFUNCTION, take);
	curl_easy_setopt(e, CURLOPT_WRITEDATA, out);
	curl_easy_setopt(e, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(e, CURLOPT_XFERINFOFUNCTION, stopping);
	curl_easy_setopt(e, CURLOPT_XFERINFODATA, s);
	if (s->options.oidc->ca_file)
		curl_easy_setopt(e, CURLOPT_CAINFO, s->options.oidc->ca_file);
	r = curl_easy_perform(e);
	curl_easy_getinfo(e, CURLINFO_RESPONSE_CODE, &code);
	curl_easy_cleanup(e);
	if (r != CURLE_OK)
		return err_set(reterr, ERR_UNAVAILABLE, "%s: %s", url, curl_easy_strerror(r));
	if (code != 200)
		return err_set(reterr, ERR_UNAVAILABLE, "%s: HTTP %ld", url, code);
	return 0;
}

/* OpenID Connect Discovery 1.0, section 4: the document must be the issuer's own. */
static int discover(struct jwks_source *s, struct buf *mem, char **ret_url, struct err *reterr)
{
	const char *issuer = s->options.oidc->issuer, *told;
	auto_buf url = BUF_INIT;
	auto_json *tree = NULL;
	size_t n = strlen(issuer);
	int r;
	buf_addf(&url, "%.*s" DISCOVERY, (int)(n && issuer[n - 1] == '/' ? n - 1 : n), issuer);
	r = fetch(s, url.ptr, mem, reterr);
	if (!r)
		r = json_parse(buf_span(mem), NULL, &tree, reterr);
	if (r)
		return r;
	told = json_str(tree, "issuer");
	if (!told || strcmp(told, issuer) != 0 || !json_str(tree, "jwks_uri"))
		return err_set(reterr, ERR_INVALID, "%s does not name this issuer and its jwks_uri",
			       url.ptr);
	*ret_url = xstrdup(json_str(tree, "jwks_uri"));
	return 0;
}

static int refresh(struct jwks_source *s, struct err *reterr)
{
	const struct oidc_config *o = s->options.oidc;
	struct buf text = BUF_MAX(MAX_BYTES);
	auto_free char *url = NULL;
	struct jwk_set *keys;
	int r = 0;
	if (o->jwks_file) {
		r = read_file(o->jwks_file, &text, reterr);
	} else {
		if (!o->jwks_url)
			r = discover(s, &text, &url, reterr);
		if (!r)
			r = fetch(s, o->jwks_url ? o->jwks_url : url, &text, reterr);
	}
	if (!r)
		r = jwk_set_parse(buf_span(&text), &keys, reterr);
	if (!r)
		s->options.keys(s->options.arg, keys);
	buf_done(&text);
	return r;
}

/* ---- the thread ---- */

/* Waits `most` seconds, `least` when it is kicked. False: stop. */
static bool rest(struct jwks_source *s, int least, int most)
{
	struct timespec now, until;
	bool go_on;
	clock_gettime(CLOCK_MONOTONIC, &now);
	pthread_mutex_lock(&s->lock);
	for (;;) {
		until = now;
		until.tv_sec += s->kicked ? least : most;
		if (s->stop || pthread_cond_timedwait(&s->changed, &s->lock, &until) == ETIMEDOUT)
			break;
	}
	s->kicked = false;
	go_on = !s->stop;
	pthread_mutex_unlock(&s->lock);
	return go_on;
}

static void *run(void *arg)
{
	struct jwks_source *s = arg;
	bool well;
	pthread_setname_np(pthread_self(), "jwks");
	do {
		struct err e = ERR_INIT;
		well = refresh(s, &e) == 0;
		if (!well)
			log_warn(s->options.log,
				 "the keys of the OpenID Connect issuer are not to "
				 "be had; going on with those there are",
				 "issuer=%s error=\"%s\"", s->options.oidc->issuer, e.text);
	} while (rest(s, MIN_GAP_SECS, well ? REFRESH_SECS : MIN_GAP_SECS));
	return NULL;
}

void jwks_source_kick(struct jwks_source *s)
{
	pthread_mutex_lock(&s->lock);
	s->kicked = true;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

int jwks_source_create(const struct jwks_source_options *o, struct jwks_source **ret,
		       struct err *reterr)
{
	struct jwks_source *s = xcalloc(1, sizeof(*s));
	pthread_condattr_t attr;
	s->options = *o;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &attr);
	pthread_condattr_destroy(&attr);
	if (pthread_create(&s->thread, NULL, run, s) != 0) {
		free(s);
		return err_set(reterr, ERR_INTERNAL,
			       "cannot start the thread of the issuer's keys");
	}
	*ret = s;
	return 0;
}

struct jwks_source *jwks_source_destroy(struct jwks_source *s)
{
	if (!s)
		return NULL;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
	pthread_join(s->thread, NULL);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->changed);
	free(s);
	return NULL;
}
