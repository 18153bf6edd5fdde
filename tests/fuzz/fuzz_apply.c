/*
 * Three lines: a live PodTemplate, a configuration, and the live object's managedFields. An apply
 * must refuse the configuration with words, or give an object and owners that can be read again;
 * the trees that it got stay as they were; and the same configuration again changes nothing.
 */
#include "base/json.h"
#include "kinds/kinds.h"
#include "kinds/types.h"
#include "kube/managed_fields.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

struct state {
	struct cJSON *object, *managed; /* owned */
};

static void state_done(struct state *s)
{
	json_free(s->object);
	json_free(s->managed);
}

/* What is printed must be readable. */
static struct cJSON *again(const struct cJSON *tree)
{
	struct cJSON *copy = NULL;
	auto_buf text = BUF_INIT;

	json_print(tree, &text);
	must(buf_ok(&text) && json_parse(buf_span(&text), NULL, &copy, NULL) == 0);
	return copy;
}

/* False when it was refused. */
static bool apply(const struct cJSON *live, const struct cJSON *list, const struct cJSON *config,
		  struct state *ret, bool *ret_changed)
{
	const struct managed_write w = {.kinds = kinds_hub(),
					.kind = kind_by_type(kinds_hub(), TYPE_POD_TEMPLATE),
					.manager = "m",
					.subresource = ""};
	struct managed m = MANAGED_INIT;
	struct managed_conflicts conflicts = {0};
	struct err e = ERR_INIT;
	auto_json *merged = NULL;
	auto_json *holder = json_object();

	*ret = (struct state){0};
	if (managed_read(&m, list, NULL) < 0)
		m = MANAGED_INIT;
	int r = managed_apply(&m, &w, live, config, true, &merged, ret_changed, &conflicts, &e);
	if (r == 0) {
		managed_write_to(&m, holder);
		ret->object = again(merged);
		ret->managed = again(json_path(holder, "metadata", "managedFields", NULL)
					 ? json_path(holder, "metadata", "managedFields", NULL)
					 : holder);
	} else {
		must(e.text[0] && !merged && !conflicts.n);
	}
	managed_done(&m);
	return r == 0;
}

static void check(const struct cJSON *live, const struct cJSON *config, const struct cJSON *list)
{
	struct state first, second;
	bool changed = false;

	if (!apply(live, list, config, &first, &changed))
		return;
	must(apply(first.object, first.managed, config, &second, &changed));
	must(json_equal(first.object, second.object));
	state_done(&first);
	state_done(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span rest = span_make((const char *)data, size);
	struct span lines[3];
	struct cJSON *trees[3] = {NULL, NULL, NULL};
	bool ok = true;

	for (size_t i = 0; i < 3; i++) {
		lines[i] = span_split(&rest, '\n');
		ok = ok && lines[i].ptr && json_parse(lines[i], NULL, &trees[i], NULL) == 0;
	}
	if (ok && json_is(trees[0], JSON_OBJECT) && json_is(trees[1], JSON_OBJECT)) {
		auto_json *live = json_dup(trees[0]);
		auto_json *config = json_dup(trees[1]);
		check(trees[0], trees[1], trees[2]);
		must(json_equal(live, trees[0]) && json_equal(config, trees[1]));
	}
	for (size_t i = 0; i < 3; i++)
		json_free(trees[i]);
	return 0;
}
