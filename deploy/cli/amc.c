/*
 * kubectl amc get KIND [NAME] [-M | -m CLUSTER]: objects of members, through the hub, with the
 * columns of the ACK documentation: those of the kind with CLUSTER behind NAME, and ADOPTION (Y:
 * the object is the hub's) for everything but pods.
 */
#include "base/json.h"
#include "command.h"
#include "kube/pod_info.h"
#include "sheet.h"

#define CLUSTERS "/apis/cluster.karmada.io/v1alpha1/clusters"
#define TABLE	 "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

struct resource {
	const char *names[5]; /* as users write them; NULL ends */
	const char *prefix, *plural;
	bool namespaced, adopted;
};

static const struct resource resources[] = {
    {{"pod", "pods", "po"}, "/api/v1", "pods", true, false},
    {{"node", "nodes", "no"}, "/api/v1", "nodes", false, false},
    {{"configmap", "configmaps", "cm"}, "/api/v1", "configmaps", true, true},
    {{"job", "jobs"}, "/apis/batch/v1", "jobs", true, true},
    {{"pytorchjob", "pytorchjobs"}, "/apis/kubeflow.org/v1", "pytorchjobs", true, true},
    {{"tfjob", "tfjobs"}, "/apis/kubeflow.org/v1", "tfjobs", true, true},
    {{"mpijob", "mpijobs"}, "/apis/kubeflow.org/v1", "mpijobs", true, true},
    {{"jobset", "jobsets"}, "/apis/jobset.x-k8s.io/v1alpha2", "jobsets", true, true},
    {{"rayjob", "rayjobs"}, "/apis/ray.io/v1", "rayjobs", true, true},
};

static const struct resource *find_resource(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(resources); i++)
		for (size_t n = 0; resources[i].names[n]; n++)
			if (strcmp(resources[i].names[n], word) == 0)
				return &resources[i];
	return NULL;
}

static int usage(void)
{
	fputs(
	    "usage: kubectl amc get KIND [NAME] [-M | -m CLUSTER] [-n NAMESPACE | -A] [-o json|yaml|wide]\n",
	    stderr);
	return EXIT_USAGE;
}

static void member_url(const struct command_line *line, const struct client *c,
		       const struct resource *r, const char *cluster, struct buf *out)
{
	buf_addf(out, CLUSTERS "/%s/proxy%s", cluster, r->prefix);
	if (r->namespaced && !line->all_namespaces)
		buf_addf(out, "/namespaces/%s", command_namespace(line, c));
	buf_addf(out, "/%s", r->plural);
	if (line->n_args > 2)
		buf_addf(out, "/%s", line->args[2]);
}

/* The columns of the first table with any; later ones of the kind are the same. */
struct merged {
	const struct resource *resource;
	const char *heads[SHEET_MAX_COLUMNS];
	char *owned[SHEET_MAX_COLUMNS];
	size_t shown[SHEET_MAX_COLUMNS]; /* cell index of each head after CLUSTER */
	size_t n;
	struct sheet *sheet;
};

static void take_columns(struct merged *m, const struct cJSON *columns, bool wide)
{
	size_t at = 0;

	json_foreach (columns, column) {
		int64_t priority = 0;
		(void)json_int64(column, "priority", &priority);
		if ((priority == 0 || wide) && m->n < SHEET_MAX_COLUMNS - 2) {
			char *head =
			    xstrdup(json_str(column, "name") ? json_str(column, "name") : "");
			for (char *p = head; *p; p++)
				if (*p >= 'a' && *p <= 'z')
					*p = (char)(*p - 32);
			m->owned[m->n] = head;
			m->shown[m->n] = at;
			m->heads[m->n++] = head;
			if (m->n == 1) {
				m->shown[1] = SIZE_MAX;
				m->heads[m->n++] = "CLUSTER";
			}
		}
		at++;
	}
	if (m->resource->adopted) {
		m->shown[m->n] = SIZE_MAX;
		m->heads[m->n++] = "ADOPTION";
	}
	m->sheet = sheet_create(m->heads, m->n);
}

