#include "core/provisioning/request_phase.h"

#include "base/json.h"

#include <errno.h>

struct condition {
	bool present, is;
	struct span reason, message; /* JSON strings */
};

static struct condition condition_of(struct span status, const char *type)
{
	struct span list, one, v;

	if (json_text_type(status) != JSON_OBJECT ||
	    json_text_member(status, "conditions", &list) < 0 || json_text_type(list) != JSON_ARRAY)
		return (struct condition){0};
	for (size_t pos = 0; json_text_next(list, &pos, NULL, &one);) {
		if (json_text_type(one) != JSON_OBJECT || json_text_member(one, "type", &v) < 0 ||
		    !span_is(json_text_plain(v), type))
			continue;
		struct condition k = {.present = true};
		k.is = json_text_member(one, "status", &v) == 0 && span_is(v, "\"True\"");
		(void)json_text_member(one, "reason", &k.reason);
		(void)json_text_member(one, "message", &k.message);
		return k;
	}
	return (struct condition){0};
}

static const struct {
	const char *type;
	enum provision_phase phase;
} order[] = {
    {"Failed", PROVISION_FAILED},
    {"CapacityRevoked", PROVISION_CAPACITY_REVOKED},
    {"BookingExpired", PROVISION_BOOKING_EXPIRED},
    {"Provisioned", PROVISION_PROVISIONED},
    {"Accepted", PROVISION_ACCEPTED},
};

enum provision_phase request_phase(struct span status)
{
	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		if (condition_of(status, order[i].type).is)
			return order[i].phase;
	return PROVISION_PENDING;
}

static void add_words(const struct condition *k, struct buf *out)
{
	if (k->reason.len && json_text_string(k->reason, out) == 0 && k->message.len)
		buf_add_str(out, ": ");
	if (k->message.len)
		(void)json_text_string(k->message, out);
}

void request_phase_words(struct span status, struct buf *out)
{
	for (size_t i = 0; i < ARRAY_LEN(order); i++) {
		struct condition k = condition_of(status, order[i].type);
		if (!k.is)
			continue;
		struct condition lacks = condition_of(status, "Provisioned");
		if (order[i].phase == PROVISION_ACCEPTED && lacks.present)
			k = lacks;
		add_words(&k, out);
		return;
	}
}

static const char *const names[] = {
    [PROVISION_PENDING] = "Pending",
    [PROVISION_ACCEPTED] = "Accepted",
    [PROVISION_PROVISIONED] = "Provisioned",
    [PROVISION_FAILED] = "Failed",
    [PROVISION_BOOKING_EXPIRED] = "BookingExpired",
    [PROVISION_CAPACITY_REVOKED] = "CapacityRevoked",
    [PROVISION_CANCELLED] = "Cancelled",
};

const char *request_phase_name(enum provision_phase phase)
{
	return (size_t)phase < ARRAY_LEN(names) ? names[phase] : "Unknown";
}

int request_phase_from_name(struct span name, enum provision_phase *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (span_is(name, names[i])) {
			*ret = (enum provision_phase)i;
			return 0;
		}
	}
	return -EINVAL;
}
