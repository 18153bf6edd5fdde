#include "quota-tree/quota_message.h"
#include "base/num.h"
#include <errno.h>
#include <stdarg.h>

/* Appends to a bounded, always terminated text. */
struct text {
	char *out;
	size_t max;
	size_t len;
};

static PRINTF_LIKE(2, 3) void put(struct text *t, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(t->len < t->max ? t->out + t->len : NULL,
			  t->len < t->max ? t->max - t->len : 0, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->len += (size_t)n;
	if (t->len >= t->max)
		t->len = t->max > 0 ? t->max - 1 : 0;
}

static struct text text_on(char *out, size_t max)
{
	if (max > 0)
		out[0] = '\0';
	return (struct text){.out = out, .max = max};
}

static bool is_binary(struct span resource)
{
	return span_is(resource, "memory") || span_is(resource, "ephemeral-storage") ||
	       span_is(resource, "storage") || span_starts(resource, SPAN("hugepages-"));
}

/* Quantity.CanonicalizeBytes: the largest suffix that leaves an integer; a binary quantity below
 * 1024 prints as a decimal one. */
static void put_scaled(struct text *t, int64_t value, int64_t base, const char *const *suffixes,
		       size_t n_suffixes, size_t first)
{
	size_t s = first;
	while (s + 1 < n_suffixes && value != 0 && value % base == 0) {
		value /= base;
		s++;
	}
	put(t, "%lld%s", (long long)value, suffixes[s]);
}

size_t quota_message_quantity(struct span resource, int64_t value, char *out, size_t max)
{
	static const char *const decimal[] = {"m", "", "k", "M", "G", "T", "P", "E"};
	static const char *const binary[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
	struct text t = text_on(out, max);
	if (value == QUOTA_UNLIMITED)
		put(&t, "unlimited");
	else if (is_binary(resource) && (value <= -1024 || value >= 1024))
		put_scaled(&t, value, 1024, binary, ARRAY_LEN(binary), 0);
	else
		put_scaled(&t, value, 1000, decimal, ARRAY_LEN(decimal),
			   span_is(resource, "cpu") && value != 0 ? 0 : 1);
	return t.len;
}

static void put_quantity(struct text *t, struct span resource, int64_t value)
{
	char q[QUOTA_QUANTITY_MAX];
	/* Jobs are counted, not measured. */
	if (span_is(resource, ELASTIC_JOBS_RESOURCE) && value != QUOTA_UNLIMITED)
		snprintf(q, sizeof(q), "%lld", (long long)value);
	else
		quota_message_quantity(resource, value, q, sizeof(q));
	put(t, "%s", q);
}

static void put_list(struct text *t, const struct elastic_tree *tree, uint32_t node,
		     enum quota_message_number which)
{
	const struct quota_tree *quota = elastic_tree_quota_const(tree);
	const char *comma = "";
	put(t, "{");
	for (uint32_t r = 0; r < quota_tree_n_resources(quota); r++) {
		struct quota_state s;
		quota_tree_get(quota, node, r, &s);
		int64_t value = which == QUOTA_NUMBER_USED  ? s.used
				: which == QUOTA_NUMBER_MIN ? s.nominal
							    : s.max;
		/* The root counts jobs even when nobody limits them. */
		if (!s.stated || (s.nominal == 0 && s.max == QUOTA_UNLIMITED))
			continue;
		put(t, "%s%.*s:", comma, SPAN_ARGS(quota_tree_resource_name(quota, r)));
		put_quantity(t, quota_tree_resource_name(quota, r), value);
		comma = ",";
	}
	put(t, "}");
}

size_t quota_message_list(const struct elastic_tree *tree, uint32_t node,
			  enum quota_message_number which, char *out, size_t max)
{
	struct text t = text_on(out, max);
	put_list(&t, tree, node, which);
	return t.len;
}

size_t quota_message_verdict(const struct elastic_tree *tree, uint32_t node,
			     const struct quota_verdict *v, char *out, size_t max)
{
	struct text t = text_on(out, max);
	if (v->reason == QUOTA_FITS)
		return 0;
	const struct quota_tree *quota = elastic_tree_quota_const(tree);
	struct span resource = quota_tree_resource_name(quota, v->resource);
	struct span path = elastic_tree_path(tree, v->node);
	bool jobs = v->resource == elastic_tree_jobs_resource(tree);
	bool parent = v->node != node;
	int64_t rate = quota_tree_oversell_permille(quota);
	put(&t, "Insufficient quota(%.*s) in %squota %.*s: request ", jobs ? 4 : (int)resource.len,
	    jobs ? "jobs" : resource.ptr, parent ? "parent " : "", SPAN_ARGS(path));
	put_quantity(&t, resource, v->request);
	put(&t, v->reason == QUOTA_OVER_FIRM ? ", min " : ", max ");
	put_quantity(&t, resource, v->limit);
	put(&t, ", used ");
	put_quantity(&t, resource, v->used);
	if (v->reason == QUOTA_OVER_FIRM && !parent)
		put(&t, ", preempt 0");
	else if (v->reason == QUOTA_OVER_MAX && (parent || v->counted != v->used) && !jobs) {
		put(&t, ", used+reserved ");
		put_quantity(&t, resource, v->counted);
	}
	put(&t, ", oversellreate %lld", (long long)(rate / 1000));
	if (rate % 1000) {
		char decimals[8];
		int n = snprintf(decimals, sizeof(decimals), "%03d", (int)(rate % 1000));
		while (n > 1 && decimals[n - 1] == '0')
			decimals[--n] = '\0';
		put(&t, ".%s", decimals);
	}
	put(&t, ". Wait for running jobs to complete");
	return t.len;
}

size_t quota_message_oversold(const struct elastic_tree *tree, uint32_t node, uint32_t blocker,
			      char *out, size_t max)
{
	struct text t = text_on(out, max);
	uint32_t nodes[] = {node, blocker};
	for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
		put(&t, "%s%.*s(used:", i ? " is blocked by quota " : "",
		    SPAN_ARGS(elastic_tree_path(tree, nodes[i])));
		put_list(&t, tree, nodes[i], QUOTA_NUMBER_USED);
		put(&t, ",min:");
		put_list(&t, tree, nodes[i], QUOTA_NUMBER_MIN);
		put(&t, ")");
	}
	put(&t, " because of Min.");
	return t.len;
}

size_t quota_message_standing(const struct elastic_tree *tree,
			      const struct elastic_standing *standing, char *out, size_t max)
{
	struct text t = text_on(out, max);
	switch (standing->state) {
	case ELASTIC_QUOTA:
		return quota_message_verdict(tree, standing->node, &standing->verdict, out, max);
	case ELASTIC_MIN:
		if (standing->blocker != QUOTA_NO_NODE)
			return quota_message_oversold(tree, standing->node, standing->blocker, out,
						      max);
		break;
	case ELASTIC_BEHIND:
		put(&t, "Waiting in queue %.*s at position %zu behind %.*s",
		    SPAN_ARGS(elastic_tree_path(tree, standing->node)), standing->position,
		    SPAN_ARGS(elastic_unit_name(standing->ahead)));
		break;
	case ELASTIC_READY:
	case ELASTIC_SKIPPED:
		put(&t, "Waiting scheduler to schedule this queueUnit");
		break;
	default:
		break;
	}
	return t.len;
}

static char queue_char(char c)
{
	if (c == '/' || c == '_')
		return '-';
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

size_t quota_message_queue_prefix(struct span path, char *out, size_t max)
{
	struct text t = text_on(out, max);
	size_t keep = QUOTA_QUEUE_NAME_PREFIX_MAX - 1;
	size_t from = path.len > keep ? path.len - keep : 0;
	/* A name may not begin with what stands between words. */
	while (from < path.len && (queue_char(path.ptr[from]) == '-' || path.ptr[from] == '.'))
		from++;
	for (size_t i = from; i < path.len; i++)
		put(&t, "%c", queue_char(path.ptr[i]));
	put(&t, "-");
	return t.len;
}

size_t quota_message_queue_name(struct span path, struct span suffix, char *out, size_t max)
{
	char prefix[QUOTA_QUEUE_NAME_PREFIX_MAX + 1];
	quota_message_queue_prefix(path, prefix, sizeof(prefix));
	struct text t = text_on(out, max);
	put(&t, "%s%.*s", prefix, SPAN_ARGS(suffix));
	return t.len;
}
