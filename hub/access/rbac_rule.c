#include "access/rbac_rule.h"

#include "base/json.h"

static bool has(struct rbac_words w, struct span s)
{
	for (size_t i = 0; i < w.n; i++)
		if (span_eq(w.items[i], s))
			return true;
	return false;
}

static bool has_or_all(struct rbac_words w, struct span s)
{
	for (size_t i = 0; i < w.n; i++)
		if (span_eq(w.items[i], s) || span_is(w.items[i], "*"))
			return true;
	return false;
}

/* "pods", "pods/log", "*", or a subresource of everything. */
static bool resource_matches(struct span word, struct span resource, struct span subresource)
{
	if (word.len == 1 && word.ptr[0] == '*')
		return true;
	if (!subresource.len)
		return span_eq(word, resource);
	if (word.len == resource.len + 1 + subresource.len && word.ptr[resource.len] == '/' &&
	    span_starts(word, resource) && span_ends(word, subresource))
		return true;
	return word.len == subresource.len + 2 && word.ptr[0] == '*' && word.ptr[1] == '/' &&
	       span_ends(word, subresource);
}

static bool resources_match(struct rbac_words w, struct span resource, struct span subresource)
{
	for (size_t i = 0; i < w.n; i++)
		if (resource_matches(w.items[i], resource, subresource))
			return true;
	return false;
}

/* Equal, or beginning with what stands before the stars at the end. */
static bool url_matches(struct span pattern, struct span path)
{
	if (span_eq(pattern, path))
		return true;
	if (!pattern.len || pattern.ptr[pattern.len - 1] != '*')
		return false;
	while (pattern.len && pattern.ptr[pattern.len - 1] == '*')
		pattern.len--;
	return span_starts(path, pattern);
}

static bool urls_match(struct rbac_words w, struct span path)
{
	for (size_t i = 0; i < w.n; i++)
		if (url_matches(w.items[i], path))
			return true;
	return false;
}

bool rbac_rule_allows(const struct rbac_rule *r, const struct rbac_request *q)
{
	if (!has_or_all(r->verbs, q->verb))
		return false;
	if (!q->is_resource)
		return urls_match(r->non_resource_urls, q->path);
	return has_or_all(r->api_groups, q->group) &&
	       resources_match(r->resources, q->resource, q->subresource) &&
	       (!r->resource_names.n || has(r->resource_names, q->name));
}

/* ---- covering: what an author of roles may grant ---- */

/* One verb on one resource (and name), or on one path. */
struct atom {
	struct span verb, group, resource, name, url;
	bool named;
};

static bool resource_covered(struct rbac_words held, struct span resource)
{
	const char *slash = memchr(resource.ptr, '/', resource.len);
	struct span sub;
	if (has_or_all(held, resource))
		return true;
	if (!slash)
		return false;
	sub = span_make(slash + 1, resource.len - (size_t)(slash + 1 - resource.ptr));
	for (size_t i = 0; i < held.n; i++) {
		struct span h = held.items[i];
		if (h.len == sub.len + 2 && h.ptr[0] == '*' && h.ptr[1] == '/' && span_ends(h, sub))
			return true;
	}
	return false;
}

static bool atom_covered(const struct rbac_rule *held, const struct atom *a)
{
	if (!has_or_all(held->verbs, a->verb))
		return false;
	if (a->url.ptr)
		return urls_match(held->non_resource_urls, a->url);
	if (!has_or_all(held->api_groups, a->group) ||
	    !resource_covered(held->resources, a->resource))
		return false;
	return !held->resource_names.n || (a->named && has(held->resource_names, a->name));
}

struct missing {
	struct arena mem;
	struct atom *items;
	size_t n, cap;
};

#define MAX_MISSING 1000 /* more are not told */

