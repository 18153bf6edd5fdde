#ifndef BASE_YAML_WRITE_H
#define BASE_YAML_WRITE_H
/*
 * JSON text to YAML text: block style, in the order of the keys, two spaces a step, lists in line
 * with their key, as kubectl writes it. A text stands plain where every reader of YAML takes it for
 * a text, else in double quotes. yaml_parse() gives the same tree back.
 *
 * Reads the checked text as it goes; holds no state.
 */
#include "base/buf.h"
#include "base/span.h"

/* Appends; `json` must have passed json_parse() or json_check(). out fails when it is full, or when
 * the text is deeper than YAML_MAX_DEPTH. */
void yaml_write_json(struct span json, struct buf *out);

#endif