static void cell(struct sheet *s, const struct cJSON *value)
{
	auto_buf text = BUF_INIT;

	if (json_value_str(value)) {
		sheet_cell(s, json_value_str(value));
		return;
	}
	if (value && !json_is(value, JSON_NULL))
		json_print(value, &text);
	sheet_cell(s, text.ptr);
}

static void take_rows(struct merged *m, const char *cluster, const struct cJSON *rows)
{
	json_foreach (rows, row) {
		const struct cJSON *cells = json_get(row, "cells");
		const struct cJSON *labels = json_path(row, "object", "metadata", "labels", NULL);
		for (size_t i = 0; i < m->n; i++) {
			if (m->shown[i] != SIZE_MAX)
				cell(m->sheet, json_at(cells, m->shown[i]));
			else if (i == 1)
				sheet_cell(m->sheet, cluster);
			else
				sheet_cell(m->sheet,
					   json_str(labels, COPY_LABEL_HUB_UID) ? "Y" : "N");
		}
	}
}

static int get_one(const struct command_line *line, struct client *c, const struct resource *r,
		   const char *cluster, struct merged *m)
{
	auto_buf url = BUF_INIT;
	auto_json *tree = NULL;
	struct err err = ERR_INIT;
	bool raw = line->output == OUTPUT_JSON || line->output == OUTPUT_YAML;

	member_url(line, c, r, cluster, &url);
	client_accept(c, raw ? NULL : TABLE);
	if (client_get(c, url.ptr, &tree, &err) < 0) {
		fprintf(stderr, "cluster(%s): %s\n", cluster, err.text);
		return err.kind == ERR_NOT_FOUND ? EXIT_NOT_FOUND : EXIT_ERROR;
	}
	if (raw) {
		command_print_tree(tree, line->output);
		return EXIT_OK;
	}
	if (!m->sheet)
		take_columns(m, json_get(tree, "columnDefinitions"), line->output == OUTPUT_WIDE);
	take_rows(m, cluster, json_get(tree, "rows"));
	return EXIT_OK;
}

static int get_all(const struct command_line *line, struct client *c, const struct resource *r,
		   struct merged *m)
{
	auto_json *clusters = NULL;
	struct err err = ERR_INIT;
	int code = EXIT_OK;

	client_accept(c, NULL);
	if (client_get(c, CLUSTERS, &clusters, &err) < 0)
		return command_fail(&err);
	json_foreach (json_get(clusters, "items"), item) {
		const char *name = json_str(json_get(item, "metadata"), "name");
		int one = name ? get_one(line, c, r, name, m) : EXIT_OK;
		code = one != EXIT_OK ? one : code;
	}
	return code;
}

int amc_run(const struct command_line *line)
{
	const struct resource *r;
	struct merged m = {0};
	struct client *c = NULL;
	struct err err = ERR_INIT;
	auto_buf out = BUF_INIT;

	if (line->n_args < 2 || line->n_args > 3 || strcmp(line->args[0], "get") != 0 ||
	    (line->all_members && line->member))
		return usage();
	r = find_resource(line->args[1]);
	if (!r) {
		fprintf(stderr, "error: the server doesn't have a resource type \"%s\"\n",
			line->args[1]);
		return EXIT_USAGE;
	}
	m.resource = r;
	if (client_open(&line->client, &c, &err) < 0)
		return command_fail(&err);
	int code = line->member ? get_one(line, c, r, line->member, &m) : get_all(line, c, r, &m);
	if (m.sheet)
		sheet_print(m.sheet, !line->no_headers, &out);
	command_write(&out);
	sheet_destroy(m.sheet);
	for (size_t i = 0; i < m.n; i++)
		free(m.owned[i]);
	client_close(c);
	return code;
}