static void add_missing(struct missing *m, const struct atom *a)
{
	if (m->n == m->cap) {
		struct atom *grown;
		if (m->cap == MAX_MISSING)
			return;
		grown = arena_array(&m->mem, struct atom, MAX_MISSING);
		m->items = grown;
		m->cap = MAX_MISSING;
	}
	m->items[m->n++] = *a;
}

static bool check_atom(const struct rbac_rule *held, size_t n, const struct atom *a,
		       struct missing *m)
{
	for (size_t i = 0; i < n; i++)
		if (atom_covered(&held[i], a))
			return true;
	add_missing(m, a);
	return false;
}

static bool check_names(const struct rbac_rule *held, size_t n, const struct rbac_rule *w,
			struct atom *a, struct missing *m)
{
	bool all = true;
	a->named = w->resource_names.n > 0;
	if (!a->named)
		return check_atom(held, n, a, m);
	for (size_t i = 0; i < w->resource_names.n; i++) {
		a->name = w->resource_names.items[i];
		all = check_atom(held, n, a, m) && all;
	}
	return all;
}

static bool check_rule(const struct rbac_rule *held, size_t n, const struct rbac_rule *w,
		       struct missing *m)
{
	struct atom a = {0};
	bool all = true;
	for (size_t g = 0; g < w->api_groups.n; g++)
		for (size_t r = 0; r < w->resources.n; r++)
			for (size_t v = 0; v < w->verbs.n; v++) {
				a.group = w->api_groups.items[g];
				a.resource = w->resources.items[r];
				a.verb = w->verbs.items[v];
				all = check_names(held, n, w, &a, m) && all;
			}
	a = (struct atom){0};
	for (size_t u = 0; u < w->non_resource_urls.n; u++)
		for (size_t v = 0; v < w->verbs.n; v++) {
			a.url = w->non_resource_urls.items[u];
			a.verb = w->verbs.items[v];
			all = check_atom(held, n, &a, m) && all;
		}
	return all;
}

static bool same_object(const struct atom *a, const struct atom *b)
{
	if (a->url.ptr || b->url.ptr)
		return false; /* upstream puts only rules on resources together */
	return span_eq(a->group, b->group) && span_eq(a->resource, b->resource) &&
	       a->named == b->named && span_eq(a->name, b->name);
}

static void add_quoted(struct buf *out, const char *what, struct span word, bool *first)
{
	buf_addf(out, "%s%s:[", *first ? "" : ", ", what);
	buf_add_json_str(out, word);
	buf_add_char(out, ']');
	*first = false;
}

