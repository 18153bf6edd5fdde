#include "member-sync/sim/kubelet_request.h"

#include "kube/status.h"
#include "member-sync/sim/pod_class.h"
#include "member-sync/sim/pod_codec.h"

bool kubelet_request_parse(const char *path, struct kubelet_request *ret)
{
	struct span rest = span_of(path), at;

	*ret = (struct kubelet_request){.query = rest};
	at = span_split(&ret->query, '?');
	for (int i = 0; i < 4; i++) /* "", api, v1, namespaces */
		(void)span_split(&at, '/');
	ret->ns = span_split(&at, '/');
	struct span pods = span_split(&at, '/');
	ret->name = span_split(&at, '/');
	ret->subresource = at;
	return span_is(pods, "pods") && ret->ns.len && ret->name.len;
}

struct sim_pod *kubelet_pod_get(struct cluster *c, struct span ns, struct span name,
				const uint8_t *uid, struct sim_pod *spare)
{
	struct store_object o;

	if (ns.len > STORE_MAX_NAMESPACE || name.len > STORE_MAX_NAME ||
	    registry_get(c->batch, c->pod_kind, ns, name, &o) ||
	    (uid && memcmp(uid, o.uid, STORE_UID_LEN) != 0))
		return NULL;
	struct sim_pod *p = map_get(&c->pods, span_make((const char *)o.uid, STORE_UID_LEN));
	if (p)
		return p;
	*spare = (struct sim_pod){0};
	if (pod_class_get(c, &o, &spare->class, NULL))
		return NULL;
	spare->ns = arena_span(&spare->mem, ns);
	spare->name = arena_span(&spare->mem, name);
	memcpy(spare->uid, o.uid, STORE_UID_LEN);
	pod_codec_read(spare, &o);
	return spare;
}

void kubelet_pod_put(struct cluster *c, struct sim_pod *p, struct sim_pod *spare)
{
	if (p != spare)
		return;
	pod_class_release(c, spare->class);
	arena_done(&spare->mem);
}

int kubelet_choose_container(const struct sim_pod *p, const char *container, size_t *ret,
			     struct err *reterr)
{
	const struct sim_class *k = p->class;
	auto_buf names = BUF_MAX(200);

	*ret = 0;
	if (!container[0] && k->n_containers == 1)
		return 0;
	for (size_t i = 0; i < k->n_containers; i++) {
		if (container[0] && !strcmp(k->containers[i].name, container)) {
			*ret = i;
			return 0;
		}
		buf_addf(&names, "%s%s", i ? " " : "", k->containers[i].name);
	}
	if (container[0])
		return err_set(reterr, ERR_BAD_REQUEST, "container %s is not valid for pod %.*s",
			       container, SPAN_ARGS(p->name));
	return err_set(reterr, ERR_BAD_REQUEST,
		       "a container name must be specified for pod %.*s, choose one of: [%.*s]",
		       SPAN_ARGS(p->name), SPAN_ARGS(buf_span(&names)));
}

void kubelet_refuse(struct cluster *c, struct relay *r, const struct err *e, const char *name)
{
	struct status_subject subject = {.kind = c->pod_kind, .name = name};
	auto_buf body = BUF_INIT;

	status_failure(e, &subject, &body);
	relay_head(r, err_http_code(e->kind), "application/json", SPAN_NONE);
	(void)relay_push(r, buf_span(&body));
	relay_end(r, NULL);
}
