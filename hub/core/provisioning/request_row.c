#include "core/provisioning/request_row.h"

#include "base/json.h"
#include "core/member.h"
#include "core/provisioning/request_phase.h"
#include "core/provisioning/request_share.h"

#define PREFIX		"provision/"
#define REQUEST_CROWDED "TooManyAccepted"

static void row_key(const struct provisioning_request *r, struct buf *out)
{
	buf_addf(out, PREFIX "%s", r->uid_text);
}

/* ---- the row ---- */

static bool is_worth_a_row(const struct provisioning_request *r)
{
	if (r->exists && r->tries.len)
		return true;
	vec_foreach (&r->tries, t)
		if ((*t)->dispatch.step != DISPATCH_IDLE)
			return true;
	return false;
}

static void row_text(const struct provisioning_request *r, struct buf *out)
{
	auto_json *tree = json_object();
	struct cJSON *tries = json_array();

	json_set_str(tree, "namespace", r->ns);
	json_set_str(tree, "name", r->name);
	json_set_int(tree, "epoch", (int64_t)r->epoch);
	json_set_bool(tree, "kept", r->kept);
	request_share_write(r, tree);
	vec_foreach (&r->tries, p) {
		const struct request_try *t = *p;
		struct cJSON *one = json_object();
		json_set_int(one, "member", t->member);
		json_set_int(one, "epoch", (int64_t)t->dispatch.epoch);
		json_set_int(one, "step", t->dispatch.step);
		json_set_str(one, "uid", t->dispatch.uid);
		json_set_str(one, "phase", request_phase_name(t->phase));
		json_set_int(one, "since", t->since);
		json_set_int(one, "provisioned", t->provisioned_at);
		if (t->nodes)
			json_set_str(one, "nodes", t->nodes);
		if (t->message)
			json_set_str(one, "message", t->message);
		json_append(tries, one);
	}
	json_add(tree, "tries", tries);
	json_print(tree, out);
}

static void write_row(struct core *c, struct provisioning_request *r)
{
	auto_buf key = BUF_INIT, text = BUF_MAX(STORE_MAX_OBJECT);
	bool wanted = is_worth_a_row(r);

	r->row_dirty = false;
	row_key(r, &key);
	if (wanted) {
		row_text(r, &text);
		registry_put_aux(c->batch, false, STORE_AUX_SETTING, buf_span(&key),
				 buf_span(&text));
	} else if (r->row) {
		registry_delete_aux(c->batch, false, STORE_AUX_SETTING, buf_span(&key));
	}
	r->row = wanted;
}

static int64_t number(const struct cJSON *o, const char *key)
{
	int64_t v;
	return json_int64(o, key, &v) == 0 ? v : 0;
}

static void read_try(struct provisioning_request *r, const struct cJSON *one)
{
	struct request_try *t = request_try_add(r, (uint32_t)number(one, "member"));
	const char *uid = json_str(one, "uid"), *message = json_str(one, "message"),
		   *nodes = json_str(one, "nodes");
	int64_t step = number(one, "step");

	t->dispatch.epoch = (uint64_t)number(one, "epoch");
	t->dispatch.member = t->member;
	if (step > DISPATCH_IDLE && step < DISPATCH_STEP_MAX)
		t->dispatch.step = (enum dispatch_step)step;
	(void)snprintf(t->dispatch.uid, sizeof(t->dispatch.uid), "%s", uid ? uid : "");
	if (request_phase_from_name(span_of(json_str(one, "phase")), &t->phase) < 0)
		t->phase = PROVISION_PENDING;
	t->since = number(one, "since");
	t->provisioned_at = number(one, "provisioned");
	t->nodes = nodes ? xstrdup(nodes) : NULL;
	t->message = message ? xstrdup(message) : NULL;
}

static int read_row(void *arg, struct span key, struct span value)
{
	struct core *c = arg;
	auto_json *tree = NULL;
	uint8_t uid[STORE_UID_LEN];
	const char *ns, *name;

	key = span_make(key.ptr + strlen(PREFIX), key.len - strlen(PREFIX));
	if (object_uid_parse(key, uid) < 0 || json_parse(value, NULL, &tree, NULL) < 0 ||
	    !(ns = json_str(tree, "namespace")) || !(name = json_str(tree, "name"))) {
		log_error(c->log, "row of a ProvisioningRequest cannot be read", "uid=%.*s",
			  SPAN_ARGS(key));
		return 0;
	}
	struct provisioning_request *r = request_add(c, span_of(ns), span_of(name), uid);
	r->row = true;
	r->epoch = (uint64_t)number(tree, "epoch");
	r->kept = json_bool(tree, "kept", false);
	request_share_read(r, tree);
	json_foreach (json_get(tree, "tries"), one)
		read_try(r, one);
	return 0;
}

