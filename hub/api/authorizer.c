#include "api/authorizer.h"

#include "access/rbac_bootstrap.h"
#include "base/json.h"
#include "kinds/types.h"
#include "kube/meta.h"
#include <errno.h>
#include <openssl/rand.h>
#include <pthread.h>

#define RBAC_VERSION "v1"

struct authorizer {
	pthread_rwlock_t lock;
	struct rbac *rbac;
	struct backend *backend;
	struct feed *feed;
	const struct log *log;
	const struct kind *kinds[4]; /* roles, bindings: NULL when the backend has none */
	struct feed_observer observer;
	bool roles_changed;
};

static const uint16_t types[] = {TYPE_ROLE, TYPE_CLUSTER_ROLE, TYPE_ROLE_BINDING,
				 TYPE_CLUSTER_ROLE_BINDING};

static bool is_role(uint16_t type)
{
	return type == TYPE_ROLE || type == TYPE_CLUSTER_ROLE;
}

/* ---- rows in ---- */

static void put(struct authorizer *a, const struct store_key *k, const struct cJSON *object)
{
	struct span ns = k->ns.len ? k->ns : SPAN("");
	if (is_role(k->type))
		rbac_put_role(a->rbac, ns, k->name, object);
	else
		rbac_put_binding(a->rbac, ns, k->name, object);
}

static void take(struct authorizer *a, const struct store_object *o)
{
	auto_json *tree = NULL;
	if (object_tree(o, &tree, NULL) == 0)
		put(a, &o->key, tree);
}

static void load_builtin(struct authorizer *a)
{
	auto_json *tree = rbac_bootstrap_tree();
	json_foreach (tree, o) {
		bool role = strcmp(json_str(o, "kind"), "ClusterRole") == 0;
		struct span name = span_of(json_value_str(json_path(o, "metadata", "name", NULL)));
		struct store_key key = {role ? TYPE_CLUSTER_ROLE : TYPE_CLUSTER_ROLE_BINDING,
					SPAN(""), name};
		put(a, &key, o);
	}
}

static void load_type(struct authorizer *a, struct store_reader *reader, uint16_t type)
{
	struct store_range range = {.type = type};
	struct store_iter *it = NULL;
	struct store_object o;
	int e = 0;
	if (store_iter_begin(reader, &range, &it, NULL) < 0)
		return;
	while (store_iter_next(it, &o, &e))
		take(a, &o);
	store_iter_end(it);
}

static void load(struct authorizer *a)
{
	auto_reader *reader = NULL;
	pthread_rwlock_wrlock(&a->lock);
	rbac_clear(a->rbac);
	load_builtin(a);
	if (a->kinds[0] && store_read_begin(a->backend->truth, &reader, NULL) == 0)
		for (size_t i = 0; i < ARRAY_LEN(types); i++)
			load_type(a, reader, types[i]);
	pthread_rwlock_unlock(&a->lock);
	a->roles_changed = true;
}

static void on_row(void *arg, const struct store_log_row *row)
{
	struct authorizer *a = arg;
	const struct store_key *k = &row->object.key;
	struct span ns = k->ns.len ? k->ns : SPAN("");
	pthread_rwlock_wrlock(&a->lock);
	if (row->op != STORE_LOG_DELETED)
		take(a, &row->object);
	else if (is_role(k->type))
		rbac_remove_role(a->rbac, ns, k->name);
	else
		rbac_remove_binding(a->rbac, ns, k->name);
	pthread_rwlock_unlock(&a->lock);
	a->roles_changed = a->roles_changed || k->type == TYPE_CLUSTER_ROLE;
}

/* The log's floor passed the feed: everything is read again. */
static void on_lost(void *arg)
{
	load(arg);
}

/* ---- rows out: commands of the server itself ---- */

static void fill_random(void *arg, void *out, size_t n)
{
	(void)arg;
	if (RAND_bytes(out, (int)n) != 1)
		abort(); /* no randomness: no uid may be given */
}

static const struct meta_random random_source = {fill_random, NULL};

/* Nobody waits. What was refused is found wanting again at the next change or start. */
static void forget(struct command *self)
{
	command_destroy(self);
}

static void submit(struct authorizer *a, const struct kind *k, struct span name,
		   enum command_verb verb, uint64_t revision, const struct cJSON *object)
{
	struct command *cmd = command_create(verb, k, SPAN(""), name);
	struct err e = ERR_INIT;
	int r = object_draft_from_tree(k, object, &cmd->draft, &e);
	cmd->user = xstrdup("system:apiserver");
	cmd->expected_revision = revision;
	cmd->done = forget;
	cmd->bytes += cmd->draft.len;
	if (!r)
		r = a->backend->ops->submit(a->backend, cmd, &e);
	if (r) {
		log_warn(a->log, "a built-in role is not written", "name=%.*s error=\"%s\"",
			 SPAN_ARGS(name), e.text);
		command_destroy(cmd);
	}
}

