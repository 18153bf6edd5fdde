#include "member-sync/sim/writer.h"

void writer_begin(struct writer *w, const struct kind *k, struct span ns, const char *name,
		  const uint8_t uid[STORE_UID_LEN], usec now)
{
	char version[KIND_API_VERSION_MAX], uid_text[OBJECT_UID_TEXT], time[CLOCK_TEXT_MAX];
	*w = (struct writer){.text = BUF_MAX(STORE_MAX_OBJECT)};
	(void)buf_reserve(&w->text, 2048);
	memcpy(w->uid, uid, STORE_UID_LEN);
	buf_addf(&w->text, "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":",
		 kind_api_version(k, version), k->kind);
	w->extents.metadata.at = (uint32_t)w->text.len;
	buf_addf(&w->text, "{\"name\":\"%s\",", name);
	if (ns.len)
		buf_addf(&w->text, "\"namespace\":\"%.*s\",", SPAN_ARGS(ns));
	buf_addf(&w->text, "\"uid\":\"%s\",\"resourceVersion\":\"",
		 object_uid_format(uid, uid_text));
	w->extents.revision = (struct store_extent){(uint32_t)w->text.len, 0};
	buf_addf(&w->text, "\",\"creationTimestamp\":\"%s\"", clock_format(now, time));
}

void writer_owner(struct writer *w, const struct kind *k, const char *name,
		  const uint8_t uid[STORE_UID_LEN])
{
	char version[KIND_API_VERSION_MAX], uid_text[OBJECT_UID_TEXT];
	buf_addf(&w->text,
		 ",\"ownerReferences\":[{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"name\":\"%s\","
		 "\"uid\":\"%s\",\"controller\":true,\"blockOwnerDeletion\":true}]",
		 kind_api_version(k, version), k->kind, name, object_uid_format(uid, uid_text));
	memcpy(w->owner, uid, STORE_UID_LEN);
	w->has_owner = true;
}

void writer_end_metadata(struct writer *w)
{
	buf_add_char(&w->text, '}');
	w->extents.metadata.len = (uint32_t)w->text.len - w->extents.metadata.at;
}

void writer_part(struct writer *w, const char *key, struct span json)
{
	buf_addf(&w->text, ",\"%s\":", key);
	struct store_extent e = {(uint32_t)w->text.len, (uint32_t)json.len};
	buf_add_span(&w->text, json);
	if (strcmp(key, "spec") == 0)
		w->extents.spec = e;
	else
		w->extents.status = e;
}

int writer_finish(struct writer *w, struct object_draft *ret, struct err *reterr)
{
	buf_add_char(&w->text, '}');
	if (!buf_ok(&w->text)) {
		buf_done(&w->text);
		return err_set(reterr, ERR_TOO_LARGE, "the object is larger than %zu bytes",
			       STORE_MAX_OBJECT);
	}
	*ret = (struct object_draft){.extents = w->extents};
	ret->json = buf_steal(&w->text, &ret->len);
	memcpy(ret->uid, w->uid, STORE_UID_LEN);
	if (w->has_owner) {
		ret->owners = xcalloc(1, sizeof(*ret->owners));
		memcpy(ret->owners[0], w->owner, STORE_UID_LEN);
		ret->n_owners = 1;
		ret->flags |= OBJECT_HAS_OWNERS;
	}
	return 0;
}

int writer_insert_in_spec(struct object_draft *d, const char *text, struct err *reterr)
{
	size_t n = strlen(text), at = (size_t)d->extents.spec.at + 1;
	if (d->extents.spec.len < 2)
		return err_set(reterr, ERR_INVALID, "the object has no spec");
	if (d->len + n > STORE_MAX_OBJECT)
		return err_set(reterr, ERR_TOO_LARGE, "the object is larger than %zu bytes",
			       STORE_MAX_OBJECT);
	if (d->extents.spec.len == 2)
		n--; /* "{}": no comma after the only member */
	char *json = xcalloc(1, d->len + n + 1);
	memcpy(json, d->json, at);
	memcpy(json + at, text, n);
	memcpy(json + at + n, d->json + at, d->len - at);
	free(d->json);
	d->json = json;
	d->len += n;
	d->extents.spec.len += (uint32_t)n;
	if (d->extents.status.len && d->extents.status.at > d->extents.spec.at)
		d->extents.status.at += (uint32_t)n;
	return 0;
}
