#include "kinds/container_mounts.h"

/* ---- paths ---- */

static bool leads_up(const char *path)
{
	for (const char *at = path; at; at = strchr(at, '/')) {
		at += *at == '/';
		if (at[0] == '.' && at[1] == '.' && (!at[2] || at[2] == '/'))
			return true;
	}
	return false;
}

void container_mounts_check_path(const char *path, const struct at *at, struct field_errors *errors)
{
	if (path[0] == '/')
		refuse_text_at(errors, FIELD_INVALID, path, "must be a relative path", at);
	if (leads_up(path))
		refuse_text_at(errors, FIELD_INVALID, path, "must not contain '..'", at);
}

void container_mounts_check_file(const char *path, const struct at *at, struct field_errors *errors)
{
	container_mounts_check_path(path, at, errors);
	if (strncmp(path, "..", 2) == 0 && !leads_up(path))
		refuse_text_at(errors, FIELD_INVALID, path, "must not start with '..'", at);
}

/* ---- the volume that is meant ---- */

static bool is(const char *s, const char *what)
{
	return s && strcmp(s, what) == 0;
}

/* Whether something at this path or below it was refused. */
static bool was_refused(const struct field_errors *errors, const struct at *at)
{
	char path[REFUSE_PATH_MAX];
	size_t n;

	if (!field_errors_any(errors))
		return false;
	n = strlen(at_text(at, path));
	for (size_t i = 0; i < errors->n; i++) {
		const char *field = errors->items[i].field;
		if (strncmp(field, path, n) == 0 && (field[n] == '.' || !field[n]))
			return true;
	}
	return false;
}

static const struct cJSON *find_volume(const struct cJSON *pod, const char *name,
				       const struct at *spec, const struct field_errors *errors)
{
	size_t i = 0;

	json_foreach (json_get(pod, "volumes"), v) {
		if (is(json_str(v, "name"), name) &&
		    !was_refused(errors, AT_INDEX(AT_FIELD(spec, "volumes"), i)))
			return v;
		i++;
	}
	return NULL;
}

/* Whether one of the list says this of itself: before `end`, or anywhere when that is NULL. */
static bool has(const struct cJSON *list, const char *field, const char *text,
		const struct cJSON *end)
{
	for (const struct cJSON *m = json_first(list); text && m && m != end; m = json_next(m))
		if (is(json_str(m, field), text))
			return true;
	return false;
}

/* ---- mounts ---- */

/* Of what is wrong with these two the list is told, without the number of the mount. */
static void check_propagation(const struct cJSON *mount, const struct cJSON *container,
			      const struct at *list, struct field_errors *errors)
{
	static const char *const propagations[] = {"Bidirectional", "HostToContainer", "None",
						   NULL};
	static const char *const recursions[] = {"Disabled", "Enabled", "IfPossible", NULL};
	const char *propagation = json_str(mount, "mountPropagation");
	const char *recursive = json_str(mount, "recursiveReadOnly");
	const struct at *at = AT_FIELD(list, "recursiveReadOnly");

	if (propagation && !is(propagation, propagations[0]) && !is(propagation, propagations[1]) &&
	    !is(propagation, propagations[2]))
		refuse_unsupported(errors, propagation, propagations,
				   AT_FIELD(list, "mountPropagation"));
	if (is(propagation, "Bidirectional") &&
	    !json_bool(json_get(container, "securityContext"), "privileged", false))
		refuse_at(errors, FIELD_FORBIDDEN, NULL,
			  "Bidirectional mount propagation is available only to privileged "
			  "containers",
			  AT_FIELD(list, "mountPropagation"));
	if (!recursive || is(recursive, recursions[0]))
		return;
	if (!is(recursive, recursions[1]) && !is(recursive, recursions[2])) {
		refuse_unsupported(errors, recursive, recursions, at);
		return;
	}
	if (!json_bool(mount, "readOnly", false))
		refuse_at(errors, FIELD_FORBIDDEN, NULL,
			  "may only be specified when readOnly is true", at);
	if (propagation && !is(propagation, "None"))
		refuse_at(errors, FIELD_FORBIDDEN, NULL,
			  "may only be specified when mountPropagation is None or not specified",
			  at);
}

static void check_sub_path(const struct cJSON *mount, const struct at *list, const struct at *at,
			   struct field_errors *errors)
{
	const char *plain = json_str(mount, "subPath"), *expr = json_str(mount, "subPathExpr");

	if (plain)
		container_mounts_check_path(plain, AT_FIELD(list, "subPath"), errors);
	if (plain && expr)
		refuse_text_at(errors, FIELD_INVALID, expr,
			       "subPathExpr and subPath are mutually exclusive",
			       AT_FIELD(at, "subPathExpr"));
	if (expr)
		container_mounts_check_path(expr, AT_FIELD(list, "subPathExpr"), errors);
}

