/* Computed table cells of the small core kinds, as kube-apiserver's own printers show them. */
#include "base/json.h"
#include "kinds/cells.h"
#include "kinds/hooks.h"

#define NONE "<none>"

void cells_add_text(struct cJSON *cells, const char *text, const char *otherwise)
{
	json_append(cells, json_new_str(text && text[0] ? text : otherwise));
}

void cells_add_since(struct cJSON *cells, const char *time, usec now)
{
	char human[CLOCK_TEXT_MAX];
	usec t;

	if (!time || clock_parse(span_of(time), &t) < 0)
		json_append(cells, json_new_str("<unknown>"));
	else
		json_append(cells, json_new_str(clock_human(now - t, human)));
}

void cells_add_selector(struct cJSON *cells, const struct cJSON *labels)
{
	auto_buf text = BUF_INIT;

	json_foreach (labels, l)
		buf_addf(&text, "%s%s=%s", text.len ? "," : "", json_key(l),
			 json_value_str(l) ? json_value_str(l) : "");
	cells_add_text(cells, text.ptr, NONE);
}

void cells_add_containers(struct cJSON *cells, const struct cJSON *pod_spec)
{
	auto_buf names = BUF_INIT, images = BUF_INIT;

	json_foreach (json_get(pod_spec, "containers"), c) {
		const char *name = json_str(c, "name"), *image = json_str(c, "image");
		buf_addf(&names, "%s%s", names.len ? "," : "", name ? name : "");
		buf_addf(&images, "%s%s", images.len ? "," : "", image ? image : "");
	}
	cells_add_text(cells, names.ptr, "");
	cells_add_text(cells, images.ptr, "");
}

void config_map_cells(const struct kind *k, const struct cJSON *object, usec now,
		      struct cJSON *cells)
{
	(void)k;
	(void)now;
	json_append(cells, json_new_int((int64_t)(json_len(json_get(object, "data")) +
						  json_len(json_get(object, "binaryData")))));
}

void secret_cells(const struct kind *k, const struct cJSON *object, usec now, struct cJSON *cells)
{
	(void)k;
	(void)now;
	json_append(cells, json_new_int((int64_t)json_len(json_get(object, "data"))));
}

void service_account_cells(const struct kind *k, const struct cJSON *object, usec now,
			   struct cJSON *cells)
{
	(void)k;
	(void)now;
	json_append(cells, json_new_int((int64_t)json_len(json_get(object, "secrets"))));
}

void persistent_volume_claim_cells(const struct kind *k, const struct cJSON *object, usec now,
				   struct cJSON *cells)
{
	static const char *const modes[][2] = {{"ReadWriteOnce", "RWO"},
					       {"ReadOnlyMany", "ROX"},
					       {"ReadWriteMany", "RWX"},
					       {"ReadWriteOncePod", "RWOP"}};
	auto_buf text = BUF_INIT;

	(void)k;
	(void)now;
	json_foreach (json_path(object, "status", "accessModes", NULL), m)
		for (size_t i = 0; i < ARRAY_LEN(modes); i++)
			if (json_value_str(m) && strcmp(json_value_str(m), modes[i][0]) == 0)
				buf_addf(&text, "%s%s", text.len ? "," : "", modes[i][1]);
	cells_add_text(cells, text.ptr, "");
	cells_add_text(cells, json_str(json_get(object, "spec"), "volumeAttributesClassName"),
		       "<unset>");
}

void pod_template_cells(const struct kind *k, const struct cJSON *object, usec now,
			struct cJSON *cells)
{
	(void)k;
	(void)now;
	cells_add_containers(cells, json_path(object, "template", "spec", NULL));
	cells_add_selector(cells, json_path(object, "template", "metadata", "labels", NULL));
}

void priority_class_cells(const struct kind *k, const struct cJSON *object, usec now,
			  struct cJSON *cells)
{
	(void)k;
	(void)now;
	json_append(cells, json_new_bool(json_bool(object, "globalDefault", false)));
}

