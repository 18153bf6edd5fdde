#include "kinds/job_dependencies.h"

#include "base/json.h"

#define INDEX_FROM 16

void job_dependencies_done(struct job_dependencies *d)
{
	map_done(&d->seen);
	vec_done(&d->list);
}

static void note(struct job_dependencies *d, const struct job_dependency *one)
{
	auto_buf key = BUF_INIT;

	buf_add_char(&key, (char)('0' + one->kind));
	buf_add_span(&key, one->name);
	(void)map_put(&d->seen, buf_span(&key), d);
}

/* Few are compared one by one; from INDEX_FROM on `seen` holds them all. */
static bool was_seen(const struct job_dependencies *d, const struct job_dependency *one)
{
	auto_buf key = BUF_INIT;

	if (d->list.len < INDEX_FROM) {
		vec_foreach (&d->list, it)
			if (it->kind == one->kind && span_eq(it->name, one->name))
				return true;
		return false;
	}
	buf_add_char(&key, (char)('0' + one->kind));
	buf_add_span(&key, one->name);
	return map_has(&d->seen, buf_span(&key));
}

static void add(struct job_dependencies *d, int kind, const char *name)
{
	struct job_dependency one = {.name = span_of(name)};

	one.kind = kind;
	if (!name || !name[0] || was_seen(d, &one))
		return;
	one.name = arena_span(d->mem, one.name);
	vec_push(&d->list, one);
	if (d->list.len == INDEX_FROM) {
		vec_foreach (&d->list, it)
			note(d, it);
	} else if (d->list.len > INDEX_FROM) {
		note(d, &one);
	}
}

static void add_named(struct job_dependencies *d, int kind, const struct cJSON *ref)
{
	add(d, kind, json_str(ref, "name"));
}

/* Volume sources of old kinds name their Secret in one of these ways. */
static void add_volume_secrets(struct job_dependencies *d, const struct cJSON *source)
{
	add(d, DEPENDENCY_SECRET, json_str(source, "secretName"));
	add_named(d, DEPENDENCY_SECRET, json_get(source, "secretRef"));
	add_named(d, DEPENDENCY_SECRET, json_get(source, "nodePublishSecretRef"));
}

/* Every namespace of every member has its own, of that member. */
static void add_config_map(struct job_dependencies *d, const struct cJSON *source)
{
	const char *name = json_str(source, "name");

	if (!name || strcmp(name, "kube-root-ca.crt") != 0)
		add_named(d, DEPENDENCY_CONFIG_MAP, source);
}

static void add_volume(struct job_dependencies *d, const struct cJSON *volume)
{
	add_config_map(d, json_get(volume, "configMap"));
	add(d, DEPENDENCY_PVC, json_str(json_get(volume, "persistentVolumeClaim"), "claimName"));
	json_foreach (volume, source)
		add_volume_secrets(d, source);
	json_foreach (json_path(volume, "projected", "sources", NULL), source) {
		add_config_map(d, json_get(source, "configMap"));
		add_named(d, DEPENDENCY_SECRET, json_get(source, "secret"));
	}
}

static void add_container(struct job_dependencies *d, const struct cJSON *container)
{
	json_foreach (json_get(container, "env"), e) {
		const struct cJSON *from = json_get(e, "valueFrom");
		add_named(d, DEPENDENCY_CONFIG_MAP, json_get(from, "configMapKeyRef"));
		add_named(d, DEPENDENCY_SECRET, json_get(from, "secretKeyRef"));
	}
	json_foreach (json_get(container, "envFrom"), e) {
		add_named(d, DEPENDENCY_CONFIG_MAP, json_get(e, "configMapRef"));
		add_named(d, DEPENDENCY_SECRET, json_get(e, "secretRef"));
	}
}

void job_dependencies_add(struct job_dependencies *d, const struct cJSON *pod_template)
{
	const struct cJSON *spec = json_get(pod_template, "spec");
	const char *account = json_str(spec, "serviceAccountName");

	if (!account || !account[0])
		account = json_str(spec, "serviceAccount");
	if (account && strcmp(account, "default") != 0)
		add(d, DEPENDENCY_SERVICE_ACCOUNT, account);
	json_foreach (json_get(spec, "volumes"), v)
		add_volume(d, v);
	json_foreach (json_get(spec, "initContainers"), c)
		add_container(d, c);
	json_foreach (json_get(spec, "containers"), c)
		add_container(d, c);
	json_foreach (json_get(spec, "imagePullSecrets"), s)
		add_named(d, DEPENDENCY_SECRET, s);
}
