#include "kinds/pod_defaults.h"

#include "base/json.h"
#include "kinds/defaults.h"

#define MAX_REFERENCE 255 /* bytes of a repository's name */

static const char *const container_lists[] = {"initContainers", "containers",
					      "ephemeralContainers"};

/* The tag of an image: what follows the last colon of its last component, and not its digest. An
 * image without either is the latest; one with a digest alone, or that is no reference, has none.
 */
static bool is_reference(struct span s)
{
	const char *slash = memchr(s.ptr, '/', s.len);

	/* what stands before the first slash may be a host, in any letters */
	for (const char *at = slash ? slash : s.ptr; at < s.ptr + s.len && *at != ':'; at++)
		if ((*at >= 'A' && *at <= 'Z') || *at <= ' ' || *at == '!')
			return false;
	return s.len && s.len <= MAX_REFERENCE;
}

static const char *pull_policy(const char *image)
{
	struct span s = span_of(image), tag;
	const char *digest = memchr(s.ptr, '@', s.len);
	const char *slash, *colon;

	if (digest)
		s.len = (size_t)(digest - s.ptr);
	slash = memrchr(s.ptr, '/', s.len);
	colon = memrchr(s.ptr, ':', s.len);
	if (!is_reference(s))
		return "IfNotPresent";
	if (!colon || (slash && colon < slash))
		return digest ? "IfNotPresent" : "Always";
	tag = span_make(colon + 1, s.len - (size_t)(colon + 1 - s.ptr));
	return span_is(tag, "latest") ? "Always" : "IfNotPresent";
}

static void default_policy(struct cJSON *object, const char *image_key, const char *policy_key)
{
	const char *image = json_str(object, image_key), *policy = json_str(object, policy_key);

	if (policy && policy[0])
		return;
	json_set_str(object, policy_key, pull_policy(image ? image : ""));
}

static void default_volume(struct cJSON *volume)
{
	struct cJSON *image = json_get(volume, "image");

	if (image)
		default_policy(image, "reference", "pullPolicy");
	else if (json_get(volume, "name") && json_len(volume) == 1)
		json_add(volume, "emptyDir", json_object());
}

/* One value has two names; the newer one counts. */
static void default_account(struct cJSON *spec)
{
	const char *name = json_str(spec, "serviceAccountName");
	const char *old = json_str(spec, "serviceAccount");

	if (name && name[0]) {
		if (!old || strcmp(old, name) != 0)
			json_set_str(spec, "serviceAccount", name);
	} else if (old && old[0]) {
		json_set_str(spec, "serviceAccountName", old);
	}
}

void pod_defaults_spec(struct cJSON *spec)
{
	if (!json_is(spec, JSON_OBJECT))
		return;
	for (size_t i = 0; i < ARRAY_LEN(container_lists); i++)
		json_foreach (json_get(spec, container_lists[i]), c)
			default_policy(c, "image", "imagePullPolicy");
	json_foreach (json_get(spec, "volumes"), v)
		default_volume(v);
	default_account(spec);
}

/* A request that is not given is the limit. */
static void default_requests(struct cJSON *container)
{
	struct cJSON *resources = json_get(container, "resources");
	const struct cJSON *limits = json_get(resources, "limits");

	if (!json_first(limits))
		return;
	struct cJSON *requests = json_ensure_object(resources, "requests");
	json_foreach (limits, l)
		defaults_set(requests, json_key(l), json_dup(l));
}

static void default_ports(struct cJSON *container)
{
	int64_t port, host;

	json_foreach (json_get(container, "ports"), p)
		if (json_int64(p, "containerPort", &port) == 0 &&
		    (json_int64(p, "hostPort", &host) < 0 || host == 0))
			json_set_int(p, "hostPort", port);
}

void pod_defaults_pod(struct cJSON *spec)
{
	bool host_network = json_bool(spec, "hostNetwork", false);

	for (size_t i = 0; i < 2; i++)
		json_foreach (json_get(spec, container_lists[i]), c) {
			default_requests(c);
			if (host_network)
				default_ports(c);
		}
	defaults_set(spec, "enableServiceLinks", json_new_bool(true));
}
