/* Statuses of ProvisioningRequests, as members say them: checked JSON of any shape. */
#include "base/json.h"
#include "core/provisioning/request_phase.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span text = span_make((const char *)data, size);
	enum provision_phase phase, again;
	auto_buf words = BUF_INIT;

	if (json_check(text, NULL, NULL) < 0)
		return 0;
	phase = request_phase(text);
	request_phase_words(text, &words);
	if (request_phase_from_name(span_of(request_phase_name(phase)), &again) < 0 ||
	    again != phase)
		abort();
	return 0;
}