/* ---- Service ---- */

void service_cells(const struct kind *k, const struct cJSON *object, usec now, struct cJSON *cells)
{
	const struct cJSON *spec = json_get(object, "spec");
	auto_buf ports = BUF_INIT;

	(void)k;
	(void)now;
	cells_add_text(cells, NULL, NONE); /* no load balancers here */
	json_foreach (json_get(spec, "ports"), p) {
		int64_t port = 0, node = 0;
		const char *protocol = json_str(p, "protocol");
		(void)json_int64(p, "port", &port);
		buf_addf(&ports, "%s%lld", ports.len ? "," : "", (long long)port);
		if (json_int64(p, "nodePort", &node) == 0 && node)
			buf_addf(&ports, ":%lld", (long long)node);
		buf_addf(&ports, "/%s", protocol ? protocol : "TCP");
	}
	cells_add_text(cells, ports.ptr, NONE);
	cells_add_selector(cells, json_get(spec, "selector"));
}

/* ---- Event, in both shapes ---- */

static const char *either(const struct cJSON *object, const char *core, const char *newer)
{
	const char *v = json_str(object, core);
	return v ? v : json_str(object, newer);
}

static const char *event_last_seen(const struct cJSON *object)
{
	const char *last = json_value_str(json_path(object, "series", "lastObservedTime", NULL));

	last = last ? last : either(object, "lastTimestamp", "deprecatedLastTimestamp");
	last = last ? last : either(object, "firstTimestamp", "deprecatedFirstTimestamp");
	return last ? last : json_str(object, "eventTime");
}

static const char *event_first_seen(const struct cJSON *object)
{
	const char *first = either(object, "firstTimestamp", "deprecatedFirstTimestamp");
	return first ? first : json_str(object, "eventTime");
}

static void add_event_object(const struct cJSON *object, struct cJSON *cells)
{
	const struct cJSON *of = json_get(object, "involvedObject");
	auto_buf text = BUF_INIT;

	of = of ? of : json_get(object, "regarding");
	for (const char *p = json_str(of, "kind"); p && *p; p++)
		buf_add_char(&text, *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p);
	buf_addf(&text, "/%s", json_str(of, "name") ? json_str(of, "name") : "");
	json_append(cells, json_new_str(text.ptr));
}

static void add_event_source(const struct cJSON *object, struct cJSON *cells)
{
	const struct cJSON *source = json_get(object, "source");
	auto_buf text = BUF_INIT;

	source = source ? source : json_get(object, "deprecatedSource");
	const char *component = json_str(source, "component"), *host = json_str(source, "host");
	component =
	    component ? component : either(object, "reportingComponent", "reportingController");
	buf_add_str(&text, component ? component : "");
	if (host && host[0])
		buf_addf(&text, ", %s", host);
	json_append(cells, json_new_str(text.ptr ? text.ptr : ""));
}

static int64_t event_count(const struct cJSON *object)
{
	int64_t n = 1;

	if (json_int64(json_get(object, "series"), "count", &n) < 0 &&
	    json_int64(object, "count", &n) < 0)
		(void)json_int64(object, "deprecatedCount", &n);
	return n > 0 ? n : 1;
}

void event_cells(const struct kind *k, const struct cJSON *object, usec now, struct cJSON *cells)
{
	const char *message = either(object, "message", "note");
	auto_buf text = BUF_INIT;

	(void)k;
	cells_add_since(cells, event_last_seen(object), now);
	add_event_object(object, cells);
	add_event_source(object, cells);
	buf_add_str(&text, message ? message : "");
	while (text.len && (text.ptr[text.len - 1] == '\n' || text.ptr[text.len - 1] == ' '))
		text.len--;
	json_append(cells, json_new_span(buf_span(&text)));
	cells_add_since(cells, event_first_seen(object), now);
	json_append(cells, json_new_int(event_count(object)));
}
