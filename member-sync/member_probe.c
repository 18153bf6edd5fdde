#include "member-sync/member_probe.h"

#include "base/json.h"
#include "kube/object.h"

#include "member-sync/stream_kind.h"

enum step { STEP_IDENTITY, STEP_VERSION, STEP_GROUPS };

struct member_probe {
	struct client *c;
	struct member_probe_options o;
	struct client_request *request;
	enum step step;
	enum member_stream group; /* STEP_GROUPS: the first stream of the group that is asked for */
	struct member_probe_result result;
};

static void next_step(struct member_probe *p);

/* ---- reading answers ---- */

static bool read_identity(struct member_probe *p, struct span body)
{
	struct span uid;

	return json_check(body, NULL, NULL) == 0 && json_text_type(body) == JSON_OBJECT &&
	       json_text_path(body, &uid, "metadata", "uid", NULL) == 0 &&
	       object_uid_parse(json_text_plain(uid), p->result.incarnation) == 0;
}

static void read_version(struct member_probe *p, struct span body)
{
	struct span text;

	if (json_check(body, NULL, NULL) < 0 || json_text_type(body) != JSON_OBJECT ||
	    json_text_member(body, "gitVersion", &text) < 0)
		return;
	snprintf(p->result.version, sizeof(p->result.version), "%.*s",
		 SPAN_ARGS(json_text_plain(text)));
}

static bool same_group(enum member_stream a, enum member_stream b)
{
	return strcmp(stream_kind_of(a)->root, stream_kind_of(b)->root) == 0;
}

static void settle(struct member_probe *p, enum member_stream s, bool served)
{
	p->result.known |= (uint32_t)1 << s;
	if (served)
		p->result.apis |= (uint32_t)1 << s;
}

static bool lists_resource(struct span resources, const char *name)
{
	struct span value, text;
	size_t pos = 0;

	if (json_text_type(resources) != JSON_ARRAY)
		return false;
	while (json_text_next(resources, &pos, NULL, &value))
		if (json_text_type(value) == JSON_OBJECT &&
		    json_text_member(value, "name", &text) == 0 &&
		    span_is(json_text_plain(text), name))
			return true;
	return false;
}

/* metav1.APIResourceList (kubernetes-api.md 1.1); absent `body`: the group is not served. */
static void read_group(struct member_probe *p, struct span body)
{
	struct span resources = SPAN_NONE;

	if (body.ptr && (json_check(body, NULL, NULL) < 0 || json_text_type(body) != JSON_OBJECT ||
			 json_text_member(body, "resources", &resources) < 0))
		return;
	for (int s = 0; s < STREAM_MAX; s++)
		if (same_group((enum member_stream)s, p->group))
			settle(p, (enum member_stream)s,
			       body.ptr &&
				   lists_resource(resources,
						  stream_kind_of((enum member_stream)s)->resource));
}

/* ---- the sequence ---- */

static void finish(struct member_probe *p)
{
	struct member_probe_result result = p->result;
	struct member_probe_options o = p->o;

	free(p);
	o.done(o.arg, &result);
}

static void fail(struct member_probe *p, const struct client_result *r)
{
	p->result.transport = r->outcome != CLIENT_ANSWERED;
	p->result.err = r->err;
	if (p->result.transport)
		p->result.condition =
		    r->condition != MEMBER_READY ? r->condition : MEMBER_UNREACHABLE;
	else if (r->http_code == 401 || r->http_code == 403)
		p->result.condition = MEMBER_UNAUTHORIZED;
	else
		p->result.condition = MEMBER_UNREACHABLE;
	finish(p);
}

static void on_identity(struct member_probe *p, const struct client_result *r)
{
	if (r->outcome != CLIENT_ANSWERED || r->http_code != 200) {
		fail(p, r);
		return;
	}
	if (!read_identity(p, r->body)) {
		p->result.condition = MEMBER_UNREACHABLE;
		err_set(&p->result.err, ERR_INTERNAL,
			"what answers is not a Kubernetes API server: the namespace kube-system "
			"has no uid");
		finish(p);
		return;
	}
	p->result.condition = MEMBER_READY;
	p->step = STEP_VERSION;
	if (p->o.discover)
		next_step(p);
	else
		finish(p);
}

/* A newer version of the same kind is served, or it is not known whether it is: the older one is
 * not asked for. */
static bool is_superseded(struct member_probe *p, int s)
{
	const uint32_t newer = (uint32_t)1 << STREAM_PROVISIONING_REQUESTS;

	if (s != STREAM_PROVISIONING_REQUESTS_V1BETA1 ||
	    (p->result.known & newer && !(p->result.apis & newer)))
		return false;
	if (p->result.known & newer)
		settle(p, (enum member_stream)s, false);
	return true;
}

static bool wants_group(struct member_probe *p, int s)
{
	if (is_superseded(p, s))
		return false;
	if (!stream_kind_of((enum member_stream)s)->optional)
		return false;
	for (int before = 0; before < s; before++)
		if (same_group((enum member_stream)before, (enum member_stream)s))
			return false;
	for (int of = s; of < STREAM_MAX; of++)
		if (same_group((enum member_stream)of, (enum member_stream)s) &&
		    (p->o.streams & (uint32_t)1 << of))
			return true;
	return false;
}

static void next_group(struct member_probe *p, int from)
{
	for (int s = from; s < STREAM_MAX; s++)
		if (wants_group(p, s)) {
			p->group = (enum member_stream)s;
			next_step(p);
			return;
		}
	p->result.discovered = true;
	finish(p);
}

static void on_done(void *arg, struct client_request *q, const struct client_result *r)
{
	struct member_probe *p = arg;

	p->request = NULL;
	if (p->step == STEP_IDENTITY) {
		on_identity(p, r);
		return;
	}
	if (r->outcome != CLIENT_ANSWERED) {
		fail(p, r);
		return;
	}
	if (p->step == STEP_VERSION) {
		if (r->http_code == 200)
			read_version(p, r->body);
		for (int s = 0; s < STREAM_MAX; s++)
			if (!stream_kind_of((enum member_stream)s)->optional)
				settle(p, (enum member_stream)s, true);
		p->step = STEP_GROUPS;
		next_group(p, 0);
		return;
	}
	if (r->http_code == 200)
		read_group(p, r->body);
	else if (r->http_code == 404 || r->http_code == 403)
		read_group(p, SPAN_NONE);
	next_group(p, (int)p->group + 1);
}

static void next_step(struct member_probe *p)
{
	struct client_spec spec = {
	    .method = "GET",
	    .timeout = p->o.timeout,
	    .timeout_when_sent = true,
	    .urgent = true,
	    .repeatable = true, /* it asks who is there: whoever answers */
	    .done = on_done,
	    .arg = p,
	};

	if (p->step == STEP_IDENTITY)
		spec.path = "/api/v1/namespaces/kube-system";
	else if (p->step == STEP_VERSION)
		spec.path = "/version";
	else
		spec.path = stream_kind_of(p->group)->root;
	p->request = client_send(p->c, &spec);
}

struct member_probe *member_probe_start(struct client *c, const struct member_probe_options *o)
{
	struct member_probe *p = xcalloc(1, sizeof(*p));

	p->c = c;
	p->o = *o;
	next_step(p);
	return p;
}

struct member_probe *member_probe_cancel(struct member_probe *p)
{
	if (!p)
		return NULL;
	if (p->request)
		client_cancel(p->request);
	free(p);
	return NULL;
}
