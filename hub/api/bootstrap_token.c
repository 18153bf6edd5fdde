#include "api/bootstrap_token.h"

#include "base/base64.h"
#include "base/json.h"
#include "kinds/types.h"
#include "kube/object.h"
#include <openssl/crypto.h>

#define ID_LEN	   6
#define SECRET_LEN 16
#define TYPE	   "bootstrap.kubernetes.io/token"
#define GROUP	   "system:bootstrappers"

static bool is_lower_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool bootstrap_token_has_form(struct span token)
{
	if (token.len != ID_LEN + 1 + SECRET_LEN || token.ptr[ID_LEN] != '.')
		return false;
	for (size_t i = 0; i < token.len; i++)
		if (i != ID_LEN && !is_lower_or_digit(token.ptr[i]))
			return false;
	return true;
}

/* A value of the Secret's data; "" when absent. In mem. */
static struct span value_of(const struct cJSON *secret, const char *key, struct arena *mem)
{
	const char *text = json_value_str(json_path(secret, "data", key, NULL));
	struct buf b = BUF_MAX(4096);
	struct span v = SPAN("");
	if (text && base64_read(span_of(text), &b) == 0 && b.len)
		v = arena_span(mem, buf_span(&b));
	buf_done(&b);
	return v;
}

/* system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9] */
static bool is_extra_group(struct span g)
{
	struct span head = SPAN(GROUP ":");
	if (!span_starts(g, head) || g.len == head.len || g.len > head.len + 256)
		return false;
	for (size_t i = head.len; i < g.len; i++)
		if (!is_lower_or_digit(g.ptr[i]) && g.ptr[i] != ':' && g.ptr[i] != '-')
			return false;
	return is_lower_or_digit(g.ptr[g.len - 1]);
}

static bool is_good(const struct cJSON *secret, struct span token, usec now, struct arena *mem)
{
	const char *type = json_str(secret, "type");
	struct span id = value_of(secret, "token-id", mem);
	struct span word = value_of(secret, "token-secret", mem);
	struct span until = value_of(secret, "expiration", mem);
	usec t;
	if (!type || strcmp(type, TYPE) != 0 || !span_eq(id, span_make(token.ptr, ID_LEN)))
		return false;
	if (word.len != SECRET_LEN ||
	    CRYPTO_memcmp(word.ptr, token.ptr + ID_LEN + 1, SECRET_LEN) != 0)
		return false;
	if (until.len && (clock_parse(until, &t) < 0 || now >= t))
		return false;
	return span_is(value_of(secret, "usage-bootstrap-authentication", mem), "true");
}

static void add_groups(const struct cJSON *secret, struct arena *mem, struct auth_user *u)
{
	struct span rest = value_of(secret, "auth-extra-groups", mem);
	u->groups = arena_array(mem, struct span, AUTH_MAX_GROUPS);
	u->groups[u->n_groups++] = SPAN(GROUP);
	while (rest.len && u->n_groups < AUTH_MAX_GROUPS - 1) {
		struct span g = span_split(&rest, ',');
		while (g.len && g.ptr[0] == ' ')
			g = span_make(g.ptr + 1, g.len - 1);
		if (is_extra_group(g))
			u->groups[u->n_groups++] = g;
	}
	u->groups[u->n_groups++] = SPAN("system:authenticated");
}

int bootstrap_token_authenticate(struct span token, const struct backend *b, usec now,
				 struct arena *mem, struct auth_user *ret, struct err *reterr)
{
	char name[64], user[64];
	struct store_key key = {TYPE_SECRET, SPAN("kube-system"), SPAN_NONE};
	auto_reader *reader = NULL;
	auto_json *secret = NULL;
	struct store_object o;
	snprintf(name, sizeof(name), "bootstrap-token-%.*s", ID_LEN, token.ptr);
	key.name = span_of(name);
	if (store_read_begin(b->truth, &reader, NULL) < 0 || store_get(reader, &key, &o) < 0 ||
	    (o.flags & OBJECT_DELETING) || object_tree(&o, &secret, NULL) < 0 ||
	    !is_good(secret, token, now, mem))
		return err_set(reterr, ERR_UNAUTHORIZED, "the bootstrap token is not good");
	snprintf(user, sizeof(user), "system:bootstrap:%.*s", ID_LEN, token.ptr);
	*ret = (struct auth_user){.name = arena_span(mem, span_of(user))};
	add_groups(secret, mem, ret);
	return 0;
}
