#include "member-sync/member_report.h"

const char *member_report_name(enum member_condition condition)
{
	static const char *const names[] = {
	    [MEMBER_CONNECTING] = "Connecting",
	    [MEMBER_READY] = "Ready",
	    [MEMBER_UNREACHABLE] = "Unreachable",
	    [MEMBER_BAD_CERTIFICATE] = "BadCertificate",
	    [MEMBER_CREDENTIAL_EXPIRED] = "CredentialExpired",
	    [MEMBER_UNAUTHORIZED] = "Unauthorized",
	    [MEMBER_BAD_KUBECONFIG] = "BadKubeconfig",
	    [MEMBER_CHANGED_IDENTITY] = "ChangedIdentity",
	};
	return names[condition];
}

bool member_report_set(struct member_report *r, enum member_condition condition,
		       const char *message)
{
	if (r->made && r->condition == condition &&
	    strncmp(r->message, message, sizeof(r->message) - 1) == 0)
		return false;
	r->made = true;
	r->condition = condition;
	snprintf(r->message, sizeof(r->message), "%s", message);
	return true;
}

void member_report_learn(struct member_report *r, const struct member_probe_result *found)
{
	uint32_t known = r->known | found->known;
	uint32_t apis = (r->apis & ~found->known) | found->apis;

	if (known == r->known && apis == r->apis && strcmp(found->version, r->version) == 0)
		return;
	r->known = known;
	r->apis = apis;
	snprintf(r->version, sizeof(r->version), "%s", found->version);
	r->made = false; /* news, whatever the condition */
}

struct fact *member_report_fact(const struct member_report *r, uint32_t number,
				const uint8_t identity[STORE_UID_LEN], const char *server)
{
	struct fact *f = fact_create(FACT_MEMBER, number);
	struct member_fact *s = &f->member_state;

	s->condition = r->condition;
	s->message = arena_strndup(&f->mem, r->message, strlen(r->message));
	memcpy(s->incarnation, identity, STORE_UID_LEN);
	if (r->version[0])
		s->kubernetes_version = arena_strndup(&f->mem, r->version, strlen(r->version));
	if (server)
		s->server = arena_strndup(&f->mem, server, strlen(server));
	s->apis = r->apis;
	s->apis_known = r->known != 0;
	f->bytes = sizeof(*f) + arena_size(&f->mem);
	return f;
}
