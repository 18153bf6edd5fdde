#include "core/cursors.h"

#include "core/member.h"

static bool in_mirror(enum member_stream s)
{
	return s == STREAM_NODES || s == STREAM_PODS || s == STREAM_EVENTS;
}

static struct span key_of(const struct member *m, enum member_stream s, char out[40])
{
	int n = snprintf(out, 40, "%u/%d", m->number, (int)s);
	return span_make(out, (size_t)n);
}

void cursors_load(struct core *c, struct member *m)
{
	char key[40];
	struct span value;

	for (enum member_stream s = 0; s < STREAM_MAX; s++) {
		m->cursors[s] = 0;
		if (registry_get_aux(c->batch, in_mirror(s), STORE_AUX_CURSOR, key_of(m, s, key),
				     &value) == 0 &&
		    value.len == sizeof(uint64_t))
			memcpy(&m->cursors[s], value.ptr, sizeof(uint64_t));
	}
	m->nodes_listed = m->cursors[STREAM_NODES] != 0;
	m->pods_listed = m->cursors[STREAM_PODS] != 0;
}

void cursors_hold(struct member *m, enum member_stream s)
{
	if (s < STREAM_MAX)
		m->held[s]++;
}

void cursors_release(struct core *c, struct member *m, enum member_stream s)
{
	if (s >= STREAM_MAX || m->held[s] == 0 || --m->held[s] > 0)
		return;
	cursors_advance(c, m, s, m->latest[s]);
	m->latest[s] = 0;
}

void cursors_advance(struct core *c, struct member *m, enum member_stream s, uint64_t revision)
{
	if (m->held[s] && !m->listing[s] && revision) {
		m->latest[s] = revision;
		return;
	}
	if (revision == 0 || m->listing[s] || m->cursors[s] == revision)
		return;
	m->cursors[s] = revision;
	m->cursors_dirty |= 1u << s;
	c->cursors_dirty = true;
}

void cursors_reset(struct core *c, struct member *m, enum member_stream s)
{
	m->listing[s] = true;
	m->cursors[s] = m->latest[s] = 0;
	m->cursors_dirty |= 1u << s;
	c->cursors_dirty = true;
}

void cursors_flush(struct core *c)
{
	char key[40];

	if (!c->cursors_dirty)
		return;
	vec_foreach (&c->members, p) {
		struct member *m = *p;
		for (enum member_stream s = 0; m && m->cursors_dirty && s < STREAM_MAX; s++) {
			if (!(m->cursors_dirty & 1u << s))
				continue;
			if (registry_batch_room(c->batch) < 2)
				return;
			registry_put_aux(c->batch, in_mirror(s), STORE_AUX_CURSOR,
					 key_of(m, s, key),
					 span_make((const char *)&m->cursors[s], sizeof(uint64_t)));
			m->cursors_dirty &= ~(1u << s);
		}
	}
	c->cursors_dirty = false;
}

void cursors_forget(struct core *c, struct member *m)
{
	char key[40];

	m->cursors_dirty = 0;
	for (enum member_stream s = 0; s < STREAM_MAX; s++)
		registry_delete_aux(c->batch, in_mirror(s), STORE_AUX_CURSOR, key_of(m, s, key));
}
