#include "access/oidc.h"

#include "base/json.h"

static struct span join(struct arena *mem, const char *prefix, const char *infix, const char *name)
{
	struct buf b = BUF_MAX(4096);
	struct span s;
	buf_addf(&b, "%s%s%s", prefix, infix, name);
	s = buf_ok(&b) ? arena_span(mem, buf_span(&b)) : SPAN_NONE;
	buf_done(&b);
	return s;
}

static struct span with_prefix(const struct oidc_config *o, bool email, const char *name,
			       struct arena *mem)
{
	if (o->username_prefix)
		return join(mem, strcmp(o->username_prefix, "-") == 0 ? "" : o->username_prefix, "",
			    name);
	return email ? join(mem, "", "", name) : join(mem, o->issuer, "#", name);
}

static bool is_reserved(struct span name)
{
	return span_starts(name, SPAN("system:"));
}

static void add_group(const struct oidc_config *o, const char *name, struct arena *mem,
		      struct oidc_identity *ret)
{
	struct span g;
	if (!name || !name[0] || ret->n_groups == OIDC_MAX_GROUPS)
		return;
	g = join(mem, o->groups_prefix ? o->groups_prefix : "", "", name);
	if (g.len && !is_reserved(g))
		ret->groups[ret->n_groups++] = g;
}

static int refuse(struct err *reterr, const char *what, const char *claim)
{
	return err_set(reterr, ERR_UNAUTHORIZED, "%s %s", what, claim);
}

/* One text, or a list of them; absent and null: none. */
static int read_groups(const struct oidc_config *o, const struct jwt *t, struct arena *mem,
		       struct oidc_identity *ret, struct err *reterr)
{
	const struct cJSON *groups = o->groups_claim ? json_get(t->claims, o->groups_claim) : NULL;
	if (!groups && o->groups_claim &&
	    json_str(json_get(t->claims, "_claim_names"), o->groups_claim))
		return refuse(reterr, "distributed claims are not fetched here, as the token's",
			      o->groups_claim);
	if (!groups || json_is(groups, JSON_NULL))
		return 0;
	if (json_is(groups, JSON_STRING)) {
		add_group(o, json_value_str(groups), mem, ret);
		return 0;
	}
	if (!json_is(groups, JSON_ARRAY))
		return refuse(reterr, "no texts are in the token's claim", o->groups_claim);
	json_foreach (groups, g) {
		if (!json_value_str(g))
			return refuse(reterr, "not all are texts in the token's claim",
				      o->groups_claim);
		add_group(o, json_value_str(g), mem, ret);
	}
	return 0;
}

static int check_required(const struct oidc_config *o, const struct jwt *t, struct err *reterr)
{
	for (char **each = o->required_claims; each && *each; each++) {
		struct span value = span_of(*each), claim = span_split(&value, '=');
		auto_free char *name = xstrndup(claim.ptr, claim.len);
		const char *got = json_str(t->claims, name);
		if (!got || !span_is(value, got))
			return refuse(reterr, "the token has another value, or none, of the claim",
				      name);
	}
	return 0;
}

int oidc_identify(const struct oidc_config *o, const struct jwt *t, struct arena *mem,
		  struct oidc_identity *ret, struct err *reterr)
{
	const char *claim = o->username_claim ? o->username_claim : "sub";
	const char *name = json_str(t->claims, claim);
	bool email = strcmp(claim, "email") == 0;
	struct oidc_identity id = {0};
	int r = check_required(o, t, reterr);
	if (r)
		return r;
	if (!name || !name[0])
		return err_set(reterr, ERR_UNAUTHORIZED, "the token has no claim %s", claim);
	if (email && json_get(t->claims, "email_verified") &&
	    !json_bool(t->claims, "email_verified", false))
		return err_set(reterr, ERR_UNAUTHORIZED, "the token's email is not verified");
	id.name = with_prefix(o, email, name, mem);
	if (!id.name.len || is_reserved(id.name))
		return err_set(reterr, ERR_UNAUTHORIZED, "the token's user name cannot be used");
	r = read_groups(o, t, mem, &id, reterr);
	if (json_str(t->claims, "jti"))
		id.token_id = arena_span(mem, span_of(json_str(t->claims, "jti")));
	if (!r)
		*ret = id;
	return r;
}
