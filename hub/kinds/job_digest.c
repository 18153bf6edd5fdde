/*
 * Pack and unpack: the row form of a digest. A digest that does not read to its last byte is
 * malformed; counts are bounded by what is left of the bytes, so a bad one allocates nothing big.
 */
#include "kinds/job_digest.h"

#include "kinds/mpi_job.h"
#include "kinds/pod_set_codec.h"

#include <errno.h>

#define DIGEST_VERSION 6
/* In place of an effect: NoExecute, and the seconds for which it is tolerated follow. */
#define LIMITED (INFO_NO_EXECUTE + 1)
/* Older versions: without what only a queue asks; without the limit; without topologies; without
 * which pod sets take provisioned nodes; without the Workload that it names. */
#define DIGEST_NO_QUEUE	    1
#define DIGEST_NO_LIMIT	    2
#define DIGEST_NO_TOPOLOGY  3
#define DIGEST_NO_CONSUMERS 4
#define DIGEST_NO_PREBUILT  5

enum digest_flag {
	DIGEST_SINGLE_TEMPLATE = 1u << 0,
	DIGEST_SUSPEND = 1u << 1,
	DIGEST_PREEMPTIBLE = 1u << 2,
	DIGEST_BETA = 1u << 3,
	DIGEST_LAUNCHER_WORKS = 1u << 4,
};

/* ---- pack ---- */

static void put_affinity(struct buf *out, const struct template_info *t)
{
	info_put_u64(out, t->n_affinity);
	for (size_t i = 0; i < t->n_affinity; i++) {
		const struct info_term *term = &t->affinity[i];
		info_put_u64(out, term->n_requirements);
		for (size_t j = 0; j < term->n_requirements; j++) {
			const struct info_requirement *q = &term->requirements[j];
			info_put_u64(out, (uint64_t)q->op << 1 | q->is_field);
			info_put_span(out, q->key);
			info_put_u64(out, q->n_values);
			for (size_t v = 0; v < q->n_values; v++)
				info_put_span(out, q->values[v]);
		}
	}
}

static void put_tolerations(struct buf *out, const struct template_info *t)
{
	info_put_u64(out, t->n_tolerations);
	for (size_t i = 0; i < t->n_tolerations; i++) {
		const struct info_toleration *o = &t->tolerations[i];
		uint64_t effect = o->limited ? LIMITED : (uint64_t)o->effect;
		info_put_u64(out, effect << 2 | (uint64_t)o->any_effect << 1 |
				      (o->op == TOLERATE_EXISTS));
		info_put_span(out, o->key);
		info_put_span(out, o->value);
		if (o->limited)
			info_put_i64(out, o->seconds);
	}
}

void pod_set_pack(const struct job_pod_set *s, struct buf *out)
{
	info_put_span(out, s->name);
	info_put_i64(out, s->count);
	info_put_span(out, s->exclusive_topology);
	info_put_i64(out, s->groups);
	info_put_amounts(out, s->pod.requests, s->pod.n_requests);
	info_put_pairs(out, s->pod.node_selector, s->pod.n_node_selector);
	put_affinity(out, &s->pod);
	put_tolerations(out, &s->pod);
	info_put_span(out, s->pod.priority_class);
	info_put_i64(out, s->min_count);
	info_put_span(out, s->path);
	topology_request_pack(&s->topology, out);
}

