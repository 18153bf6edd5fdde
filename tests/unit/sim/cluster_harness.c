#include "cluster_harness.h"
#include <fcntl.h>
#include <ftw.h>
#include <unistd.h>

struct harness t;

void open_cluster(void)
{
	struct err e = ERR_INIT;
	struct cluster_options o = {.name = "m",
				    .data_dir = t.dir,
				    .nodes_file = t.nodes,
				    .time_scale = 1,
				    .seed = 5,
				    .map_bytes = t.map_bytes,
				    .events = true,
				    .wakeup = t.wakeup,
				    .version = "v1.34.0"};
	if (cluster_open(&o, &t.c, &e))
		fail_msg("%s", e.text);
}

int harness_setup(const char *nodes_yaml)
{
	struct err e = ERR_INIT;
	memset(&t, 0, sizeof(t));
	snprintf(t.dir, sizeof(t.dir), "/tmp/muster-cluster-XXXXXX");
	assert_non_null(mkdtemp(t.dir));
	snprintf(t.nodes, sizeof(t.nodes), "%s/nodes.yaml", t.dir);
	int fd = open(t.nodes, O_WRONLY | O_CREAT, 0600);
	assert_int_equal(write(fd, nodes_yaml, strlen(nodes_yaml)), strlen(nodes_yaml));
	close(fd);
	assert_int_equal(wakeup_create(&t.wakeup, &e), 0);
	t.map_bytes = (size_t)256 << 20;
	open_cluster();
	t.now = clock_now(); /* not before the cluster's own birth */
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

int teardown(void **state)
{
	cluster_close(t.c);
	wakeup_destroy(t.wakeup);
	nftw(t.dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return 0;
}

void restart(void)
{
	cluster_close(t.c);
	open_cluster();
}

void settle(void)
{
	usec due = 0;
	for (int i = 0; due <= t.now; i++) {
		struct err e = ERR_INIT;
		assert_true(i < 1000);
		if (cluster_step(t.c, t.now, &due, &e))
			fail_msg("%s", e.text);
	}
}

void pass(usec d)
{
	settle();
	t.now += d;
	settle();
}

const struct kind *kind(uint16_t type)
{
	return kind_by_type(cluster_backend(t.c)->kinds, type);
}

void done(struct command *c)
{
	t.err = c->err;
	t.revision = c->revision;
	command_destroy(c);
}

void submit(struct command *c)
{
	struct err e = ERR_INIT;
	struct backend *b = cluster_backend(t.c);
	c->done = done;
	c->subresource = "";
	assert_int_equal(b->ops->submit(b, c, &e), 0);
	settle();
}

char *unquote(const char *s)
{
	char *copy = xstrdup(s);
	for (char *p = copy; *p; p++)
		if (*p == '\'')
			*p = '"';
	return copy;
}

struct object_draft draft(const struct kind *k, const struct cJSON *tree)
{
	struct err e = ERR_INIT;
	struct object_draft d;
	if (object_draft_from_tree(k, tree, &d, &e))
		fail_msg("%s", e.text);
	return d;
}

void create(uint16_t type, const char *json)
{
	static int n;
	struct err e = ERR_INIT;
	char uid[64];
	auto_free char *text = unquote(json);
	auto_json *tree = NULL;
	if (json_parse(span_of(text), NULL, &tree, &e))
		fail_msg("%s: %s", text, e.text);
	struct cJSON *meta = json_ensure_object(tree, "metadata");
	snprintf(uid, sizeof(uid), "11111111-0000-4000-8000-%012d", ++n);
	json_set_str(meta, "uid", uid);
	json_set_str(meta, "namespace", "default");
	struct command *c = command_create(COMMAND_CREATE, kind(type), SPAN("default"),
					   span_of(json_str(meta, "name")));
	c->draft = draft(kind(type), tree);
	submit(c);
	if (t.err.kind != ERR_NONE)
		fail_msg("%s", t.err.text);
}

struct cJSON *get(uint16_t type, const char *ns, const char *name)
{
	auto_reader *r = NULL;
	struct err e = ERR_INIT;
	struct store_object o;
	struct store_key key = {type, span_of(ns), span_of(name)};
	struct cJSON *tree = NULL;
	assert_int_equal(store_read_begin(cluster_backend(t.c)->truth, &r, &e), 0);
	if (store_get(r, &key, &o) == 0)
		assert_int_equal(json_parse(o.json, NULL, &tree, &e), 0);
	return tree;
}

uint64_t revision_of(uint16_t type, const char *ns, const char *name)
{
	auto_reader *r = NULL;
	struct err e = ERR_INIT;
	struct store_object o;
	struct store_key key = {type, span_of(ns), span_of(name)};
	assert_int_equal(store_read_begin(cluster_backend(t.c)->truth, &r, &e), 0);
	return store_get(r, &key, &o) == 0 ? o.revision : 0;
}

void set_suspend(uint16_t type, const char *name, bool suspend)
{
	auto_json *tree = get(type, "default", name);
	struct cJSON *spec = json_ensure_object(tree, "spec");
	if (type == TYPE_PYTORCH_JOB)
		spec = json_ensure_object(spec, "runPolicy");
	json_set_bool(spec, "suspend", suspend);
	update(type, name, tree);
}

void update(uint16_t type, const char *name, const struct cJSON *tree)
{
	struct command *c =
	    command_create(COMMAND_UPDATE, kind(type), SPAN("default"), span_of(name));
	c->expected_revision = revision_of(type, "default", name);
	c->draft = draft(kind(type), tree);
	submit(c);
	assert_int_equal(t.err.kind, ERR_NONE);
}

void delete (uint16_t type, const char *ns, const char *name)
{
	struct command *c = command_create(COMMAND_DELETE, kind(type), span_of(ns), span_of(name));
	c->expected_revision = revision_of(type, ns, name);
	submit(c);
	assert_int_equal(t.err.kind, ERR_NONE);
}

const char *phase(const char *pod)
{
	static char text[32];
	auto_json *tree = get(TYPE_POD, "default", pod);
	const char *s = json_value_str(json_path(tree, "status", "phase", NULL));
	snprintf(text, sizeof(text), "%s", tree ? (s ? s : "?") : "absent");
	return text;
}

const char *conditions(uint16_t type, const char *name)
{
	static char text[512];
	auto_json *tree = get(type, "default", name);
	text[0] = '\0';
	json_foreach (json_path(tree, "status", "conditions", NULL), it) {
		size_t n = strlen(text);
		snprintf(text + n, sizeof(text) - n, "%s%s%s", n ? " " : "", json_str(it, "type"),
			 strcmp(json_str(it, "status"), "True") == 0 ? "" : "=False");
	}
	return text;
}

size_t count(uint16_t type)
{
	auto_reader *r = NULL;
	struct err e = ERR_INIT;
	size_t n;
	assert_int_equal(store_read_begin(cluster_backend(t.c)->truth, &r, &e), 0);
	assert_int_equal(store_count(r, type, SPAN("default"), 10000, &n), 0);
	return n;
}

size_t runs(char *out, size_t size)
{
	char path[96];
	size_t lines = 0;
	snprintf(path, sizeof(path), "%s/runs.jsonl", t.dir);
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, out, size - 1);
	close(fd);
	out[n > 0 ? n : 0] = '\0';
	for (ssize_t i = 0; i < n; i++)
		lines += out[i] == '\n';
	return lines;
}
