#include "registry/namespace_status.h"

#include "base/buf.h"
#include "base/json.h"
#include "kube/kind.h"
#include "registry/condition.h"
#include "registry/owner_refs.h"

static void count(struct namespace_counts *list, struct span word)
{
	vec_foreach (list, it)
		if (span_is(word, it->word)) {
			it->n++;
			return;
		}
	if (list->len < NAMESPACE_TALLY_MAX)
		vec_push(list, (struct namespace_count){xstrndup(word.ptr, word.len), 1});
}

void namespace_tally_add(struct namespace_tally *t, const struct kind *k,
			 const struct store_object *o)
{
	char resource[KIND_API_VERSION_MAX];
	struct span finalizer;

	(void)snprintf(resource, sizeof(resource), "%s.%s", k->plural, k->group);
	count(&t->resources, span_of(resource));
	for (size_t pos = 0; owner_refs_next_finalizer(o, &pos, &finalizer);)
		count(&t->finalizers, finalizer);
}

static void copy(const struct namespace_counts *from, struct namespace_counts *ret)
{
	*ret = (struct namespace_counts){0};
	vec_foreach (from, it)
		vec_push(ret, (struct namespace_count){xstrdup(it->word), it->n});
}

void namespace_tally_copy(const struct namespace_tally *from, struct namespace_tally *ret)
{
	copy(&from->resources, &ret->resources);
	copy(&from->finalizers, &ret->finalizers);
}

static void clear(struct namespace_counts *list)
{
	vec_foreach (list, it)
		free(it->word);
	vec_done(list);
}

void namespace_tally_clear(struct namespace_tally *t)
{
	clear(&t->resources);
	clear(&t->finalizers);
}

static int by_word(const void *a, const void *b)
{
	const struct namespace_count *x = a, *y = b;
	return strcmp(x->word, y->word);
}

/* "configmaps. has 2 resource instances, ...", in the order of the words. */
static void tell(const struct namespace_counts *list, const char *first, const char *between,
		 struct buf *out)
{
	struct namespace_counts sorted;

	copy(list, &sorted);
	qsort(sorted.items, sorted.len, sizeof(*sorted.items), by_word);
	buf_add_str(out, first);
	vec_foreach (&sorted, it)
		buf_addf(out, "%s%s %s %zu resource instances", it == sorted.items ? "" : ", ",
			 it->word, between, it->n);
	clear(&sorted);
}

bool namespace_status_set(struct cJSON *object, const struct namespace_tally *t, usec now)
{
	static const char *const fine[][3] = {
	    {"NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered",
	     "All resources successfully discovered"},
	    {"NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions",
	     "All legacy kube types successfully parsed"},
	    {"NamespaceDeletionContentFailure", "ContentDeleted",
	     "All content successfully deleted, may be waiting on finalization"},
	};
	static const char removed[] = "All content successfully removed";
	struct cJSON *status = json_ensure_object(object, "status");
	bool resources = t->resources.len, finalizers = t->finalizers.len, changed = false;
	auto_buf words = BUF_INIT;

	if (!status)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(fine); i++)
		changed |= condition_set(status, fine[i][0], false, fine[i][1], fine[i][2], now);
	if (resources)
		tell(&t->resources, "Some resources are remaining: ", "has", &words);
	changed |= condition_set(status, "NamespaceContentRemaining", resources,
				 resources ? "SomeResourcesRemain" : "ContentRemoved",
				 resources ? words.ptr : removed, now);
	buf_clear(&words);
	if (finalizers)
		tell(&t->finalizers, "Some finalizers are remaining: ", "in", &words);
	changed |= condition_set(status, "NamespaceFinalizersRemaining", finalizers,
				 finalizers ? "SomeFinalizerRemain" : "ContentRemoved",
				 finalizers ? words.ptr : removed, now);
	return changed;
}
