#include "core/kueue/kueue_metrics.h"

#include "core/kueue/cluster_queue.h"
#include "core/kueue/usage.h"
#include "core/metrics_text.h"

#include <inttypes.h>

/* The queues that are printed, and where to. */
struct page {
	const struct core *c;
	const struct cluster_queue *queues[KUEUE_METRICS_QUEUES];
	size_t n;
	struct buf *out;
};

static void begin_sample(struct page *p, const char *name, const struct cluster_queue *q)
{
	buf_addf(p->out, "%s{cluster_queue=\"", name);
	metrics_label(p->out, span_of(q->name));
}

static void sample(struct page *p, const char *name, const struct cluster_queue *q, uint64_t v)
{
	begin_sample(p, name, q);
	buf_addf(p->out, "\"} %" PRIu64 "\n", v);
}

/* ---- workloads ---- */

static bool is_active(const struct page *p, const struct cluster_queue *q)
{
	auto_buf why = BUF_MAX(16384);
	bool active;

	(void)cluster_queue_activity(p->c, q, &active, &why);
	return active;
}

static struct kueue_counts counts(const struct page *p, const struct cluster_queue *q)
{
	if (q->node == KUEUE_NONE)
		return (struct kueue_counts){0};
	return kueue_queues_count(p->c->kueue->queues, q->node);
}

static void add_pending(struct page *p)
{
	metrics_head(p->out, "kueue_pending_workloads", "gauge",
		     "Workloads that wait: active ones are tried, inadmissible ones wait for what "
		     "could make room.");
	for (size_t i = 0; i < p->n; i++) {
		struct kueue_counts n = counts(p, p->queues[i]);
		size_t active = is_active(p, p->queues[i]) ? n.active : 0;
		const size_t values[] = {active, n.pending - active};
		static const char *const words[] = {"active", "inadmissible"};
		for (size_t k = 0; k < ARRAY_LEN(words); k++) {
			begin_sample(p, "kueue_pending_workloads", p->queues[i]);
			buf_addf(p->out, "\",status=\"%s\"} %zu\n", words[k], values[k]);
		}
	}
}

static void add_active(struct page *p)
{
	metrics_head(p->out, "kueue_reserving_active_workloads", "gauge",
		     "Workloads that reserve quota.");
	for (size_t i = 0; i < p->n; i++)
		sample(p, "kueue_reserving_active_workloads", p->queues[i],
		       counts(p, p->queues[i]).reserving);
	metrics_head(p->out, "kueue_admitted_active_workloads", "gauge",
		     "Workloads that are admitted and not finished.");
	for (size_t i = 0; i < p->n; i++)
		sample(p, "kueue_admitted_active_workloads", p->queues[i],
		       counts(p, p->queues[i]).admitted);
}

static void add_status(struct page *p)
{
	static const char *const words[] = {"pending", "active", "terminating"};

	metrics_head(p->out, "kueue_cluster_queue_status", "gauge",
		     "1 for the status that a ClusterQueue is in, 0 for the others.");
	for (size_t i = 0; i < p->n; i++) {
		const struct cluster_queue *q = p->queues[i];
		size_t is = q->deleting ? 2 : is_active(p, q) ? 1 : 0;
		for (size_t k = 0; k < ARRAY_LEN(words); k++) {
			begin_sample(p, "kueue_cluster_queue_status", q);
			buf_addf(p->out, "\",status=\"%s\"} %d\n", words[k], k == is);
		}
	}
}

/* ---- what has happened ---- */

static void add_totals(struct page *p)
{
	metrics_head(p->out, "kueue_quota_reserved_workloads_total", "counter",
		     "Workloads that were given quota.");
	for (size_t i = 0; i < p->n; i++)
		sample(p, "kueue_quota_reserved_workloads_total", p->queues[i],
		       p->queues[i]->meter.reserved);
	metrics_head(p->out, "kueue_admitted_workloads_total", "counter",
		     "Workloads that were admitted.");
	for (size_t i = 0; i < p->n; i++)
		sample(p, "kueue_admitted_workloads_total", p->queues[i],
		       p->queues[i]->meter.admitted);
	metrics_head(p->out, "kueue_finished_workloads_total", "counter",
		     "Workloads that came to an end.");
	for (size_t i = 0; i < p->n; i++)
		sample(p, "kueue_finished_workloads_total", p->queues[i],
		       p->queues[i]->meter.finished);
}

