#include "core/dispatch/ungater.h"

#include "base/json.h"
#include "base/num.h"
#include "core/domain.h"
#include "core/job.h"
#include "core/member.h"
#include "core/swap/swap.h"

#define AT_A_TIME   32		 /* patches under way on a member */
#define RETRY_FIRST USEC_PER_SEC /* doubled with every failure */
#define RETRY_MOST  (32 * USEC_PER_SEC)
#define TELL_AFTER  3 /* failures of one pod */

struct gated { /* a pod that waits */
	uint32_t member;
	char *key;
	usec at;
	unsigned failures;
};

struct ungater {
	struct VEC(struct gated) waiting; /* oldest first */
	bool wanted;
	usec due;
	uint64_t told_job; /* the last that was told of failures */
};

struct ungater *ungater_create(void)
{
	struct ungater *u = xcalloc(1, sizeof(*u));

	u->due = INT64_MAX;
	return u;
}

struct ungater *ungater_destroy(struct ungater *u)
{
	if (!u)
		return NULL;
	vec_foreach (&u->waiting, g)
		free(g->key);
	vec_done(&u->waiting);
	free(u);
	return NULL;
}

static void wait_until(struct core *c, const struct member *m, struct span key, usec at,
		       unsigned failures)
{
	struct ungater *u = c->ungater;

	vec_push(&u->waiting,
		 ((struct gated){m->number, xstrndup(key.ptr, key.len), at, failures}));
	u->wanted = true;
}

/* ---- what a pod says ---- */

/* The place of the gate among the pod's, or -1. */
static int gate_at(struct span json)
{
	struct span gates, one, name;
	int at = 0;

	if (json_text_path(json, &gates, "spec", "schedulingGates", NULL) < 0 ||
	    json_text_type(gates) != JSON_ARRAY)
		return -1;
	for (size_t pos = 0; json_text_next(gates, &pos, NULL, &one); at++)
		if (json_text_member(one, "name", &name) == 0 &&
		    span_is(json_text_plain(name), DOMAIN_GATE))
			return at;
	return -1;
}

static int64_t label_number(struct span labels, const char *key)
{
	struct span value;
	int64_t n;

	if (!labels.len || json_text_member(labels, key, &value) < 0 ||
	    num_parse_i64(json_text_plain(value), 0, JOB_MAX_PODS, &n) < 0)
		return -1;
	return n;
}

#define INDEX	  "batch.kubernetes.io/job-completion-index"
#define JOB_INDEX "jobset.sigs.k8s.io/job-index"
#define REPLICAS  "jobset.sigs.k8s.io/replicatedjob-replicas"

/* The pod's place in its set of `count`, or -1. */
static int64_t rank_of(const struct job *j, struct span json, int64_t count)
{
	struct span labels = SPAN_NONE;

	(void)json_text_path(json, &labels, "metadata", "labels", NULL);
	if (j->kind->type == TYPE_JOB)
		return label_number(labels, INDEX);
	if (j->kind->type != TYPE_JOB_SET) {
		int64_t n = label_number(labels, "training.kubeflow.org/replica-index");
		return n > 0 && j->digest.launcher_works ? n - 1 : n;
	}
	int64_t index = label_number(labels, INDEX), job = label_number(labels, JOB_INDEX);
	int64_t replicas = label_number(labels, REPLICAS);
	return index < 0 || job < 0 || replicas <= 0 ? -1 : job * (count / replicas) + index;
}

/* Whether the pod has all labels of the domain as its selectors. */
static bool is_held(struct span selector, struct span labels)
{
	struct span key, value, has;

	for (size_t pos = 0; json_text_next(labels, &pos, &key, &value);) {
		auto_buf name = BUF_INIT;
		buf_add_span(&name, key);
		if (json_text_member(selector, name.ptr, &has) < 0 || !span_eq(has, value))
			return false;
	}
	return true;
}

/* The domain whose selectors a pod has, from 1 on; 0: none. */
static uint32_t domain_held(struct span spread, struct span json)
{
	struct span selector, labels;
	int64_t count;
	uint32_t n = 0;

	if (json_text_path(json, &selector, "spec", "nodeSelector", NULL) < 0)
		return 0;
	for (size_t pos = 0; domain_next(spread, &pos, &labels, &count);) {
		n++;
		if (is_held(selector, labels))
			return n;
	}
	return 0;
}

/* ---- which domain ---- */