void job_digest_pack(const struct job_digest *d, struct buf *out)
{
	info_put_u64(out, DIGEST_VERSION);
	info_put_u64(out, (d->single_template ? DIGEST_SINGLE_TEMPLATE : 0u) |
			      (d->suspend ? DIGEST_SUSPEND : 0u) |
			      (d->preemptible ? DIGEST_PREEMPTIBLE : 0u) |
			      (d->beta ? DIGEST_BETA : 0u) |
			      (d->launcher_works ? DIGEST_LAUNCHER_WORKS : 0u));
	info_put_span(out, d->priority_class);
	info_put_span(out, d->queue_name);
	info_put_span(out, d->quota_name);
	info_put_span(out, d->provisioning_request);
	info_put_i64(out, d->ttl_seconds);
	info_put_u64(out, d->n_pod_sets);
	for (size_t i = 0; i < d->n_pod_sets; i++)
		pod_set_pack(&d->pod_sets[i], out);
	info_put_u64(out, d->n_dependencies);
	for (size_t i = 0; i < d->n_dependencies; i++) {
		info_put_u64(out, (uint64_t)d->dependencies[i].kind);
		info_put_span(out, d->dependencies[i].name);
	}
	info_put_pairs(out, d->labels, d->n_labels);
	info_put_span(out, d->scheduling_class);
	info_put_u64(out, d->submitter ? 1 : 0);
	if (d->submitter)
		pod_set_pack(d->submitter, out);
	info_put_i64(out, d->limit_seconds);
	info_put_u64(out, d->consumers);
	info_put_span(out, d->prebuilt);
}

/* ---- unpack ---- */

static void get_requirement(struct info_reader *r, struct arena *mem, struct info_requirement *q)
{
	uint64_t word = info_get_u64(r);

	if (word >> 1 > MATCH_LT)
		r->failed = true;
	q->op = (enum match_op)(word >> 1 & 7);
	q->is_field = word & 1;
	q->key = info_get_span(r);
	q->n_values = info_get_count(r, 1);
	q->values = arena_array(mem, struct span, q->n_values);
	for (size_t i = 0; i < q->n_values; i++)
		q->values[i] = info_get_span(r);
}

static void get_affinity(struct info_reader *r, struct arena *mem, struct template_info *t)
{
	t->n_affinity = info_get_count(r, 1);
	t->affinity = arena_array(mem, struct info_term, t->n_affinity);
	for (size_t i = 0; i < t->n_affinity; i++) {
		struct info_term *term = &t->affinity[i];
		term->n_requirements = info_get_count(r, 3);
		term->requirements =
		    arena_array(mem, struct info_requirement, term->n_requirements);
		for (size_t j = 0; j < term->n_requirements; j++)
			get_requirement(r, mem, &term->requirements[j]);
	}
}

static void get_tolerations(struct info_reader *r, struct arena *mem, struct template_info *t)
{
	t->n_tolerations = info_get_count(r, 3);
	t->tolerations = arena_array(mem, struct info_toleration, t->n_tolerations);
	for (size_t i = 0; i < t->n_tolerations; i++) {
		struct info_toleration *o = &t->tolerations[i];
		uint64_t word = info_get_u64(r);
		if (word >> 2 > LIMITED)
			r->failed = true;
		o->limited = word >> 2 == LIMITED;
		o->op = word & 1 ? TOLERATE_EXISTS : TOLERATE_EQUAL;
		o->any_effect = word >> 1 & 1;
		o->effect = o->limited ? INFO_NO_EXECUTE : (enum info_effect)(word >> 2 & 3);
		o->key = info_get_span(r);
		o->value = info_get_span(r);
		if (o->limited)
			o->seconds = info_get_i64(r);
	}
}

static void get_pod_set(struct info_reader *r, struct arena *mem, uint64_t version,
			struct job_pod_set *s)
{
	s->name = info_get_span(r);
	s->count = info_get_i64(r);
	s->exclusive_topology = info_get_span(r);
	s->groups = info_get_i64(r);
	if (s->count < 0 || s->count > JOB_MAX_PODS || s->groups < 1 || s->groups > JOB_MAX_PODS)
		r->failed = true;
	s->pod.requests = info_get_amounts(r, mem, &s->pod.n_requests);
	s->pod.node_selector = info_get_pairs(r, mem, &s->pod.n_node_selector);
	get_affinity(r, mem, &s->pod);
	get_tolerations(r, mem, &s->pod);
	s->pod.priority_class = info_get_span(r);
	if (version <= DIGEST_NO_QUEUE)
		return;
	s->min_count = info_get_i64(r);
	s->path = info_get_span(r);
	if (s->min_count < 0 || s->min_count > s->count)
		r->failed = true;
	if (version > DIGEST_NO_TOPOLOGY)
		topology_request_unpack(r, &s->topology);
}

