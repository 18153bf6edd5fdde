#ifndef MEMBER_SYNC_SIM_REMOTE_COMMAND_H
#define MEMBER_SYNC_SIM_REMOTE_COMMAND_H
/*
 * What `kubectl exec` and `kubectl attach` find in a simulated container. PURE.
 *
 * No process runs there, and there is no shell. These commands are built in:
 *
 *	cat		copies its input to its output until the input ends
 *	echo WORDS	prints them
 *	hostname	prints the pod's name
 *	seq N		prints the numbers from 1 to N, each on a line
 *	true, false	end with 0 and 1
 *	exit N		ends with N
 *
 * Anything else ends with 127 and a word on stderr. `attach` greets, and copies its input as cat
 * does. What comes and goes are messages of the subprotocols v4 and v5.channel.k8s.io
 * (k8s.io/apimachinery/pkg/util/remotecommand): a byte for the channel, then its bytes; the last
 *one is a Status on channel 3. v5 can close one channel: 255 and its number.
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/span.h"
#include <stdbool.h>
#include <stdint.h>

#define REMOTE_COMMAND_TEXT 4096 /* bytes of all its words */

enum remote_channel {
	CHANNEL_STDIN,
	CHANNEL_STDOUT,
	CHANNEL_STDERR,
	CHANNEL_ERROR,
	CHANNEL_RESIZE,
	CHANNEL_CLOSE = 255,
};

struct remote_options { /* core/v1 PodExecOptions, PodAttachOptions */
	char container[64];
	char words[REMOTE_COMMAND_TEXT]; /* each ended by NUL */
	size_t words_len;
	bool has_stdin, has_stdout, has_stderr, tty;
};

/* Reads a query string, still encoded. ERR_BAD_REQUEST for what kube-apiserver refuses too: no
 * stream at all, no command to execute. */
int remote_options_parse(struct span query, bool attach, struct remote_options *ret,
			 struct err *reterr) MUST_CHECK;

struct remote_command {
	const struct remote_options *options; /* borrowed */
	bool copies;			      /* its input to its output */
	bool over;			      /* the Status is out */
	int channel;			      /* of the message whose continuation may come */
	uint64_t next, last;		      /* seq: numbers that are not printed yet */
};

/* Begins; output goes to `out` as frames of a WebSocket (ws_frame.h), as in the functions below. */
void remote_command_start(struct remote_command *c, const struct remote_options *options,
			  bool attach, struct span pod, struct buf *out);
/* A message of the client, or with `continues` the next part of one. */
void remote_command_input(struct remote_command *c, struct span message, bool continues,
			  struct buf *out);
/* More output by itself, about `room` bytes. False: none, until there is input. */
bool remote_command_run(struct remote_command *c, size_t room, struct buf *out);
/* The container is gone: ends it as a signal would, when it is not over. */
void remote_command_kill(struct remote_command *c, struct buf *out);

#endif
