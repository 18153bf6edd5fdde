#ifndef KINDS_CONTAINER_MOUNTS_H
#define KINDS_CONTAINER_MOUNTS_H
/*
 * Rules of the volumes in a container, and of paths below a volume (pkg/apis/core/validation:
 * ValidateVolumeMounts, ValidateVolumeDevices).
 */
#include "kinds/refuse.h"

/* volumeMounts, volumeDevices and references to files of a container at `at`; `spec` is where its
 * pod is. The pod's volumes were checked before: one with an error in `errors` counts as absent. */
void container_mounts_check(const struct cJSON *container, const struct cJSON *pod,
			    const struct at *spec, const struct at *at,
			    struct field_errors *errors);

/* Adds errors unless the path is relative and stays below where it begins. */
void container_mounts_check_path(const char *path, const struct at *at,
				 struct field_errors *errors);
/* The same, of a file that may not begin with ".." either. */
void container_mounts_check_file(const char *path, const struct at *at,
				 struct field_errors *errors);

#endif
