/*
 * Nodes: from FILE into the store, from the store into the scheduler.
 */
#include "base/json.h"
#include "base/num.h"
#include "base/yaml.h"
#include "member-sync/sim/cluster_priv.h"
#include "member-sync/sim/cluster_provisioning.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNT_ANNOTATION "muster.dev/sim-count"
#define MAX_NODES	 100000
#define MAX_FILE	 ((size_t)64 << 20)
#define DEFAULT_PODS	 "110" /* the kubelet's --max-pods */

struct load {
	struct cluster *c;
	struct registry_batch *batch;
	size_t n;
	struct err *reterr;
};

static bool has_condition(const struct cJSON *conditions, const char *type)
{
	json_foreach (conditions, it) {
		const char *t = json_str(it, "type");
		if (t && strcmp(t, type) == 0)
			return true;
	}
	return false;
}

/* What a kubelet would say of itself and the file left out. */
static void complete_status(struct cJSON *node, const char *name, usec now)
{
	char time[CLOCK_TEXT_MAX];
	struct cJSON *status = json_ensure_object(node, "status");
	struct cJSON *capacity = json_get(status, "capacity");
	if (!json_get(status, "allocatable"))
		json_set(status, "allocatable", capacity ? json_dup(capacity) : json_object());
	struct cJSON *allocatable = json_ensure_object(status, "allocatable");
	if (allocatable && !json_get(allocatable, "pods"))
		json_set_str(allocatable, "pods", DEFAULT_PODS);
	if (!capacity)
		json_set(status, "capacity", json_dup(allocatable));
	if (!json_is(json_get(status, "conditions"), JSON_ARRAY))
		json_set(status, "conditions", json_array());
	if (!has_condition(json_get(status, "conditions"), "Ready")) {
		struct cJSON *ready = json_object();
		clock_format(now, time);
		json_set_str(ready, "type", "Ready");
		json_set_str(ready, "status", "True");
		json_set_str(ready, "reason", "KubeletReady");
		json_set_str(ready, "message", "kubelet is posting ready status");
		json_set_str(ready, "lastHeartbeatTime", time);
		json_set_str(ready, "lastTransitionTime", time);
		json_append(json_get(status, "conditions"), ready);
	}
	struct cJSON *info = json_ensure_object(status, "nodeInfo");
	if (info && !json_get(info, "kubeletVersion")) {
		json_set_str(info, "kubeletVersion", "v1.34.0");
		json_set_str(info, "operatingSystem", "linux");
		json_set_str(info, "architecture", "amd64");
	}
	struct cJSON *meta = json_ensure_object(node, "metadata");
	struct cJSON *labels = json_ensure_object(meta, "labels");
	if (labels && !json_get(labels, "kubernetes.io/hostname"))
		json_set_str(labels, "kubernetes.io/hostname", name);
}

static int flush(struct load *l)
{
	int rc = registry_commit(l->batch, l->reterr);
	l->batch = registry_end(l->batch);
	if (rc)
		return rc;
	return registry_begin(l->c->reg, l->c->now, &l->batch, l->reterr);
}

int cluster_nodes_put(struct cluster *c, struct registry_batch *b, const struct cJSON *from,
		      const char *name, struct err *reterr)
{
	char uid_text[OBJECT_UID_TEXT], time[CLOCK_TEXT_MAX];
	uint8_t uid[STORE_UID_LEN];
	struct object_draft d;
	auto_json *node = json_dup(from);
	struct cJSON *meta = json_ensure_object(node, "metadata");
	registry_new_uid(c->reg, uid);
	json_set_str(node, "apiVersion", "v1");
	json_set_str(node, "kind", "Node");
	json_set_str(meta, "name", name);
	json_set_str(meta, "uid", object_uid_format(uid, uid_text));
	json_set_str(meta, "creationTimestamp", clock_format(c->now, time));
	complete_status(node, name, c->now);
	int rc = object_draft_from_tree(c->node_kind, node, &d, reterr);
	return rc ? rc : registry_put(b, c->node_kind, SPAN(""), span_of(name), &d);
}

static int put_node(struct load *l, const struct cJSON *from, const char *name)
{
	if (++l->n > MAX_NODES)
		return err_set(l->reterr, ERR_INVALID, "more than %d nodes", MAX_NODES);
	int rc = cluster_nodes_put(l->c, l->batch, from, name, l->reterr);
	if (!rc && registry_batch_full(l->batch))
		rc = flush(l);
	return rc;
}

