#include "base/json.h"
#include "base/num.h"
#include "kube/field_errors.h"
#include "member-sync/sim/provisioning_priv.h"
#include <errno.h>

#define POOL_ROW "sim.pool."

int cluster_provisioning_add_pool(struct registry_batch *b, const struct cJSON *node,
				  bool *ret_pool, struct err *reterr)
{
	char key[sizeof(POOL_ROW) + STORE_MAX_NAME];
	struct node_pool *pool;
	auto_buf text = BUF_INIT;
	int rc = node_pool_read(node, &pool, reterr);
	*ret_pool = pool != NULL;
	if (rc || !pool)
		return rc;
	snprintf(key, sizeof(key), POOL_ROW "%s", pool->name);
	json_print(node, &text);
	registry_put_aux(b, false, STORE_AUX_SETTING, span_of(key), buf_span(&text));
	node_pool_destroy(pool);
	return 0;
}

static int load_pool(void *arg, struct span key, struct span value)
{
	struct provisioning *p = arg;
	struct node_pool *pool = NULL;
	struct err why = ERR_INIT;
	auto_json *tree = NULL;
	int rc = json_parse(value, NULL, &tree, &why);
	if (!rc)
		rc = node_pool_read(tree, &pool, &why);
	if (pool)
		vec_push(&p->pools, pool);
	return rc;
}

int cluster_provisioning_load(struct provisioning *p, struct store_reader *r, struct err *reterr)
{
	int rc = store_scan_aux(r, STORE_AUX_SETTING, SPAN(POOL_ROW), load_pool, p);
	return rc ? err_set(reterr, ERR_INTERNAL, "cannot read the node pools") : 0;
}

const struct node_pool *provisioning_pool_named(const struct provisioning *p, const char *name)
{
	vec_foreach (&p->pools, pool)
		if (name && strcmp((*pool)->name, name) == 0)
			return *pool;
	return NULL;
}

bool provisioning_serves(const struct provisioning *p, const char *class)
{
	vec_foreach (&p->pools, pool)
		if (strcmp((*pool)->class, class) == 0)
			return true;
	return false;
}

/* ---- which pool, how many nodes ---- */

/* -ENOENT: the PodTemplate is not there yet. */
static int read_template(struct provisioning *p, const struct provisioning_request *r,
			 const char *name, struct arena *mem, struct template_info *ret)
{
	struct cluster *c = p->c;
	const struct kind *k = kind_by_type(c->kinds, TYPE_POD_TEMPLATE);
	struct field_errors errors = {0};
	struct store_object o;
	struct err why = ERR_INIT;
	auto_json *tree = NULL;
	int rc = registry_get(c->batch, k, span_of(r->ns), span_of(name), &o);
	if (!rc)
		rc = object_tree(&o, &tree, &why);
	if (!rc && template_info_decode(json_get(tree, "template"), "template", mem, ret, &errors))
		rc = -EINVAL;
	field_errors_done(&errors);
	return rc;
}

/* Nodes of the pool that all pod sets need; 0 when one of them fits none. */
static int64_t count_nodes(const struct node_pool *pool, const struct provisioning_request *r,
			   const struct template_info *templates)
{
	int64_t nodes = 0;
	for (size_t i = 0; i < r->sets.len; i++) {
		int64_t fits = node_pool_fits(pool, &templates[i]);
		if (!fits)
			return 0;
		nodes += (r->sets.items[i].count + fits - 1) / fits;
	}
	return nodes;
}

static void choose_pool(struct provisioning *p, struct provisioning_request *r,
			const struct template_info *templates)
{
	r->pool = NULL;
	snprintf(r->refusal, sizeof(r->refusal),
		 "No node pool of class %.80s could ever hold these pods", r->class);
	vec_foreach (&p->pools, pool) {
		if (strcmp((*pool)->class, r->class) != 0)
			continue;
		int64_t need = count_nodes(*pool, r, templates);
		if (!need || (need > (*pool)->max_nodes && need <= PROVISIONING_MAX_NODES))
			continue;
		r->pool = *pool;
		r->need = (int32_t)num_min(need, INT32_MAX);
		return;
	}
}

bool provisioning_resolve(struct provisioning *p, struct provisioning_request *r)
{
	struct arena mem = ARENA_INIT;
	if (r->resolved)
		return true;
	struct template_info *templates = arena_array(&mem, struct template_info, r->sets.len);
	int rc = 0;
	for (size_t i = 0; !rc && i < r->sets.len; i++)
		rc = read_template(p, r, r->sets.items[i].pod_template, &mem, &templates[i]);
	if (rc == -EINVAL) {
		r->pool = NULL;
		snprintf(r->refusal, sizeof(r->refusal), "A pod template cannot be understood");
	}
	if (!rc)
		choose_pool(p, r, templates);
	arena_done(&mem);
	r->resolved = !rc || rc == -EINVAL;
	return r->resolved;
}