static void add_evictions(struct page *p)
{
	metrics_head(p->out, "kueue_evicted_workloads_total", "counter",
		     "Evictions by their reason and what is under it.");
	for (size_t i = 0; i < p->n; i++)
		vec_foreach (&p->queues[i]->meter.evicted, e) {
			begin_sample(p, "kueue_evicted_workloads_total", p->queues[i]);
			buf_addf(p->out, "\",reason=\"%s\",underlying_cause=\"%s\"} %" PRIu64 "\n",
				 e->reason, e->cause, e->n);
		}
	metrics_head(p->out, "kueue_preempted_workloads_total", "counter",
		     "Workloads that left for one of this ClusterQueue, by the reason.");
	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < QUEUE_METER_REASONS; k++) {
			uint64_t n = p->queues[i]->meter.preempted[k];
			if (!n)
				continue;
			buf_add_str(p->out,
				    "kueue_preempted_workloads_total{preempting_cluster_queue=\"");
			metrics_label(p->out, span_of(p->queues[i]->name));
			buf_addf(p->out, "\",reason=\"%s\"} %" PRIu64 "\n",
				 kueue_preempt_reason_to_string((enum kueue_preempt_reason)k), n);
		}
}

static void add_histogram(struct page *p, const char *name, const struct cluster_queue *q,
			  const struct wait_histogram *h)
{
	char part[80];
	uint64_t n = 0;

	for (size_t i = 0; i <= QUEUE_METER_BOUNDS; i++) {
		(void)snprintf(part, sizeof(part), "%s_bucket", name);
		n += h->n[i];
		begin_sample(p, part, q);
		if (i < QUEUE_METER_BOUNDS)
			buf_addf(p->out, "\",le=\"%g\"} %" PRIu64 "\n",
				 (double)queue_meter_bound(i) / USEC_PER_SEC, n);
		else
			buf_addf(p->out, "\",le=\"+Inf\"} %" PRIu64 "\n", n);
	}
	(void)snprintf(part, sizeof(part), "%s_sum", name);
	begin_sample(p, part, q);
	buf_add_str(p->out, "\"} ");
	metrics_seconds(p->out, h->sum);
	(void)snprintf(part, sizeof(part), "%s_count", name);
	buf_add_char(p->out, '\n');
	sample(p, part, q, n);
}

/* Of queues that had any. */
static void add_waits(struct page *p)
{
	static const struct {
		const char *name, *help;
		size_t offset;
	} waits[] = {
	    {"kueue_quota_reserved_wait_time_seconds",
	     "From a workload's queueing until its quota was reserved.",
	     offsetof(struct queue_meter, quota_wait)},
	    {"kueue_admission_wait_time_seconds", "From a workload's queueing until admission.",
	     offsetof(struct queue_meter, admission_wait)},
	    {"kueue_admission_checks_wait_time_seconds",
	     "From the reservation of quota until admission, where there are checks.",
	     offsetof(struct queue_meter, checks_wait)},
	    {"kueue_ready_wait_time_seconds",
	     "From a workload's queueing until all its pods were ready.",
	     offsetof(struct queue_meter, ready_wait)},
	    {"kueue_admitted_until_ready_wait_time_seconds",
	     "From admission until all pods were ready.", offsetof(struct queue_meter, start_wait)},
	};

	for (size_t k = 0; k < ARRAY_LEN(waits); k++) {
		metrics_head(p->out, waits[k].name, "histogram", waits[k].help);
		for (size_t i = 0; i < p->n; i++) {
			const struct wait_histogram *h =
			    (const void *)((const char *)&p->queues[i]->meter + waits[k].offset);
			uint64_t any = 0;
			for (size_t b = 0; b <= QUEUE_METER_BOUNDS; b++)
				any |= h->n[b];
			if (any)
				add_histogram(p, waits[k].name, p->queues[i], h);
		}
	}
}

/* ---- quota ---- */

enum cell_part {
	NOMINAL,
	BORROWING,
	LENDING,
	RESERVATION,
	USAGE,
};

static int64_t amount_of(const struct page *p, const struct cluster_queue *q,
			 const struct kueue_use *cell, const struct kueue_quota *quota,
			 enum cell_part what)
{
	switch (what) {
	case NOMINAL:
		return quota->nominal;
	case BORROWING:
		return quota->borrowing;
	case LENDING:
		return quota->lending;
	case RESERVATION:
		return kueue_forest_usage(p->c->kueue->forest, q->node, cell->flavor,
					  cell->resource);
	default:
		return usage_of(&q->admitted, cell->flavor, cell->resource);
	}
}

static void add_cell(struct page *p, const char *name, const struct cluster_queue *q,
		     const struct kueue_use *cell, const struct kueue_quota *quota,
		     enum cell_part what)
{
	const struct kueue_forest *f = p->c->kueue->forest;
	uint32_t cohort = kueue_forest_parent(f, q->node);
	struct span resource = kueue_forest_resource_name(f, cell->resource);
	int64_t v = amount_of(p, q, cell, quota, what);

