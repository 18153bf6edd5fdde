#include "member-sync/sim/job_pods.h"
#include "base/json.h"
#include "member-sync/sim/pod_codec.h"
#include <errno.h>

/* Five letters that follow from what they name, so that doing it twice makes one pod. The
 * alphabet is apimachinery's: no vowels, no look-alikes. */
static void suffix(const struct sim_job *j, const struct plan_create *slot, char out[6])
{
	static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
	uint64_t h = 0xcbf29ce484222325ull;
	const int32_t parts[] = {slot->set, slot->index, slot->attempt};
	for (size_t i = 0; i < STORE_UID_LEN; i++)
		h = (h ^ j->uid[i]) * 0x100000001b3ull;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		h = (h ^ (uint32_t)parts[i]) * 0x9e3779b97f4a7c15ull;
	h ^= h >> 29;
	for (int i = 0; i < 5; i++, h /= 27)
		out[i] = letters[h % 27];
	out[5] = '\0';
}

struct birth_text {
	char name[STORE_MAX_NAME + 1], labels[1200], annotations[300], front[600];
};

static void lower_of(const char *s, char out[64])
{
	size_t i = 0;
	for (; s[i] && i < 63; i++)
		out[i] = s[i] >= 'A' && s[i] <= 'Z' ? (char)(s[i] | 0x20) : s[i];
	out[i] = '\0';
}

static void batch_birth(const struct sim_job *j, const struct plan_create *slot,
			struct birth_text *t)
{
	char end[6];
	suffix(j, slot, end);
	int n = snprintf(t->labels, sizeof(t->labels),
			 "\"batch.kubernetes.io/controller-uid\":\"%s\","
			 "\"batch.kubernetes.io/job-name\":\"%s\",\"controller-uid\":\"%s\","
			 "\"job-name\":\"%s\"",
			 j->uid_text, j->name, j->uid_text, j->name);
	if (!j->spec.batch.indexed) {
		snprintf(t->name, sizeof(t->name), "%s-%s", j->name, end);
		return;
	}
	snprintf(t->name, sizeof(t->name), "%s-%d-%s", j->name, slot->index, end);
	snprintf(t->front, sizeof(t->front), "\"hostname\":\"%.57s-%d\",", j->name, slot->index);
	snprintf(t->labels + n, sizeof(t->labels) - (size_t)n,
		 ",\"batch.kubernetes.io/job-completion-index\":\"%d\"", slot->index);
	snprintf(t->annotations, sizeof(t->annotations),
		 "\"batch.kubernetes.io/job-completion-index\":\"%d\"", slot->index);
}

static void training_selector(const struct sim_job *j, const struct plan_create *slot, char *out,
			      size_t size)
{
	char type[64];
	lower_of(j->sets.items[slot->set].name, type);
	snprintf(out, size,
		 "\"training.kubeflow.org/job-name\":\"%s\","
		 "\"training.kubeflow.org/operator-name\":\"%s-controller\","
		 "\"training.kubeflow.org/replica-index\":\"%d\","
		 "\"training.kubeflow.org/replica-type\":\"%s\"",
		 j->name, j->kind->singular, slot->index, type);
}

static bool is_mpi(const struct sim_job *j)
{
	return j->spec.training.kind == TRAINING_MPI || j->spec.training.kind == TRAINING_MPI_BETA;
}

/* The mpi-operator's labels. A launcher that works is the first of the ranks. */
static void mpi_birth(const struct sim_job *j, const struct plan_create *slot, struct birth_text *t)
{
	char type[64];
	lower_of(j->sets.items[slot->set].name, type);
	bool worker = strcmp(type, "worker") == 0, launcher_works = j->spec.training.launcher_works;
	int n = snprintf(t->labels, sizeof(t->labels),
			 "\"training.kubeflow.org/job-name\":\"%s\","
			 "\"training.kubeflow.org/job-role\":\"%s\","
			 "\"training.kubeflow.org/operator-name\":\"mpi-operator\"",
			 j->name, type);
	if (worker || launcher_works)
		snprintf(t->labels + n, sizeof(t->labels) - (size_t)n,
			 ",\"training.kubeflow.org/replica-index\":\"%d\"",
			 slot->index + (worker && launcher_works));
}

static void training_name(const struct sim_job *j, const struct plan_create *slot, char *out,
			  size_t size)
{
	char type[64];
	lower_of(j->sets.items[slot->set].name, type);
	if (is_mpi(j) && strcmp(type, "launcher") == 0)
		snprintf(out, size, "%s-launcher", j->name);
	else
		snprintf(out, size, "%s-%s-%d", j->name, type, slot->index);
}

