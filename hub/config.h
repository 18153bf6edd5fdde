#ifndef HUB_CONFIG_H
#define HUB_CONFIG_H
/*
 * musterd's configuration: one YAML file with a schema, flags over it. Unknown keys are errors.
 *
 * Flags win over the file, the file over defaults. SIGHUP reads the file again and takes
 * log.level and members.keepFinished from it, and reads the audit policy again; a change of
 * anything else, or a policy that is not valid, is refused aloud, and nothing is taken. Belongs to
 * the main thread.
 */
#include "access/oidc.h"
#include "api/request_header.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "core/kueue/settings.h"
#include <stdint.h>

struct config {
	char *data_dir;		 /* /var/lib/muster */
	char *listen;		 /* 127.0.0.1:6443 */
	char *kubeconfig_out;	 /* NULL: none */
	char **names;		 /* tls.names: more names of this server; NULL-terminated or NULL */
	bool require_policy;	 /* requirePolicy */
	usec keep_finished;	 /* members.keepFinished */
	usec probe_interval;	 /* members.probeInterval */
	usec starve_after;	 /* starvation.after */
	int provision_parallel;	 /* provisioning.parallel */
	usec provision_patience; /* provisioning.patience */
	/* provisioning.discovery */
	usec provision_discovery;
	bool hot_swap;		 /* hotSwap.enabled */
	usec not_ready_for;	 /* hotSwap.notReadyAfter */
	char *key_file;		 /* store.keyFile; NULL: DATA_DIR/pki/secrets.keys */
	uint64_t map_bytes;	 /* store.mapSize; 0: the store's default */
	uint64_t log_max_bytes;	 /* store.logMaxBytes; 0: default */
	usec log_max_age;	 /* store.logMaxAge; 0: default */
	int workers;		 /* api.workers; 0: default */
	int seats;		 /* api.seats: requests at a time; 0: default */
	int max_watches;	 /* api.maxWatches; 0: default */
	int max_connections;	 /* api.maxConnections; 0: default */
	char *account_issuer;	 /* api.serviceAccountIssuer; NULL: default */
	char *audit_policy_file; /* audit.policyFile; NULL: no audit log */
	char *audit_log_file;	 /* audit.logFile; NULL: DATA_DIR/audit.log */
	struct oidc_config oidc; /* oidc.*: no issuer, no OpenID Connect */
	struct request_header_config request_header; /* requestHeader.* */
	enum log_level log_level;
	/* api.queuePerUser, queueBytesPerUser: requests of one user that wait for a seat, and
	 * their bytes; api.queueBytes: of all users. 0: default. */
	int queue_per_user;
	uint64_t queue_bytes_per_user, queue_bytes;
	/* api.serviceAccountKeyFiles; NULL-terminated or NULL */
	char **account_key_files;
	struct kueue_settings kueue; /* kueue.*: Kueue's own configuration */
	struct cJSON *kueue_tree;    /* NULL: no such section; the settings borrow from it */
	struct arena kueue_mem;
};

void config_init(struct config *c);
void config_done(struct config *c);
/* Reads a file over what is in *c. ERR_INVALID with the path of the field, ERR_NOT_FOUND. */
int config_read(struct config *c, const char *path, struct err *reterr) MUST_CHECK;
/* "30s", "5m", "24h", "7d", or plain seconds. -EINVAL. */
int config_duration(const char *text, usec *ret) MUST_CHECK;
/* The first setting other than the reloadable ones in which a and b differ, or NULL. */
const char *config_fixed_difference(const struct config *a, const struct config *b);

#endif
