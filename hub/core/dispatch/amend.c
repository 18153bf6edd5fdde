#include "core/dispatch/amend.h"

#include "base/json.h"
#include "base/num.h"
#include "core/dispatch/courier.h"
#include "core/job.h"
#include "core/member.h"
#include "core/observe.h"
#include "kinds/job_amend.h"

#include <inttypes.h>

#define MAX_PATHS (64u << 10)
#define MAX_WORDS 512

static struct span row_key(const struct job *j, struct buf *out)
{
	buf_addf(out, "edit/%s", j->uid_text);
	return buf_span(out);
}

/* ---- the row ---- */

static void put_row(struct core *c, struct job *j)
{
	const struct amendment *a = j->amendment;
	auto_buf key = BUF_INIT, value = BUF_INIT;

	buf_addf(&value, "{\"refused\":\"%" PRIu64 "\",\"at\":%" PRId64 ",\"words\":", a->refused,
		 a->refused_at);
	buf_add_json_str(&value, span_of(a->words ? a->words : ""));
	buf_add_str(&value, ",\"paths\":");
	buf_add(&value, a->paths, a->len);
	buf_add_char(&value, '}');
	registry_put_aux(c->batch, false, STORE_AUX_SETTING, row_key(j, &key), buf_span(&value));
	j->edit_row = true;
	j->amendment->row_due = false;
}

void amend_flush(struct core *c, struct job *j)
{
	auto_buf key = BUF_INIT;

	if (j->amendment && j->amendment->row_due)
		put_row(c, j);
	if (j->amendment || !j->edit_row)
		return;
	registry_delete_aux(c->batch, false, STORE_AUX_SETTING, row_key(j, &key));
	j->edit_row = false;
}

static void take_row(struct job *j, struct span row)
{
	struct amendment *a = xcalloc(1, sizeof(*a));
	struct span v;
	auto_buf words = BUF_INIT;

	if (json_text_member(row, "refused", &v) < 0 ||
	    num_parse_u64(json_text_plain(v), UINT64_MAX, &a->refused) < 0)
		a->refused = 0;
	if (json_text_member(row, "at", &v) < 0 || json_text_int64(v, &a->refused_at) < 0)
		a->refused_at = 0;
	if (json_text_member(row, "words", &v) == 0 && json_text_string(v, &words) == 0 &&
	    words.len)
		a->words = buf_steal(&words, NULL);
	if (json_text_member(row, "paths", &v) < 0)
		v = SPAN("{}");
	a->paths = xstrndup(v.ptr, v.len);
	a->len = v.len;
	j->amendment = a;
}

void amend_revive(struct core *c, struct job *j)
{
	auto_buf key = BUF_INIT;
	struct span row;

	if (registry_get_aux(c->batch, false, STORE_AUX_SETTING, row_key(j, &key), &row) < 0)
		return;
	j->edit_row = true;
	if (j->finished || !dispatch_has_standing_copy(&j->dispatch)) {
		core_job_dirty(c, j);
		return;
	}
	take_row(j, row);
	/* Whether it makes the job another one is looked at first, when all is read. */
	observe_enqueue(c, j->kind,
			&(struct store_key){
			    .type = j->kind->type, .ns = span_of(j->ns), .name = span_of(j->name)});
}

static void drop_part(struct amendment *a)
{
	free(a->part);
	free(a->part_words);
	a->part = a->part_words = NULL;
}

void amend_free(struct job *j)
{
	if (!j->amendment)
		return;
	drop_part(j->amendment);
	free(j->amendment->paths);
	free(j->amendment->words);
	free(j->amendment);
	j->amendment = NULL;
}

void amend_drop(struct core *c, struct job *j)
{
	j->binding_dirty = j->binding_dirty || (j->amendment && j->amendment->refused);
	amend_free(j);
	core_job_dirty(c, j);
}

/* ---- what users write ---- */

static struct job *edited_job(const struct core *c, const struct command *cmd)
{
	struct job *j;

	if (!cmd->kind->is_job || cmd->verb != COMMAND_UPDATE || cmd->dry_run || !cmd->draft.json ||
	    (cmd->subresource && cmd->subresource[0]) || (cmd->draft.flags & OBJECT_DELETING))
		return NULL;
	j = job_by_key(c, cmd->kind->type, span_of(cmd->ns), span_of(cmd->name));
	return j && !j->finished && !j->gone && dispatch_has_standing_copy(&j->dispatch) ? j : NULL;
}

static int join_paths(struct amendment *a, const struct buf *paths, struct err *reterr)
{
	struct buf both = BUF_MAX(MAX_PATHS);
	int r = 0;

	if (a->paths)
		r = job_edit_join(span_make(a->paths, a->len), buf_span(paths), &both, reterr);
	else
		buf_add_span(&both, buf_span(paths));
	if (r == 0) {
		free(a->paths);
		a->paths = buf_steal(&both, &a->len);
	}
	buf_done(&both);
	return r;
}

int amend_note(struct core *c, struct command *cmd)
{
	struct job *j = edited_job(c, cmd);
	struct buf paths = BUF_MAX(MAX_PATHS);
	struct store_object o;

	if (!j || registry_get(c->batch, cmd->kind, span_of(cmd->ns), span_of(cmd->name), &o) < 0 ||
	    memcmp(o.uid, j->uid, STORE_UID_LEN) != 0)
		return 0;
	int r = job_edit_paths(j->kind, o.json, span_make(cmd->draft.json, cmd->draft.len), &paths,
			       &cmd->err);
	if (r == 0 && paths.len) {
		bool first = !j->amendment;
		if (first)
			j->amendment = xcalloc(1, sizeof(*j->amendment));
		r = join_paths(j->amendment, &paths, &cmd->err);
		if (r == 0)
			put_row(c, j);
		else if (first)
			amend_free(j);
	}
	buf_done(&paths);
	return r;
}

