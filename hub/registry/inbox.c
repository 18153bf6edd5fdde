#include "registry/inbox.h"
#include "registry/registry.h"
#include <errno.h>
#include <pthread.h>

struct inbox {
	struct backend backend; /* first: ops get it as struct backend * */
	struct backend_ops ops;
	struct inbox_options options;
	struct command *returned; /* core thread only */
	pthread_mutex_t lock;	  /* guards everything below */
	struct command *head, **tail;
	size_t n, bytes;
	bool shut;
	struct backend_listener *listeners;
};

static struct inbox *inbox_of(struct backend *b)
{
	return (struct inbox *)b;
}

static int op_submit(struct backend *b, struct command *c, struct err *reterr)
{
	return inbox_submit(inbox_of(b), c, reterr);
}

static int op_proxy(struct backend *b, struct relay *r, struct err *reterr)
{
	struct inbox *in = inbox_of(b);
	return in->options.proxy(in->options.proxy_arg, r, reterr);
}

static void op_listen(struct backend *b, struct backend_listener *l)
{
	struct inbox *in = inbox_of(b);
	pthread_mutex_lock(&in->lock);
	l->next = in->listeners;
	in->listeners = l;
	pthread_mutex_unlock(&in->lock);
}

struct inbox *inbox_create(const struct inbox_options *o)
{
	struct inbox *in = xcalloc(1, sizeof(*in));
	in->options = *o;
	if (!in->options.max_commands)
		in->options.max_commands = INBOX_MAX_COMMANDS;
	if (!in->options.max_bytes)
		in->options.max_bytes = INBOX_MAX_BYTES;
	in->ops = (struct backend_ops){
	    .submit = op_submit, .proxy = o->proxy ? op_proxy : NULL, .listen = op_listen};
	in->backend = (struct backend){.ops = &in->ops,
				       .kinds = o->kinds,
				       .source = o->source,
				       .truth = o->truth,
				       .mirror = o->mirror,
				       .runs_pods = o->runs_pods,
				       .version = o->version};
	in->tail = &in->head;
	pthread_mutex_init(&in->lock, NULL);
	return in;
}

struct inbox *inbox_destroy(struct inbox *in)
{
	if (!in)
		return NULL;
	inbox_end(in);
	pthread_mutex_destroy(&in->lock);
	free(in);
	return NULL;
}

struct backend *inbox_backend(struct inbox *in)
{
	return &in->backend;
}

static size_t command_bytes(const struct command *c)
{
	return sizeof(*c) + c->draft.len + c->draft.digest_len +
	       (c->query_body ? strlen(c->query_body) : 0);
}

int inbox_submit(struct inbox *in, struct command *take_command, struct err *reterr)
{
	struct command *c = take_command;
	int rc = 0;
	c->bytes = command_bytes(c);
	c->next = NULL;
	pthread_mutex_lock(&in->lock);
	if (in->shut)
		rc = err_set(reterr, ERR_UNAVAILABLE, "the server is shutting down");
	else if (in->n >= in->options.max_commands ||
		 (in->n && in->bytes + c->bytes > in->options.max_bytes))
		rc = err_set(reterr, ERR_TOO_MANY, "Too many requests, please try again later.");
	if (!rc) {
		in->n++;
		in->bytes += c->bytes;
		*in->tail = c;
		in->tail = &c->next;
	}
	pthread_mutex_unlock(&in->lock);
	if (!rc && in->options.wakeup)
		wakeup_ring(in->options.wakeup);
	return rc;
}

void inbox_shut(struct inbox *in)
{
	pthread_mutex_lock(&in->lock);
	in->shut = true;
	pthread_mutex_unlock(&in->lock);
}

void inbox_end(struct inbox *in)
{
	struct command *c;

	inbox_shut(in);
	while ((c = inbox_take(in))) {
		err_set(&c->err, ERR_UNAVAILABLE, "the server is shutting down");
		c->done(c);
	}
}

struct command *inbox_take(struct inbox *in)
{
	struct command *c = in->returned;
	if (c) {
		in->returned = c->next;
		c->next = NULL;
		return c;
	}
	pthread_mutex_lock(&in->lock);
	c = in->head;
	if (c) {
		in->head = c->next;
		if (!in->head)
			in->tail = &in->head;
		in->n--;
		in->bytes -= c->bytes;
		c->next = NULL;
	}
	pthread_mutex_unlock(&in->lock);
	return c;
}

void inbox_untake(struct inbox *in, struct command *c)
{
	c->next = in->returned;
	in->returned = c;
}

bool inbox_is_empty(struct inbox *in)
{
	return !in->returned && inbox_depth(in) == 0;
}

size_t inbox_depth(struct inbox *in)
{
	pthread_mutex_lock(&in->lock);
	size_t n = in->n;
	pthread_mutex_unlock(&in->lock);
	return n;
}

void inbox_publish(struct inbox *in, struct store *store, uint64_t revision)
{
	/* The list only grows at its head, so a walk from a head read under the lock is safe. */
	pthread_mutex_lock(&in->lock);
	struct backend_listener *l = in->listeners;
	pthread_mutex_unlock(&in->lock);
	for (; l; l = l->next)
		l->committed(l->arg, store, revision);
}

void inbox_drain(struct inbox *in, struct registry_batch *b)
{
	while (!registry_batch_full(b)) {
		struct command *c = inbox_take(in);
		if (!c)
			return;
		if (registry_execute(b, c) == -EINPROGRESS) {
			inbox_untake(in, c);
			return;
		}
	}
}

void inbox_release(struct inbox *in, struct registry_batch *b)
{
	if (registry_mirror_revision(b))
		inbox_publish(in, in->options.mirror, registry_mirror_revision(b));
	if (registry_truth_revision(b))
		inbox_publish(in, in->options.truth, registry_truth_revision(b));
	registry_reply(b);
}