static void create(struct authorizer *a, const struct kind *k, struct span name,
		   struct cJSON *object)
{
	struct meta_write meta = {.kind = k,
				  .ns = SPAN(""),
				  .subresource = "",
				  .now = clock_now(),
				  .random = &random_source};
	struct field_errors *errors = xcalloc(1, sizeof(*errors));
	if (meta_prepare_create(object, &meta, errors, NULL) == 0)
		submit(a, k, name, COMMAND_CREATE, 0, object);
	field_errors_done(errors);
	free(errors);
}

static void ensure(struct authorizer *a, struct store_reader *reader, const struct kind *k,
		   struct cJSON *want)
{
	struct span name = span_of(json_value_str(json_path(want, "metadata", "name", NULL)));
	struct store_key key = {k->type, SPAN(""), name};
	auto_json *have = NULL;
	struct store_object o;
	int r = store_get(reader, &key, &o);
	if (r == -ENOENT)
		create(a, k, name, want);
	else if (!r && object_tree(&o, &have, NULL) == 0 && rbac_bootstrap_reconcile(want, have))
		submit(a, k, name, COMMAND_UPDATE, o.revision, have);
}

void authorizer_start(struct authorizer *a)
{
	auto_reader *reader = NULL;
	auto_json *tree = rbac_bootstrap_tree();
	if (!a->kinds[1] || !a->kinds[3] || store_read_begin(a->backend->truth, &reader, NULL) < 0)
		return;
	json_foreach (tree, o) {
		bool role = strcmp(json_str(o, "kind"), "ClusterRole") == 0;
		ensure(a, reader, a->kinds[role ? 1 : 3], o);
	}
}

struct aggregation {
	struct authorizer *authorizer;
	struct store_reader *reader;
};

static void write_aggregate(void *arg, struct span name, const struct rbac_rule *rules, size_t n)
{
	struct aggregation *g = arg;
	const struct kind *k = g->authorizer->kinds[1];
	struct store_key key = {k->type, SPAN(""), name};
	auto_json *tree = NULL;
	struct store_object o;
	if (store_get(g->reader, &key, &o) < 0 || object_tree(&o, &tree, NULL) < 0)
		return;
	json_set(tree, "rules", rbac_rules_tree(rules, n));
	submit(g->authorizer, k, name, COMMAND_UPDATE, o.revision, tree);
}

static void on_settled(void *arg)
{
	struct authorizer *a = arg;
	struct aggregation g = {.authorizer = a};
	auto_reader *reader = NULL;
	if (!a->roles_changed || !a->kinds[1] ||
	    store_read_begin(a->backend->truth, &reader, NULL) < 0)
		return;
	a->roles_changed = false;
	g.reader = reader;
	rbac_each_stale_aggregate(a->rbac, write_aggregate, &g);
}

/* ---- questions ---- */

bool authorizer_allows(struct authorizer *a, const struct rbac_user *u,
		       const struct rbac_request *q, struct buf *reason)
{
	bool yes;
	if (rbac_is_master(u))
		return true;
	pthread_rwlock_rdlock(&a->lock);
	yes = rbac_allows(a->rbac, u, q, reason);
	pthread_rwlock_unlock(&a->lock);
	return yes;
}

const struct rbac *authorizer_lock(struct authorizer *a)
{
	pthread_rwlock_rdlock(&a->lock);
	return a->rbac;
}

void authorizer_unlock(struct authorizer *a)
{
	pthread_rwlock_unlock(&a->lock);
}

struct authorizer *authorizer_create(struct backend *backend, struct feed *truth,
				     const struct log *log)
{
	struct authorizer *a = xcalloc(1, sizeof(*a));
	pthread_rwlock_init(&a->lock, NULL);
	a->rbac = rbac_create();
	a->backend = backend;
	a->feed = truth;
	a->log = log;
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		a->kinds[i] = kind_by_type(backend->kinds, types[i]);
	load(a);
	if (a->kinds[0]) {
		a->observer = (struct feed_observer){.types = types,
						     .n_types = ARRAY_LEN(types),
						     .row = on_row,
						     .lost = on_lost,
						     .settled = on_settled,
						     .arg = a};
		feed_observe(truth, &a->observer);
	}
	return a;
}

struct authorizer *authorizer_destroy(struct authorizer *a)
{
	if (!a)
		return NULL;
	rbac_destroy(a->rbac);
	pthread_rwlock_destroy(&a->lock);
	free(a);
	return NULL;
}
