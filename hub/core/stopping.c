#include "core/stopping.h"

#include "base/json.h"
#include "core/job.h"
#include "core/member.h"
#include "core/swap/swap.h"

#include <inttypes.h>

bool stopping_is(const struct job *j)
{
	return j->dispatch.step == DISPATCH_STOPPING || j->dispatch.step == DISPATCH_WITHDRAWING;
}

static bool is_left(const struct job *j, const struct member_pod *p)
{
	return p->member == j->dispatch.member && !p->over;
}

size_t stopping_pods(const struct job *j)
{
	size_t n = 0;

	vec_foreach (&j->pods, it)
		n += is_left(j, *it);
	return n;
}

static bool is_stuck(const struct core *c, const struct member *m, const struct job *j,
		     const struct member_pod *p)
{
	return p->doomed || (p->node != NODE_NONE && swap_is_lost(c, m, j, p->node));
}

/* The next to be named after `last`: NULL at the end. Names decide, so that the answer does not
 * depend on the order in which pods became known. */
static const struct member_pod *next_pod(const struct core *c, const struct member *m,
					 const struct job *j, const struct member_pod *last)
{
	const struct member_pod *best = NULL;
	bool best_stuck = false, last_stuck = last && is_stuck(c, m, j, last);

	vec_foreach (&j->pods, it) {
		const struct member_pod *p = *it;
		if (!is_left(j, p))
			continue;
		bool stuck = is_stuck(c, m, j, p);
		if (last && (stuck != last_stuck ? stuck : strcmp(p->key, last->key) <= 0))
			continue;
		if (!best || (stuck != best_stuck ? stuck : strcmp(p->key, best->key) < 0)) {
			best = p;
			best_stuck = stuck;
		}
	}
	return best;
}

const struct member_pod *stopping_stuck(const struct core *c, const struct job *j)
{
	const struct member *m = member_of(c, j);
	const struct member_pod *p = m ? next_pod(c, m, j, NULL) : NULL;

	return p && is_stuck(c, m, j, p) ? p : NULL;
}

/* ---- one pod ---- */

struct pod_look {
	struct span name, node;
	const char *state;
	usec since; /* Terminating: since when, 0 unknown */
	bool stuck;
};

/* deletionTimestamp is when its time is up. */
static usec deleted_at(struct span meta, struct span stamp)
{
	struct span value;
	int64_t grace = 0;
	usec t;

	if (clock_parse(json_text_plain(stamp), &t) < 0)
		return 0;
	if (json_text_member(meta, "deletionGracePeriodSeconds", &value) == 0)
		(void)!json_text_int64(value, &grace);
	return grace > 0 && grace < t / USEC_PER_SEC ? t - grace * USEC_PER_SEC : t;
}

static void look_at_object(struct core *c, const struct member *m, const struct member_pod *p,
			   struct pod_look *l)
{
	struct span name = span_of(p->key), ns = span_split(&name, '/'), meta, value;
	struct store_object o;

	if (registry_get(c->batch, kind_by_type(c->kinds, TYPE_POD), ns, name, &o) < 0 ||
	    json_text_member(o.json, "metadata", &meta) < 0 ||
	    json_text_path(meta, &value, "labels", "muster.dev/cluster", NULL) < 0 ||
	    !span_is(json_text_plain(value), m->name))
		return;
	if (json_text_member(meta, "deletionTimestamp", &value) == 0) {
		l->state = "Terminating";
		l->since = deleted_at(meta, value);
	}
}

static struct pod_look look_at(struct core *c, const struct member *m, const struct job *j,
			       const struct member_pod *p)
{
	struct pod_look l = {.name = span_of(p->key), .stuck = is_stuck(c, m, j, p)};

	(void)span_split(&l.name, '/');
	if (p->node != NODE_NONE)
		l.node = cluster_view_node_name(c->fleet, m->view, p->node);
	l.state = p->doomed ? "Terminating" : p->node == NODE_NONE ? "Pending" : "Running";
	look_at_object(c, m, p, &l);
	return l;
}

/* ---- the job ---- */

static void add_pods(struct core *c, const struct member *m, const struct job *j, struct buf *b)
{
	const struct member_pod *p = NULL;
	char when[CLOCK_TEXT_MAX];

	buf_add_str(b, ",\"pods\":[");
	for (int i = 0; i < STOPPING_PODS && (p = next_pod(c, m, j, p)); i++) {
		struct pod_look l = look_at(c, m, j, p);
		buf_add_str(b, i ? ",{\"name\":" : "{\"name\":");
		buf_add_json_str(b, l.name);
		buf_add_str(b, ",\"node\":");
		buf_add_json_str(b, l.node);
		buf_addf(b, ",\"state\":\"%s\"", l.state);
		if (l.since)
			buf_addf(b, ",\"since\":\"%s\"", clock_format(l.since, when));
		buf_addf(b, ",\"nodeLost\":%s}", l.stuck ? "true" : "false");
	}
	buf_add_char(b, ']');
}

void stopping_add(struct core *c, const struct job *j, usec since, struct buf *b)
{
	const struct member *m = member_of(c, j);
	char when[CLOCK_TEXT_MAX];

	buf_addf(b, "{\"kind\":\"%s\",\"namespace\":", j->kind->kind);
	buf_add_json_str(b, span_of(j->ns));
	buf_add_str(b, ",\"name\":");
	buf_add_json_str(b, span_of(j->name));
	buf_add_str(b, ",\"cluster\":");
	buf_add_json_str(b, span_of(m ? m->name : ""));
	if (since)
		buf_addf(b, ",\"since\":\"%s\"", clock_format(since, when));
	buf_addf(b, ",\"clusterAnswers\":%s", m && m->condition == MEMBER_READY ? "true" : "false");
	buf_addf(b, ",\"podsLeft\":%zu", stopping_pods(j));
	if (m)
		add_pods(c, m, j, b);
	buf_add_char(b, '}');
}

void stopping_pod_words(struct core *c, const struct job *j, bool with_pod, struct buf *out)
{
	const struct member *m = member_of(c, j);
	const struct member_pod *p = m && with_pod ? next_pod(c, m, j, NULL) : NULL;
	size_t n = stopping_pods(j);

	buf_addf(out, "%zu pod%s left", n, n == 1 ? "" : "s");
	if (p) {
		struct pod_look l = look_at(c, m, j, p);
		buf_addf(out, "; pod %.*s", SPAN_ARGS(l.name));
		if (l.node.len)
			buf_addf(out, " on node %.*s", SPAN_ARGS(l.node));
		buf_addf(out, " is %s%s", l.state, l.stuck ? ", and its node is lost" : "");
	}
	if (m && m->condition != MEMBER_READY)
		buf_add_str(out, "; the cluster does not answer");
}

void stopping_words(struct core *c, const struct job *j, bool with_pod, struct buf *out)
{
	const struct member *m = member_of(c, j);
	char text[JOB_TEXT_MAX];

	buf_addf(out, "%s%s%s (", job_text(j, text), m ? " on " : "", m ? m->name : "");
	stopping_pod_words(c, j, with_pod, out);
	buf_add_char(out, ')');
}
