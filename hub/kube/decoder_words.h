#ifndef KUBE_DECODER_WORDS_H
#define KUBE_DECODER_WORDS_H
/*
 * What kube-apiserver says of a value of the wrong JSON type in a kind of its own.
 *
 * Kinds that come as CustomResourceDefinitions are checked against their schema: 422, a cause for
 * each field. Built-in ones never come so far upstream: the body is decoded into a Go struct, and
 * the decoder's first complaint is the answer, 400, in the words of encoding/json and of the types
 * that read themselves (metav1.Time, resource.Quantity, intstr.IntOrString, base64). Clients match
 * on code and reason, people search for the words. So the names of Go's structs and types are made
 * here of the definitions' names; where Go has a named string type, from a table.
 *
 * Only asked once a check has found something wrong: an object that is fine costs nothing here.
 * Pure, any thread.
 */
#include "base/buf.h"
#include "kube/kind.h"
#include <stdbool.h>

struct cJSON;

/* Whether the kind is decoded into a struct upstream. */
bool decoder_words_apply(const struct kind *k);

/* Appends what the decoder says of the first value in the order of the text that it cannot take:
 * `json: cannot unmarshal string into Go struct field JobSpec.spec.parallelism of type int32`.
 * False: it takes all of them. */
bool decoder_words(const struct kind *k, const struct cJSON *object, struct buf *out);

#endif
