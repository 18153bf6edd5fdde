#include "kinds/queue_request.h"

#include "base/num.h"
#include "kinds/job_keys.h"
#include "kinds/job_shape.h"
#include "kinds/refuse.h"
#include "kinds/types.h"
#include "kube/names.h"

struct request {
	const struct cJSON *job, *old;
	struct field_errors *errors;
};

static const char *value_of(const struct cJSON *job, const char *place, const char *key)
{
	return json_str(json_path(job, "metadata", place, NULL), key);
}

/* NULL unless it is there and new. */
static const char *new_value(const struct request *r, const char *place, const char *key)
{
	const char *is = value_of(r->job, place, key);
	const char *was = value_of(r->old, place, key);

	return is && (!was || strcmp(is, was) != 0) ? is : NULL;
}

/* Go's strconv.Atoi. */
static bool read_number(const struct request *r, const char *place, const char *key,
			const char *text, int64_t *ret)
{
	char words[160];
	struct span s = span_of(text);

	if (s.len > 1 && s.ptr[0] == '+')
		s = span_make(s.ptr + 1, s.len - 1);
	if (num_parse_i64(s, INT64_MIN, INT64_MAX, ret) == 0)
		return true;
	(void)snprintf(words, sizeof(words), "strconv.Atoi: parsing \"%.63s\": invalid syntax",
		       text);
	refuse_text(r->errors, FIELD_INVALID, text, words, "metadata.%s[%s]", place, key);
	return false;
}

static void refuse_number(const struct request *r, const char *place, const char *key, int64_t n,
			  const char *words)
{
	auto_json *value = json_new_int(n);

	refuse(r->errors, FIELD_INVALID, value, words, "metadata.%s[%s]", place, key);
}

static void check_name(const struct request *r, const char *place, const char *key)
{
	const char *name = new_value(r, place, key);

	if (name && !names_is_dns_subdomain(span_of(name)))
		refuse_text(r->errors, FIELD_INVALID, name, names_dns_subdomain_rule(span_of(name)),
			    "metadata.%s[%s]", place, key);
}

/* The Workload that a job was made for. */
static const char *prebuilt_of(const struct cJSON *job)
{
	const char *annotation = value_of(job, "annotations", JOB_KEY_PREBUILT);
	const char *name =
	    annotation && annotation[0] ? annotation : value_of(job, "labels", JOB_KEY_PREBUILT);

	return name ? name : "";
}

static void check_prebuilt(const struct request *r)
{
	const char *is = prebuilt_of(r->job);

	check_name(r, "labels", JOB_KEY_PREBUILT);
	check_name(r, "annotations", JOB_KEY_PREBUILT);
	if (r->old && strcmp(is, prebuilt_of(r->old)) != 0)
		refuse_text(r->errors, FIELD_INVALID, is, "field is immutable",
			    "metadata.labels[%s]", JOB_KEY_PREBUILT);
}

static void check_limit(const struct request *r)
{
	const char *text = new_value(r, "labels", JOB_KEY_MAX_EXECUTION);
	int64_t seconds;

	if (text && read_number(r, "labels", JOB_KEY_MAX_EXECUTION, text, &seconds) && seconds <= 0)
		refuse_number(r, "labels", JOB_KEY_MAX_EXECUTION, seconds,
			      "should be greater than 0");
}

/* ---- batch/v1 Job ---- */

static int64_t pods_of(const struct cJSON *job)
{
	const struct cJSON *spec = json_get(job, "spec");
	int64_t parallelism = 1, completions;

	(void)json_int64(spec, "parallelism", &parallelism);
	if (json_int64(spec, "completions", &completions) < 0)
		return parallelism;
	return num_min(parallelism, completions);
}

static void check_least(const struct request *r)
{
	const char *key = JOB_KEY_MIN_PARALLELISM;
	const char *text = new_value(r, "annotations", key);
	int64_t least, pods = pods_of(r->job);
	char words[64];

	if (!text || !read_number(r, "annotations", key, text, &least) ||
	    (least > 0 && least < pods))
		return;
	(void)snprintf(words, sizeof(words), "should be between 0 and %lld", (long long)pods - 1);
	refuse_number(r, "annotations", key, least, words);
}

/* Go's strconv.ParseBool. */
static const char *const truths[] = {"1", "t", "T", "true", "TRUE", "True"};
static const char *const lies[] = {"0", "f", "F", "false", "FALSE", "False"};

static bool is_among(const char *text, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(text, words[i]) == 0)
			return true;
	return false;
}