/* One line for the atom at i and those of the same object behind it, which are marked. */
static char *line_of(struct missing *m, size_t i, bool *told)
{
	const struct atom *a = &m->items[i];
	struct buf out = BUF_MAX(16384);
	bool first = true;
	buf_add_char(&out, '{');
	if (a->url.ptr) {
		add_quoted(&out, "NonResourceURLs", a->url, &first);
	} else {
		add_quoted(&out, "APIGroups", a->group, &first);
		add_quoted(&out, "Resources", a->resource, &first);
		if (a->named)
			add_quoted(&out, "ResourceNames", a->name, &first);
	}
	buf_add_str(&out, ", Verbs:[");
	buf_add_json_str(&out, a->verb);
	for (size_t j = i + 1; j < m->n; j++)
		if (!told[j] && same_object(a, &m->items[j])) {
			buf_add_char(&out, ' ');
			buf_add_json_str(&out, m->items[j].verb);
			told[j] = true;
		}
	buf_add_str(&out, "]}");
	return buf_steal(&out, NULL);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void tell(struct missing *m, struct buf *out)
{
	bool *told = arena_array(&m->mem, bool, m->n);
	char **lines = arena_array(&m->mem, char *, m->n);
	size_t n = 0;
	for (size_t i = 0; i < m->n; i++)
		if (!told[i]) {
			char *line = line_of(m, i, told);
			if (line)
				lines[n++] = line;
		}
	qsort(lines, n, sizeof(*lines), by_text);
	for (size_t i = 0; i < n; i++) {
		if (i && strcmp(lines[i], lines[i - 1]) == 0)
			continue;
		buf_addf(out, "%s%s", i ? "\n" : "", lines[i]);
	}
	for (size_t i = 0; i < n; i++)
		free(lines[i]);
}

bool rbac_rules_cover(const struct rbac_rule *held, size_t n_held, const struct rbac_rule *wanted,
		      size_t n_wanted, struct buf *missing)
{
	struct missing m = {0};
	bool all = true;
	for (size_t i = 0; i < n_wanted; i++)
		all = check_rule(held, n_held, &wanted[i], &m) && all;
	if (!all && missing)
		tell(&m, missing);
	arena_done(&m.mem);
	return all;
}

static bool same_words(struct rbac_words a, struct rbac_words b)
{
	if (a.n != b.n)
		return false;
	for (size_t i = 0; i < a.n; i++)
		if (!span_eq(a.items[i], b.items[i]))
			return false;
	return true;
}

bool rbac_rule_equal(const struct rbac_rule *a, const struct rbac_rule *b)
{
	return same_words(a->verbs, b->verbs) && same_words(a->api_groups, b->api_groups) &&
	       same_words(a->resources, b->resources) &&
	       same_words(a->resource_names, b->resource_names) &&
	       same_words(a->non_resource_urls, b->non_resource_urls);
}

/* ---- from and to JSON ---- */

static struct rbac_words read_words(const struct cJSON *rule, const char *key, struct arena *mem)
{
	const struct cJSON *list = json_get(rule, key);
	size_t n = json_len(list), i = 0;
	struct span *items;
	if (!n || !json_is(list, JSON_ARRAY))
		return (struct rbac_words){0};
	items = arena_array(mem, struct span, n);
	json_foreach (list, word)
		if (json_value_str(word))
			items[i++] = arena_span(mem, span_of(json_value_str(word)));
	return (struct rbac_words){items, i};
}

void rbac_rules_read(const struct cJSON *rules, struct arena *mem, struct rbac_rule **ret,
		     size_t *ret_n)
{
	size_t n = json_is(rules, JSON_ARRAY) ? json_len(rules) : 0, i = 0;
	if (n > RBAC_MAX_RULES)
		n = RBAC_MAX_RULES;
	*ret = n ? arena_array(mem, struct rbac_rule, n) : NULL;
	json_foreach (rules, r) {
		if (i == n)
			break;
		(*ret)[i++] = (struct rbac_rule){
		    .verbs = read_words(r, "verbs", mem),
		    .api_groups = read_words(r, "apiGroups", mem),
		    .resources = read_words(r, "resources", mem),
		    .resource_names = read_words(r, "resourceNames", mem),
		    .non_resource_urls = read_words(r, "nonResourceURLs", mem),
		};
	}
	*ret_n = n;
}

void rbac_words_add(struct cJSON *rule, const char *key, struct rbac_words w)
{
	struct cJSON *list;
	if (!w.n)
		return;
	list = json_array();
	for (size_t i = 0; i < w.n; i++)
		json_append(list, json_new_span(w.items[i]));
	json_add(rule, key, list);
}

struct cJSON *rbac_rules_tree(const struct rbac_rule *rules, size_t n)
{
	struct cJSON *list = json_array();
	for (size_t i = 0; i < n; i++) {
		struct cJSON *rule = json_object();
		rbac_words_add(rule, "apiGroups", rules[i].api_groups);
		rbac_words_add(rule, "nonResourceURLs", rules[i].non_resource_urls);
		rbac_words_add(rule, "resourceNames", rules[i].resource_names);
		rbac_words_add(rule, "resources", rules[i].resources);
		rbac_words_add(rule, "verbs", rules[i].verbs);
		json_append(list, rule);
	}
	return list;
}
