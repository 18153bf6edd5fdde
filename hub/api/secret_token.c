/*
 * Tokens for the Secrets of ServiceAccounts (wire/token_maker.h).
 */
#include "api/api.h"
#include "api/call.h"

int api_make_secret_token(void *listener, const struct token_subject *s, usec now, struct buf *out)
{
	const struct api_listener *l = listener;
	const struct account_issuer *i = authenticator_issuer(l->authenticator);
	const char *audience = account_issuer_name(i);
	struct account_wish wish = {.account = {.ns = s->ns,
						.name = s->account,
						.uid = s->account_uid,
						.bound_kind = SPAN("Secret"),
						.bound_name = s->secret,
						.bound_uid = s->secret_uid},
				    .audiences = &audience,
				    .n_audiences = 1};
	struct err ignored = ERR_INIT;

	return account_token_make(i, &wish, now, out, &ignored);
}
