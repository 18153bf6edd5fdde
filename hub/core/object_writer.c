#include "core/object_writer.h"

static void close_spec(struct object_writer *w)
{
	struct store_extents *x = &w->draft.extents;
	if (x->spec.at && !x->spec.len)
		x->spec.len = (uint32_t)w->text.len - x->spec.at;
}

static void add_owner(struct object_writer *w, const struct object_head *h)
{
	char api_version[KIND_API_VERSION_MAX], uid[OBJECT_UID_TEXT];

	buf_addf(&w->text, ",\"ownerReferences\":[{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"name\":",
		 kind_api_version(h->owner_kind, api_version), h->owner_kind->kind);
	buf_add_json_str(&w->text, span_of(h->owner_name));
	buf_addf(&w->text, ",\"uid\":\"%s\"", object_uid_format(h->owner_uid, uid));
	if (h->owner_controller)
		buf_add_str(&w->text, ",\"controller\":true,\"blockOwnerDeletion\":true");
	buf_add_str(&w->text, "}]");
	w->draft.owners = xcalloc(1, STORE_UID_LEN);
	memcpy(w->draft.owners[0], h->owner_uid, STORE_UID_LEN);
	w->draft.n_owners = 1;
	w->draft.flags |= OBJECT_HAS_OWNERS;
}

void object_writer_begin(struct object_writer *w, const struct object_head *h)
{
	char api_version[KIND_API_VERSION_MAX], uid[OBJECT_UID_TEXT], when[CLOCK_TEXT_MAX];

	*w = (struct object_writer){.text = BUF_MAX(STORE_MAX_OBJECT)};
	memcpy(w->draft.uid, h->uid, STORE_UID_LEN);
	w->draft.generation = h->generation;
	buf_addf(&w->text, "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":",
		 kind_api_version(h->kind, api_version), h->kind->kind);
	w->draft.extents.metadata.at = (uint32_t)w->text.len;
	buf_add_str(&w->text, "{\"name\":");
	buf_add_json_str(&w->text, h->name);
	if (h->ns.len) {
		buf_add_str(&w->text, ",\"namespace\":");
		buf_add_json_str(&w->text, h->ns);
	}
	buf_addf(&w->text, ",\"uid\":\"%s\",\"resourceVersion\":\"",
		 object_uid_format(h->uid, uid));
	w->draft.extents.revision.at = (uint32_t)w->text.len;
	buf_addf(&w->text, "\",\"creationTimestamp\":\"%s\"", clock_format(h->created, when));
	if (h->generation)
		buf_addf(&w->text, ",\"generation\":%lld", (long long)h->generation);
	if (h->labels)
		buf_addf(&w->text, ",\"labels\":%s", h->labels);
	if (h->annotations)
		buf_addf(&w->text, ",\"annotations\":%s", h->annotations);
	if (h->finalizer) {
		buf_addf(&w->text, ",\"finalizers\":[\"%s\"]", h->finalizer);
		w->draft.flags |= OBJECT_HAS_FINALIZERS;
		if (strcmp(h->finalizer, OBJECT_HUB_FINALIZER) != 0)
			w->draft.flags |= OBJECT_FOREIGN_FINALIZERS;
	}
	if (h->owner_uid)
		add_owner(w, h);
	if (h->by) {
		buf_add_char(&w->text, ',');
		managed_draft_add(h->by, !h->spec_only, &w->text);
	}
	buf_add_char(&w->text, '}');
	w->draft.extents.metadata.len = (uint32_t)w->text.len - w->draft.extents.metadata.at;
}

void object_writer_spec(struct object_writer *w)
{
	buf_add_str(&w->text, ",\"spec\":");
	w->draft.extents.spec.at = (uint32_t)w->text.len;
}

void object_writer_status(struct object_writer *w)
{
	close_spec(w);
	buf_add_str(&w->text, ",\"status\":");
	w->draft.extents.status.at = (uint32_t)w->text.len;
	w->in_status = true;
}

void object_writer_digest(struct object_writer *w, struct span digest)
{
	w->draft.digest = xstrndup(digest.ptr, digest.len);
	w->draft.digest_len = digest.len;
}

int object_writer_end(struct object_writer *w, struct object_draft *ret, struct err *reterr)
{
	struct store_extents *x = &w->draft.extents;

	if (w->in_status)
		x->status.len = (uint32_t)w->text.len - x->status.at;
	else
		close_spec(w);
	buf_add_char(&w->text, '}');
	if (!buf_ok(&w->text)) {
		buf_done(&w->text);
		object_draft_done(&w->draft);
		return err_set(reterr, ERR_TOO_LARGE, "an object of the hub is over %zu bytes",
			       STORE_MAX_OBJECT);
	}
	w->draft.json = buf_steal(&w->text, &w->draft.len);
	*ret = w->draft;
	return 0;
}
