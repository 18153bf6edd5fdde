#include "fixture.h"
#include "base/json.h"
#include "kube/schema.h"

static const struct schema any_object = {.type = SCHEMA_OBJECT, .flags = SCHEMA_KEEP_UNKNOWN};
const struct kind kind_namespace = {.type = 1,
				    .group = "",
				    .version = "v1",
				    .kind = "Namespace",
				    .plural = "namespaces",
				    .singular = "namespace",
				    .scope = KIND_CLUSTER,
				    .has_status = true,
				    .schema = &any_object};
const struct kind kind_config_map = {.type = 2,
				     .group = "",
				     .version = "v1",
				     .kind = "ConfigMap",
				     .plural = "configmaps",
				     .singular = "configmap",
				     .schema = &any_object};
const struct kind kind_secret = {.type = 3,
				 .group = "",
				 .version = "v1",
				 .kind = "Secret",
				 .plural = "secrets",
				 .singular = "secret",
				 .schema = &any_object};
const struct kind kind_account = {.type = 4,
				  .group = "",
				  .version = "v1",
				  .kind = "ServiceAccount",
				  .plural = "serviceaccounts",
				  .singular = "serviceaccount"};
const struct kind kind_event = {.type = 7,
				.group = "",
				.version = "v1",
				.kind = "Event",
				.plural = "events",
				.singular = "event",
				.mirrored = true};
const struct kind kind_job = {.type = 32,
			      .group = "batch",
			      .version = "v1",
			      .kind = "Job",
			      .plural = "jobs",
			      .singular = "job",
			      .has_status = true};
const struct kind kind_training = {.type = 33,
				   .group = "example.com",
				   .version = "v1",
				   .kind = "Training",
				   .plural = "trainings",
				   .singular = "training",
				   .is_job = true};
static const struct schema_field definition_fields[] = {
    {.name = "metadata", .schema = &any_object, .description = ""}};
static const struct schema definition_schema = {.type = SCHEMA_OBJECT,
						.flags = SCHEMA_KEEP_UNKNOWN,
						.fields = definition_fields,
						.n_fields = 1};
const struct kind kind_definition = {.type = 96,
				     .group = "apiextensions.k8s.io",
				     .version = "v1",
				     .kind = "CustomResourceDefinition",
				     .plural = "customresourcedefinitions",
				     .singular = "customresourcedefinition",
				     .scope = KIND_CLUSTER,
				     .has_status = true,
				     .schema = &definition_schema};
static const struct kind *const list[] = {&kind_namespace,  &kind_config_map, &kind_account,
					  &kind_event,	    &kind_job,	      &kind_training,
					  &kind_definition, &kind_secret};
static const struct kind_set kinds = {list, ARRAY_LEN(list)};

static void open_registry(struct fixture *f)
{
	struct err e = ERR_INIT;
	struct registry_options o = {.kinds = &kinds,
				     .truth = f->truth,
				     .mirror = f->mirror,
				     .seed = 7,
				     .job_records = true};
	if (registry_open(&o, &f->reg, &e))
		fail_msg("%s", e.text);
}

void fixture_open(struct fixture *f)
{
	struct err e = ERR_INIT;
	struct registry_batch *b;
	*f = (struct fixture){.now = 1700000000 * USEC_PER_SEC};
	assert_int_equal(store_open_memory(&(struct store_options){0}, &f->truth, &e), 0);
	assert_int_equal(store_open_memory(&(struct store_options){0}, &f->mirror, &e), 0);
	f->truth = store_open_faulty(f->truth);
	open_registry(f);
	assert_int_equal(registry_begin(f->reg, f->now, &b, &e), 0);
	assert_int_equal(registry_ensure_namespace(b, "team", &e), 0);
	if (registry_commit(b, &e))
		fail_msg("%s", e.text);
	registry_end(b);
}

void fixture_reopen(struct fixture *f)
{
	f->reg = registry_close(f->reg);
	open_registry(f);
}

void fixture_close(struct fixture *f)
{
	registry_close(f->reg);
	store_close(f->truth);
	store_close(f->mirror);
}

const char *fixture_uid(int n)
{
	static char ring[8][40];
	static int at;
	char *out = ring[at++ % 8];
	snprintf(out, sizeof(ring[0]), "00000000-0000-4000-8000-%012d", n);
	return out;
}

static char *unquote(const char *s)
{
	char *copy = xstrdup(s);
	for (char *p = copy; *p; p++)
		if (*p == '\'')
			*p = '"';
	return copy;
}

