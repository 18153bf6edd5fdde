#include "world.h"

#include "base/json.h"
#include "base/log.h"
#include "core/job.h"
#include "core/kueue/settings.h"
#include "core/member.h"
#include "kube/patch.h"
#include "policies/cluster_view.h"

#include <inttypes.h>
#include <signal.h>

static char *unquote(const char *s)
{
	char *copy = xstrdup(s);
	for (char *p = copy; *p; p++)
		if (*p == '\'')
			*p = '"';
	return copy;
}

/* ---- the core ---- */

static usec clock_of(void *arg)
{
	return ((struct world *)arg)->now;
}

static struct world *world_of(struct net *n)
{
	return (struct world *)((char *)n - offsetof(struct world, net));
}

static void submit(struct net *n, struct order *take_order)
{
	struct world *w = world_of(n);

	if (take_order->op == ORDER_CALL) {
		vec_push(&w->orders, take_order);
		return;
	}
	for (size_t i = 0; i < w->n_members && take_order->op == ORDER_JOIN; i++)
		if (strcmp(w->members[i]->name, take_order->name) == 0)
			model_join(w->members[i], take_order);
	for (size_t i = 0; i < w->n_members && take_order->op == ORDER_LEAVE; i++)
		if (w->members[i]->number == take_order->member)
			w->members[i]->joined = false;
	order_destroy(take_order);
}

static void taken(struct net *n, uint32_t member, size_t bytes)
{
	(void)n;
	(void)member;
	(void)bytes;
}

static const struct net_ops net_ops = {submit, taken};

static struct kueue_settings read_kueue(struct world *w)
{
	struct kueue_settings s = kueue_settings_default();
	struct err err = ERR_INIT;
	auto_buf text = BUF_INIT;

	json_free(w->kueue_tree);
	w->kueue_tree = NULL;
	arena_reset(&w->kueue_mem);
	if (!w->kueue)
		return s;
	for (const char *p = w->kueue; *p; p++)
		buf_add_char(&text, *p == '\'' ? '"' : *p);
	if (json_parse(buf_span(&text), NULL, &w->kueue_tree, &err) < 0 ||
	    kueue_settings_read(w->kueue_tree, &w->kueue_mem, &s, &err) < 0)
		fail_msg("kueue: %s", err.text);
	return s;
}

static void start(struct world *w)
{
	struct kueue_settings kueue = read_kueue(w);
	struct err err = ERR_INIT;

	if (core_create(&(struct core_options){.kinds = kinds_hub(),
					       .truth = w->truth,
					       .mirror = w->mirror,
					       .version = "v1.34.0",
					       .require_policy = w->require_policy,
					       .keep_finished = w->keep_finished,
					       .starve_after = w->starve_after,
					       .kueue = &kueue,
					       .provision_parallel = w->provision_parallel,
					       .provision_patience = w->provision_patience,
					       .provision_discovery = w->provision_discovery,
					       .hot_swap = true,
					       .not_ready_for = 5 * USEC_PER_SEC,
					       .clock = clock_of,
					       .clock_arg = w,
					       .seed = w->seed + w->turns + 1},
			&w->core, &err) < 0)
		fail_msg("core: %s", err.text);
	core_set_net(w->core, &w->net, NULL, NULL);
}

void world_open(struct world *w)
{
	struct err err = ERR_INIT;

	w->now = 1700000000 * USEC_PER_SEC;
	w->keep_finished = w->keep_finished ? w->keep_finished : 86400 * USEC_PER_SEC;
	w->net.ops = &net_ops;
	assert_int_equal(store_open_memory(&(struct store_options){0}, &w->truth, &err), 0);
	assert_int_equal(store_open_memory(&(struct store_options){0}, &w->mirror, &err), 0);
	w->truth = store_open_faulty(w->truth);
	w->mirror = store_open_faulty(w->mirror);
	if (w->full)
		store_faulty_fail(w->truth, STORE_CALL_APPLY, 1, ERR_NO_SPACE, true);
	start(w);
}

