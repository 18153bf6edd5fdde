#include "member-sync/sim/conditions.h"
#include "base/json.h"

static struct condition *find(struct conditions *c, const char *type)
{
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->items[i].type, type) == 0)
			return &c->items[i];
	return NULL;
}

const struct condition *conditions_get(const struct conditions *c, const char *type)
{
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->items[i].type, type) == 0)
			return &c->items[i];
	return NULL;
}

bool conditions_true(const struct conditions *c, const char *type)
{
	const struct condition *it = conditions_get(c, type);
	return it && it->status;
}

/* Cut to fit, never inside a character: the text comes from users, too. */
static void copy_cut(char *out, size_t size, const char *s)
{
	size_t n = strlen(s);
	if (n >= size) {
		n = size - 1;
		while (n && ((unsigned char)s[n] & 0xc0) == 0x80)
			n--;
	}
	memmove(out, s, n);
	out[n] = '\0';
}

static void fill(struct condition *it, const char *type, bool status, const char *reason,
		 const char *message, usec now)
{
	if (it->status != status || !it->changed)
		it->changed = now;
	it->status = status;
	it->updated = now;
	copy_cut(it->type, sizeof(it->type), type);
	copy_cut(it->reason, sizeof(it->reason), reason);
	copy_cut(it->message, sizeof(it->message), message);
}

bool conditions_set(struct conditions *c, const char *type, bool status, const char *reason,
		    const char *message, usec now)
{
	struct condition *it = find(c, type);
	if (it && it->status == status && strcmp(it->reason, reason) == 0)
		return false;
	if (!it) {
		if (c->n == CONDITIONS_MAX)
			return false;
		it = &c->items[c->n++];
		*it = (struct condition){0};
	}
	fill(it, type, status, reason, message, now);
	return true;
}

static void drop(struct conditions *c, const char *type)
{
	struct condition *it = find(c, type);
	if (!it)
		return;
	size_t at = (size_t)(it - c->items);
	memmove(it, it + 1, (c->n - at - 1) * sizeof(*it));
	c->n--;
}

bool conditions_set_last(struct conditions *c, const char *type, bool status, const char *reason,
			 const char *message, usec now)
{
	struct condition fresh = {0}, *it = find(c, type);
	if (conditions_true(c, "Failed"))
		return false;
	if (it && it->status == status && strcmp(it->reason, reason) == 0)
		return false;
	if (it && it->status == status)
		fresh.changed = it->changed;
	fresh.status = status;
	if (status && strcmp(type, "Running") == 0)
		drop(c, "Restarting");
	if (status && strcmp(type, "Restarting") == 0)
		drop(c, "Running");
	bool ends = status && (strcmp(type, "Failed") == 0 || strcmp(type, "Succeeded") == 0);
	struct condition *running = ends ? find(c, "Running") : NULL;
	if (running) {
		running->status = false;
		running->updated = running->changed = now;
	}
	drop(c, type);
	if (c->n == CONDITIONS_MAX)
		return false;
	fill(&fresh, type, status, reason, message, now);
	c->items[c->n++] = fresh;
	return true;
}

bool conditions_equal(const struct conditions *a, const struct conditions *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		const struct condition *x = &a->items[i], *y = &b->items[i];
		if (x->status != y->status || x->changed != y->changed ||
		    strcmp(x->type, y->type) != 0 || strcmp(x->reason, y->reason) != 0 ||
		    strcmp(x->message, y->message) != 0)
			return false;
	}
	return true;
}

static void print_one(const struct condition *it, enum conditions_style style, struct buf *out)
{
	char changed[CLOCK_TEXT_MAX], updated[CLOCK_TEXT_MAX];
	clock_format(it->changed, changed);
	clock_format(it->updated, updated);
	buf_add_str(out, "{\"type\":");
	buf_add_json_str(out, span_of(it->type));
	buf_addf(out, ",\"status\":\"%s\",", it->status ? "True" : "False");
	if (style == CONDITIONS_TRAINING)
		buf_addf(out, "\"lastUpdateTime\":\"%s\",", updated);
	else if (style == CONDITIONS_BATCH)
		buf_addf(out, "\"lastProbeTime\":\"%s\",", updated);
	buf_addf(out, "\"lastTransitionTime\":\"%s\",\"reason\":", changed);
	buf_add_json_str(out, span_of(it->reason));
	buf_add_str(out, ",\"message\":");
	buf_add_json_str(out, span_of(it->message));
	buf_add_char(out, '}');
}

void conditions_print(const struct conditions *c, enum conditions_style style, struct buf *out)
{
	buf_add_char(out, '[');
	for (size_t i = 0; i < c->n; i++) {
		if (i)
			buf_add_char(out, ',');
		print_one(&c->items[i], style, out);
	}
	buf_add_char(out, ']');
}

static void read_text(struct span object, const char *key, char *out, size_t size)
{
	struct span v;
	auto_buf text = BUF_INIT;
	if (json_text_member(object, key, &v) == 0 && json_text_string(v, &text) == 0)
		copy_cut(out, size, text.ptr ? text.ptr : "");
}

static usec read_time(struct span object, const char *key)
{
	struct span v;
	usec t = 0;
	if (json_text_member(object, key, &v) == 0 && clock_parse(json_text_plain(v), &t) == 0)
		return t;
	return 0;
}

void conditions_parse(struct span array, struct conditions *ret)
{
	struct span one, status, key = SPAN_NONE;
	*ret = (struct conditions){0};
	if (!array.len || json_text_type(array) != JSON_ARRAY)
		return;
	for (size_t pos = 0; ret->n < CONDITIONS_MAX && json_text_next(array, &pos, &key, &one);) {
		struct condition *it = &ret->items[ret->n];
		if (json_text_type(one) != JSON_OBJECT)
			continue;
		*it = (struct condition){0};
		read_text(one, "type", it->type, sizeof(it->type));
		read_text(one, "reason", it->reason, sizeof(it->reason));
		read_text(one, "message", it->message, sizeof(it->message));
		it->status = json_text_member(one, "status", &status) == 0 &&
			     span_is(json_text_plain(status), "True");
		it->changed = read_time(one, "lastTransitionTime");
		it->updated = read_time(one, "lastUpdateTime");
		if (!it->updated)
			it->updated = read_time(one, "lastProbeTime");
		ret->n++;
	}
}
