#include "wire/order.h"

struct order *order_create(enum order_op op, uint32_t member)
{
	struct order *o = xcalloc(1, sizeof(*o));
	o->op = op;
	o->member = member;
	return o;
}

/* A kubeconfig holds credentials: they do not stay behind in freed memory. */
static void wipe(char *secret, size_t len)
{
	if (secret)
		explicit_bzero(secret, len);
	free(secret);
}

struct order *order_destroy(struct order *o)
{
	if (!o)
		return NULL;
	wipe(o->kubeconfig, o->kubeconfig_len);
	wipe(o->body, o->body_len); /* a copied Secret travels as a body */
	free(o->build_arg);
	free(o->name);
	free(o->path);
	free(o);
	return NULL;
}
