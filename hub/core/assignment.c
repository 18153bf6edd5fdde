#include "core/assignment.h"

#include "base/buf.h"

/* Per slot: this, then the part of the node's name that differs from the one before. */
struct packed_slot {
	uint32_t count;
	uint16_t set;
	uint8_t shared, rest; /* bytes of the name */
};

char *assignment_pack(const struct fleet *f, uint32_t cluster, const struct fit_slot *slots,
		      size_t n, size_t *ret_len)
{
	struct buf out = BUF_MAX(ASSIGNMENT_MAX);
	struct span before = SPAN("");

	for (size_t i = 0; i < n; i++) {
		struct span name = cluster_view_node_name(f, cluster, slots[i].node);
		size_t shared = 0;
		while (shared < before.len && shared < name.len && shared < UINT8_MAX &&
		       before.ptr[shared] == name.ptr[shared])
			shared++;
		if (name.len - shared > UINT8_MAX || slots[i].set > UINT16_MAX)
			continue;
		struct packed_slot p = {slots[i].count, (uint16_t)slots[i].set, (uint8_t)shared,
					(uint8_t)(name.len - shared)};
		buf_add(&out, &p, sizeof(p));
		buf_add(&out, name.ptr + shared, name.len - shared);
		before = name;
	}
	if (!buf_ok(&out) || out.len == 0) {
		buf_done(&out);
		*ret_len = 0;
		return NULL;
	}
	return buf_steal(&out, ret_len);
}

size_t assignment_unpack(struct fleet *f, uint32_t cluster, struct span bytes, struct arena *mem,
			 struct fit_slot **ret)
{
	size_t most = bytes.len / sizeof(struct packed_slot), n = 0;
	struct fit_slot *out = arena_array(mem, struct fit_slot, most);
	struct packed_slot p;
	char name[2 * UINT8_MAX];

	while (bytes.len >= sizeof(p)) {
		memcpy(&p, bytes.ptr, sizeof(p));
		if (bytes.len < sizeof(p) + p.rest)
			break;
		memcpy(name + p.shared, bytes.ptr + sizeof(p), p.rest);
		bytes = span_make(bytes.ptr + sizeof(p) + p.rest, bytes.len - sizeof(p) - p.rest);
		out[n] = (struct fit_slot){.set = p.set, .count = p.count};
		if (cluster_view_node_ref(f, cluster, span_make(name, (size_t)p.shared + p.rest),
					  &out[n].node, NULL) == 0)
			n++;
	}
	*ret = out;
	return n;
}