static void training_birth(const struct sim_job *j, const struct plan_create *slot,
			   struct birth_text *t)
{
	training_name(j, slot, t->name, sizeof(t->name));
	if (j->spec.training.kind == TRAINING_MPI_BETA) {
		mpi_birth(j, slot, t);
		return;
	}
	training_selector(j, slot, t->labels, sizeof(t->labels) - 60);
	size_t n = strlen(t->labels);
	if (training_is_master(&j->spec.training, (size_t)slot->set, slot->index))
		snprintf(t->labels + n, sizeof(t->labels) - n,
			 ",\"training.kubeflow.org/job-role\":\"master\"");
}

static bool is_submitter(const struct sim_job *j, const struct plan_create *slot)
{
	return j->type == SIM_RAY && ray_job_is_submitter(&j->spec.ray, slot->set);
}

/* Named and labelled as by the Job of the RayJob's name that KubeRay makes. */
static void submitter_birth(const struct sim_job *j, const struct plan_create *slot,
			    struct birth_text *t)
{
	char end[6];
	suffix(j, slot, end);
	snprintf(t->name, sizeof(t->name), "%s-%s", j->name, end);
	snprintf(t->labels, sizeof(t->labels),
		 "\"batch.kubernetes.io/job-name\":\"%s\",\"job-name\":\"%s\","
		 "\"ray.io/originated-from-cr-name\":\"%s\"",
		 j->name, j->name, j->name);
}

static void ray_birth(const struct sim_job *j, const struct plan_create *slot, struct birth_text *t)
{
	char end[6], cluster[200];
	const char *group = j->sets.items[slot->set].name;
	bool head = slot->set == 0;
	suffix(j, slot, end);
	if (j->type == SIM_RAY)
		snprintf(cluster, sizeof(cluster), "%.180s-%.5s%d", j->name, j->uid_text,
			 slot->attempt);
	else
		snprintf(cluster, sizeof(cluster), "%.190s", j->name);
	if (head)
		snprintf(t->name, sizeof(t->name), "%s-head-%s", cluster, end);
	else
		snprintf(t->name, sizeof(t->name), "%s-%.30s-worker-%s", cluster, group, end);
	snprintf(t->labels, sizeof(t->labels),
		 "\"ray.io/cluster\":\"%s\",\"ray.io/group\":\"%s\",\"ray.io/is-ray-node\":\"yes\","
		 "\"ray.io/node-type\":\"%s\",\"ray.io/originated-from-cr-name\":\"%s\"",
		 cluster, head ? "headgroup" : group, head ? "head" : "worker", j->name);
}

const char *job_pods_controller(const struct sim_job *j, char out[80])
{
	switch (j->type) {
	case SIM_BATCH:
		return "job-controller";
	case SIM_JOB_SET:
		return "jobset";
	case SIM_RAY:
		return "rayjob-controller";
	case SIM_RAY_CLUSTER:
		return "raycluster-controller";
	default:
		if (j->spec.training.kind == TRAINING_MPI_BETA)
			return "mpi-job-controller";
		snprintf(out, 80, "%s-controller", j->kind->singular);
		return out;
	}
}

static void add_members(struct buf *out, const char *more, const char *object)
{
	/* object is "{...}"; its members come after ours, and ours win where both say something:
	 * readers take the first of two equal keys, so equal ones are left out. */
	struct span key, value, text = span_of(object);
	bool any = *more != 0;
	buf_add_str(out, more);
	for (size_t pos = 0; json_text_next(text, &pos, &key, &value);) {
		char quoted[340]; /* ours are shorter than that */
		snprintf(quoted, sizeof(quoted), "\"%.*s\":", SPAN_ARGS(key));
		if (strstr(more, quoted))
			continue;
		buf_add_str(out, any ? ",\"" : "\"");
		buf_add_span(out, key);
		buf_add_str(out, "\":");
		buf_add_span(out, value);
		any = true;
	}
}

/* What an API server says of a pod with scheduling gates when it is created. */
#define GATED                                                                                      \
	",\"conditions\":[{\"type\":\"PodScheduled\",\"status\":\"False\",\"reason\":"             \
	"\"SchedulingGated\",\"message\":\"Scheduling is blocked due to non-empty scheduling gates\"}]"

static bool is_gated(const struct sim_set *set)
{
	struct span gates, one;
	size_t pos = 0;

	return json_text_member(span_of(set->spec), "schedulingGates", &gates) == 0 &&
	       json_text_type(gates) == JSON_ARRAY && json_text_next(gates, &pos, NULL, &one);
}