static void stop(struct world *w)
{
	w->core = core_destroy(w->core);
	vec_foreach (&w->orders, o)
		order_destroy(*o);
	vec_clear(&w->orders);
	for (size_t i = 0; i < w->n_members; i++)
		w->members[i]->joined = false;
}

void world_close(struct world *w)
{
	stop(w);
	world_replay_done(w);
	vec_done(&w->orders);
	store_close(w->truth);
	store_close(w->mirror);
	for (size_t i = 0; i < w->n_members; i++)
		model_destroy(w->members[i]);
	free(w->warnings);
	free(w->result);
	json_free(w->kueue_tree);
	arena_done(&w->kueue_mem);
}

void world_restart(struct world *w)
{
	stop(w);
	start(w);
}

bool world_turn(struct world *w)
{
	bool more = core_turn(w->core, &w->err);

	w->turns++;
	if (w->after_turn)
		w->after_turn(w);
	return more;
}

void world_run(struct world *w)
{
	int turns = 0;

	while (world_turn(w) || (core_next_time(w->core) <= w->now && !core_has_failed(w->core)))
		if (++turns > 20000)
			fail_msg("the core does not come to rest");
}

void world_advance(struct world *w, usec by)
{
	usec until = w->now + by;

	while (core_next_time(w->core) < until) {
		w->now = core_next_time(w->core) > w->now ? core_next_time(w->core) : w->now;
		world_run(w);
	}
	w->now = until;
	world_run(w);
}

/* ---- users ---- */

static void done(struct command *c)
{
	struct world *w = c->origin;

	w->err = c->err;
	free(w->warnings);
	free(w->result);
	w->warnings = steal_ptr(&c->warnings);
	w->result = steal_ptr(&c->result);
	w->waiting--;
	w->answered += c->err.kind == ERR_NONE;
	w->refused += c->err.kind != ERR_NONE;
	command_destroy(c);
}

static void send(struct world *w, struct command *c)
{
	struct backend *b = core_backend(w->core);

	c->origin = w;
	c->done = done;
	c->dry_run = w->dry_run;
	w->waiting++;
	if (b->ops->submit(b, c, &w->err) < 0)
		fail_msg("submit: %s", w->err.text);
}

static const struct kind *kind_of(uint16_t type)
{
	return kind_by_type(kinds_hub(), type);
}

static void give_identity(struct world *w, struct cJSON *tree)
{
	struct cJSON *meta = json_ensure_object(tree, "metadata");
	char uid[64], when[CLOCK_TEXT_MAX];

	(void)snprintf(uid, sizeof(uid), "00000000-0000-4000-8000-%012" PRIu64, ++w->next_uid);
	json_set_str(meta, "uid", uid);
	json_set_str(meta, "creationTimestamp", clock_format(w->now, when));
	json_set_str(meta, "resourceVersion", "");
}

static struct command *command_of(enum command_verb verb, const struct kind *k,
				  const struct cJSON *tree)
{
	const struct cJSON *meta = json_get(tree, "metadata");
	const char *ns = json_str(meta, "namespace");
	struct command *c =
	    command_create(verb, k, span_of(ns ? ns : ""), span_of(json_str(meta, "name")));
	struct err err = ERR_INIT;

	if (object_draft_from_tree(k, tree, &c->draft, &err) < 0)
		fail_msg("draft: %s", err.text);
	return c;
}

void world_send_create(struct world *w, uint16_t type, const char *json)
{
	auto_free char *text = unquote(json);
	auto_json *tree = NULL;
	struct err err = ERR_INIT;

	if (json_parse(span_of(text), NULL, &tree, &err) < 0)
		fail_msg("%s: %s", err.text, text);
	give_identity(w, tree);
	send(w, command_of(COMMAND_CREATE, kind_of(type), tree));
}

