/* Hooks of the smaller fleet kinds: Cluster, ElasticQuotaTree. */
#include "base/json.h"
#include "kinds/hooks.h"
#include "kinds/refuse.h"
#include "kinds/taints.h"
#include "kube/names.h"

/* ---- cluster.karmada.io Cluster ---- */

static void check_url(const struct cJSON *spec, const char *field, const char *const *schemes,
		      struct field_errors *errors)
{
	const char *url = json_str(spec, field);

	if (!url || !url[0])
		return;
	for (; *schemes; schemes++)
		if (strncmp(url, *schemes, strlen(*schemes)) == 0 && url[strlen(*schemes)])
			return;
	refuse_text(errors, FIELD_INVALID, url, "must be a URL", "spec.%s", field);
}

void cluster_validate(const struct kind *k, const struct cJSON *object, const struct kind_write *w,
		      struct field_errors *errors)
{
	static const char *const api[] = {"https://", "http://", NULL};
	static const char *const proxy[] = {"https://", "http://", "socks5://", NULL};
	const struct cJSON *spec = json_get(object, "spec");
	const char *name = json_value_str(json_path(object, "metadata", "name", NULL));

	(void)k;
	(void)w;
	/* It becomes the first part of the names of mirrored nodes and pods. */
	if (name && !names_is_dns_label(span_of(name)))
		refuse_text(errors, FIELD_INVALID, name, names_dns_label_rule(span_of(name)),
			    "metadata.name");
	check_url(spec, "apiEndpoint", api, errors);
	check_url(spec, "proxyURL", proxy, errors);
	taints_check(json_get(spec, "taints"), "spec.taints", errors);
	if (json_str(spec, "zone") && json_first(json_get(spec, "zones")))
		refuse(errors, FIELD_FORBIDDEN, NULL, "zone and zones exclude each other",
		       "spec.zone");
}

/* spec.zones, else the deprecated spec.zone, as karmada prints them. */
void cluster_cells(const struct kind *k, const struct cJSON *object, usec now, struct cJSON *cells)
{
	const struct cJSON *spec = json_get(object, "spec");
	const char *zone = json_str(spec, "zone");
	auto_buf text = BUF_INIT;

	(void)k;
	(void)now;
	json_foreach (json_get(spec, "zones"), z)
		buf_addf(&text, "%s%s", text.len ? "," : "",
			 json_value_str(z) ? json_value_str(z) : "");
	json_append(cells, json_new_str(text.len ? text.ptr : zone ? zone : ""));
}

/* ---- scheduling.sigs.k8s.io ElasticQuotaTree ----
 * The rules of quota trees are quota-tree/elastic_tree.h's and run where the tree is used; here
 * only what every reader relies on. */

static void check_quota_node(const struct cJSON *node, const char *path,
			     struct field_errors *errors)
{
	const char *name = json_str(node, "name");
	char below[REFUSE_PATH_MAX];
	size_t i = 0;

	if (!name || !name[0])
		refuse(errors, FIELD_REQUIRED, NULL, "", "%s.name", path);
	json_foreach (json_get(node, "children"), child) {
		(void)snprintf(below, sizeof(below), "%.480s.children[%zu]", path, i++);
		check_quota_node(child, below, errors);
	}
}

void elastic_quota_tree_validate(const struct kind *k, const struct cJSON *object,
				 const struct kind_write *w, struct field_errors *errors)
{
	const struct cJSON *root = json_path(object, "spec", "root", NULL);

	(void)k;
	if (w->subresource[0])
		return;
	if (root)
		check_quota_node(root, "spec.root", errors);
	else
		refuse(errors, FIELD_REQUIRED, NULL, "", "spec.root");
}
