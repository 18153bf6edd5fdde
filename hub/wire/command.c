#include "wire/command.h"

struct command *command_create(enum command_verb verb, const struct kind *kind, struct span ns,
			       struct span name)
{
	struct command *c = xcalloc(1, sizeof(*c));
	c->verb = verb;
	c->kind = kind;
	c->ns = xstrndup(ns.ptr ? ns.ptr : "", ns.len);
	c->name = xstrndup(name.ptr ? name.ptr : "", name.len);
	c->subresource = "";
	c->bytes = sizeof(*c) + ns.len + name.len;
	return c;
}

struct command *command_destroy(struct command *c)
{
	if (!c)
		return NULL;
	object_draft_done(&c->draft);
	if (c->causes)
		field_errors_done(c->causes);
	free(c->causes);
	free(c->ns);
	free(c->name);
	free(c->user);
	free(c->query);
	free(c->query_body);
	free(c->warnings);
	free(c->result);
	free(c);
	return NULL;
}