static enum err_kind wait_for_answer(struct world *w)
{
	for (int i = 0; w->waiting > 0; i++) {
		world_turn(w);
		if (i > 1000)
			fail_msg("a command is never answered");
	}
	struct err kept = w->err;
	if (!core_has_failed(w->core))
		world_run(w);
	w->err = kept;
	return kept.kind;
}

enum err_kind world_create(struct world *w, uint16_t type, const char *json)
{
	world_send_create(w, type, json);
	return wait_for_answer(w);
}

static bool stored(struct world *w, uint16_t type, const char *ns, const char *name,
		   struct cJSON **ret, uint64_t *ret_revision)
{
	const struct kind *k = kind_of(type);
	auto_reader *r = NULL;
	struct store_object o;

	assert_int_equal(store_read_begin(k->mirrored ? w->mirror : w->truth, &r, NULL), 0);
	if (store_get(r, &(struct store_key){type, span_of(ns), span_of(name)}, &o) < 0)
		return false;
	if (ret)
		assert_int_equal(object_tree(&o, ret, NULL), 0);
	if (ret_revision)
		*ret_revision = o.revision;
	return true;
}

void world_send_patch(struct world *w, uint16_t type, const char *ns, const char *name,
		      const char *merge_patch)
{
	auto_free char *text = unquote(merge_patch);
	auto_json *old = NULL, *patch = NULL, *new = NULL;
	uint64_t revision;
	struct err err = ERR_INIT;

	if (!stored(w, type, ns, name, &old, &revision))
		fail_msg("%s/%s is not there", ns, name);
	if (json_parse(span_of(text), NULL, &patch, &err) < 0 ||
	    patch_apply(PATCH_MERGE, kind_of(type), old, patch, &new, &err) < 0)
		fail_msg("%s: %s", err.text, text);
	json_set_str(json_get(new, "metadata"), "resourceVersion", "");
	struct command *c = command_of(COMMAND_UPDATE, kind_of(type), new);
	c->expected_revision = revision;
	send(w, c);
}

enum err_kind world_patch(struct world *w, uint16_t type, const char *ns, const char *name,
			  const char *merge_patch)
{
	world_send_patch(w, type, ns, name, merge_patch);
	return wait_for_answer(w);
}

void world_send_delete(struct world *w, uint16_t type, const char *ns, const char *name)
{
	struct command *c =
	    command_create(COMMAND_DELETE, kind_of(type), span_of(ns), span_of(name));

	(void)stored(w, type, ns, name, NULL, &c->expected_revision);
	send(w, c);
}

enum err_kind world_delete(struct world *w, uint16_t type, const char *ns, const char *name)
{
	world_send_delete(w, type, ns, name);
	return wait_for_answer(w);
}

const char *world_query(struct world *w, const char *path)
{
	struct command *c = command_create(COMMAND_QUERY, NULL, SPAN(""), SPAN(""));

	c->query = xstrdup(path);
	send(w, c);
	(void)wait_for_answer(w);
	return w->result ? w->result : "";
}

char *world_job_text(const char *ns, const char *name, int pods, int cpus, const char *more)
{
	auto_buf b = BUF_INIT;

	buf_addf(&b,
		 "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'%s','namespace':'%s'%s}"
		 ",'spec':{'parallelism':%d,'completions':%d,'template':{'spec':{'containers':[{"
		 "'name':'c','image':'i','resources':{'requests':{'cpu':'%d'}}}]}}}}",
		 name, ns, more, pods, pods, cpus);
	return buf_steal(&b, NULL);
}

enum err_kind world_job(struct world *w, const char *ns, const char *name, int pods, int cpus,
			const char *more)
{
	auto_free char *text = world_job_text(ns, name, pods, cpus, more);
	return world_create(w, TYPE_JOB, text);
}

/* ---- members ---- */