int request_row_restore(struct core *c, struct err *reterr)
{
	struct store_reader *reader;

	int r = registry_reader(c->batch, kind_by_type(c->kinds, TYPE_NAMESPACE), &reader, reterr);
	if (r == 0 && store_scan_aux(reader, STORE_AUX_SETTING, SPAN(PREFIX), read_row, c) < 0)
		r = err_set(reterr, ERR_INTERNAL, "rows of ProvisioningRequests cannot be read");
	return r;
}

/* ---- the hub's object ---- */

static struct cJSON *condition(const struct core *c, const char *type, const char *status,
			       const char *reason, const char *message)
{
	struct cJSON *list = json_array(), *k = json_object(), *ret = json_object();
	char when[CLOCK_TEXT_MAX];

	json_set_str(k, "type", type);
	json_set_str(k, "status", status);
	json_set_str(k, "reason", reason);
	json_set_str(k, "message", message);
	json_set_str(k, "lastTransitionTime", clock_format(c->now, when));
	json_append(list, k);
	json_add(ret, "conditions", list);
	return ret;
}

/* The status that the hub shows; NULL: leave what stands. */
static struct cJSON *shown_status(const struct core *c, const struct provisioning_request *r,
				  const struct request_try *t)
{
	struct cJSON *tree = NULL;

	if (t && t->status && json_parse(span_of(t->status), NULL, &tree, NULL) == 0)
		return tree;
	if (t && t->phase == PROVISION_FAILED && t->message)
		return condition(c, "Failed", "True", "Refused", t->message);
	if (!t && r->crowded)
		return condition(c, "Accepted", "False", REQUEST_CROWDED,
				 "Every cluster that could be asked has as many requests waiting "
				 "for nodes as it may have at a time (100, or its annotation "
				 "muster.dev/provisioning-accepted)");
	if (!t && r->no_candidates)
		return condition(c, "Accepted", "False", "NoCluster",
				 "No cluster that is ready serves ProvisioningRequests");
	/* Known only by its phase, after a restart: what stands is of this try. */
	return t && (t->phase != PROVISION_PENDING || t->dispatch.step == DISPATCH_IDLE)
		   ? NULL
		   : json_object();
}

/* Conditions are equal but for the time that we gave them. */
static bool says_the_same(const struct cJSON *a, const struct cJSON *b)
{
	const struct cJSON *x = json_at(json_get(a, "conditions"), 0),
			   *y = json_at(json_get(b, "conditions"), 0);
	const char *p = json_str(x, "reason"), *q = json_str(y, "reason");

	return p && q && strcmp(p, q) == 0 &&
	       (strcmp(p, "NoCluster") == 0 || strcmp(p, REQUEST_CROWDED) == 0);
}

static void write_object(struct core *c, struct provisioning_request *r)
{
	const struct kind *kind = kind_by_type(c->kinds, TYPE_PROVISIONING_REQUEST);
	struct request_try *t = request_shown(r);
	const struct member *m = t ? member_by_number(c, t->member) : NULL;
	struct managed_write by = core_manager(c, kind);
	struct object_draft draft;
	struct store_object o;
	struct err err = ERR_INIT;
	auto_json *tree = NULL;

	r->status_dirty = false;
	if (!r->exists || registry_get(c->batch, kind, span_of(r->ns), span_of(r->name), &o) < 0 ||
	    memcmp(o.uid, r->uid, STORE_UID_LEN) != 0 || object_tree(&o, &tree, NULL) < 0)
		return;
	struct cJSON *status = shown_status(c, r, t);
	const char *was =
	    json_value_str(json_path(tree, "metadata", "annotations", REQUEST_CLUSTER, NULL));
	bool same_place = m ? was && strcmp(was, m->name) == 0 : !was;
	bool same = !status || json_equal(status, json_get(tree, "status")) ||
		    (!json_first(status) && !json_first(json_get(tree, "status"))) ||
		    says_the_same(status, json_get(tree, "status"));
	if (same)
		json_free(status);
	else
		json_set(tree, "status", status);
	if (same && same_place)
		return;
	struct cJSON *annotations =
	    json_ensure_object(json_ensure_object(tree, "metadata"), "annotations");
	if (m)
		json_set_str(annotations, REQUEST_CLUSTER, m->name);
	else
		json_remove(annotations, REQUEST_CLUSTER);
	if (object_draft_from_tree(kind, tree, &draft, &err) < 0)
		log_error(c->log, "ProvisioningRequest not written", "name=%s/%s error=\"%s\"",
			  r->ns, r->name, err.text);
	else {
		managed_draft_edited(&by, &o, &draft);
		(void)core_put(c, kind, span_of(r->ns), span_of(r->name), &draft);
	}
}

void request_row_flush(struct core *c, struct provisioning_request *r)
{
	if (r->row_dirty)
		write_row(c, r);
	if (r->status_dirty)
		write_object(c, r);
}
