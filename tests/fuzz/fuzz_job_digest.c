/* A digest that reads must print to one that reads to the same bytes again. */
#include "base/arena.h"
#include "base/buf.h"
#include "kinds/job_digest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_arena mem = ARENA_INIT;
	auto_buf once = BUF_INIT, twice = BUF_INIT;
	struct job_digest d, e;

	if (job_digest_unpack(span_make((const char *)data, size), &mem, &d) < 0)
		return 0;
	job_digest_pack(&d, &once);
	if (job_digest_unpack(buf_span(&once), &mem, &e) < 0)
		abort();
	job_digest_pack(&e, &twice);
	if (!span_eq(buf_span(&once), buf_span(&twice)))
		abort();
	return 0;
}
