#include "member-sync/stream_kind.h"

#include "base/json.h"
#include "kinds/types.h"
#include "kube/node_view.h"

#include <assert.h>

static const struct stream_kind kinds[STREAM_MAX] = {
    [STREAM_NODES] = {"/api/v1", "nodes", TYPE_NODE, FACT_NODE, false, false},
    [STREAM_PODS] = {"/api/v1", "pods", TYPE_POD, FACT_POD, false, false},
    [STREAM_JOBS] = {"/apis/batch/v1", "jobs", TYPE_JOB, FACT_COPY, true, true},
    [STREAM_PYTORCHJOBS] = {"/apis/kubeflow.org/v1", "pytorchjobs", TYPE_PYTORCH_JOB, FACT_COPY,
			    true, true},
    [STREAM_TFJOBS] = {"/apis/kubeflow.org/v1", "tfjobs", TYPE_TF_JOB, FACT_COPY, true, true},
    [STREAM_MPIJOBS] = {"/apis/kubeflow.org/v1", "mpijobs", TYPE_MPI_JOB, FACT_COPY, true, true},
    [STREAM_JOBSETS] = {"/apis/jobset.x-k8s.io/v1alpha2", "jobsets", TYPE_JOB_SET, FACT_COPY, true,
			true},
    [STREAM_RAYJOBS] = {"/apis/ray.io/v1", "rayjobs", TYPE_RAY_JOB, FACT_COPY, true, true},
    [STREAM_XGBOOSTJOBS] = {"/apis/kubeflow.org/v1", "xgboostjobs", TYPE_XGBOOST_JOB, FACT_COPY,
			    true, true},
    [STREAM_PADDLEJOBS] = {"/apis/kubeflow.org/v1", "paddlejobs", TYPE_PADDLE_JOB, FACT_COPY, true,
			   true},
    [STREAM_JAXJOBS] = {"/apis/kubeflow.org/v1", "jaxjobs", TYPE_JAX_JOB, FACT_COPY, true, true},
    [STREAM_RAYCLUSTERS] = {"/apis/ray.io/v1", "rayclusters", TYPE_RAY_CLUSTER, FACT_COPY, true,
			    true},
    [STREAM_PROVISIONING_REQUESTS] = {"/apis/autoscaling.x-k8s.io/v1", "provisioningrequests",
				      TYPE_PROVISIONING_REQUEST, FACT_COPY, true, true},
    [STREAM_PROVISIONING_REQUESTS_V1BETA1] = {"/apis/autoscaling.x-k8s.io/v1beta1",
					      "provisioningrequests", TYPE_PROVISIONING_REQUEST,
					      FACT_COPY, true, true},
    [STREAM_MPIJOBS_V2BETA1] = {"/apis/kubeflow.org/v2beta1", "mpijobs", TYPE_MPI_JOB, FACT_COPY,
				true, true},
    [STREAM_EVENTS] = {"/api/v1", "events", TYPE_EVENT, FACT_EVENT, false, false},
};

const struct stream_kind *stream_kind_of(enum member_stream s)
{
	assert((unsigned)s < STREAM_MAX);
	return &kinds[s];
}

void stream_kind_escape(struct span text, struct buf *out)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		    c == '-' || c == '.' || c == '_' || c == '~')
			buf_add_char(out, c);
		else
			buf_addf(out, "%%%02X", (unsigned)(unsigned char)c);
	}
}

void stream_kind_path(enum member_stream s, const char *hub_uid, struct buf *out)
{
	const struct stream_kind *k = stream_kind_of(s);

	buf_addf(out, "%s/%s?", k->root, k->resource);
	if (!k->own)
		return;
	buf_add_str(out, "labelSelector=");
	stream_kind_escape(SPAN(COPY_LABEL_HUB_UID "="), out);
	stream_kind_escape(span_of(hub_uid), out);
	buf_add_char(out, '&');
}

/* Most Events of a cluster are about other things than pods and jobs: of those only the revision
 * goes on. */
static bool is_about_jobs(struct span event)
{
	static const char *const known[] = {"Pod",	 "Job",	   "PyTorchJob", "TFJob",
					    "MPIJob",	 "JobSet", "RayJob",	 "XGBoostJob",
					    "PaddleJob", "JAXJob", "RayCluster"};
	struct span v;

	if (json_text_path(event, &v, "involvedObject", "kind", NULL) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (span_is(json_text_plain(v), known[i]))
			return true;
	return false;
}

/* The hub's copies have no owner. KubeRay gives the RayCluster that it makes for a RayJob the job's
 * labels and annotations, the hub's among them: it is no copy of anything. */
static bool is_owned(struct span object)
{
	struct span owners, first;
	size_t pos = 0;

	return json_text_path(object, &owners, "metadata", "ownerReferences", NULL) == 0 &&
	       json_text_type(owners) == JSON_ARRAY && json_text_next(owners, &pos, NULL, &first);
}

static void keep_view(struct fact *f, struct span node)
{
	auto_buf view = BUF_INIT;

	node_view_print(node, &view);
	f->json = arena_span(&f->mem, buf_span(&view));
}

int stream_kind_decode(enum member_stream s, struct span object, uint64_t revision, bool deleted,
		       const char *hub_uid, struct fact **ret, struct err *reterr)
{
	const struct stream_kind *k = stream_kind_of(s);
	bool skip = (k->op == FACT_EVENT && (deleted || !is_about_jobs(object))) ||
		    (k->op == FACT_COPY && is_owned(object));
	struct fact *f = fact_create(skip ? FACT_CURSOR : k->op, 0);
	bool keep = k->op == FACT_EVENT && !skip;
	int r = 0;

	f->stream = s;
	f->revision = revision;
	f->deleted = deleted;
	/* A million pods are listed one by one: the usual record is a few hundred bytes. */
	arena_reserve(&f->mem, 512);
	if (k->op == FACT_NODE) {
		r = node_info_decode(object, &f->mem, &f->node, reterr);
	} else if (k->op == FACT_POD) {
		r = pod_info_decode(object, &f->mem, &f->pod, reterr);
		keep = r == 0 && span_is(f->pod.hub_uid, hub_uid);
	} else if (k->op == FACT_COPY) {
		r = copy_info_decode(k->type, object, &f->mem, &f->copy, reterr);
	}
	if (r < 0) {
		fact_destroy(f);
		return r;
	}
	if (keep)
		f->json = arena_span(&f->mem, object);
	else if (k->op == FACT_NODE && !deleted)
		keep_view(f, object);
	f->bytes = sizeof(*f) + arena_size(&f->mem);
	*ret = f;
	return 0;
}