static int put_pod(struct cluster *c, const struct sim_job *j, const struct plan_create *slot,
		   const struct birth_text *t)
{
	const struct sim_set *set = &j->sets.items[j->type == SIM_BATCH ? 0 : slot->set];
	struct span ns = span_of(j->ns), name = span_of(t->name);
	struct store_object there;
	struct object_draft d;
	struct err why = ERR_INIT;
	struct writer w;
	uint8_t uid[STORE_UID_LEN];
	auto_buf status = BUF_INIT;
	char mine[600];
	int rc = registry_get(c->batch, c->pod_kind, ns, name, &there);
	if (rc != -ENOENT)
		return rc ? rc : -EEXIST;
	registry_new_uid(c->reg, uid);
	writer_begin(&w, c->pod_kind, ns, t->name, uid, c->now);
	buf_add_str(&w.text, ",\"labels\":{");
	add_members(&w.text, t->labels, set->labels);
	buf_add_str(&w.text, "},\"annotations\":{");
	snprintf(mine, sizeof(mine), "%s%s\"" POD_CODEC_SLOT "\":\"%d.%d.%d\"%s", t->annotations,
		 *t->annotations ? "," : "", slot->set, slot->index, slot->attempt,
		 j->type >= SIM_RAY && !is_submitter(j, slot) ? ",\"" POD_CODEC_FOREVER
								"\":\"true\""
							      : "");
	add_members(&w.text, mine, set->annotations);
	buf_add_char(&w.text, '}');
	writer_owner(&w, j->kind, j->name, j->uid);
	writer_end_metadata(&w);
	writer_part(&w, "spec", span_of(set->spec));
	buf_addf(&status, "{\"phase\":\"Pending\",\"qosClass\":\"Burstable\"%s}",
		 is_gated(set) ? GATED : "");
	writer_part(&w, "status", buf_span(&status));
	rc = writer_finish(&w, &d, &why);
	if (!rc && *t->front) {
		rc = writer_insert_in_spec(&d, t->front, &why);
		if (rc)
			object_draft_done(&d);
	}
	if (rc)
		return cluster_fail(c, &why);
	return registry_put(c->batch, c->pod_kind, ns, name, &d);
}

/* The port that a replica's service says when its pods do not (the operator's defaults). */
static const struct {
	const char *name;
	int port;
} service_ports[] = {
    [TRAINING_PYTORCH] = {"pytorchjob-port", 23456}, [TRAINING_TENSORFLOW] = {"tfjob-port", 2222},
    [TRAINING_XGBOOST] = {"xgboostjob-port", 9999},  [TRAINING_PADDLE] = {"master", 36543},
    [TRAINING_JAX] = {"jaxjob-port", 6666},
};

static int put_service(struct cluster *c, struct sim_job *j, const struct plan_create *slot,
		       const char *name)
{
	enum training_kind kind = j->spec.training.kind;
	char selector[600], ports[64];
	if (is_mpi(j))
		return 0; /* its launcher reaches workers through exec, or by the job's service */
	training_selector(j, slot, selector, sizeof(selector));
	snprintf(ports, sizeof(ports), "[{\"name\":\"%s\",\"port\":%d}]", service_ports[kind].name,
		 service_ports[kind].port);
	j->has_services = true;
	return cluster_services_create(c, j, name, selector, ports);
}

int job_pods_create(struct cluster *c, struct sim_job *j, const struct plan_create *slot)
{
	struct birth_text t = {.name = ""};
	char component[80];
	if (j->type == SIM_BATCH)
		batch_birth(j, slot, &t);
	else if (j->type == SIM_TRAINING)
		training_birth(j, slot, &t);
	else if (is_submitter(j, slot))
		submitter_birth(j, slot, &t);
	else
		ray_birth(j, slot, &t);
	int rc = put_pod(c, j, slot, &t);
	if (!rc && j->type == SIM_TRAINING)
		rc = put_service(c, j, slot, t.name);
	if (!rc)
		cluster_event(c, j->kind, span_of(j->ns), span_of(j->name), span_of(j->uid_text),
			      job_pods_controller(j, component), false,
			      j->type == SIM_TRAINING ? "SuccessfulCreatePod" : "SuccessfulCreate",
			      "Created pod: %s", t.name);
	return rc;
}

void job_pods_drop_service(struct cluster *c, struct sim_job *j, const struct plan_create *slot)
{
	char name[STORE_MAX_NAME + 1];
	training_name(j, slot, name, sizeof(name));
	(void)!cluster_services_delete(c, j, name);
}