struct object_draft fixture_draft(const struct kind *k, const char *json)
{
	struct err e = ERR_INIT;
	struct object_draft d = {0};
	auto_free char *text = unquote(json);
	auto_json *tree = NULL;
	if (json_parse(span_of(text), NULL, &tree, &e) || object_draft_from_tree(k, tree, &d, &e))
		fail_msg("%s: %s", text, e.text);
	return d;
}

static void done(struct command *c)
{
	struct fixture *f = c->origin;
	f->err = c->err;
}

struct command *fixture_command(enum command_verb verb, const struct kind *k, const char *ns,
				const char *name, const char *json, uint64_t revision)
{
	struct command *c = command_create(verb, k, span_of(ns), span_of(name));
	if (json)
		c->draft = fixture_draft(k, json);
	c->expected_revision = revision;
	c->subresource = "";
	c->done = done;
	return c;
}

uint64_t fixture_run(struct fixture *f, struct command *c)
{
	struct err e = ERR_INIT;
	struct registry_batch *b;
	c->origin = f;
	f->now += USEC_PER_MS;
	assert_int_equal(registry_begin(f->reg, f->now, &b, &e), 0);
	(void)registry_execute(b, c);
	(void)!registry_commit(b, &e);
	registry_reply(b);
	registry_end(b);
	uint64_t revision = c->revision;
	command_destroy(c);
	return revision;
}

uint64_t fixture_create(struct fixture *f, const struct kind *k, const char *ns, const char *name,
			const char *json)
{
	return fixture_run(f, fixture_command(COMMAND_CREATE, k, ns, name, json, 0));
}

uint64_t fixture_update(struct fixture *f, const struct kind *k, const char *ns, const char *name,
			const char *json, uint64_t revision)
{
	return fixture_run(f, fixture_command(COMMAND_UPDATE, k, ns, name, json, revision));
}

uint64_t fixture_delete(struct fixture *f, const struct kind *k, const char *ns, const char *name,
			enum command_propagation how)
{
	struct command *c =
	    fixture_command(COMMAND_DELETE, k, ns, name, NULL, fixture_revision(f, k, ns, name));
	c->propagation = how;
	return fixture_run(f, c);
}

uint64_t fixture_job(struct fixture *f, const char *name, int n, const char *more)
{
	char text[1024];
	snprintf(text, sizeof(text),
		 "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'%s','namespace':'team',"
		 "'uid':'%s'%s},'spec':{}}",
		 name, fixture_uid(n), more);
	return fixture_create(f, &kind_job, "team", name, text);
}

int fixture_work(struct fixture *f, size_t max_rows)
{
	int batches = 0;
	while (registry_due(f->reg) <= f->now) {
		struct err e = ERR_INIT;
		struct registry_batch *b;
		assert_true(++batches < 1000);
		assert_int_equal(registry_begin(f->reg, f->now, &b, &e), 0);
		registry_work(b, max_rows);
		if (registry_commit(b, &e))
			fail_msg("%s", e.text);
		registry_end(b);
	}
	return batches;
}

static struct store *store_of(struct fixture *f, const struct kind *k)
{
	return registry_store(f->reg, k);
}

uint64_t fixture_revision(struct fixture *f, const struct kind *k, const char *ns, const char *name)
{
	auto_reader *r = NULL;
	struct err e = ERR_INIT;
	struct store_object o;
	struct store_key key = {k->type, span_of(ns), span_of(name)};
	assert_int_equal(store_read_begin(store_of(f, k), &r, &e), 0);
	return store_get(r, &key, &o) == 0 ? o.revision : 0;
}

bool fixture_contains(struct fixture *f, const struct kind *k, const char *ns, const char *name,
		      const char *needle)
{
	auto_reader *r = NULL;
	struct err e = ERR_INIT;
	struct store_object o;
	struct store_key key = {k->type, span_of(ns), span_of(name)};
	auto_free char *text = unquote(needle);
	assert_int_equal(store_read_begin(store_of(f, k), &r, &e), 0);
	return store_get(r, &key, &o) == 0 &&
	       memmem(o.json.ptr, o.json.len, text, strlen(text)) != NULL;
}

size_t fixture_count(struct fixture *f, const struct kind *k, const char *ns)
{
	auto_reader *r = NULL;
	struct err e = ERR_INIT;
	size_t n = 0;
	assert_int_equal(store_read_begin(store_of(f, k), &r, &e), 0);
	assert_int_equal(store_count(r, k->type, span_of(ns), 100000, &n), 0);
	return n;
}
