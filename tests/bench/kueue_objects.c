#include "kueue_objects.h"

#include "base/json.h"
#include "base/vec.h"
#include "http_watch.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define API KUEUE_OBJECTS_API

void kueue_objects_request(struct buf *out, const char *method, const char *path, const char *token,
			   const char *content_type, struct span body)
{
	buf_addf(out,
		 "%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"
		 "Accept: application/json\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n",
		 method, path, token, content_type, body.len);
	buf_add_span(out, body);
}

void kueue_objects_workload_path(const struct kueue_class *k, uint32_t queue, uint32_t number,
				 char out[160])
{
	snprintf(out, 160, API "/namespaces/team-%04u/workloads/%s-%06u", queue, k->name, number);
}

void kueue_objects_workload(const char *token, const struct kueue_class *k, uint32_t queue,
			    uint32_t number, int64_t cpu, struct buf *out)
{
	auto_buf b = BUF_INIT;
	char path[160];

	buf_addf(&b,
		 "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"Workload\",\"metadata\":{"
		 "\"name\":\"%s-%06u\",\"labels\":{"
		 "\"kueue.x-k8s.io/performance-scheduler-class\":\"%s\","
		 "\"kueue.x-k8s.io/performance-scheduler-running-ms\":\"%lld\"}},"
		 "\"spec\":{\"queueName\":\"queue\",\"priority\":%d,\"priorityClassRef\":{"
		 "\"group\":\"kueue.x-k8s.io\",\"kind\":\"WorkloadPriorityClass\","
		 "\"name\":\"%s\"},\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":{"
		 "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"pause\",\"resources\":{"
		 "\"requests\":{\"cpu\":\"%lldm\"}}}],\"restartPolicy\":\"Never\"}}}]}}",
		 k->name, number, k->name, (long long)(k->runs / 1000), k->priority, k->name,
		 (long long)cpu);
	snprintf(path, sizeof(path), API "/namespaces/team-%04u/workloads", queue);
	kueue_objects_request(out, "POST", path, token, "application/json", buf_span(&b));
}

/* ---- queues ---- */

struct request {
	char *path, *body;
};

struct plan {
	struct fleet *fleet;
	struct VEC(struct request) requests;
};

static void add(struct plan *p, const char *path, const char *fmt, ...) PRINTF_LIKE(3, 4);
static void add(struct plan *p, const char *path, const char *fmt, ...)
{
	char body[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(body, sizeof(body), fmt, ap);
	va_end(ap);
	vec_push(&p->requests, (struct request){xstrdup(path), xstrdup(body)});
}

static void make_request(void *arg, uint64_t n, struct buf *out)
{
	const struct plan *p = arg;
	const struct request *r = &p->requests.items[n];

	kueue_objects_request(out, "POST", r->path, p->fleet->token, "application/json",
			      span_of(r->body));
}

static void send_all(struct plan *p)
{
	struct http_load l = {.port = process_port(&p->fleet->hub, 0),
			      .token = p->fleet->token,
			      .connections = 8,
			      .seconds = 120,
			      .requests = p->requests.len,
			      .make = make_request,
			      .arg = p};
	struct http_load_result r;
	struct err e = ERR_INIT;

	if (http_load_run(&l, &r, &e) == 0 && r.failed)
		(void)err_set(&e, ERR_INTERNAL, "%s", r.first_failure);
	if (e.kind != ERR_NONE)
		fleet_die("queues", &e);
	http_load_done(&r);
	vec_foreach (&p->requests, q) {
		free(q->path);
		free(q->body);
	}
	vec_clear(&p->requests);
}

#define KIND(k) "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"" k "\",\"metadata\":{"

static void plan_shared(struct plan *p, const struct kueue_scenario *s)
{
	add(p, API "/resourceflavors", KIND("ResourceFlavor") "\"name\":\"default\"}}");
	for (size_t i = 0; i < KUEUE_CLASSES; i++)
		add(p, API "/workloadpriorityclasses",
		    KIND("WorkloadPriorityClass") "\"name\":\"%s\"},\"value\":%d}",
		    s->classes[i].name, s->classes[i].priority);
	for (size_t i = 0; i < s->cohorts; i++)
		add(p, API "/cohorts", KIND("Cohort") "\"name\":\"cohort-%zu\"}}", i);
	for (size_t i = 0; i < kueue_scenario_queues(s); i++)
		add(p, "/api/v1/namespaces",
		    "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{"
		    "\"name\":\"team-%04zu\"}}",
		    i);
}

static void plan_queues(struct plan *p, const struct kueue_scenario *s,
			struct kueue_quota_pair quota)
{
	for (size_t i = 0; i < kueue_scenario_queues(s); i++)
		add(p, API "/clusterqueues",
		    KIND("ClusterQueue") "\"name\":\"queue-%04zu\"},\"spec\":{"
					 "\"cohortName\":\"cohort-%zu\",\"namespaceSelector\":{},"
					 "\"preemption\":{\"reclaimWithinCohort\":\"Any\","
					 "\"withinClusterQueue\":\"LowerPriority\"},"
					 "\"resourceGroups\":[{\"coveredResources\":[\"cpu\"],"
					 "\"flavors\":[{\"name\":\"default\",\"resources\":[{"
					 "\"name\":\"cpu\",\"nominalQuota\":\"%lldm\","
					 "\"borrowingLimit\":\"%lldm\"}]}]}]}}",
		    i, i / s->width, (long long)quota.nominal, (long long)quota.borrowing);
}

static void plan_locals(struct plan *p, const struct kueue_scenario *s)
{
	char path[96];

	for (size_t i = 0; i < kueue_scenario_queues(s); i++) {
		snprintf(path, sizeof(path), API "/namespaces/team-%04zu/localqueues", i);
		add(p, path,
		    KIND("LocalQueue") "\"name\":\"queue\"},\"spec\":{"
				       "\"clusterQueue\":\"queue-%04zu\"}}",
		    i);
	}
}

struct ready {
	bool *seen;
	size_t left, n;
};

static bool note_ready(void *arg, char *line, size_t len)
{
	struct ready *r = arg;
	struct span ns;

	if (!memmem(line, len, "\"reason\":\"Ready\"", 16) ||
	    json_text_path(span_make(line, len), &ns, "object", "metadata", "namespace", NULL) < 0)
		return true;
	size_t queue = strtoul(ns.ptr + strlen("\"team-"), NULL, 10);
	if (queue < r->n && !r->seen[queue]) {
		r->seen[queue] = true;
		r->left--;
	}
	return r->left > 0;
}

static void await_queues(struct fleet *f, size_t n)
{
	struct ready r = {xcalloc(n, sizeof(bool)), n, n};
	struct http_watch w = {.port = process_port(&f->hub, 0),
			       .path = API "/localqueues?watch=true&timeoutSeconds=120",
			       .token = f->token,
			       .line = note_ready,
			       .arg = &r};
	struct err e = ERR_INIT;

	if (http_watch_get(&w, &e) == 0 && r.left)
		(void)err_set(&e, ERR_INTERNAL, "%zu LocalQueues are not ready", r.left);
	if (e.kind != ERR_NONE)
		fleet_die("queues", &e);
	free(r.seen);
}

void kueue_objects_create(struct fleet *f, const struct kueue_scenario *s,
			  struct kueue_quota_pair quota)
{
	struct plan p = {.fleet = f};

	plan_shared(&p, s);
	send_all(&p);
	plan_queues(&p, s, quota);
	send_all(&p);
	plan_locals(&p, s);
	send_all(&p);
	vec_done(&p.requests);
	await_queues(f, kueue_scenario_queues(s));
}