	begin_sample(p, name, q);
	buf_add_str(p->out, "\",cohort=\"");
	if (cohort != KUEUE_NONE)
		metrics_label(p->out, kueue_forest_name(f, cohort));
	buf_add_str(p->out, "\",flavor=\"");
	metrics_label(p->out, kueue_forest_flavor_name(f, cell->flavor));
	buf_add_str(p->out, "\",resource=\"");
	metrics_label(p->out, resource);
	buf_add_str(p->out, "\"} ");
	if (v == QUOTA_UNLIMITED)
		buf_add_str(p->out, "+Inf");
	else
		metrics_amount(p->out, resource, v);
	buf_add_char(p->out, '\n');
}

static void add_cells(struct page *p, const char *name, const struct cluster_queue *q,
		      enum cell_part what)
{
	const struct kueue_forest *f = p->c->kueue->forest;
	const struct kueue_queue_spec *s =
	    q->node == KUEUE_NONE ? NULL : kueue_forest_queue_spec(f, q->node);

	for (size_t g = 0; s && g < s->n_groups; g++)
		for (size_t i = 0; i < s->groups[g].n_flavors; i++)
			for (size_t r = 0; r < s->groups[g].n_resources; r++) {
				const struct kueue_use cell = {
				    kueue_forest_flavor(f, s->groups[g].flavors[i]),
				    kueue_forest_find_resource(f, s->groups[g].resources[r]), 0};
				add_cell(p, name, q, &cell,
					 &s->groups[g].quotas[i * s->groups[g].n_resources + r],
					 what);
			}
}

static void add_quota(struct page *p)
{
	static const struct {
		const char *name, *help;
		enum cell_part what;
	} rows[] = {
	    {"kueue_cluster_queue_nominal_quota", "Nominal quota of a flavor's resource.", NOMINAL},
	    {"kueue_cluster_queue_borrowing_limit", "What may be borrowed beyond it.", BORROWING},
	    {"kueue_cluster_queue_lending_limit", "What of it may be lent.", LENDING},
	    {"kueue_cluster_queue_resource_reservation", "What is reserved.", RESERVATION},
	    {"kueue_cluster_queue_resource_usage", "What admitted workloads use.", USAGE},
	};

	for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
		metrics_head(p->out, rows[k].name, "gauge", rows[k].help);
		for (size_t i = 0; i < p->n; i++)
			add_cells(p, rows[k].name, p->queues[i], rows[k].what);
	}
}

static void add_shares(struct page *p)
{
	const struct kueue *k = p->c->kueue;

	if (!k->settings.engine.fair_sharing)
		return;
	metrics_head(p->out, "kueue_cluster_queue_weighted_share", "gauge",
		     "Share of what is lent in the cohort, in thousandths, by weight.");
	for (size_t i = 0; i < p->n; i++) {
		if (p->queues[i]->node == KUEUE_NONE)
			continue;
		begin_sample(p, "kueue_cluster_queue_weighted_share", p->queues[i]);
		buf_addf(p->out, "\"} %" PRId64 "\n",
			 kueue_share_status(kueue_forest_share(k->forest, p->queues[i]->node)));
	}
}

static void add_attempts(const struct core *c, struct buf *out)
{
	static const char *const results[] = {"inadmissible", "success"};
	static const char *const decisions[KUEUE_DECISIONS] = {"waits", "preempts", "admitted"};

	metrics_head(out, "kueue_admission_attempts_total", "counter",
		     "Cycles of admission; success: somebody was given quota.");
	for (size_t i = 0; i < ARRAY_LEN(results); i++)
		buf_addf(out, "kueue_admission_attempts_total{result=\"%s\"} %" PRIu64 "\n",
			 results[i], c->counters.cycles[i]);
	metrics_head(out, "muster_admission_decisions_total", "counter",
		     "Workloads that a cycle decided about.");
	for (size_t i = 0; i < KUEUE_DECISIONS; i++)
		buf_addf(out, "muster_admission_decisions_total{decision=\"%s\"} %" PRIu64 "\n",
			 decisions[i], c->counters.decisions[i]);
}

void kueue_metrics_add(const struct core *c, struct buf *out)
{
	struct page p = {.c = c, .out = out};

	map_foreach (&c->kueue->cluster_queues, e)
		if (p.n < KUEUE_METRICS_QUEUES)
			p.queues[p.n++] = e->value;
	metrics_head(out, "muster_cluster_queues", "gauge",
		     "ClusterQueues; of more than 500 some are left out of what follows.");
	buf_addf(out, "muster_cluster_queues %zu\n", c->kueue->cluster_queues.len);
	add_attempts(c, out);
	add_pending(&p);
	add_active(&p);
	add_status(&p);
	add_totals(&p);
	add_evictions(&p);
	add_waits(&p);
	add_quota(&p);
	add_shares(&p);
}
