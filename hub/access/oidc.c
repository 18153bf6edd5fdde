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

int oidc_identify(const struct oidc_config *o, const struct jwt *t, struct arena *mem,
		  struct oidc_identity *ret, struct err *reterr)
{
	const char *claim = o->username_claim ? o->username_claim : "sub";
	const char *name = json_str(t->claims, claim);
	bool email = strcmp(claim, "email") == 0;
	const struct cJSON *groups = o->groups_claim ? json_get(t->claims, o->groups_claim) : NULL;
	struct oidc_identity id = {0};
	if (!name || !name[0])
		return err_set(reterr, ERR_UNAUTHORIZED, "the token has no claim %s", claim);
	if (email && json_get(t->claims, "email_verified") &&
	    !json_bool(t->claims, "email_verified", false))
		return err_set(reterr, ERR_UNAUTHORIZED, "the token's email is not verified");
	id.name = with_prefix(o, email, name, mem);
	if (!id.name.len || is_reserved(id.name))
		return err_set(reterr, ERR_UNAUTHORIZED, "the token's user name cannot be used");
	if (json_value_str(groups))
		add_group(o, json_value_str(groups), mem, &id);
	json_foreach (groups, g)
		add_group(o, json_value_str(g), mem, &id);
	*ret = id;
	return 0;
}
