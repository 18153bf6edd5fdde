#include "api/paths.h"

#include "base/vec.h"
#include "kube/openapi_names.h"

#define PATH_MAX_TEXT 400

struct paths VEC(char *);

static void add(struct paths *p, const char *path)
{
	vec_foreach (p, known)
		if (strcmp(*known, path) == 0)
			return;
	vec_push(p, xstrdup(path));
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_groups(struct paths *p, const struct kind_set *kinds)
{
	for (size_t i = 0; i < kinds->n_kinds; i++) {
		const struct kind *k = kinds->kinds[i];
		char path[PATH_MAX_TEXT];
		if (!k->group[0]) {
			(void)snprintf(path, sizeof(path), "/api/%s", k->version);
			add(p, path);
			continue;
		}
		(void)snprintf(path, sizeof(path), "/apis/%s", k->group);
		add(p, path);
		(void)snprintf(path, sizeof(path), "/apis/%s/%s", k->group, k->version);
		add(p, path);
	}
}

bool paths_document(const struct kind_set *kinds, struct buf *out)
{
	static const char *const others[] = {"/.well-known/openid-configuration",
					     "/api",
					     "/apis",
					     "/apis/",
					     "/healthz",
					     "/healthz/ping",
					     "/healthz/store",
					     "/livez",
					     "/livez/ping",
					     "/livez/store",
					     "/metrics",
					     "/openapi/v2",
					     "/openapi/v3",
					     "/openapi/v3/",
					     "/openid/v1/jwks",
					     "/readyz",
					     "/readyz/ping",
					     "/readyz/shutdown",
					     "/readyz/store",
					     "/version"};
	struct paths p = {0};

	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		add(&p, others[i]);
	add_groups(&p, kinds);
	qsort(p.items, p.len, sizeof(p.items[0]), by_text);
	buf_add_str(out, "{\"paths\":[");
	vec_foreach (&p, path) {
		if (path != p.items)
			buf_add_char(out, ',');
		buf_add_json_str(out, span_of(*path));
		free(*path);
	}
	buf_add_str(out, "]}");
	vec_done(&p);
	return true;
}
