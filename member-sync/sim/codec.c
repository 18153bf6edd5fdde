#include "member-sync/sim/codec.h"
#include "base/json.h"
#include "base/num.h"
#include "kube/quantity.h"
#include "member-sync/sim/node_pool.h"

int64_t codec_int(const struct cJSON *o, const char *key, int64_t otherwise)
{
	int64_t v;
	return json_int64(o, key, &v) == 0 ? v : otherwise;
}

/* Seconds that stay far from the end of time when they are counted in microseconds. */
int64_t codec_seconds(const struct cJSON *o, const char *key, int64_t otherwise)
{
	int64_t v = codec_int(o, key, otherwise);
	return v < 0 ? otherwise : num_min(v, (int64_t)10000000000);
}

/* Numbers of pods and indexes: what cannot be simulated is cut. */
int32_t codec_count(const struct cJSON *o, const char *key, int32_t otherwise)
{
	int64_t v = codec_int(o, key, otherwise);
	return (int32_t)num_max(0, num_min(v, BATCH_JOB_MAX_COMPLETIONS));
}

usec codec_time(const struct cJSON *o, const char *key)
{
	usec t = 0;
	const char *s = json_str(o, key);
	return s && clock_parse(span_of(s), &t) == 0 ? t : 0;
}

void codec_copy_text(char *out, size_t size, const char *s)
{
	snprintf(out, size, "%s", s ? s : "");
}

/* A part of object names: what may not stand in one becomes a dash. */
void codec_copy_name(char *out, size_t size, const char *s)
{
	size_t n = 0;
	for (; s && s[n] && n + 1 < size; n++) {
		char c = s[n];
		bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			    (c >= '0' && c <= '9') || c == '-';
		out[n] = good ? c : '-';
	}
	out[n] = '\0';
}

static char *print_or_empty(const struct cJSON *node)
{
	struct buf out = BUF_INIT;
	if (json_is(node, JSON_OBJECT))
		json_print(node, &out);
	else
		buf_add_str(&out, "{}");
	char *text = buf_steal(&out, NULL);
	return text ? text : xstrdup("{}");
}

static bool tolerates(const struct cJSON *list, const char *key)
{
	json_foreach (list, t) {
		const char *effect = json_str(t, "effect"), *of = json_str(t, "key");
		bool all = !of || !*of;
		if ((!effect || !*effect || strcmp(effect, "NoExecute") == 0) &&
		    (all || strcmp(of, key) == 0))
			return true;
	}
	return false;
}

/* As the admission plugin DefaultTolerationSeconds has it. */
static void tolerate_by_default(struct cJSON *spec)
{
	static const char *const keys[] = {"node.kubernetes.io/not-ready",
					   "node.kubernetes.io/unreachable"};
	for (size_t i = 0; spec && i < ARRAY_LEN(keys); i++) {
		if (tolerates(json_get(spec, "tolerations"), keys[i]))
			continue;
		struct cJSON *t = json_object();
		json_set_str(t, "key", keys[i]);
		json_set_str(t, "operator", "Exists");
		json_set_str(t, "effect", "NoExecute");
		json_set_int(t, "tolerationSeconds", 300);
		if (!json_is(json_get(spec, "tolerations"), JSON_ARRAY))
			json_set(spec, "tolerations", json_array());
		json_append(json_get(spec, "tolerations"), t);
	}
}

/* What a member's API server makes of the amounts that its kinds of jobs leave as they are. */
static void print_quantities(const struct cJSON *spec)
{
	static const char *const containers[] = {"containers", "initContainers"};
	static const char *const lists[] = {"requests", "limits"};

	for (size_t i = 0; i < ARRAY_LEN(containers) * ARRAY_LEN(lists); i++)
		json_foreach (json_get(spec, containers[i / 2]), c) {
			struct cJSON *amounts = json_path(c, "resources", lists[i % 2], NULL);
			for (struct cJSON *a = json_first(amounts), *next; a; a = next) {
				next = json_next(a);
				json_replace(amounts, a, quantity_reprint(a));
			}
		}
}

/* One pod set from a pod template. restart: what the controller writes into the pods, or NULL. */
void codec_add_set(struct sim_job *j, const char *name, const struct cJSON *template,
		   const char *restart)
{
	struct sim_set set = {0};
	const struct cJSON *meta = json_get(template, "metadata");
	auto_json *spec = json_dup(json_get(template, "spec"));
	if (restart && spec)
		json_set_str(spec, "restartPolicy", restart);
	if (spec)
		json_remove(spec, "nodeName");
	node_pool_admit(j->ns, json_get(meta, "annotations"), spec);
	tolerate_by_default(spec);
	print_quantities(spec);
	codec_copy_name(set.name, sizeof(set.name), name);
	set.labels = print_or_empty(json_get(meta, "labels"));
	set.annotations = print_or_empty(json_get(meta, "annotations"));
	set.spec = print_or_empty(spec);
	vec_push(&j->sets, set);
}

void job_codec_clear_sets(struct sim_job *j)
{
	vec_foreach (&j->sets, s) {
		free(s->labels);
		free(s->annotations);
		free(s->spec);
	}
	vec_clear(&j->sets);
}

void codec_conditions(const struct cJSON *status, struct conditions *ret)
{
	auto_buf text = BUF_INIT;
	const struct cJSON *list = json_get(status, "conditions");
	if (list)
		json_print(list, &text);
	conditions_parse(list ? buf_span(&text) : SPAN_NONE, ret);
}

void codec_print_time(struct buf *out, const char *key, usec t)
{
	char text[CLOCK_TEXT_MAX];
	if (t)
		buf_addf(out, ",\"%s\":\"%s\"", key, clock_format(t, text));
}

void codec_print_count(struct buf *out, const char *key, int64_t n)
{
	if (n)
		buf_addf(out, ",\"%s\":%lld", key, (long long)n);
}
