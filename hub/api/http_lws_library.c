/*
 * Three functions that stand before the library's of the same name, for the library's own calls
 * too (as in http_lws_loop.c): where a header is asked for, and where an answer is made, it can be
 * told what RFC 9110 and 9112 say and it does not know.
 *
 * Upgrades. To the library a request for any other than "websocket" is an error, which it answers
 * itself: so kubectl before 1.30, which asks for SPDY/3.1, and a later one whose WebSocket was
 * refused and which tries SPDY/3.1 then, were never told who may not do what. RFC 9110 7.8 lets a
 * server ignore an upgrade that it does not know: here it has not been asked for, and the request
 * goes the way of any other.
 *
 * Lengths. It reads a body when Content-Length says so, and 100 MiB of one after a POST, PUT or
 * PATCH without. RFC 9112 6.3 has a body of no bytes there; and one in chunks after whatever says
 * Transfer-Encoding, a DELETE too. Where nothing is said, it finds a length: none, or those 100 MiB
 * for chunks, which end where they say (http_lws_body.c).
 *
 * Refusals. What it refuses by itself gets a page of HTML, and 403. Kubernetes' clients print a
 * Status: here it is one, with the code that kube-apiserver, or Go's server below it, would send.
 */
#include "api/http_lws.h"

#include <dlfcn.h>
#include <stdatomic.h>

#define ANY_LENGTH "104857600"

typedef int (*total_length_fn)(struct lws *, enum lws_token_indexes);
typedef int (*copy_fn)(struct lws *, char *, int, enum lws_token_indexes);

/* The library's own. `kept` is the same for the whole life of the process, whoever finds it
 * first. */
static void *own(_Atomic(void *) *kept, const char *name)
{
	void *found = atomic_load_explicit(kept, memory_order_relaxed);
	if (found)
		return found;
	found = dlsym(RTLD_NEXT, name);
	if (!found)
		abort(); /* no library, no server */
	atomic_store_explicit(kept, found, memory_order_relaxed);
	return found;
}

static int own_total_length(struct lws *wsi, enum lws_token_indexes token)
{
	static _Atomic(void *) kept;
	void *found = own(&kept, "lws_hdr_total_length");
	total_length_fn fn;
	memcpy(&fn, &found, sizeof(fn));
	return fn(wsi, token);
}

static int own_copy(struct lws *wsi, char *dst, int len, enum lws_token_indexes token)
{
	static _Atomic(void *) kept;
	void *found = own(&kept, "lws_hdr_copy");
	copy_fn fn;
	memcpy(&fn, &found, sizeof(fn));
	return fn(wsi, dst, len, token);
}

static bool is_websocket(struct lws *wsi)
{
	char word[16];
	return lws_hdr_copy_fragment(wsi, word, sizeof(word), WSI_TOKEN_UPGRADE, 0) >= 0 &&
	       !strcasecmp(&word[1], &HTTP_LWS_CONFIRMED[1]);
}

/* The Content-Length of a request without one; NULL: it has one, or no body by its method. */
static const char *length_of(struct lws *wsi)
{
	if (own_total_length(wsi, WSI_TOKEN_HTTP_CONTENT_LENGTH) > 0)
		return NULL;
	if (own_total_length(wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING) > 0)
		return ANY_LENGTH;
	if (own_total_length(wsi, WSI_TOKEN_POST_URI) > 0 ||
	    own_total_length(wsi, WSI_TOKEN_PUT_URI) > 0 ||
	    own_total_length(wsi, WSI_TOKEN_PATCH_URI) > 0)
		return "0";
	return NULL;
}

int lws_hdr_total_length(struct lws *wsi, enum lws_token_indexes token)
{
	const char *said = token == WSI_TOKEN_HTTP_CONTENT_LENGTH ? length_of(wsi) : NULL;
	int n = own_total_length(wsi, token);

	if (said)
		return (int)strlen(said);
	if (token == WSI_TOKEN_UPGRADE && n > 0 && !is_websocket(wsi))
		return 0;
	return n;
}

int lws_hdr_copy(struct lws *wsi, char *dst, int len, enum lws_token_indexes token)
{
	const char *said = token == WSI_TOKEN_HTTP_CONTENT_LENGTH ? length_of(wsi) : NULL;

	if (!said)
		return own_copy(wsi, dst, len, token);
	if (len <= (int)strlen(said))
		return -1;
	memcpy(dst, said, strlen(said) + 1);
	return (int)strlen(said);
}

#define STATUS(code, reason, words)                                                                \
	"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","       \
	"\"message\":\"" words "\",\"reason\":\"" reason "\",\"details\":{},\"code\":" code "}\n"

int lws_return_http_status(struct lws *wsi, unsigned int code, const char *html_body)
{
	char text[LWS_PRE + 1024], *uri;
	const char *line = "400 Bad Request",
		   *body = STATUS("400", "BadRequest",
				  "the request line is not well-formed: a path begins with /, and "
				  "after a % come two hexadecimal digits");
	int len, n;

	(void)code;
	(void)html_body;
	if (lws_http_get_uri_and_method(wsi, &uri, &len) < 0) {
		line = "405 Method Not Allowed";
		body = STATUS("405", "MethodNotAllowed",
			      "the server does not allow this method on the requested resource");
	}
	n = snprintf(text + LWS_PRE, sizeof(text) - LWS_PRE,
		     "HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
		     "Connection: close\r\n\r\n%s",
		     line, strlen(body), body);
	(void)lws_write(wsi, (unsigned char *)text + LWS_PRE, (size_t)n, LWS_WRITE_HTTP);
	return 1; /* and the library ends the connection */
}