static void check_mount(const struct cJSON *mount, const struct cJSON *container,
			const struct cJSON *volume, const struct at *at,
			struct field_errors *errors)
{
	const struct cJSON *devices = json_get(container, "volumeDevices");
	const char *name = json_str(mount, "name"), *path = json_str(mount, "mountPath");

	if (!volume)
		refuse_text_at(errors, FIELD_NOT_FOUND, name ? name : "", "", AT_FIELD(at, "name"));
	if (has(json_get(container, "volumeMounts"), "mountPath", path, mount))
		refuse_text_at(errors, FIELD_INVALID, path, "must be unique",
			       AT_FIELD(at, "mountPath"));
	if (has(devices, "name", name, NULL))
		refuse_text_at(errors, FIELD_INVALID, name,
			       "must not already exist in volumeDevices", AT_FIELD(at, "name"));
	if (has(devices, "devicePath", path, NULL))
		refuse_text_at(errors, FIELD_INVALID, path,
			       "must not already exist as a path in volumeDevices",
			       AT_FIELD(at, "mountPath"));
}

static void check_device(const struct cJSON *device, const struct cJSON *container,
			 const struct cJSON *volume, const struct at *at,
			 struct field_errors *errors)
{
	const struct cJSON *devices = json_get(container, "volumeDevices");
	const char *name = json_str(device, "name"), *path = json_str(device, "devicePath");

	if (has(devices, "name", name, device))
		refuse_text_at(errors, FIELD_INVALID, name, "must be unique", AT_FIELD(at, "name"));
	if (!volume)
		refuse_text_at(errors, FIELD_NOT_FOUND, name ? name : "", "", AT_FIELD(at, "name"));
	else if (!json_get(volume, "persistentVolumeClaim") && !json_get(volume, "ephemeral"))
		refuse_text_at(errors, FIELD_INVALID, name,
			       "can only use volume source type of PersistentVolumeClaim or "
			       "Ephemeral for block mode",
			       AT_FIELD(at, "name"));
	if (has(devices, "devicePath", path, device))
		refuse_text_at(errors, FIELD_INVALID, path, "must be unique",
			       AT_FIELD(at, "devicePath"));
	if (path && leads_up(path))
		refuse_text_at(errors, FIELD_INVALID, path, "can not contain backsteps ('..')",
			       AT_FIELD(at, "devicePath"));
}

/* Files of variables lie in an empty directory. */
static void check_files(const struct cJSON *container, const struct cJSON *pod, const struct at *at,
			struct field_errors *errors)
{
	size_t i = 0;

	json_foreach (json_get(container, "env"), e) {
		const struct cJSON *ref = json_path(e, "valueFrom", "fileKeyRef", NULL);
		const struct at *from = AT_FIELD(AT_INDEX(AT_FIELD(at, "env"), i++), "valueFrom");
		const struct at *here = AT_FIELD(AT_FIELD(from, "fileKeyRef"), "volumeName");
		const char *name = json_str(ref, "volumeName"), *path = json_str(ref, "path");
		const struct cJSON *volume = NULL;
		json_foreach (json_get(pod, "volumes"), v)
			if (name && is(json_str(v, "name"), name))
				volume = v;
		if (path && leads_up(path))
			refuse_text_at(errors, FIELD_INVALID, path, "must not contain '..'",
				       AT_FIELD(AT_FIELD(from, "fileKeyRef"), "path"));
		if (ref && !volume)
			refuse_text_at(errors, FIELD_NOT_FOUND, name ? name : "", "", here);
		else if (ref && !json_get(volume, "emptyDir"))
			refuse_text_at(errors, FIELD_INVALID, name,
				       "referenced volume must be of type emptyDir", here);
	}
}

void container_mounts_check(const struct cJSON *container, const struct cJSON *pod,
			    const struct at *spec, const struct at *at, struct field_errors *errors)
{
	const struct at *mounts = AT_FIELD(at, "volumeMounts");
	const struct at *devices = AT_FIELD(at, "volumeDevices");
	size_t i = 0;

	json_foreach (json_get(container, "volumeMounts"), m) {
		const char *name = json_str(m, "name");
		const struct cJSON *volume = name ? find_volume(pod, name, spec, errors) : NULL;
		check_mount(m, container, volume, AT_INDEX(mounts, i), errors);
		check_sub_path(m, mounts, AT_INDEX(mounts, i++), errors);
		check_propagation(m, container, mounts, errors);
	}
	i = 0;
	json_foreach (json_get(container, "volumeDevices"), d) {
		const char *name = json_str(d, "name");
		const struct cJSON *volume = name ? find_volume(pod, name, spec, errors) : NULL;
		check_device(d, container, volume, AT_INDEX(devices, i++), errors);
	}
	check_files(container, pod, at, errors);
}