void world_rejoin(struct world *w, const struct model *m)
{
	char text[512];

	(void)snprintf(text, sizeof(text),
		       "{'apiVersion':'cluster.karmada.io/v1alpha1','kind':'Cluster','metadata':{"
		       "'name':'%s'},'spec':{'syncMode':'Push','secretRef':{'namespace':"
		       "'kube-system','name':'%s'}}}",
		       m->name, m->name);
	assert_int_equal(world_create(w, TYPE_CLUSTER, text), ERR_NONE);
}

struct model *world_join(struct world *w, const char *name, int nodes, int cpus)
{
	char text[512], node[64];
	struct model *m = model_create(name, kinds_hub(), (uint8_t)(w->n_members + 1));

	m->v1beta1 = w->v1beta1;
	m->lacks = w->lacks;
	assert_true(w->n_members < WORLD_MEMBERS);
	for (int i = 0; i < nodes; i++) {
		(void)snprintf(node, sizeof(node), "%s-n%d", name, i);
		model_add_node(m, node, cpus, 8);
	}
	w->members[w->n_members++] = m;
	(void)snprintf(text, sizeof(text),
		       "{'apiVersion':'v1','kind':'Secret','metadata':{'name':'%s','namespace':"
		       "'kube-system'},'data':{'kubeconfig':'a3ViZWNvbmZpZw=='}}",
		       name);
	assert_int_equal(world_create(w, TYPE_SECRET, text), ERR_NONE);
	world_rejoin(w, m);
	assert_true(m->joined);
	world_streams(w);
	return m;
}

struct model *world_member(const struct world *w, uint32_t number)
{
	for (size_t i = 0; i < w->n_members; i++)
		if (w->members[i]->number == number)
			return w->members[i];
	return NULL;
}

void world_push(struct world *w, struct fact *take_fact)
{
	struct fact_sink *sink = core_fact_sink(w->core);
	sink->push(sink, take_fact);
}

static bool push_streams(struct world *w)
{
	bool any = false;

	for (size_t i = 0; i < w->n_members; i++) {
		struct fact *f;
		while ((f = model_next_fact(w->members[i]))) {
			world_push(w, f);
			any = true;
		}
	}
	return any;
}

void world_streams(struct world *w)
{
	if (push_streams(w))
		world_run(w);
}

static struct order *remove_order(struct world *w, const struct order *o)
{
	for (size_t i = 0; i < w->orders.len; i++) {
		struct order *found = w->orders.items[i];
		if (found != o)
			continue;
		memmove(&w->orders.items[i], &w->orders.items[i + 1],
			(w->orders.len - i - 1) * sizeof(*w->orders.items));
		w->orders.len--;
		return found;
	}
	return NULL;
}

struct order *world_find(struct world *w, const char *method, const char *path)
{
	vec_foreach (&w->orders, o)
		if (strcmp((*o)->method, method) == 0 && strstr((*o)->path, path))
			return *o;
	return NULL;
}

void world_answer(struct world *w, struct order *o)
{
	struct model *m = world_member(w, o->member);

	assert_non_null(remove_order(w, o));
	world_push(w, m ? model_call(m, o) : model_no_answer(o, false));
	order_destroy(o);
	world_run(w);
}

void world_lose(struct world *w, struct order *o, bool carried_out)
{
	struct model *m = world_member(w, o->member);

	assert_non_null(remove_order(w, o));
	if (carried_out && m)
		fact_destroy(model_call(m, o));
	world_push(w, model_no_answer(o, true));
	order_destroy(o);
	world_run(w);
}

void world_settle(struct world *w)
{
	bool any = true;

	world_run(w);
	for (int rounds = 0; any; rounds++) {
		any = false;
		while (w->orders.len > 0) {
			world_answer(w, w->orders.items[0]);
			any = true;
		}
		for (size_t i = 0; i < w->n_members; i++)
			any |= model_step(w->members[i], w->now);
		any |= push_streams(w);
		world_run(w);
		if (rounds > 2000)
			fail_msg("the world does not settle");
	}
}
