#include "member-sync/sim/pod_class.h"
#include "base/json.h"
#include "kube/field_errors.h"

/* Unused classes that are kept for the next job that looks like the last one. */
#define KEPT_CLASSES 1024

static struct span skip_front(struct span spec)
{
	static const char *const ours[] = {"\"nodeName\":\"", "\"hostname\":\"",
					   "\"subdomain\":\""};
	spec = span_make(spec.ptr + 1, spec.len - 1); /* behind the brace */
	for (bool again = true; again;) {
		again = false;
		for (size_t i = 0; i < ARRAY_LEN(ours); i++) {
			const char *end;
			if (!span_starts(spec, span_of(ours[i])) ||
			    !(end = memmem(spec.ptr, spec.len, "\",", 2)))
				continue;
			spec.len -= (size_t)(end + 2 - spec.ptr);
			spec.ptr = end + 2;
			again = true;
		}
	}
	return spec;
}

/* Labels belong to the key only where a pod may select itself. */
static void class_key(const struct store_object *o, struct buf *out)
{
	struct span spec = store_object_part(o, o->extents.spec), labels;
	if (spec.len < 2)
		return;
	spec = skip_front(spec);
	buf_add_span(out, spec);
	if (memmem(spec.ptr, spec.len, "\"podA", 5) &&
	    json_text_member(store_object_part(o, o->extents.metadata), "labels", &labels) == 0)
		buf_add_span(out, labels);
}

static const char *keep(struct arena *mem, const char *s)
{
	return s ? arena_strndup(mem, s, strlen(s)) : "";
}

static enum match_op op_of(const char *s)
{
	static const char *const names[] = {"In", "NotIn", "Exists", "DoesNotExist"};
	for (size_t i = 0; s && i < ARRAY_LEN(names); i++)
		if (strcmp(s, names[i]) == 0)
			return (enum match_op)i;
	return MATCH_EXISTS;
}

static void read_selector(const struct cJSON *selector, struct arena *mem, struct scheduler_term *t)
{
	const struct cJSON *labels = json_get(selector, "matchLabels");
	const struct cJSON *expressions = json_get(selector, "matchExpressions");
	t->requirements =
	    arena_array(mem, struct info_requirement, json_len(labels) + json_len(expressions));
	json_foreach (labels, l) {
		struct info_requirement *r = &t->requirements[t->n_requirements++];
		r->key = span_of(keep(mem, json_key(l)));
		r->op = MATCH_IN;
		r->values = arena_new(mem, struct span);
		r->values[r->n_values++] = span_of(keep(mem, json_value_str(l)));
	}
	json_foreach (expressions, e) {
		struct info_requirement *r = &t->requirements[t->n_requirements++];
		r->key = span_of(keep(mem, json_str(e, "key")));
		r->op = op_of(json_str(e, "operator"));
		r->values = arena_array(mem, struct span, json_len(json_get(e, "values")));
		json_foreach (json_get(e, "values"), v)
			r->values[r->n_values++] = span_of(keep(mem, json_value_str(v)));
	}
}

static void read_terms(const struct cJSON *list, bool anti, struct arena *mem,
		       struct scheduler_needs *n)
{
	json_foreach (list, it) {
		struct scheduler_term *t = &n->terms[n->n_terms++];
		const struct cJSON *namespaces = json_get(it, "namespaces");
		t->anti = anti;
		t->topology_key = span_of(keep(mem, json_str(it, "topologyKey")));
		t->namespaces = arena_array(mem, struct span, json_len(namespaces));
		json_foreach (namespaces, ns)
			t->namespaces[t->n_namespaces++] = span_of(keep(mem, json_value_str(ns)));
		read_selector(json_get(it, "labelSelector"), mem, t);
	}
}

#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"

static struct scheduler_shape *make_shape(struct cluster *c, struct span key,
					  const struct cJSON *pod)
{
	struct arena mem = ARENA_INIT;
	struct field_errors errors = {0};
	struct scheduler_needs needs = {0};
	const struct cJSON *with =
	    json_path(pod, "spec", "affinity", "podAffinity", REQUIRED, NULL);
	const struct cJSON *apart =
	    json_path(pod, "spec", "affinity", "podAntiAffinity", REQUIRED, NULL);
	if (template_info_decode(pod, "", &mem, &needs.pod, &errors))
		needs.pod.n_requests = 0; /* unknown counts as nothing, as for a kubelet */
	field_errors_done(&errors);
	needs.terms = arena_array(&mem, struct scheduler_term, json_len(with) + json_len(apart));
	read_terms(with, false, &mem, &needs);
	read_terms(apart, true, &mem, &needs);
	return scheduler_add_shape(c->scheduler, key, &needs, &mem);
}

static enum pod_restart restart_of(const char *s)
{
	if (s && strcmp(s, "Never") == 0)
		return POD_RESTART_NEVER;
	return s && strcmp(s, "OnFailure") == 0 ? POD_RESTART_ON_FAILURE : POD_RESTART_ALWAYS;
}

static void read_containers(struct sim_class *k, const struct cJSON *list)
{
	k->containers = arena_array(&k->mem, struct sim_container, json_len(list));
	json_foreach (list, it) {
		const char *name = json_str(it, "name"), *image = json_str(it, "image");
		struct sim_container *to = &k->containers[k->n_containers++];
		to->name = arena_strndup(&k->mem, name ? name : "", name ? strlen(name) : 0);
		to->image = arena_strndup(&k->mem, image ? image : "", image ? strlen(image) : 0);
	}
}

int pod_class_get(struct cluster *c, const struct store_object *pod, struct sim_class **ret,
		  struct err *reterr)
{
	auto_buf key = BUF_INIT;
	class_key(pod, &key);
	struct sim_class *k = map_get(&c->classes, buf_span(&key));
	if (k) {
		k->users++;
		*ret = k;
		return 0;
	}
	auto_json *tree = NULL;
	int rc = json_parse(pod->json, NULL, &tree, reterr);
	if (rc)
		return rc;
	k = xcalloc(1, sizeof(*k));
	k->users = 1;
	k->key = buf_steal(&key, &k->key_len);
	struct span kept = span_make(k->key, k->key_len);
	k->restart = restart_of(json_str(json_get(tree, "spec"), "restartPolicy"));
	read_containers(k, json_path(tree, "spec", "containers", NULL));
	k->shape = make_shape(c, kept, tree);
	map_put(&c->classes, kept, k);
	*ret = k;
	return 0;
}

static void class_free(struct cluster *c, struct sim_class *k)
{
	scheduler_release_shape(c->scheduler, k->shape);
	arena_done(&k->mem);
	free(k->key);
	free(k);
}

void pod_class_release(struct cluster *c, struct sim_class *k)
{
	if (!k || --k->users > 0 || c->classes.len < KEPT_CLASSES)
		return;
	map_remove(&c->classes, span_make(k->key, k->key_len));
	class_free(c, k);
}

void pod_class_done(struct cluster *c)
{
	map_foreach (&c->classes, e)
		class_free(c, e->value);
	map_done(&c->classes);
	c->classes = MAP_INIT;
}
