#include "store/store_key.h"

#include <errno.h>

static void add(struct store_key_text *t, struct span s)
{
	if (s.len)
		memcpy(t->bytes + t->len, s.ptr, s.len);
	t->len += s.len;
}

void store_key_prefix(uint16_t type, struct span ns, struct store_key_text *ret)
{
	ret->bytes[0] = (char)(type >> 8);
	ret->bytes[1] = (char)(type & 0xff);
	ret->len = 2;
	if (!ns.ptr)
		return;
	add(ret, ns);
	ret->bytes[ret->len++] = '\0';
}

void store_key_encode(const struct store_key *key, struct store_key_text *ret)
{
	store_key_prefix(key->type, span_make(key->ns.ptr ? key->ns.ptr : "", key->ns.len), ret);
	add(ret, key->name);
}

int store_key_decode(struct span bytes, struct store_key *ret)
{
	if (bytes.len < 4)
		return -EINVAL;
	struct span name = span_make(bytes.ptr + 2, bytes.len - 2);
	struct span ns = span_split(&name, '\0');
	const struct store_key key = {
	    .type = (uint16_t)((uint8_t)bytes.ptr[0] << 8 | (uint8_t)bytes.ptr[1]),
	    .ns = ns,
	    .name = name,
	};
	if (!store_key_check(&key))
		return -EINVAL;
	*ret = key;
	return 0;
}

static bool sound(struct span s, size_t max)
{
	return s.len <= max && (s.len == 0 || !memchr(s.ptr, '\0', s.len));
}

bool store_key_check(const struct store_key *key)
{
	return key->name.len > 0 && sound(key->name, STORE_MAX_NAME) &&
	       sound(key->ns, STORE_MAX_NAMESPACE);
}
