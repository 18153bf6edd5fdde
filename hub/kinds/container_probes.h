#ifndef KINDS_CONTAINER_PROBES_H
#define KINDS_CONTAINER_PROBES_H
/*
 * Rules of probes and lifecycle handlers (pkg/apis/core/validation: validateProbe,
 * validateLifecycle). Ranges of numbers are the schema's.
 */
#include "kinds/refuse.h"

/* The three probes and the lifecycle of a container at `at` that keeps running: not those of an
 * init container that ends. `pod` is its spec, which says the grace period and the system. */
void container_probes_check(const struct cJSON *container, const struct cJSON *pod,
			    const struct at *at, struct field_errors *errors);
/* An init container that ends has none of them. */
void container_probes_forbid(const struct cJSON *container, const struct at *at,
			     struct field_errors *errors);
/* Whether the text may name a port (IANA service name); false with its error added at `at`. */
bool container_probes_check_port_name(const char *name, const struct at *at,
				      struct field_errors *errors);

#endif
