#ifndef KINDS_VOLUME_CLAIM_H
#define KINDS_VOLUME_CLAIM_H
/*
 * Rules of PersistentVolumeClaims, and of the templates of claims in volumes
 * (pkg/apis/core/validation: ValidatePersistentVolumeClaimSpec).
 */
#include "kinds/refuse.h"

/* The spec of a claim, at `at`. */
void volume_claim_check(const struct cJSON *spec, const struct at *at, struct field_errors *errors);
/* A template of claims: its metadata may have labels and annotations alone. */
void volume_claim_check_template(const struct cJSON *claim, const struct at *at,
				 struct field_errors *errors);

#endif
