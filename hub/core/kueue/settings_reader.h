#ifndef CORE_KUEUE_SETTINGS_READER_H
#define CORE_KUEUE_SETTINGS_READER_H
/*
 * Reading the section `kueue:`: values with their errors, and sections as tables of members.
 * Private to settings.c.
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/json.h"
#include "core/kueue/settings.h"

struct settings_reader {
	struct kueue_settings *s;
	struct arena *mem;
	struct err *reterr;
};

/* "PATH: WORDS", ERR_INVALID. */
int settings_reader_wrong(const struct settings_reader *r, const char *path, const char *words);
int settings_reader_bool(const struct settings_reader *r, const char *path, const struct cJSON *v,
			 bool *out);
int settings_reader_duration(const struct settings_reader *r, const char *path,
			     const struct cJSON *v, usec *out);
int settings_reader_seconds(const struct settings_reader *r, const char *path,
			    const struct cJSON *v, usec *out);

typedef int (*settings_reader_fn)(const struct settings_reader *r, const char *path,
				  const struct cJSON *v);
struct settings_member {
	const char *name;
	settings_reader_fn take;
};
/* Members of a mapping, each by its function; one that is not in the table is unknown. */
int settings_reader_members(const struct settings_reader *r, const char *path,
			    const struct cJSON *object, const struct settings_member *members,
			    size_t n);

#endif
