#ifndef API_RENDER_H
#define API_RENDER_H
/*
 * Stored objects in the form that a client asked for. Any thread; no state.
 *
 * A kind that shares its store rows with others (two groups, two versions) is given out in its
 * own apiVersion: by splicing where the shapes are the same, else by the kind's convert hook.
 */
#include "api/negotiate.h"
#include "base/buf.h"
#include "base/clock.h"
#include "kube/kind.h"
#include "kube/table.h"
#include "store/store.h"

struct job_columns;

struct render {
	const struct kind_set *kinds;
	const struct kind *kind;   /* as the client named it */
	const struct kind *stored; /* as its rows are written; NULL: looked up for each */
	enum answer_form form;	   /* FORM_JSON, FORM_TABLE or FORM_PARTIAL */
	const char *meta_version;  /* "v1", "v1beta1": of tables and partial objects */
	enum table_include include;
	usec now;
	const struct kind
	    *bindings;		  /* tables of job kinds have job_columns.h's; NULL: they do not */
	struct job_columns *jobs; /* where from, borrowed; NULL: their cells stay empty */
};

/* The object's own JSON, as its kind. */
void render_json(const struct render *r, const struct store_object *o, struct buf *out);
/* One object on its own: JSON, a table of one row, or PartialObjectMetadata. */
void render_object(const struct render *r, const struct store_object *o, struct buf *out);
/* The same from JSON text and its metadata's place (an object that is not stored). */
void render_text(const struct render *r, struct span json, struct buf *out);

/* A list, piece by piece. The metadata comes last, when it is known. */
void render_list_begin(const struct render *r, uint64_t revision, struct buf *out);
/* The head of a table whose rows are added otherwise. */
void render_table_begin(const struct render *r, const struct table_meta *meta, bool columns,
			struct buf *out);
void render_list_item(const struct render *r, const struct store_object *o, bool first,
		      struct buf *out);
void render_list_end(const struct render *r, const struct table_meta *meta, struct buf *out);

/* The object of a watch event; columns: with columnDefinitions in a table. */
void render_event_object(const struct render *r, const struct store_object *o, bool columns,
			 struct buf *out);
/* The object of a BOOKMARK. */
void render_bookmark(const struct render *r, uint64_t revision, bool initial_end, struct buf *out);

#endif
