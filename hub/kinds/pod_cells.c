/*
 * The STATUS word of a pod and its neighbours, as kube-apiserver's printer finds them: the
 * phase, overruled by what its containers wait for or died of.
 */
#include "base/json.h"
#include "kinds/cells.h"
#include "kinds/hooks.h"

#include <stdarg.h>

#define NONE "<none>"

struct pod_row {
	const struct cJSON *spec, *status;
	int64_t total, ready, restarts;
	usec last_restart; /* 0: never */
	bool initializing;
	struct buf reason;
};

static void set_reason(struct pod_row *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void set_reason(struct pod_row *r, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	buf_clear(&r->reason);
	buf_add_str(&r->reason, text);
}

static bool condition_true(const struct cJSON *status, const char *type)
{
	json_foreach (json_get(status, "conditions"), c) {
		const char *t = json_str(c, "type"), *s = json_str(c, "status");
		if (t && s && strcmp(t, type) == 0)
			return strcmp(s, "True") == 0;
	}
	return false;
}

static void count_restarts(struct pod_row *r, const struct cJSON *status)
{
	const char *at =
	    json_value_str(json_path(status, "lastState", "terminated", "finishedAt", NULL));
	int64_t n = 0;
	usec t = 0;

	(void)json_int64(status, "restartCount", &n);
	r->restarts += n;
	if (at && clock_parse(span_of(at), &t) == 0 && t > r->last_restart)
		r->last_restart = t;
}

/* Why a container has ended, with "Init:" before it for init containers. */
static void set_terminated(struct pod_row *r, const char *prefix, const struct cJSON *terminated)
{
	const char *reason = json_str(terminated, "reason");
	int64_t signal = 0, code = 0;

	if (reason && reason[0]) {
		set_reason(r, "%s%s", prefix, reason);
		return;
	}
	(void)json_int64(terminated, "signal", &signal);
	(void)json_int64(terminated, "exitCode", &code);
	if (signal)
		set_reason(r, "%sSignal:%lld", prefix, (long long)signal);
	else
		set_reason(r, "%sExitCode:%lld", prefix, (long long)code);
}

static bool is_sidecar(const struct cJSON *spec, const char *name)
{
	json_foreach (json_get(spec, "initContainers"), c) {
		const char *n = json_str(c, "name"), *restart = json_str(c, "restartPolicy");
		if (n && name && strcmp(n, name) == 0)
			return restart && strcmp(restart, "Always") == 0;
	}
	return false;
}

/* False once one is found that has not done its turn. */
static bool init_container_done(struct pod_row *r, const struct cJSON *s, size_t i, size_t n)
{
	const struct cJSON *terminated = json_path(s, "state", "terminated", NULL);
	const char *waiting = json_value_str(json_path(s, "state", "waiting", "reason", NULL));
	int64_t code = 0;

	count_restarts(r, s);
	if (terminated && json_int64(terminated, "exitCode", &code) == 0 && code == 0)
		return true;
	if (is_sidecar(r->spec, json_str(s, "name")) && json_bool(s, "started", false)) {
		r->ready += json_bool(s, "ready", false);
		return true;
	}
	if (terminated)
		set_terminated(r, "Init:", terminated);
	else if (waiting && waiting[0] && strcmp(waiting, "PodInitializing") != 0)
		set_reason(r, "Init:%s", waiting);
	else
		set_reason(r, "Init:%zu/%zu", i, n);
	return false;
}

static void read_init_containers(struct pod_row *r)
{
	size_t n = json_len(json_get(r->spec, "initContainers")), i = 0;

	json_foreach (json_get(r->status, "initContainerStatuses"), s) {
		if (!init_container_done(r, s, i++, n)) {
			r->initializing = true;
			break;
		}
	}
	json_foreach (json_get(r->spec, "initContainers"), c) {
		const char *restart = json_str(c, "restartPolicy");
		r->total += restart && strcmp(restart, "Always") == 0;
	}
}

/* The first container that has something to say decides. */
static void read_containers(struct pod_row *r)
{
	bool running = false, said = false;

	json_foreach (json_get(r->status, "containerStatuses"), s) {
		const char *waiting =
		    json_value_str(json_path(s, "state", "waiting", "reason", NULL));
		const struct cJSON *terminated = json_path(s, "state", "terminated", NULL);
		count_restarts(r, s);
		if (json_bool(s, "ready", false) && json_path(s, "state", "running", NULL)) {
			running = true;
			r->ready++;
		} else if (!said && waiting && waiting[0]) {
			set_reason(r, "%s", waiting);
			said = true;
		} else if (!said && terminated) {
			set_terminated(r, "", terminated);
			said = true;
		}
	}
	if (running && span_is(buf_span(&r->reason), "Completed"))
		set_reason(r, "%s", condition_true(r->status, "Ready") ? "Running" : "NotReady");
}

static void read_phase(struct pod_row *r)
{
	const char *phase = json_str(r->status, "phase"), *reason = json_str(r->status, "reason");

	set_reason(r, "%s", reason && reason[0] ? reason : phase ? phase : "Unknown");
	json_foreach (json_get(r->status, "conditions"), c) {
		const char *type = json_str(c, "type"), *why = json_str(c, "reason");
		if (type && why && strcmp(type, "PodScheduled") == 0 &&
		    strcmp(why, "SchedulingGated") == 0)
			set_reason(r, "%s", why);
	}
}

static void overrule_by_deletion(struct pod_row *r, const struct cJSON *object)
{
	const char *reason = json_str(r->status, "reason"), *phase = json_str(r->status, "phase");

	if (!json_path(object, "metadata", "deletionTimestamp", NULL))
		return;
	if (reason && strcmp(reason, "NodeLost") == 0)
		set_reason(r, "Unknown");
	else if (!phase || (strcmp(phase, "Succeeded") != 0 && strcmp(phase, "Failed") != 0))
		set_reason(r, "Terminating");
}

static void add_restarts(const struct pod_row *r, usec now, struct cJSON *cells)
{
	char human[CLOCK_TEXT_MAX], text[96];

	if (r->restarts && r->last_restart)
		(void)snprintf(text, sizeof(text), "%lld (%s ago)", (long long)r->restarts,
			       clock_human(now - r->last_restart, human));
	else
		(void)snprintf(text, sizeof(text), "%lld", (long long)r->restarts);
	json_append(cells, json_new_str(text));
}

static void add_gates(const struct pod_row *r, struct cJSON *cells)
{
	size_t total = 0, met = 0;
	char text[48];

	json_foreach (json_get(r->spec, "readinessGates"), g) {
		const char *type = json_str(g, "conditionType");
		total++;
		met += type && condition_true(r->status, type);
	}
	(void)snprintf(text, sizeof(text), "%zu/%zu", met, total);
	cells_add_text(cells, total ? text : NULL, NONE);
}

void pod_cells(const struct kind *k, const struct cJSON *object, usec now, struct cJSON *cells)
{
	struct pod_row r = {.spec = json_get(object, "spec"), .status = json_get(object, "status")};
	char ready[48];

	(void)k;
	r.total = (int64_t)json_len(json_get(r.spec, "containers"));
	read_phase(&r);
	read_init_containers(&r);
	if (!r.initializing || condition_true(r.status, "Initialized"))
		read_containers(&r);
	overrule_by_deletion(&r, object);
	(void)snprintf(ready, sizeof(ready), "%lld/%lld", (long long)r.ready, (long long)r.total);
	json_append(cells, json_new_str(ready));
	json_append(cells, json_new_span(buf_span(&r.reason)));
	add_restarts(&r, now, cells);
	cells_add_text(cells, json_str(r.status, "podIP"), NONE);
	cells_add_text(cells, json_str(r.spec, "nodeName"), NONE);
	cells_add_text(cells, json_str(r.status, "nominatedNodeName"), NONE);
	add_gates(&r, cells);
	buf_done(&r.reason);
}

/* ---- Node ---- */

#define ROLE_PREFIX "node-role.kubernetes.io/"

static void add_node_status(const struct cJSON *object, struct cJSON *cells)
{
	const char *word = "Unknown";
	char text[64];

	json_foreach (json_path(object, "status", "conditions", NULL), c) {
		const char *type = json_str(c, "type"), *status = json_str(c, "status");
		if (type && status && strcmp(type, "Ready") == 0)
			word = strcmp(status, "True") == 0 ? "Ready" : "NotReady";
	}
	(void)snprintf(text, sizeof(text), "%s%s", word,
		       json_bool(json_get(object, "spec"), "unschedulable", false)
			   ? ",SchedulingDisabled"
			   : "");
	json_append(cells, json_new_str(text));
}

static void add_node_roles(const struct cJSON *object, struct cJSON *cells)
{
	auto_buf roles = BUF_INIT;

	json_foreach (json_path(object, "metadata", "labels", NULL), l) {
		const char *role = NULL;
		if (strncmp(json_key(l), ROLE_PREFIX, strlen(ROLE_PREFIX)) == 0)
			role = json_key(l) + strlen(ROLE_PREFIX);
		else if (strcmp(json_key(l), "kubernetes.io/role") == 0)
			role = json_value_str(l);
		if (role && role[0])
			buf_addf(&roles, "%s%s", roles.len ? "," : "", role);
	}
	cells_add_text(cells, roles.ptr, NONE);
}

static const char *node_address(const struct cJSON *object, const char *type)
{
	json_foreach (json_path(object, "status", "addresses", NULL), a) {
		const char *t = json_str(a, "type");
		if (t && strcmp(t, type) == 0)
			return json_str(a, "address");
	}
	return NULL;
}

void node_cells(const struct kind *k, const struct cJSON *object, usec now, struct cJSON *cells)
{
	const struct cJSON *info = json_path(object, "status", "nodeInfo", NULL);

	(void)k;
	(void)now;
	add_node_status(object, cells);
	add_node_roles(object, cells);
	cells_add_text(cells, node_address(object, "InternalIP"), NONE);
	cells_add_text(cells, node_address(object, "ExternalIP"), NONE);
	cells_add_text(cells, json_str(info, "osImage"), "<unknown>");
	cells_add_text(cells, json_str(info, "kernelVersion"), "<unknown>");
	cells_add_text(cells, json_str(info, "containerRuntimeVersion"), "<unknown>");
}
