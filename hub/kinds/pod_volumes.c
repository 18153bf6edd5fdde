#include "kinds/pod_volumes.h"

#include "base/map.h"
#include "kinds/refuse.h"
#include "kube/names.h"

/* What a source must say, and where it is missed. */
static const struct {
	const char *source, *field;
} needed[] = {
    {"secret", "secretName"},
    {"configMap", "name"},
};

static bool empty(const char *s)
{
	return !s || !s[0];
}

static void need(const struct cJSON *object, const char *field, const char *path,
		 struct field_errors *errors)
{
	if (object && empty(json_str(object, field)))
		refuse(errors, FIELD_REQUIRED, NULL, "", "%.400s.%s", path, field);
}

/* Beside the name, the first source is the volume's. */
static void check_sources(const struct cJSON *volume, const char *path, struct field_errors *errors)
{
	size_t n = 0;

	json_foreach (volume, member)
		if (strcmp(json_key(member), "name") != 0 && n++ > 0)
			refuse(errors, FIELD_FORBIDDEN, NULL,
			       "may not specify more than 1 volume type", "%s.%s", path,
			       json_key(member));
}

static void check_projections(const struct cJSON *projected, const char *path,
			      struct field_errors *errors)
{
	static const char *const named[] = {"secret", "configMap"};
	char below[REFUSE_PATH_MAX];
	size_t i = 0;

	json_foreach (json_get(projected, "sources"), source) {
		for (size_t k = 0; k < ARRAY_LEN(named); k++) {
			(void)snprintf(below, sizeof(below), "%.380s.projected.sources[%zu].%s",
				       path, i, named[k]);
			need(json_get(source, named[k]), "name", below, errors);
		}
		i++;
	}
}

static void check_volume(const struct cJSON *volume, const char *path, struct field_errors *errors)
{
	const struct cJSON *csi_secret = json_path(volume, "csi", "nodePublishSecretRef", NULL);
	const char *share = json_value_str(json_path(volume, "nfs", "path", NULL));
	char below[REFUSE_PATH_MAX];

	check_sources(volume, path, errors);
	for (size_t i = 0; i < ARRAY_LEN(needed); i++) {
		(void)snprintf(below, sizeof(below), "%.400s.%s", path, needed[i].source);
		need(json_get(volume, needed[i].source), needed[i].field, below, errors);
	}
	(void)snprintf(below, sizeof(below), "%.400s.csi.nodePublishSecretRef", path);
	need(csi_secret, "name", below, errors);
	check_projections(json_get(volume, "projected"), path, errors);
	if (!empty(share) && share[0] != '/')
		refuse_text(errors, FIELD_INVALID, share, "must be an absolute path", "%s.nfs.path",
			    path);
}

void pod_volumes_check(const struct cJSON *volumes, const char *path, struct field_errors *errors)
{
	char at[REFUSE_PATH_MAX];
	struct map seen = {0};
	size_t i = 0;

	json_foreach (volumes, v) {
		const char *name = json_str(v, "name");
		(void)snprintf(at, sizeof(at), "%.380s.volumes[%zu]", path, i++);
		check_volume(v, at, errors);
		if (!empty(name) && map_put(&seen, span_of(name), &seen))
			refuse_text(errors, FIELD_DUPLICATE, name, "", "%s.name", at);
	}
	map_done(&seen);
}
