#include "model_things.h"

#include "base/json.h"
#include "kinds/types.h"
#include "kube/patch.h"

#include <assert.h>
#include <inttypes.h>

struct thing {
	struct cJSON *tree;
	char uid[32];
};

static void thing_free(struct thing *t)
{
	if (t)
		json_free(t->tree);
	free(t);
}

void model_things_free(struct model *m)
{
	map_foreach (&m->things, e)
		thing_free(e->value);
	map_done(&m->things);
}

bool model_things_has(const struct model *m, struct span path)
{
	return map_has(&m->things, path);
}

static struct thing *put(struct model *m, const char *path, struct cJSON *take_tree)
{
	struct thing *t = xcalloc(1, sizeof(*t));

	t->tree = take_tree;
	(void)snprintf(t->uid, sizeof(t->uid), "thing-%" PRIu64, ++m->next_uid);
	json_set_str(json_ensure_object(t->tree, "metadata"), "uid", t->uid);
	thing_free(map_put(&m->things, span_of(path), t));
	return t;
}

void model_put_thing(struct model *m, const char *path, const char *json)
{
	struct cJSON *tree = NULL;
	auto_free char *text = xstrdup(json);
	struct err err;

	for (char *p = text; *p; p++)
		if (*p == '\'')
			*p = '"';
	int r = json_parse(span_of(text), NULL, &tree, &err);
	assert(r == 0);
	put(m, path, tree);
}

bool model_drop_thing(struct model *m, const char *path)
{
	struct thing *t = map_remove(&m->things, span_of(path));

	thing_free(t);
	return t != NULL;
}

const struct cJSON *model_thing(const struct model *m, const char *path)
{
	const struct thing *t = map_get(&m->things, span_of(path));
	return t ? t->tree : NULL;
}

/* ---- orders ---- */

static struct fact *answer(const struct order *o, int code, const char *words,
			   const struct thing *t)
{
	struct fact *f = fact_create(FACT_RESULT, o->member);
	auto_buf body = BUF_INIT;

	f->result.order_id = o->id;
	f->result.outcome = OUTCOME_ANSWERED;
	f->result.http_code = code;
	if (code / 100 != 2)
		err_set(&f->result.err, ERR_INVALID, "%s", words);
	if (t) {
		json_print(t->tree, &body);
		f->result.body = arena_span(&f->mem, buf_span(&body));
	}
	return f;
}

static bool is_namespace_missing(const struct model *m, const char *path)
{
	static const char prefix[] = "/api/v1/namespaces/";
	const char *slash = strncmp(path, prefix, sizeof(prefix) - 1) == 0
				? strchr(path + sizeof(prefix) - 1, '/')
				: NULL;

	return slash && !map_has(&m->things, span_make(path, (size_t)(slash - path)));
}

static struct fact *create(struct model *m, const struct order *o)
{
	struct cJSON *tree = NULL;
	auto_buf path = BUF_INIT;
	struct err err;

	if (json_parse(span_make(o->body, o->body_len), NULL, &tree, &err) < 0)
		return answer(o, 400, err.text, NULL);
	buf_addf(&path, "%s/%s", o->path, json_str(json_get(tree, "metadata"), "name"));
	if (is_namespace_missing(m, o->path) || map_has(&m->things, buf_span(&path))) {
		json_free(tree);
		return map_has(&m->things, buf_span(&path))
			   ? answer(o, 409, "already exists", NULL)
			   : answer(o, 404, "namespaces not found", NULL);
	}
	m->thing_writes++;
	return answer(o, 201, "", put(m, path.ptr, tree));
}

static struct fact *patch(struct model *m, const struct order *o, struct thing *t)
{
	auto_json *ops = NULL;
	struct cJSON *now;
	struct err err;

	assert(strcmp(o->content_type, "application/json-patch+json") == 0);
	if (json_parse(span_make(o->body, o->body_len), NULL, &ops, &err) < 0)
		return answer(o, 400, err.text, NULL);
	if (patch_apply(PATCH_JSON, kind_by_type(m->kinds, TYPE_CONFIG_MAP), t->tree, ops, &now,
			&err) < 0)
		return answer(o, 422, err.text, NULL);
	json_free(t->tree);
	t->tree = now;
	m->thing_writes++;
	return answer(o, 200, "", t);
}

static struct fact *delete (struct model *m, const struct order *o, const struct thing *t)
{
	if (!o->body || !memmem(o->body, o->body_len, t->uid, strlen(t->uid)))
		return answer(o, 409, "the precondition failed: uid", NULL);
	(void)model_drop_thing(m, o->path);
	m->thing_writes++;
	return answer(o, 200, "", NULL);
}

struct fact *model_things_call(struct model *m, const struct order *o)
{
	struct thing *t = map_get(&m->things, span_of(o->path));

	if (strcmp(o->method, "POST") == 0)
		return create(m, o);
	if (!t)
		return answer(o, 404, "not found", NULL);
	if (strcmp(o->method, "GET") == 0)
		return answer(o, 200, "", t);
	return strcmp(o->method, "PATCH") == 0 ? patch(m, o, t) : delete (m, o, t);
}
