#include "api/write.h"
void call_patch(struct call *c)
{
	call_failf(c, ERR_UNSUPPORTED_MEDIA, "patches are not served yet");
	call_finish(c);
}