static int64_t pods_in(const struct job *j, uint32_t set, uint32_t domain)
{
	int64_t n = 0;

	vec_foreach (&j->pods, it)
		n += (*it)->live && (*it)->set == set && (*it)->domain == domain;
	return n;
}

/* From 1 on, with its labels; 0: none has room now. */
static uint32_t choose(const struct job *j, uint32_t set, struct span spread, struct span json,
		       struct span *ret_labels)
{
	int64_t sum = 0, count;
	uint32_t n = 0;

	for (size_t pos = 0; domain_next(spread, &pos, ret_labels, &count);)
		sum += count;
	int64_t rank = rank_of(j, json, sum), before = 0;
	for (size_t pos = 0; domain_next(spread, &pos, ret_labels, &count); before += count) {
		n++;
		if (rank >= 0 && rank < sum ? rank < before + count : pods_in(j, set, n) < count)
			return n;
	}
	return 0;
}

/* ---- watching ---- */

static struct job *job_spread(const struct core *c, const struct member *m,
			      const struct member_pod *p, uint32_t set)
{
	struct job *j = p->job ? job_by_number(c, p->job) : NULL;

	return j && j->domains && member_of(c, j) == m && p->epoch == (uint32_t)j->dispatch.epoch &&
		       set < j->digest.n_pod_sets && domain_spread(j->domains, set).len
		   ? j
		   : NULL;
}

/* The text of the pod's object at the hub; absent when it is another member's. */
static struct span object_text(struct core *c, const struct member *m, struct span key)
{
	struct span name = key, ns = span_split(&name, '/'), cluster;
	struct store_object o;

	if (registry_get(c->batch, kind_by_type(c->kinds, TYPE_POD), ns, name, &o) < 0 ||
	    json_text_path(o.json, &cluster, "metadata", "labels", "muster.dev/cluster", NULL) <
		0 ||
	    !span_is(json_text_plain(cluster), m->name))
		return SPAN_NONE;
	return o.json;
}

void ungater_look(struct core *c, struct member *m, struct member_pod *p,
		  const struct pod_info *info, struct span key, struct span json)
{
	struct job *j = p->job ? job_by_number(c, p->job) : NULL;

	if (!j || !j->domains || p->over)
		return;
	uint32_t set = job_pod_set_index(j, info->pod_set);
	if (!job_spread(c, m, p, set))
		return;
	if (!json.len)
		json = object_text(c, m, key);
	if (!json.len)
		return;
	bool gated = gate_at(json) >= 0;
	p->set = (uint16_t)set;
	if (!gated && !p->domain)
		p->domain = domain_held(domain_spread(j->domains, set), json);
	if (gated && !p->gated && !info->deleting) {
		p->domain = 0;
		wait_until(c, m, key, c->now, 0);
	}
	p->gated = gated && !info->deleting;
}

void ungater_reset(struct core *c, const struct job *j)
{
	vec_foreach (&j->pods, p)
		(*p)->domain = 0;
	ungater_hurry(c);
}

void ungater_hurry(struct core *c)
{
	vec_foreach (&c->ungater->waiting, g)
		g->at = g->failures ? g->at : num_min(g->at, c->now);
	c->ungater->wanted = true;
}

/* ---- letting go ---- */

static void add_pointer(struct span key, struct buf *out)
{
	for (size_t i = 0; i < key.len; i++) {
		if (key.ptr[i] == '~')
			buf_add_str(out, "~0");
		else if (key.ptr[i] == '/')
			buf_add_str(out, "~1");
		else
			buf_add_char(out, key.ptr[i]);
	}
}

static void add_selectors(struct span json, struct span labels, struct buf *out)
{
	struct span selector, key, value;

	if (json_text_path(json, &selector, "spec", "nodeSelector", NULL) < 0) {
		buf_addf(out, ",{\"op\":\"add\",\"path\":\"/spec/nodeSelector\",\"value\":%.*s}",
			 SPAN_ARGS(labels));
		return;
	}
	for (size_t pos = 0; json_text_next(labels, &pos, &key, &value);) {
		buf_add_str(out, ",{\"op\":\"add\",\"path\":\"/spec/nodeSelector/");
		add_pointer(key, out);
		buf_addf(out, "\",\"value\":%.*s}", SPAN_ARGS(value));
	}
}

/* The tests make the server refuse it for another pod, and for one that is let go already. */
static struct order *patch(const struct member *m, struct span key, struct span json,
			   struct span labels)
{
	struct span name = key, ns = span_split(&name, '/'), uid;
	auto_buf path = BUF_INIT, body = BUF_INIT;
	int at = gate_at(json);

