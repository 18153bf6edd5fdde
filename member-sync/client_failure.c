#include "member-sync/client_failure.h"

#include <ctype.h>
#include <openssl/x509_vfy.h>

static enum member_condition set(enum member_condition condition, enum err_kind kind,
				 struct err *reterr, const char *server, const char *words,
				 const char *detail)
{
	err_set(reterr, kind, "%s%s%s%s%s", server, words[0] ? ": " : "", words,
		detail[0] ? ": " : "", detail);
	return condition;
}

/* TLS alerts in which a server refuses OUR certificate (RFC 8446 section 6.2), as OpenSSL words
 * them in an error string. */
static const struct {
	const char *alert;
	enum member_condition condition;
	const char *words;
} alerts[] = {
    {"alert certificate expired", MEMBER_CREDENTIAL_EXPIRED,
     "the server refuses the client certificate as expired"},
    {"alert certificate revoked", MEMBER_UNAUTHORIZED,
     "the server refuses the client certificate as revoked"},
    {"alert unknown ca", MEMBER_UNAUTHORIZED,
     "the server does not know the authority of the client certificate"},
    {"alert bad certificate", MEMBER_UNAUTHORIZED, "the server refuses the client certificate"},
    {"alert unsupported certificate", MEMBER_UNAUTHORIZED,
     "the server refuses the kind of client certificate"},
    {"alert certificate unknown", MEMBER_UNAUTHORIZED, "the server refuses the client certificate"},
    {"alert certificate required", MEMBER_UNAUTHORIZED, "the server requires a client certificate"},
    {"alert access denied", MEMBER_UNAUTHORIZED, "the server refuses the client certificate"},
};

static bool contains(const char *text, const char *needle)
{
	return strcasestr(text, needle) != NULL;
}

static enum member_condition explain_alert(const struct client_failure *f, struct err *reterr)
{
	for (size_t i = 0; i < ARRAY_LEN(alerts); i++)
		if (contains(f->detail, alerts[i].alert))
			return set(alerts[i].condition, ERR_UNAUTHORIZED, reterr, f->server,
				   alerts[i].words, "");
	return set(MEMBER_UNREACHABLE, ERR_UNAVAILABLE, reterr, f->server,
		   f->sent ? "the connection broke" : "the TLS handshake failed", f->detail);
}

static enum member_condition explain_verify(const struct client_failure *f, struct err *reterr)
{
	const char *words = "the server's certificate does not verify against the certificate "
			    "authority of the kubeconfig";
	const char *detail = X509_verify_cert_error_string(f->verify);

	if (f->verify == X509_V_ERR_CERT_HAS_EXPIRED) {
		words = "the server's certificate has expired";
		detail = "";
	} else if (f->verify == X509_V_ERR_CERT_NOT_YET_VALID) {
		words = "the server's certificate is not valid yet";
		detail = "";
	} else if (f->verify == X509_V_OK || contains(f->detail, "subject name")) {
		words = "the server's certificate is for another name";
		detail = f->detail;
	}
	return set(MEMBER_BAD_CERTIFICATE, ERR_UNAVAILABLE, reterr, f->server, words, detail);
}

static enum member_condition explain_connect(const struct client_failure *f, struct err *reterr)
{
	return set(MEMBER_UNREACHABLE, ERR_UNAVAILABLE, reterr, f->server, "cannot connect",
		   f->os_errno ? strerror((int)f->os_errno) : f->detail);
}

static enum member_condition explain_timeout(const struct client_failure *f, struct err *reterr)
{
	return set(MEMBER_UNREACHABLE, ERR_TIMEOUT, reterr, f->server,
		   f->sent ? "no answer in time" : "no connection in time", "");
}

enum member_condition client_failure_explain(const struct client_failure *f, struct err *reterr)
{
	switch ((int)f->code) {
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
		return set(MEMBER_UNREACHABLE, ERR_UNAVAILABLE, reterr, f->server,
			   "the host name cannot be resolved", "");
	case CURLE_COULDNT_CONNECT:
		return explain_connect(f, reterr);
	case CURLE_OPERATION_TIMEDOUT:
		return explain_timeout(f, reterr);
	case CURLE_PEER_FAILED_VERIFICATION:
		return explain_verify(f, reterr);
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_URL_MALFORMAT:
	case CURLE_UNSUPPORTED_PROTOCOL:
		return set(MEMBER_BAD_KUBECONFIG, ERR_INTERNAL, reterr, f->server,
			   "the kubeconfig cannot be used", f->detail);
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
		return explain_alert(f, reterr);
	case CURLE_GOT_NOTHING:
		return set(MEMBER_UNREACHABLE, ERR_UNAVAILABLE, reterr, f->server,
			   "the connection was closed without an answer", "");
	case CURLE_PARTIAL_FILE:
		return set(MEMBER_UNREACHABLE, ERR_UNAVAILABLE, reterr, f->server,
			   "the answer was cut", "");
	case CURLE_HTTP2:
	case CURLE_HTTP2_STREAM:
		return set(MEMBER_UNREACHABLE, ERR_UNAVAILABLE, reterr, f->server,
			   "the HTTP/2 stream broke", f->detail);
	case CURLE_WEIRD_SERVER_REPLY:
		return set(MEMBER_UNREACHABLE, ERR_UNAVAILABLE, reterr, f->server,
			   "what answers is not an HTTPS server", f->detail);
	default:
		return set(MEMBER_UNREACHABLE, ERR_UNAVAILABLE, reterr, f->server,
			   curl_easy_strerror(f->code), f->detail);
	}
}