void pod_set_unpack(struct info_reader *r, struct arena *mem, bool topology,
		    struct job_pod_set *ret)
{
	get_pod_set(r, mem, topology ? DIGEST_VERSION : DIGEST_NO_TOPOLOGY, ret);
}

static void get_pod_sets(struct info_reader *r, struct arena *mem, uint64_t version,
			 struct job_digest *d)
{
	d->n_pod_sets = info_get_count(r, 9);
	if (d->n_pod_sets > JOB_MAX_POD_SETS) {
		r->failed = true;
		d->n_pod_sets = 0;
	}
	d->pod_sets = arena_array(mem, struct job_pod_set, d->n_pod_sets);
	for (size_t i = 0; i < d->n_pod_sets; i++)
		get_pod_set(r, mem, version, &d->pod_sets[i]);
}

static void get_dependencies(struct info_reader *r, struct arena *mem, struct job_digest *d)
{
	d->n_dependencies = info_get_count(r, 2);
	d->dependencies = arena_array(mem, struct job_dependency, d->n_dependencies);
	for (size_t i = 0; i < d->n_dependencies; i++) {
		uint64_t kind = info_get_u64(r);
		if (kind > DEPENDENCY_SERVICE_ACCOUNT)
			r->failed = true;
		else
			d->dependencies[i].kind = (int)kind;
		d->dependencies[i].name = info_get_span(r);
	}
}

static void get_queue_fields(struct info_reader *r, struct arena *mem, uint64_t version,
			     struct job_digest *d)
{
	d->scheduling_class = info_get_span(r);
	if (info_get_u64(r) == 0)
		return;
	d->submitter = arena_new(mem, struct job_pod_set);
	get_pod_set(r, mem, version, d->submitter);
}

int job_digest_unpack(struct span bytes, struct arena *mem, struct job_digest *ret)
{
	struct info_reader r = info_reader_make(bytes);
	struct job_digest d = {0};

	uint64_t version = info_get_u64(&r);
	if (version < DIGEST_NO_QUEUE || version > DIGEST_VERSION)
		return -EINVAL;
	uint64_t flags = info_get_u64(&r);
	d.single_template = flags & DIGEST_SINGLE_TEMPLATE;
	d.suspend = flags & DIGEST_SUSPEND;
	d.preemptible = flags & DIGEST_PREEMPTIBLE;
	d.beta = flags & DIGEST_BETA;
	d.launcher_works = flags & DIGEST_LAUNCHER_WORKS;
	d.priority_class = info_get_span(&r);
	d.queue_name = info_get_span(&r);
	d.quota_name = info_get_span(&r);
	d.provisioning_request = info_get_span(&r);
	d.ttl_seconds = info_get_i64(&r);
	get_pod_sets(&r, mem, version, &d);
	get_dependencies(&r, mem, &d);
	d.labels = info_get_pairs(&r, mem, &d.n_labels);
	if (version > DIGEST_NO_QUEUE)
		get_queue_fields(&r, mem, version, &d);
	d.limit_seconds = version > DIGEST_NO_LIMIT ? info_get_i64(&r) : -1;
	d.consumers = version > DIGEST_NO_CONSUMERS ? info_get_u64(&r)
		      : d.provisioning_request.len  ? UINT64_MAX
						    : 0;
	d.prebuilt = version > DIGEST_NO_PREBUILT ? info_get_span(&r) : SPAN_NONE;
	if (!info_reader_ended(&r))
		return -EINVAL;
	*ret = d;
	return 0;
}

struct span job_digest_label(const struct job_digest *d, const char *key)
{
	for (size_t i = 0; i < d->n_labels; i++)
		if (span_is(d->labels[i].key, key))
			return d->labels[i].value;
	return SPAN_NONE;
}

const struct kind *job_digest_kind(const struct kind_set *kinds, const struct kind *k,
				   const struct job_digest *d)
{
	const struct kind *beta =
	    d->beta ? kind_by_gvk(kinds, span_of(k->group), SPAN(MPI_JOB_BETA), span_of(k->kind))
		    : NULL;

	return beta ? beta : k;
}
