#ifndef KUBE_DECODER_TEXTS_H
#define KUBE_DECODER_TEXTS_H
/*
 * What Go's decoders of strings say of one that they cannot take: time.Parse and encoding/base64.
 * The other half of decoder_words.h, and internal to it. Pure.
 */
#include "base/buf.h"
#include "base/span.h"
#include <stdbool.h>

/* As time.Parse with RFC 3339, or with metav1.RFC3339Micro. False: it is taken. */
bool decoder_time_words(struct span text, bool micro, struct buf *out);

/* As encoding/base64's StdEncoding: "illegal base64 data at input byte 4". False: it is taken. */
bool decoder_base64_words(struct span text, struct buf *out);

#endif
