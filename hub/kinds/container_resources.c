#include "kinds/container_resources.h"

#include "kube/names.h"
#include "kube/quantity.h"

#define HUGE_PAGES "hugepages-"

static bool is_huge(const char *name)
{
	return strncmp(name, HUGE_PAGES, strlen(HUGE_PAGES)) == 0;
}

/* Kubernetes' own: without a prefix, or with its. */
static bool is_native(const char *name)
{
	return !strchr(name, '/') || strstr(name, "kubernetes.io/");
}

/* What is counted in whole numbers, and never promised twice. */
static bool is_extended(const char *name)
{
	char quota[512];

	if (is_native(name) || strncmp(name, "requests.", 9) == 0)
		return false;
	(void)snprintf(quota, sizeof(quota), "requests.%s", name);
	return names_is_qualified(span_of(quota));
}

static bool is_of_pods(const char *name)
{
	return strcmp(name, "cpu") == 0 || strcmp(name, "memory") == 0 || is_huge(name);
}

static void check_name(const char *name, bool of_pod, const struct at *at,
		       struct field_errors *errors)
{
	static const char *const of_pods[] = {"cpu", HUGE_PAGES, "memory", NULL};
	const char *problem = NULL;

	if (!names_is_qualified(span_of(name)))
		problem = names_qualified_rule(span_of(name));
	else if (of_pod && !is_of_pods(name))
		refuse_unsupported(errors, name, of_pods, at);
	else if (strchr(name, '/') && !is_native(name) && !is_extended(name))
		problem = "doesn't follow extended resource name standard";
	else if (!strchr(name, '/') && !is_of_pods(name) && strcmp(name, "ephemeral-storage") != 0)
		problem = "must be a standard resource for containers";
	if (problem)
		refuse_text_at(errors, FIELD_INVALID, name, problem, at);
}

/* Of two amounts: below zero, zero or above as the first is less, equal or more. Thousandths,
 * unless they are too great for that. */
static int compare(const struct cJSON *a, const struct cJSON *b)
{
	int64_t x = 0, y = 0;

	if ((quantity_from_node(a, QUANTITY_MILLI | QUANTITY_NEGATIVE, &x) < 0 ||
	     quantity_from_node(b, QUANTITY_MILLI | QUANTITY_NEGATIVE, &y) < 0) &&
	    (quantity_from_node(a, QUANTITY_NEGATIVE, &x) < 0 ||
	     quantity_from_node(b, QUANTITY_NEGATIVE, &y) < 0))
		return 0;
	return (x > y) - (x < y);
}

static bool is_whole(const struct cJSON *q)
{
	int64_t milli;

	return quantity_from_node(q, QUANTITY_MILLI, &milli) < 0 || milli % 1000 == 0;
}

/* hugepages-2Mi come by 2Mi. */
static bool is_divisible(const char *name, const struct cJSON *q)
{
	int64_t page, bytes;

	if (quantity_parse(span_of(name + strlen(HUGE_PAGES)), QUANTITY_WHOLE, &page) < 0 ||
	    page <= 0)
		return false;
	return quantity_from_node(q, QUANTITY_WHOLE, &bytes) < 0 || bytes % page == 0;
}

static void check_amount(const struct cJSON *q, bool of_pod, const struct at *at,
			 struct field_errors *errors)
{
	const char *name = json_key(q);

	check_name(name, of_pod, at, errors);
	if (is_extended(name) && !is_whole(q))
		refuse_at(errors, FIELD_INVALID, q, "must be an integer", at);
	if (is_huge(name) && !is_divisible(name, q))
		refuse_at(errors, FIELD_INVALID, q,
			  "is not positive integer multiple of the size of a page", at);
}

/* ---- requests under limits ---- */

/* What is wrong between the two is said of all requests, or of all limits. */
static void check_request(const struct cJSON *q, const struct cJSON *limits, const struct at *at,
			  struct field_errors *errors)
{
	const char *name = json_key(q);
	const struct cJSON *limit = json_get(limits, name);
	bool shared = is_native(name) && !is_huge(name);
	auto_buf words = BUF_INIT;
	int order = compare(q, limit);

	if (!limit && !shared)
		refuse_at(errors, FIELD_REQUIRED, NULL,
			  "Limit must be set for non overcommitable resources",
			  AT_FIELD(at, "limits"));
	if (!limit || (shared ? order <= 0 : order == 0))
		return;
	buf_addf(&words, "must be %s %.200s limit of ",
		 shared ? "less than or equal to" : "equal to", name);
	if (json_value_str(limit))
		buf_add_str(&words, json_value_str(limit));
	else
		json_print(limit, &words);
	refuse_at(errors, FIELD_INVALID, q, words.ptr, AT_FIELD(at, "requests"));
}

