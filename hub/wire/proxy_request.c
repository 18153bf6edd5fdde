#include "wire/backend.h"

struct proxy_request *proxy_request_destroy(struct proxy_request *p)
{
	if (!p)
		return NULL;
	free(p->cluster);
	free(p->method);
	free(p->path);
	free(p->accept);
	free(p->body);
	free(p->content_type);
	free(p->response);
	free(p);
	return NULL;
}
