/*
 * Any bytes as what a client sends on a connection to a simulated pod: no crash, and frames that
 * take no more than there is.
 */
#include "api/ws_frame.h"
#include "base/compat.h"
#include "member-sync/sim/port_forward.h"
#include "member-sync/sim/remote_command.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct remote_options o = {
	    .words = "cat", .words_len = 4, .has_stdin = true, .has_stdout = true};
	struct port_forward *p = port_forward_create(SPAN("p"));
	struct remote_command c;
	auto_buf out = BUF_MAX((size_t)64 << 20), in = BUF_INIT;
	struct ws_frame f;
	size_t at = 0;
	ptrdiff_t n;
	bool forward = size && data[0] == 0;

	remote_command_start(&c, &o, false, SPAN("p"), &out);
	if (size)
		buf_add(&in, data + 1, size - 1);
	while (at < in.len && (n = ws_frame_read(in.ptr + at, in.len - at, &f, NULL)) > 0) {
		if ((size_t)n > in.len - at)
			abort();
		at += (size_t)n;
		if (!forward)
			remote_command_input(&c, f.payload, f.opcode == WS_CONTINUATION, &out);
		else if (port_forward_input(p, f.payload, &out, NULL) < 0)
			break;
		(void)port_forward_run(p, 1000, &out);
		buf_clear(&out);
	}
	port_forward_destroy(p);
	return 0;
}