static bool has_basic(const struct cJSON *amounts)
{
	return json_get(amounts, "cpu") || json_get(amounts, "memory");
}

static bool has_huge(const struct cJSON *amounts)
{
	json_foreach (amounts, q)
		if (is_huge(json_key(q)))
			return true;
	return false;
}

static void check_amounts(const struct cJSON *resources, bool of_pod, const struct at *at,
			  struct field_errors *errors)
{
	const struct cJSON *limits = json_get(resources, "limits");
	const struct cJSON *requests = json_get(resources, "requests");

	json_foreach (limits, q)
		check_amount(q, of_pod, AT_KEY(AT_FIELD(at, "limits"), json_key(q)), errors);
	json_foreach (requests, q) {
		check_amount(q, of_pod, AT_KEY(AT_FIELD(at, "requests"), json_key(q)), errors);
		check_request(q, limits, at, errors);
	}
	if ((has_huge(limits) || has_huge(requests)) && !has_basic(limits) && !has_basic(requests))
		refuse_at(errors, FIELD_FORBIDDEN, NULL, "HugePages require cpu or memory", at);
}

/* ---- claims ---- */

static bool names_claim(const struct cJSON *pod, const char *name)
{
	json_foreach (json_get(pod, "resourceClaims"), c) {
		const char *n = json_str(c, "name");
		if (n && strcmp(n, name) == 0)
			return true;
	}
	return false;
}

/* Whether one before this uses the claim, as a whole or by the same request. */
static bool is_used(const struct cJSON *claims, const struct cJSON *claim)
{
	const char *name = json_str(claim, "name"), *request = json_str(claim, "request");

	for (const struct cJSON *c = json_first(claims); c && c != claim; c = json_next(c)) {
		const char *n = json_str(c, "name"), *r = json_str(c, "request");
		if (n && strcmp(n, name) == 0 && (!r || !request || strcmp(r, request) == 0))
			return true;
	}
	return false;
}

static void check_claims(const struct cJSON *claims, const struct cJSON *pod, const struct at *at,
			 struct field_errors *errors)
{
	size_t i = 0;

	json_foreach (claims, claim) {
		const struct at *here = AT_INDEX(at, i++);
		const char *name = json_str(claim, "name"), *request = json_str(claim, "request");
		if (!name) /* the schema says that it is required */
			continue;
		if (is_used(claims, claim))
			refuse_text_at(errors, FIELD_DUPLICATE, name, "", here);
		else if (request)
			refuse_unfit(errors, request, names_is_dns_label, names_dns_label_rule,
				     AT_FIELD(here, "request"));
		if (!names_claim(pod, name))
			refuse_text_at(errors, FIELD_NOT_FOUND, name,
				       "must be one of the names in pod.spec.resourceClaims", here);
	}
}

/* ---- */

void container_resources_check(const struct cJSON *resources, const struct cJSON *pod,
			       const struct at *at, struct field_errors *errors)
{
	check_amounts(resources, false, at, errors);
	check_claims(json_get(resources, "claims"), pod, AT_FIELD(at, "claims"), errors);
}

void container_resources_check_pod(const struct cJSON *pod, const struct at *at,
				   struct field_errors *errors)
{
	const struct cJSON *resources = json_get(pod, "resources");

	if (!resources)
		return;
	if (json_get(resources, "claims"))
		refuse_at(errors, FIELD_FORBIDDEN, NULL,
			  "claims may not be set for Resources at pod-level",
			  AT_FIELD(AT_FIELD(at, "resources"), "claims"));
	check_amounts(resources, true, AT_FIELD(at, "resources"), errors);
}

void container_resources_check_overhead(const struct cJSON *overhead, const struct at *at,
					struct field_errors *errors)
{
	json_foreach (overhead, q) {
		const struct at *here = AT_KEY(AT_FIELD(at, "limits"), json_key(q));
		int64_t v = 0;
		check_amount(q, false, here, errors);
		if (quantity_from_node(q, QUANTITY_NEGATIVE, &v) == 0 && v < 0)
			refuse_at(errors, FIELD_INVALID, q, "must be greater than or equal to 0",
				  here);
	}
}