/* ---- the way to the copy ---- */

/* FNV-1a over what a copy is made of; never 0. */
static uint64_t hash_of(const struct store_object *o)
{
	struct span meta = store_object_part(o, o->extents.metadata), v;
	struct span parts[3] = {SPAN_NONE, SPAN_NONE, store_object_part(o, o->extents.spec)};
	uint64_t h = 14695981039346656037u;

	if (json_text_member(meta, "labels", &v) == 0)
		parts[0] = v;
	if (json_text_member(meta, "annotations", &v) == 0)
		parts[1] = v;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		for (size_t k = 0; k < parts[i].len; k++)
			h = (h ^ (unsigned char)parts[i].ptr[k]) * 1099511628211u;
		h = (h ^ 0xff) * 1099511628211u;
	}
	return h ? h : 1;
}

/* 0 when it cannot be read. */
static uint64_t hash_now(struct core *c, const struct job *j)
{
	struct store_object o;

	if (registry_get(c->batch, j->kind, span_of(j->ns), span_of(j->name), &o) < 0)
		return 0;
	return hash_of(&o);
}

void amend_begin(struct core *c, struct job *j)
{
	if (!j->amendment || j->dispatch.edited || !dispatch_has_standing_copy(&j->dispatch) ||
	    (j->amendment->refused && j->amendment->refused == hash_now(c, j)))
		return;
	courier_feed(c, j, &(struct dispatch_event){EVENT_EDITED});
}

struct span amend_sent(struct job *j, const struct store_object *o)
{
	struct amendment *a = j->amendment;

	if (!a)
		return SPAN_NONE;
	a->sent = hash_of(o);
	return a->part ? span_of(a->part) : span_make(a->paths, a->len);
}

static void words_of(struct span text, struct buf *out)
{
	auto_json *paths = NULL;

	if (json_parse(text, NULL, &paths, NULL) == 0)
		job_edit_words(paths, out);
	if (out->len > MAX_WORDS) {
		out->len = MAX_WORDS;
		out->ptr[MAX_WORDS] = '\0';
	}
}

static void refused(struct core *c, struct job *j, const char *cluster, const char *words)
{
	struct amendment *a = j->amendment;
	auto_buf paths = BUF_INIT;

	words_of(span_make(a->paths, a->len), &paths);

	a->refused = a->sent;
	a->refused_at = c->now;
	free(a->words);
	a->words = xstrdup(words && words[0] ? words : "it was refused");
	a->row_due = j->binding_dirty = true;
	job_event_add(c, j, "Warning", "EditNotApplied",
		      "Cluster %s does not take the edit of %s, the job goes on there as it was: "
		      "%s",
		      cluster, paths.ptr ? paths.ptr : "", a->words);
}

static void applied(struct core *c, struct job *j, const char *cluster, struct span text)
{
	auto_buf paths = BUF_INIT;

	words_of(text, &paths);
	job_event_add(c, j, "Normal", "EditApplied", "Cluster %s has the edit of %s", cluster,
		      paths.ptr ? paths.ptr : "");
}

/* Refused as a whole: its labels and annotations are tried by themselves. False: there is nothing
 * beside them, or they were what was tried. */
static bool try_metadata(struct core *c, struct job *j, const char *words)
{
	struct amendment *a = j->amendment;
	struct span paths = span_make(a->paths, a->len);
	auto_buf part = BUF_INIT, rest = BUF_INIT;

	job_edit_part(paths, "metadata", false, &part);
	job_edit_part(paths, "metadata", true, &rest);
	if (a->part || !part.len || !rest.len)
		return false;
	a->part = buf_steal(&part, NULL);
	a->part_words = xstrdup(words ? words : "");
	a->refused = 0;
	amend_begin(c, j);
	return true;
}

/* They were taken; what is left is what was refused. */
static void take_metadata(struct core *c, struct job *j, const char *cluster)
{
	struct amendment *a = j->amendment;
	auto_buf rest = BUF_INIT;
	auto_free char *words = steal_ptr(&a->part_words);

	applied(c, j, cluster, span_of(a->part));
	job_edit_part(span_make(a->paths, a->len), "metadata", true, &rest);
	free(a->paths);
	a->paths = buf_steal(&rest, &a->len);
	drop_part(a);
	refused(c, j, cluster, words);
}

void amend_answered(struct core *c, struct job *j, bool taken, const char *words)
{
	const struct member *m = member_of(c, j);
	const char *cluster = m ? m->name : "";
	struct amendment *a;

	courier_feed(c, j,
		     &(struct dispatch_event){taken ? EVENT_AMENDED : EVENT_AMEND_REFUSED,
					      .pods_gone = j->live_pods == 0});
	a = j->amendment;
	if (!a)
		return;
	if (hash_now(c, j) != a->sent) {
		drop_part(a);
		amend_begin(c, j); /* edited again meanwhile */
	} else if (taken && a->part) {
		take_metadata(c, j, cluster);
	} else if (taken) {
		applied(c, j, cluster, span_make(a->paths, a->len));
		amend_drop(c, j);
	} else if (!try_metadata(c, j, words)) {
		drop_part(a);
		refused(c, j, cluster, words);
	}
}

const char *amend_refusal(const struct job *j, usec *ret_since)
{
	const struct amendment *a = j->amendment;

	if (!a || !a->refused)
		return NULL;
	*ret_since = a->refused_at;
	return a->words;
}