static int load_node(void *arg, struct cJSON *take_doc)
{
	struct load *l = arg;
	auto_json *doc = take_doc;
	const struct cJSON *meta = json_get(doc, "metadata");
	const char *kind = json_str(doc, "kind"), *name = json_str(meta, "name");
	struct cJSON *annotations = json_get(meta, "annotations");
	const char *count = json_str(annotations, COUNT_ANNOTATION);
	uint64_t n = 1;
	if (!kind || strcmp(kind, "Node") != 0)
		return err_set(l->reterr, ERR_INVALID, "a document is not of kind Node");
	if (!name || !*name)
		return err_set_field(l->reterr, ERR_INVALID, "metadata.name", "a node has no name");
	bool is_pool;
	int rc = cluster_provisioning_add_pool(l->batch, doc, &is_pool, l->reterr);
	if (rc || is_pool)
		return rc;
	if (count && (num_parse_u64(span_of(count), MAX_NODES, &n) || n == 0))
		return err_set_field(
		    l->reterr, ERR_INVALID, "metadata.annotations[" COUNT_ANNOTATION "]",
		    "node \"%s\": \"%s\" is not a number from 1 to %d", name, count, MAX_NODES);
	if (!count)
		return put_node(l, doc, name);
	auto_free char *base = xstrdup(name);
	json_remove(annotations, COUNT_ANNOTATION);
	for (uint64_t i = 0; i < n; i++) {
		char one[STORE_MAX_NAME + 1];
		snprintf(one, sizeof(one), "%s-%llu", base, (unsigned long long)i);
		rc = put_node(l, doc, one);
		if (rc)
			return rc;
	}
	return 0;
}

static int read_file(const char *path, struct buf *out, struct err *reterr)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
	if (fd < 0)
		return err_set(reterr, ERR_BAD_REQUEST, "%s: %s", path, strerror(errno));
	for (;;) {
		char *to = buf_reserve(out, 65536);
		ssize_t n = to ? read(fd, to, 65536) : 0;
		if (!to)
			rc = err_set(reterr, ERR_TOO_LARGE, "%s: larger than 64 MiB", path);
		if (n < 0)
			rc = err_set(reterr, ERR_BAD_REQUEST, "%s: %s", path, strerror(errno));
		if (n <= 0)
			break;
		buf_advance(out, (size_t)n);
	}
	close(fd);
	return rc;
}

int cluster_nodes_load_file(struct cluster *c, const char *path, struct err *reterr)
{
	auto_buf text = BUF_MAX(MAX_FILE);
	struct load l = {.c = c, .reterr = reterr};
	int rc = read_file(path, &text, reterr);
	if (!rc)
		rc = registry_begin(c->reg, c->now, &l.batch, reterr);
	if (rc)
		return rc;
	rc = yaml_each(buf_span(&text), load_node, &l, reterr);
	if (!rc)
		rc = registry_commit(l.batch, reterr);
	registry_end(l.batch);
	return rc ? err_wrap(reterr, "%s", path) : 0;
}

void cluster_nodes_add(struct cluster *c, const struct store_object *o)
{
	struct arena mem = ARENA_INIT;
	struct node_info info;
	struct err why = ERR_INIT;
	if (node_info_decode(o->json, &mem, &info, &why)) {
		log_warn(c->options.log, "node ignored", "node=%.*s cause=\"%s\"",
			 SPAN_ARGS(o->key.name), why.text);
	} else {
		scheduler_set_node(c->scheduler, &info);
		struct scheduler_node *n = scheduler_find_node(c->scheduler, info.name);
		if (cluster_silence_observe(c, o, &info))
			; /* until its kubelet is back */
		else if (!info.ready)
			cluster_kubelet_lost(c, n, false);
		else
			cluster_kubelet_evict(c, n);
		cluster_provisioning_node(c->provisioning, o, false);
	}
	arena_done(&mem);
}

void cluster_nodes_observe(struct cluster *c, const struct registry_change *ch)
{
	if (ch->op == STORE_PUT) {
		cluster_nodes_add(c, &ch->object);
		return;
	}
	struct scheduler_node *n = scheduler_find_node(c->scheduler, ch->object.key.name);
	cluster_provisioning_node(c->provisioning, &ch->object, true);
	cluster_silence_forget(c, ch->object.key.name);
	if (!n)
		return;
	cluster_kubelet_lost(c, n, true);
	scheduler_remove_node(c->scheduler, ch->object.key.name);
}
