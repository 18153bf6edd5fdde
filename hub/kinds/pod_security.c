#include "kinds/pod_security.h"

#include "kinds/container_mounts.h"

#define MAX_ID	    INT32_MAX
#define MAX_SYSCTL  253
#define MAX_PROFILE 4095

static bool is(const char *s, const char *what)
{
	return s && strcmp(s, what) == 0;
}

/* Users and groups are counted in 31 bits. */
static void check_id(const struct cJSON *id, const struct at *at, struct field_errors *errors)
{
	int64_t v = 0;

	if (id && json_value_int64(id, &v) == 0 && (v < 0 || v > MAX_ID))
		refuse_at(errors, FIELD_INVALID, id, "must be between 0 and 2147483647, inclusive",
			  at);
}

static void check_seccomp(const struct cJSON *profile, const struct at *at,
			  struct field_errors *errors)
{
	const char *file = json_str(profile, "localhostProfile");
	bool local = is(json_str(profile, "type"), "Localhost");
	const struct at *here = AT_FIELD(at, "localhostProfile");

	if (!profile)
		return;
	if (!local && file)
		refuse_at(errors, FIELD_INVALID, profile,
			  "can only be set when seccomp type is Localhost", here);
	else if (local && !file)
		refuse_at(errors, FIELD_REQUIRED, NULL,
			  "must be set when seccomp type is Localhost", here);
	else if (file)
		container_mounts_check_path(file, here, errors);
}

static void check_apparmor(const struct cJSON *profile, const struct at *at,
			   struct field_errors *errors)
{
	static const char *const types[] = {"Localhost", "RuntimeDefault", "Unconfined", NULL};
	const char *type = json_str(profile, "type"), *name = json_str(profile, "localhostProfile");
	const struct at *here = AT_FIELD(at, "localhostProfile");

	if (!profile || !type) /* the schema says that it is required */
		return;
	if (!is(type, types[0]) && !is(type, types[1]) && !is(type, types[2]))
		refuse_unsupported(errors, type, types, AT_FIELD(at, "type"));
	else if (!is(type, types[0]) && name)
		refuse_text_at(errors, FIELD_INVALID, name,
			       "can only be set when AppArmor type is Localhost", here);
	else if (is(type, types[0]) && (!name || !name[0]))
		refuse_at(errors, FIELD_REQUIRED, NULL,
			  "must be set when AppArmor type is Localhost", here);
	else if (name && strlen(name) > MAX_PROFILE)
		refuse_at(errors, FIELD_TOO_LONG, NULL, "may not be more than 4095 bytes", here);
}

void pod_security_check_container(const struct cJSON *context, const struct cJSON *pod,
				  const struct at *at, struct field_errors *errors)
{
	static const char *const mounts[] = {"Default", "Unmasked", NULL};
	const char *proc = json_str(context, "procMount");
	bool may_not_rise = !json_bool(context, "allowPrivilegeEscalation", true);

	if (!context)
		return;
	check_id(json_get(context, "runAsUser"), AT_FIELD(at, "runAsUser"), errors);
	check_id(json_get(context, "runAsGroup"), AT_FIELD(at, "runAsGroup"), errors);
	if (proc && !is(proc, mounts[0]) && !is(proc, mounts[1]))
		refuse_unsupported(errors, proc, mounts, AT_FIELD(at, "procMount"));
	else if (is(proc, mounts[1]) && json_bool(pod, "hostUsers", true))
		refuse_text_at(errors, FIELD_INVALID, proc,
			       "`hostUsers` must be false to use `Unmasked`",
			       AT_FIELD(at, "procMount"));
	check_seccomp(json_get(context, "seccompProfile"), AT_FIELD(at, "seccompProfile"), errors);
	check_apparmor(json_get(context, "appArmorProfile"), AT_FIELD(at, "appArmorProfile"),
		       errors);
	if (may_not_rise && json_bool(context, "privileged", false))
		refuse_at(errors, FIELD_INVALID, context,
			  "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
			  at);
	json_foreach (json_path(context, "capabilities", "add", NULL), c)
		if (may_not_rise && is(json_value_str(c), "CAP_SYS_ADMIN"))
			refuse_at(errors, FIELD_INVALID, context,
				  "cannot set `allowPrivilegeEscalation` to false and "
				  "`capabilities.Add` CAP_SYS_ADMIN",
				  at);
}

/* ---- of the pod ---- */

/* Segments of small letters, digits, '-' and '_', between '.' or '/'. */
static bool is_sysctl(const char *name)
{
	bool edge = true; /* only a letter or digit may begin and end a segment */

	if (strlen(name) > MAX_SYSCTL)
		return false;
	for (const char *c = name; *c; c++) {
		bool solid = (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9');
		bool end = c[1] == '.' || c[1] == '/' || !c[1];
		if (!solid && *c != '-' && *c != '_' && *c != '.' && *c != '/')
			return false;
		if (*c == '.' || *c == '/') {
			if (edge || end)
				return false;
			edge = true;
			continue;
		}
		if (!solid && (edge || end))
			return false;
		edge = false;
	}
	return name[0];
}

static void check_sysctls(const struct cJSON *list, const struct at *at,
			  struct field_errors *errors)
{
	size_t i = 0;

	json_foreach (list, s) {
		const struct at *here = AT_FIELD(AT_INDEX(at, i++), "name");
		const char *name = json_str(s, "name");
		bool seen = false;
		if (!name) /* the schema says that it is required */
			continue;
		for (const struct cJSON *c = json_first(list); c != s && !seen; c = json_next(c))
			seen = is(json_str(c, "name"), name);
		if (!is_sysctl(name))
			refuse_text_at(errors, FIELD_INVALID, name,
				       "must have at most 253 characters and match regex "
				       "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*"
				       "[a-z0-9]([-_a-z0-9]*[a-z0-9])?$",
				       here);
		else if (seen)
			refuse_text_at(errors, FIELD_DUPLICATE, name, "", here);
	}
}

void pod_security_check(const struct cJSON *context, const struct at *at,
			struct field_errors *errors)
{
	static const char *const ids[] = {"fsGroup", "runAsUser", "runAsGroup"};
	static const char *const changes[] = {"MountOption", "Recursive", NULL};
	const char *change = json_str(context, "seLinuxChangePolicy");
	size_t i = 0;

	if (!context)
		return;
	for (size_t k = 0; k < ARRAY_LEN(ids); k++)
		check_id(json_get(context, ids[k]), AT_FIELD(at, ids[k]), errors);
	json_foreach (json_get(context, "supplementalGroups"), g)
		check_id(g, AT_INDEX(AT_FIELD(at, "supplementalGroups"), i++), errors);
	check_sysctls(json_get(context, "sysctls"), AT_FIELD(at, "sysctls"), errors);
	check_seccomp(json_get(context, "seccompProfile"), AT_FIELD(at, "seccompProfile"), errors);
	check_apparmor(json_get(context, "appArmorProfile"), AT_FIELD(at, "appArmorProfile"),
		       errors);
	if (change && !is(change, changes[0]) && !is(change, changes[1]))
		refuse_unsupported(errors, change, changes, AT_FIELD(at, "seLinuxChangePolicy"));
}
