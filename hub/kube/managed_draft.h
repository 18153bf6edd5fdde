#ifndef KUBE_MANAGED_DRAFT_H
#define KUBE_MANAGED_DRAFT_H
/*
 * metadata.managedFields of what the server's own controllers write: statuses, and objects that
 * they make. On drafts, as text.
 *
 * A controller that writes a status through /status stands in managedFields with an entry of its
 * own, operation Update and subresource status. As long as nobody else writes that status the
 * entry says so in short (managed_fields.h): a status of many writes costs its bytes once and a
 * look at the list, never a parse. Once somebody else has an entry there (a client that patched
 * one condition), each write of the controller is compared with what was there before, as a
 * client's own would be: it takes what it changes. Its entry stays short unless somebody applies.
 *
 * As for every update, an object without entries gets none: its owners were reset or never
 * recorded. An object that would be too large with the entry is left without.
 *
 * Pure, any thread. w->subresource is not looked at.
 */
#include "kube/managed_fields.h"
#include "kube/object.h"

/* `"managedFields":[...]` of an object that w->manager alone has written, now: of what it made
 * and, if asked for, its status. */
void managed_draft_add(const struct managed_write *w, bool with_status, struct buf *out);

/* The status in `d` was written by w->manager; `old` is what was stored before, NULL for an object
 * that is being created. The entries of `d` are still those of `old`. */
void managed_draft_status(const struct managed_write *w, const struct store_object *old,
			  struct object_draft *d);

/* `d` is what w->manager made of `old`, anywhere in the object and its status: it owns what it
 * changed, others what it left alone. Where it has made all of `old`, the entries that `d` has
 * stand as they are. */
void managed_draft_edited(const struct managed_write *w, const struct store_object *old,
			  struct object_draft *d);

/* w->manager set one field of the spec in `d`, which is all that `d` differs in from `old` outside
 * its status; `fields` is the field's set as FieldsV1 text. As long as one manager owns the rest in
 * short the entry is added to the list as text; the short form leaves out what it says
 * (managed_fields.h). Otherwise as managed_draft_edited(). The entries of the status in `d` are
 * right already. */
void managed_draft_field(const struct managed_write *w, const struct store_object *old,
			 const char *fields, struct object_draft *d);

#endif
