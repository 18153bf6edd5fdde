#ifndef API_REVIEW_SELECTOR_H
#define API_REVIEW_SELECTOR_H
/*
 * What an access review may say of the objects that are meant: the field and label selectors of
 * its resourceAttributes (KEP-4601), as pkg/apis/authorization/validation judges them. They limit
 * nothing here: RBAC knows no selectors. Pure; any thread.
 */
struct cJSON;
struct field_errors;

/* `resource`: the resourceAttributes, or NULL. */
void review_check_selectors(const struct cJSON *resource, struct field_errors *errors);

/* Appends what is said in evaluationError of raw selectors that cannot be read; they are ignored.
 */
struct buf;
void review_unread_selectors(const struct cJSON *resource, struct buf *out);

#endif
