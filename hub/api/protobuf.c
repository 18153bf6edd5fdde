#include "api/protobuf.h"
int protobuf_decode(struct span body, struct cJSON **ret, struct err *reterr)
{
	(void)body;
	(void)ret;
	return err_set(reterr, ERR_UNSUPPORTED_MEDIA, "protobuf bodies are not served yet");
}
