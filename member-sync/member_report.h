#ifndef MEMBER_SYNC_MEMBER_REPORT_H
#define MEMBER_SYNC_MEMBER_REPORT_H
/*
 * What the core was told of a member last: its condition, Kubernetes version and served kinds.
 * Only news is told again; member.c decides what is true. Plain data; the loop's thread.
 */
#include "member-sync/member_probe.h"
#include "wire/fact.h"

struct member_report {
	enum member_condition condition;
	char message[600];
	char version[64];
	uint32_t apis, known; /* bits of enum member_stream: served; asked about */
	bool made;	      /* something was told */
};

/* Takes a condition with its words; true when it is news, and is to be told. Words that are too
 * long are cut. */
bool member_report_set(struct member_report *r, enum member_condition condition,
		       const char *message);
/* Takes what a discovery found out; the next member_report_set() is news when this was. */
void member_report_learn(struct member_report *r, const struct member_probe_result *found);
/* The fact that tells it, of a member with this number and identity. server: borrowed, may be
 * NULL. */
struct fact *member_report_fact(const struct member_report *r, uint32_t number,
				const uint8_t identity[STORE_UID_LEN], const char *server);
/* "Ready", "Unreachable", ...: static, for the log. */
const char *member_report_name(enum member_condition condition);

#endif
