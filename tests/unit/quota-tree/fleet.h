#ifndef TESTS_UNIT_QUOTA_TREE_FLEET_H
#define TESTS_UNIT_QUOTA_TREE_FLEET_H
/*
 * A tree with its queues, and units added in one line, for the tests of queues and messages.
 */
#include "quota-tree/quota_message.h"
#include "testing.h"

struct fleet {
	struct elastic_tree *tree;
	struct elastic_queues *q;
};

static inline struct fleet fleet_make(const struct elastic_node_spec *root,
				      const struct elastic_options *options, bool check_oversold)
{
	struct fleet f = {0};
	struct err err = ERR_INIT;
	if (elastic_tree_create(root, options, NULL, &f.tree, &err) != 0)
		fail_msg("%s: %s", err.field, err.text);
	const struct elastic_queue_options o = {.check_oversold = check_oversold};
	f.q = elastic_queue_create(f.tree, &o);
	return f;
}

static inline void fleet_done(struct fleet *f)
{
	struct err err = ERR_INIT;
	if (elastic_queue_check(f->q, &err) != 0)
		fail_msg("%s", err.text);
	elastic_queue_destroy(f->q);
	elastic_tree_destroy(f->tree);
}

static inline uint32_t fleet_node(const struct fleet *f, const char *name)
{
	uint32_t n = 0;
	if (elastic_tree_find(f->tree, span_of(name), &n) != 0)
		fail_msg("no node %s", name);
	return n;
}

struct job {
	const char *node;
	const char *name;
	int64_t cores;
	int32_t priority;
	int64_t time;
	bool nonpreemptible;
	uint32_t shape; /* 0: by its cores */
};

static inline struct elastic_unit_spec fleet_spec(const struct fleet *f, const struct job *job,
						  struct quota_amount *amounts)
{
	struct elastic_unit_spec spec = {
	    .node = fleet_node(f, job->node),
	    .shape = job->shape ? job->shape : (uint32_t)job->cores,
	    .priority = job->priority,
	    .nonpreemptible = job->nonpreemptible,
	    .first_attempt = job->time,
	    .name = span_of(job->name),
	    .amounts = amounts,
	};
	const struct elastic_quantity ask[] = {Q("cpu", CPU(job->cores))};
	if (elastic_tree_request(f->tree, ask, 1, amounts, &spec.n_amounts, NULL) != 0)
		fail_msg("bad request");
	return spec;
}

static inline struct elastic_unit *fleet_add(struct fleet *f, struct job job)
{
	struct quota_amount amounts[ELASTIC_REQUEST_AMOUNTS];
	struct elastic_unit_spec spec = fleet_spec(f, &job, amounts);
	return elastic_queue_add(f->q, &spec);
}

static inline struct elastic_unit *fleet_run(struct fleet *f, struct job job)
{
	struct quota_amount amounts[ELASTIC_REQUEST_AMOUNTS];
	struct elastic_unit_spec spec = fleet_spec(f, &job, amounts);
	struct elastic_unit *unit = NULL;
	if (elastic_queue_restore(f->q, &spec, &unit) != 0)
		fail_msg("restore");
	return unit;
}

/* Admits everything that quota allows; returns how many. */
static inline size_t fleet_drain(struct fleet *f)
{
	size_t n = 0;
	struct elastic_unit *u;
	while ((u = elastic_queue_next(f->q))) {
		if (elastic_queue_admit(f->q, u, NULL) != 0)
			fail_msg("a candidate was refused");
		n++;
	}
	return n;
}

static inline int64_t fleet_used(const struct fleet *f, const char *node)
{
	const struct quota_tree *quota = elastic_tree_quota_const(f->tree);
	uint32_t cpu = 0;
	struct quota_state s;
	if (quota_tree_find_resource(quota, SPAN("cpu"), &cpu) != 0)
		fail_msg("no cpu");
	quota_tree_get(quota, fleet_node(f, node), cpu, &s);
	return s.used / 1000;
}

static inline struct elastic_standing fleet_standing(const struct fleet *f,
						     const struct elastic_unit *unit)
{
	struct elastic_standing s;
	elastic_queue_standing(f->q, unit, &s);
	return s;
}

/* The sentence that tells why the unit waits. */
static inline const char *fleet_why(const struct fleet *f, const struct elastic_unit *unit)
{
	static char text[512];
	struct elastic_standing s = fleet_standing(f, unit);
	quota_message_standing(f->tree, &s, text, sizeof(text));
	return text;
}

static inline void fleet_policy(struct fleet *f, const char *node, enum elastic_policy policy)
{
	const struct elastic_queue_config config = {.policy = policy,
						    .threshold = ELASTIC_PRIORITY_THRESHOLD};
	elastic_queue_configure(f->q, fleet_node(f, node), &config);
}

#endif
