#ifndef MEMBER_SYNC_CLIENT_FAILURE_H
#define MEMBER_SYNC_CLIENT_FAILURE_H
/*
 * What a failed transfer says: about the request (words for people) and about the member (which
 * condition). A pure mapping of libcurl's and OpenSSL's results, kept in one table.
 */
#include "base/err.h"
#include "wire/fact.h"
#include <curl/curl.h>

struct client_failure {
	CURLcode code;
	const char *detail; /* CURLOPT_ERRORBUFFER: OpenSSL's words stand there */
	long verify;	    /* CURLINFO_SSL_VERIFYRESULT: X509_V_* */
	long os_errno;	    /* CURLINFO_OS_ERRNO */
	bool sent;	    /* a byte of the request may have gone out */
	const char *server; /* URL for the words */
};

/* Fills *reterr and returns the condition that the failure stands for; MEMBER_READY when it says
 * nothing about the member (we cut it). The err kinds: ERR_UNAVAILABLE, ERR_TIMEOUT,
 * ERR_UNAUTHORIZED, ERR_TOO_LARGE, ERR_INTERNAL. */
enum member_condition client_failure_explain(const struct client_failure *f, struct err *reterr);

#endif
