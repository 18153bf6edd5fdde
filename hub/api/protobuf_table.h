#ifndef API_PROTOBUF_TABLE_H
#define API_PROTOBUF_TABLE_H
/* The tables that protobuf_generate.py makes of protobuf_fields.txt; for protobuf.c alone. */
#include <stddef.h>
#include <stdint.h>

enum protobuf_type {
	PROTOBUF_STRING,
	PROTOBUF_BYTES,
	PROTOBUF_INTEGER,
	PROTOBUF_BOOLEAN,
	PROTOBUF_TIME,
	PROTOBUF_MICRO_TIME,
	PROTOBUF_QUANTITY,
	PROTOBUF_INT_OR_STRING,
	PROTOBUF_RAW,
	PROTOBUF_FIELDS_V1,
	PROTOBUF_EXTRA_VALUE,
	PROTOBUF_DOUBLE,
	PROTOBUF_JSON,
	PROTOBUF_MESSAGE,
};

enum protobuf_flag {
	PROTOBUF_LIST = 1,
	PROTOBUF_MAP = 2,
	PROTOBUF_KEEP = 4, /* also when zero or empty */
	PROTOBUF_INLINE = 8,
	PROTOBUF_EITHER = 16, /* stands for the last of the message's fields that says something */
};

struct protobuf_field {
	uint16_t number;
	uint8_t type, flags;
	uint16_t message; /* index, of PROTOBUF_MESSAGE */
	const char *name;
};

struct protobuf_message {
	const char *name; /* "core.Pod" */
	const struct protobuf_field *fields;
	uint16_t n;
};

extern const struct protobuf_message protobuf_messages[];
extern const size_t protobuf_n_messages;

#endif
