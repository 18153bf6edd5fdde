#ifndef API_READ_OPTIONS_H
#define API_READ_OPTIONS_H
/*
 * The parameters of GET, LIST and WATCH, checked as apiserver does (kubernetes-api.md 1.9).
 */
#include "api/call.h"
#include "kube/selector.h"

enum revision_match { MATCH_ANY, MATCH_NOT_OLDER, MATCH_EXACT };

struct read_options {
	bool has_revision; /* a resourceVersion other than "" was given */
	uint64_t revision; /* "0" is 0 */
	enum revision_match match;
	bool has_match;
	bool send_initial, has_send_initial; /* sendInitialEvents */
	bool bookmarks;			     /* allowWatchBookmarks */
	int64_t limit;			     /* 0: none */
	struct span continue_text;	     /* absent: none */
	usec timeout;			     /* timeoutSeconds; 0: not given */
	struct selector selector;	     /* owned: read_options_done */
	struct span labels, fields;	     /* their texts */
};

/* ERR_BAD_REQUEST or ERR_INVALID. */
int read_options_parse(struct call *c, bool watch, struct read_options *ret,
		       struct err *reterr) MUST_CHECK;
void read_options_done(struct read_options *o);

/* The rendering that the call asked for: form, includeObject. */
struct render;
int read_options_render(const struct call *c, struct render *ret, struct err *reterr) MUST_CHECK;

/* A revision that the store has not reached: 504 in the words and with the cause that clients
 * look for. Answers the call. */
void read_fail_future(struct call *c, uint64_t wanted, uint64_t now);
/* Words of a failure to read the store (a negative errno without words). */
int read_failed(int r, struct err *reterr);

#endif
