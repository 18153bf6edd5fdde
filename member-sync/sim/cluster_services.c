#include "member-sync/sim/cluster_priv.h"
#include <errno.h>

int cluster_services_create(struct cluster *c, struct sim_job *owner, const char *name,
			    const char *selector, const char *ports)
{
	struct store_object there;
	struct object_draft d;
	struct err why = ERR_INIT;
	struct writer w;
	uint8_t uid[STORE_UID_LEN];
	auto_buf spec = BUF_INIT;
	struct span ns = span_of(owner->ns);
	if (!c->service_kind)
		return 0;
	int rc = registry_get(c->batch, c->service_kind, ns, span_of(name), &there);
	if (rc != -ENOENT)
		return rc;
	registry_new_uid(c->reg, uid);
	writer_begin(&w, c->service_kind, ns, name, uid, c->now);
	buf_addf(&w.text, ",\"labels\":{%s}", selector);
	writer_owner(&w, owner->kind, owner->name, owner->uid);
	writer_end_metadata(&w);
	buf_addf(&spec,
		 "{\"clusterIP\":\"None\",\"type\":\"ClusterIP\",\"publishNotReadyAddresses\":true,"
		 "\"selector\":{%s}%s%s}",
		 selector, ports ? ",\"ports\":" : "", ports ? ports : "");
	writer_part(&w, "spec", buf_span(&spec));
	writer_part(&w, "status", SPAN("{\"loadBalancer\":{}}"));
	rc = writer_finish(&w, &d, &why);
	if (rc)
		return cluster_fail(c, &why);
	return registry_put(c->batch, c->service_kind, ns, span_of(name), &d);
}

int cluster_services_delete(struct cluster *c, struct sim_job *owner, const char *name)
{
	if (!c->service_kind)
		return 0;
	int rc = registry_remove(c->batch, c->service_kind, span_of(owner->ns), span_of(name),
				 PROPAGATE_BACKGROUND);
	return rc == -ENOENT ? 0 : rc;
}