static void check_equal(const struct request *r)
{
	const char *key = JOB_KEY_EQUAL_COMPLETIONS;
	const struct cJSON *spec = json_get(r->job, "spec");
	const char *text = new_value(r, "annotations", key),
		   *mode = json_str(spec, "completionMode");
	int64_t parallelism = 1, completions = 1;
	char words[160];

	if (!text)
		return;
	bool is_on = is_among(text, truths, ARRAY_LEN(truths));
	if (!is_on && !is_among(text, lies, ARRAY_LEN(lies))) {
		(void)snprintf(words, sizeof(words),
			       "strconv.ParseBool: parsing \"%.63s\": invalid syntax", text);
		refuse_text(r->errors, FIELD_INVALID, text, words, "metadata.annotations[%s]", key);
	}
	if (!is_on)
		return;
	if (!mode || strcmp(mode, "Indexed") != 0)
		refuse_text(r->errors, FIELD_INVALID, text,
			    "should not be enabled for NonIndexed jobs", "metadata.annotations[%s]",
			    key);
	(void)json_int64(spec, "parallelism", &parallelism);
	(void)json_int64(spec, "completions", &completions);
	if (parallelism != completions)
		refuse(r->errors, FIELD_INVALID, json_get(spec, "completions"),
		       "should be equal to parallelism when " JOB_KEY_EQUAL_COMPLETIONS
		       " is annotation is true",
		       "spec.completions");
}

static bool is_equal(const struct cJSON *job)
{
	const char *text = value_of(job, "annotations", JOB_KEY_EQUAL_COMPLETIONS);

	return text && is_among(text, truths, ARRAY_LEN(truths));
}

/* Of a job that runs: both would make it another job for its queue. */
static void check_running(const struct request *r)
{
	const struct cJSON *was = json_get(r->old, "spec"), *is = json_get(r->job, "spec");
	int64_t before = 1, after = 1;

	if (!r->old || json_bool(was, "suspend", false))
		return;
	(void)json_int64(was, "parallelism", &before);
	(void)json_int64(is, "parallelism", &after);
	if (before != after && value_of(r->old, "annotations", JOB_KEY_MIN_PARALLELISM))
		refuse(r->errors, FIELD_FORBIDDEN, NULL,
		       "cannot change when partial admission is enabled and the job is not "
		       "suspended",
		       "spec.parallelism");
	if (!json_bool(is, "suspend", false) && is_equal(r->old) != is_equal(r->job))
		refuse(r->errors, FIELD_FORBIDDEN, NULL,
		       "field is immutable while the job is not suspended",
		       "metadata.annotations[%s]", JOB_KEY_EQUAL_COMPLETIONS);
}

/* ---- what says nothing here ---- */

static const struct {
	const char *place, *key, *words;
} unread[] = {
    {"annotations", "kueue.x-k8s.io/elastic-job",
     "a running job that grows is queued anew as a whole"},
    {"annotations", "kueue.x-k8s.io/admission-gated-by",
     "spec.active of its Workload keeps a job from being admitted"},
};

static void warn_unread(const struct request *r, struct buf *warnings)
{
	for (size_t i = 0; i < ARRAY_LEN(unread); i++) {
		const char *text = new_value(r, unread[i].place, unread[i].key);
		if (text && strcmp(text, "false") != 0)
			refuse_warn(warnings, "metadata.%s[%s]: has no effect here: %s",
				    unread[i].place, unread[i].key, unread[i].words);
	}
}

/* Told when the job is made. */
static void warn_claims(const struct kind *k, const struct request *r, struct buf *warnings)
{
	const struct job_shape *shape = job_shape_of(k->type);
	auto_arena mem = ARENA_INIT;
	struct job_templates all = {0};

	if (!shape || r->old)
		return;
	shape->templates(r->job, &mem, &all);
	for (size_t i = 0; i < all.n; i++)
		if (all.items[i].node &&
		    json_len(json_path(all.items[i].node, "spec", "resourceClaims", NULL)))
			refuse_warn(warnings,
				    "%s.spec.resourceClaims: devices of claims are counted "
				    "neither as quota nor as room here, and the claims or their "
				    "templates must be at the member clusters",
				    all.items[i].path);
}

void queue_request_check_job(const struct kind *k, const struct cJSON *job,
			     const struct kind_write *w, struct field_errors *errors)
{
	const struct request r = {
	    .job = job,
	    .old = w->old,
	    .errors = errors,
	};

	if (w->subresource[0])
		return;
	check_name(&r, "labels", JOB_KEY_QUEUE);
	check_prebuilt(&r);
	check_limit(&r);
	if (k->type == TYPE_JOB) {
		check_least(&r);
		check_equal(&r);
		check_running(&r);
	}
	warn_unread(&r, w->warnings);
	warn_claims(k, &r, w->warnings);
}

void queue_request_check_foreign(const struct cJSON *object, const struct kind_write *w)
{
	const struct request r = {.job = object, .old = w->old};

	if (!w->subresource[0] && new_value(&r, "labels", JOB_KEY_QUEUE))
		refuse_warn(w->warnings,
			    "metadata.labels[" JOB_KEY_QUEUE "]: has no effect here: objects of "
			    "users' own kinds are kept, neither queued nor run; submit a job of a "
			    "kind that this server dispatches");
}
