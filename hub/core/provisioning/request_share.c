#include "core/provisioning/request_share.h"

#include "base/json.h"
#include "base/num.h"
#include "core/job.h"
#include "core/pod_constraint.h"
#include "core/provisioning/request_sets.h"

#define MAX_SHARES 1000 /* jobs of one request; with more than that all of it is taken */

struct request_share {
	char job[OBJECT_UID_TEXT];
	int64_t pods[REQUEST_MAX_SETS]; /* by the request's pod set */
};

int64_t request_share_left(const struct provisioning_request *r, size_t set, int64_t count)
{
	if (r->taken || set >= REQUEST_MAX_SETS)
		return 0;
	vec_foreach (&r->shares, s)
		count = num_max(count - (*s)->pods[set], 0);
	return count;
}

static bool has_share(const struct provisioning_request *r, const struct job *j)
{
	vec_foreach (&r->shares, s)
		if (strcmp((*s)->job, j->uid_text) == 0)
			return true;
	return false;
}

static struct request_share *add(struct provisioning_request *r, const char *uid)
{
	struct request_share *s = xcalloc(1, sizeof(*s));

	(void)snprintf(s->job, sizeof(s->job), "%s", uid);
	vec_push(&r->shares, s);
	return s;
}

static bool asks_the_same(const struct pod_set *a, const struct pod_set *b)
{
	bool same = a->n_requests == b->n_requests;

	for (size_t i = 0; same && i < a->n_requests; i++)
		same = a->requests[i].resource == b->requests[i].resource &&
		       a->requests[i].amount == b->requests[i].amount;
	return same;
}

/* Pods of one set of the job, from those sets of the request that ask `exact`ly the same, or from
 * any. Returns how many found none. */
static int64_t charge(struct request_share *s, const struct pod_set *own, int64_t count,
		      const struct pod_set *sets, size_t n, int64_t *left, bool exact)
{
	for (size_t i = 0; i < n && count > 0; i++) {
		int64_t some = num_min(left[i], count);
		if (exact && !asks_the_same(own, &sets[i]))
			continue;
		s->pods[i] += some;
		left[i] -= some;
		count -= some;
	}
	return count;
}

static bool consumes(const struct job *j, size_t set)
{
	return set >= 64 || j->digest.consumers & UINT64_C(1) << set;
}

bool request_share_take(struct core *c, struct provisioning_request *r, const struct job *j)
{
	auto_arena mem = ARENA_INIT;
	struct pod_set sets[REQUEST_MAX_SETS] = {{.count = 0}};
	int64_t left[REQUEST_MAX_SETS], rest = 0;
	size_t n;

	if (r->taken || has_share(r, j))
		return false;
	r->taken =
	    request_sets_read(c, r, SPAN_NONE, &mem, sets, &n) < 0 || r->shares.len == MAX_SHARES;
	if (r->taken)
		return true;
	for (size_t i = 0; i < n; i++) {
		left[i] = request_share_left(r, i, sets[i].count);
		sets[i] = pod_set_canonical(&mem, &sets[i]);
	}
	struct request_share *s = add(r, j->uid_text);
	for (size_t i = 0; i < j->digest.n_pod_sets; i++) {
		struct pod_set own = {.count = j->digest.pod_sets[i].count};
		if (!consumes(j, i) ||
		    pod_requests(c, &j->digest.pod_sets[i].pod, &mem, &own, NULL) < 0)
			continue;
		int64_t count = own.count;
		own = pod_set_canonical(&mem, &own);
		count = charge(s, &own, count, sets, n, left, true);
		(void)charge(s, &own, count, sets, n, left, false);
	}
	for (size_t i = 0; i < n; i++)
		rest = num_add_sat(rest, left[i]);
	r->taken = rest == 0;
	return true;
}

/* ---- the row ---- */

/* Those behind it took nothing. */
static size_t sets_of(const struct request_share *s)
{
	size_t n = REQUEST_MAX_SETS;

	while (n && !s->pods[n - 1])
		n--;
	return n;
}

void request_share_write(const struct provisioning_request *r, struct cJSON *row)
{
	struct cJSON *list = json_array();

	json_set_bool(row, "taken", r->taken);
	/* When all is taken nobody asks any more who took what. */
	for (size_t i = 0; !r->taken && i < r->shares.len; i++) {
		struct cJSON *one = json_object(), *pods = json_array();
		json_set_str(one, "job", r->shares.items[i]->job);
		for (size_t set = 0; set < sets_of(r->shares.items[i]); set++)
			json_append(pods, json_new_int(r->shares.items[i]->pods[set]));
		json_set(one, "pods", pods);
		json_append(list, one);
	}
	json_set(row, "shares", list);
}

void request_share_read(struct provisioning_request *r, const struct cJSON *row)
{
	r->taken = json_bool(row, "taken", false);
	json_foreach (json_get(row, "shares"), one) {
		const char *uid = json_str(one, "job");
		size_t set = 0;
		if (!uid || r->shares.len == MAX_SHARES)
			continue;
		struct request_share *s = add(r, uid);
		json_foreach (json_get(one, "pods"), p) {
			if (set < REQUEST_MAX_SETS && json_value_int64(p, &s->pods[set]) < 0)
				s->pods[set] = 0;
			set++;
		}
	}
}

void request_share_done(struct provisioning_request *r)
{
	vec_foreach (&r->shares, s)
		free(*s);
	vec_done(&r->shares);
}
