#include "kube/pod_info.h"

#include "base/json.h"
#include "base/num.h"
#include "kube/info_codec.h"
#include "kube/pod_requests.h"
#include "kube/quantity.h"

#include <errno.h>

#define POD_READY    1u
#define POD_DELETING 2u

static void read_amounts(struct span resources, bool fill_in, struct pod_amounts *to)
{
	struct span key, value;

	if (json_text_type(resources) != JSON_OBJECT)
		return;
	for (size_t at = 0; json_text_next(resources, &at, &key, &value);) {
		int64_t amount;
		if ((!fill_in || !pod_amounts_has(to, key)) &&
		    quantity_from_json(value, quantity_unit(key), &amount) == 0)
			pod_amounts_set(to, key, amount);
	}
}

/* A limit stands in where a container requests nothing of a resource. */
static void read_container(struct span container, bool init, struct pod_requests *requests)
{
	struct span key = SPAN_NONE, value, resources = SPAN_NONE, part;
	struct pod_amounts amounts = {.n = 0};
	bool always = false;

	for (size_t at = 0; json_text_next(container, &at, &key, &value);) {
		if (span_is(key, "resources"))
			resources = value;
		else if (span_is(key, "restartPolicy"))
			always = span_is(value, "\"Always\"");
	}
	if (json_text_member(resources, "requests", &part) == 0)
		read_amounts(part, false, &amounts);
	if (json_text_member(resources, "limits", &part) == 0)
		read_amounts(part, true, &amounts);
	pod_requests_add(requests,
			 !init	  ? POD_CONTAINER
			 : always ? POD_SIDECAR
				  : POD_INIT_CONTAINER,
			 &amounts);
}

static void read_containers(struct span list, bool init, struct pod_requests *requests)
{
	struct span one;

	if (json_text_type(list) != JSON_ARRAY)
		return;
	for (size_t at = 0; json_text_next(list, &at, NULL, &one);)
		read_container(one, init, requests);
}

static void read_spec(struct span spec, struct arena *mem, struct pod_info *p)
{
	struct span key, value, part, pod_level = SPAN_NONE;
	struct pod_requests requests = {.running = {.n = 0}};
	struct pod_amounts overhead = {.n = 0}, total;

	if (json_text_type(spec) != JSON_OBJECT)
		return;
	for (size_t at = 0; json_text_next(spec, &at, &key, &value);) {
		if (span_is(key, "nodeName"))
			p->node = info_string(value, mem);
		else if (span_is(key, "containers"))
			read_containers(value, false, &requests);
		else if (span_is(key, "initContainers"))
			read_containers(value, true, &requests);
		else if (span_is(key, "overhead"))
			read_amounts(value, false, &overhead);
		else if (span_is(key, "resources"))
			pod_level = value;
	}
	if (p->node.ptr && !p->node.len)
		p->node = SPAN_NONE;
	total = *pod_requests_total(&requests, NULL);
	/* KEP-2837: what the pod as a whole requests replaces what its containers add up to. */
	if (json_text_member(pod_level, "requests", &part) == 0)
		read_amounts(part, false, &total);
	for (size_t i = 0; i < overhead.n; i++)
		pod_amounts_add(&total, overhead.items[i].resource, overhead.items[i].value);
	p->requests = pod_amounts_take(&total, mem, &p->n_requests);
}

static enum pod_phase phase_from(struct span value)
{
	static const char *const names[] = {
	    [POD_PENDING] = "Pending", [POD_RUNNING] = "Running", [POD_SUCCEEDED] = "Succeeded",
	    [POD_FAILED] = "Failed",   [POD_UNKNOWN] = "Unknown",
	};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (span_is(json_text_plain(value), names[i]))
			return (enum pod_phase)i;
	return POD_PENDING;
}

static void read_status(struct span status, struct pod_info *p)
{
	struct span key, value;

	if (json_text_type(status) != JSON_OBJECT)
		return;
	for (size_t at = 0; json_text_next(status, &at, &key, &value);) {
		if (span_is(key, "phase"))
			p->phase = phase_from(value);
		else if (span_is(key, "conditions"))
			p->ready = info_is_ready(value);
	}
}

static void read_labels(struct span labels, struct arena *mem, struct pod_info *p)
{
	struct span key, value;

	if (json_text_type(labels) != JSON_OBJECT)
		return;
	for (size_t at = 0; json_text_next(labels, &at, &key, &value);) {
		if (span_is(key, POD_LABEL_HUB_UID))
			p->hub_uid = info_string(value, mem);
		else if (span_is(key, POD_LABEL_JOB_UID))
			p->job_uid = info_string(value, mem);
		else if (span_is(key, POD_LABEL_POD_SET))
			p->pod_set = info_string(value, mem);
		else if (span_is(key, POD_LABEL_EPOCH) &&
			 num_parse_u64(json_text_plain(value), UINT64_MAX, &p->epoch) < 0)
			p->epoch = 0;
	}
}

int pod_info_decode(struct span json, struct arena *mem, struct pod_info *ret, struct err *reterr)
{
	struct pod_info p = {.phase = POD_PENDING};
	struct info_meta meta;
	struct span key, value;

	info_meta_read(json, &meta);
	p.name = info_string(meta.name, mem);
	if (!p.name.len)
		return err_set_field(reterr, ERR_INVALID, "metadata.name", "a pod has no name");
	p.ns = info_string(meta.ns, mem);
	p.revision = meta.revision;
	p.deleting = meta.deleting;
	read_labels(meta.labels, mem, &p);
	for (size_t at = 0; json_text_next(json, &at, &key, &value);) {
		if (span_is(key, "spec"))
			read_spec(value, mem, &p);
		else if (span_is(key, "status"))
			read_status(value, &p);
	}
	*ret = p;
	return 0;
}

void pod_info_pack(const struct pod_info *p, struct buf *out)
{
	info_put_span(out, p->ns);
	info_put_span(out, p->name);
	info_put_u64(out, p->revision);
	info_put_span(out, p->node);
	info_put_u64(out, p->phase);
	info_put_u64(out, (p->ready ? POD_READY : 0) | (p->deleting ? POD_DELETING : 0));
	info_put_span(out, p->hub_uid);
	info_put_span(out, p->job_uid);
	info_put_span(out, p->pod_set);
	info_put_u64(out, p->epoch);
	info_put_amounts(out, p->requests, p->n_requests);
}

int pod_info_unpack(struct span bytes, struct arena *mem, struct pod_info *ret)
{
	struct info_reader r = info_reader_make(bytes);
	struct pod_info p = {0};

	p.ns = info_get_span(&r);
	p.name = info_get_span(&r);
	p.revision = info_get_u64(&r);
	p.node = info_get_span(&r);
	uint64_t phase = info_get_u64(&r), flags = info_get_u64(&r);
	p.hub_uid = info_get_span(&r);
	p.job_uid = info_get_span(&r);
	p.pod_set = info_get_span(&r);
	p.epoch = info_get_u64(&r);
	p.requests = info_get_amounts(&r, mem, &p.n_requests);
	if (!info_reader_ended(&r) || !p.name.len || phase > POD_UNKNOWN ||
	    flags > (POD_READY | POD_DELETING))
		return -EINVAL;
	p.phase = (enum pod_phase)phase;
	p.ready = flags & POD_READY;
	p.deleting = flags & POD_DELETING;
	*ret = p;
	return 0;
}