	if (json_text_path(json, &uid, "metadata", "uid", NULL) < 0)
		return NULL;
	buf_addf(&path, "/api/v1/namespaces/%.*s/pods/%.*s", SPAN_ARGS(ns), SPAN_ARGS(name));
	buf_addf(&body,
		 "[{\"op\":\"test\",\"path\":\"/metadata/uid\",\"value\":%.*s},{\"op\":\"test\","
		 "\"path\":\"/spec/schedulingGates/%d/name\",\"value\":\"" DOMAIN_GATE
		 "\"},{\"op\":\"remove\",\"path\":\"/spec/schedulingGates/%d\"}",
		 SPAN_ARGS(uid), at, at);
	add_selectors(json, labels, &body);
	buf_add_char(&body, ']');
	struct order *o = order_create(ORDER_CALL, m->number);
	o->method = "PATCH";
	o->path = buf_steal(&path, NULL);
	o->content_type = "application/json-patch+json";
	o->body = buf_steal(&body, &o->body_len);
	return o;
}

enum attempt { DONE, LATER, BUSY };

static enum attempt let_go(struct core *c, struct gated *g)
{
	struct member *m = member_by_number(c, g->member);
	struct span key = span_of(g->key), labels = SPAN_NONE;
	struct member_pod *p = m ? map_get(&m->pods, key) : NULL;
	struct job *j = p && p->gated ? job_spread(c, m, p, p->set) : NULL;

	if (!j) {
		if (p)
			p->gated = false;
		return DONE;
	}
	if (m->ungating >= AT_A_TIME)
		return BUSY;
	struct span json = object_text(c, m, key);
	p->gated = json.len && gate_at(json) >= 0;
	if (!p->gated)
		return DONE;
	uint32_t domain = choose(j, p->set, domain_spread(j->domains, p->set), json, &labels);
	struct order *o = domain && m->condition == MEMBER_READY && !swap_shuns(c, m, j, labels)
			      ? patch(m, key, json, labels)
			      : NULL;
	if (!o)
		return LATER;
	p->domain = domain;
	m->ungating++;
	courier_call(c, o,
		     (struct call){.purpose = CALL_UNGATE,
				   .job = g->failures,
				   .member = m->number,
				   .thing = xstrdup(g->key)});
	return DONE;
}

void ungater_run(struct core *c)
{
	struct ungater *u = c->ungater;
	size_t kept = 0;

	if (!u->wanted && c->now < u->due)
		return;
	u->wanted = false;
	u->due = INT64_MAX;
	for (size_t i = 0; i < u->waiting.len; i++) {
		struct gated g = u->waiting.items[i];
		enum attempt a = g.at > c->now ? LATER : let_go(c, &g);
		if (a == DONE) {
			free(g.key);
			continue;
		}
		if (a == LATER && g.at <= c->now)
			g.at = c->now + RETRY_FIRST;
		if (a == LATER)
			u->due = num_min(u->due, g.at);
		u->waiting.items[kept++] = g;
	}
	u->waiting.len = kept;
}

usec ungater_due(const struct core *c)
{
	return c->ungater->wanted ? c->now : c->ungater->due;
}

static void tell(struct core *c, const struct member *m, struct job *j, const struct call *call,
		 const struct order_outcome *r)
{
	if (!j || c->ungater->told_job == j->number)
		return;
	c->ungater->told_job = j->number;
	job_event_add(c, j, "Warning", "TopologyUngateFailed",
		      "Pod %s on cluster %s waits behind its scheduling gate " DOMAIN_GATE ": %s",
		      call->thing, m->name, r->err.text);
	core_job_dirty(c, j);
}

void ungater_outcome(struct core *c, struct member *m, const struct call *call,
		     const struct order_outcome *r)
{
	struct member_pod *p = map_get(&m->pods, span_of(call->thing));
	bool answered = r->outcome == OUTCOME_ANSWERED;
	unsigned failures = (unsigned)call->job + 1;

	m->ungating -= m->ungating > 0;
	c->ungater->wanted = true;
	if (!p || (answered && (r->http_code / 100 == 2 || r->http_code == 404)))
		return;
	if (p->gated)
		p->domain = 0;
	if (failures >= TELL_AFTER)
		tell(c, m, p->job ? job_by_number(c, p->job) : NULL, call, r);
	usec pause = num_min(RETRY_FIRST << num_min(failures - 1, 10U), RETRY_MOST);
	wait_until(c, m, span_of(call->thing), c->now + pause, failures);
}
