#include "member-sync/sim/options.h"
#include "base/num.h"
#include <errno.h>

const char *options_usage(void)
{
	return "usage: muster-sim --name NAME --nodes FILE [options]\n"
	       "\n"
	       "One simulated member cluster: a Kubernetes API, nodes, a scheduler, kubelets and\n"
	       "the controllers of Job, JobSet, PyTorchJob, TFJob, MPIJob, XGBoostJob, PaddleJob,\n"
	       "JAXJob, RayJob and RayCluster.\n"
	       "\n"
	       "  --name NAME            name of the cluster\n"
	       "  --nodes FILE           YAML stream of Nodes; annotation muster.dev/sim-count: \"16\"\n"
	       "                         makes sixteen of one. Read when the cluster is new\n"
	       "  --listen HOST:PORT     where to serve (127.0.0.1:0); port 0 picks a free one\n"
	       "  --data-dir DIR         keep state and runs.jsonl there; without it, in memory\n"
	       "  --kubeconfig-out FILE  write an admin's kubeconfig\n"
	       "  --time-scale N         pods run N times faster than they say (1)\n"
	       "  --seed N               of uids; the default is random\n"
	       "  --count N              N clusters NAME-0.. in this process; FILE-0.., ports P..\n"
	       "  --no-events            controllers write no Events\n"
	       "  --sync                 commits wait for the disk\n"
	       "  --log-level LEVEL      debug, info, warn or error (warn)\n"
	       "  --help, --version\n"
	       "\n"
	       "Pods run for their template's annotation muster.dev/sim-duration (10s) and end with\n"
	       "muster.dev/sim-exit-code (0).\n";
}

static int parse_number(const char *option, const char *text, uint64_t max, uint64_t *ret,
			struct err *reterr)
{
	if (num_parse_u64(span_of(text), max, ret) == 0)
		return 0;
	return err_set(reterr, ERR_BAD_REQUEST, "%s: \"%s\" is not a number up to %llu", option,
		       text, (unsigned long long)max);
}

static int parse_level(const char *text, enum log_level *ret, struct err *reterr)
{
	static const char *const names[] = {"debug", "info", "warn", "error"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcmp(text, names[i]) == 0) {
			*ret = (enum log_level)i;
			return 0;
		}
	}
	return err_set(reterr, ERR_BAD_REQUEST,
		       "--log-level: \"%s\" is none of debug, info, warn, error", text);
}

static int parse_valued(struct options *o, const char *option, const char *value,
			struct err *reterr)
{
	uint64_t n;
	int rc = 0;
	if (strcmp(option, "--name") == 0) {
		o->name = value;
	} else if (strcmp(option, "--nodes") == 0) {
		o->nodes = value;
	} else if (strcmp(option, "--listen") == 0) {
		o->listen = value;
	} else if (strcmp(option, "--data-dir") == 0) {
		o->data_dir = value;
	} else if (strcmp(option, "--kubeconfig-out") == 0) {
		o->kubeconfig_out = value;
	} else if (strcmp(option, "--time-scale") == 0) {
		rc = parse_number(option, value, 1000000, &n, reterr);
		o->time_scale = rc ? 1 : (int32_t)n;
		if (!rc && n == 0)
			rc = err_set(reterr, ERR_BAD_REQUEST, "--time-scale: must be at least 1");
	} else if (strcmp(option, "--seed") == 0) {
		rc = parse_number(option, value, UINT64_MAX, &o->seed, reterr);
	} else if (strcmp(option, "--count") == 0) {
		rc = parse_number(option, value, OPTIONS_MAX_CLUSTERS, &n, reterr);
		o->count = rc ? 1 : (int)n;
		if (!rc && n == 0)
			rc = err_set(reterr, ERR_BAD_REQUEST, "--count: must be at least 1");
	} else if (strcmp(option, "--log-level") == 0) {
		rc = parse_level(value, &o->log_level, reterr);
	} else {
		rc = err_set(reterr, ERR_BAD_REQUEST, "unknown option %s", option);
	}
	return rc;
}

static bool *flag_of(struct options *o, const char *option)
{
	if (strcmp(option, "--no-events") == 0)
		return &o->no_events;
	if (strcmp(option, "--sync") == 0)
		return &o->sync;
	if (strcmp(option, "--help") == 0)
		return &o->help;
	return strcmp(option, "--version") == 0 ? &o->version : NULL;
}

int options_parse(int argc, char **argv, struct options *ret, struct err *reterr)
{
	struct options o = {
	    .listen = "127.0.0.1:0", .time_scale = 1, .count = 1, .log_level = LOG_WARN};
	for (int i = 1; i < argc; i++) {
		char option[32];
		const char *value = strchr(argv[i], '=');
		bool *flag = flag_of(&o, argv[i]);
		if (flag) {
			*flag = true;
			continue;
		}
		size_t len = value ? (size_t)(value - argv[i]) : strlen(argv[i]);
		snprintf(option, sizeof(option), "%.*s", (int)(len < 31 ? len : 31), argv[i]);
		if (value)
			value++;
		else if (i + 1 < argc)
			value = argv[++i];
		else
			return err_set(reterr, ERR_BAD_REQUEST, "%s needs a value, or is unknown",
				       option);
		int rc = parse_valued(&o, option, value, reterr);
		if (rc)
			return rc;
	}
	if (!o.help && !o.version && (!o.name || !*o.name))
		return err_set(reterr, ERR_BAD_REQUEST, "--name is missing");
	if (!o.help && !o.version && !o.nodes)
		return err_set(reterr, ERR_BAD_REQUEST, "--nodes is missing");
	*ret = o;
	return 0;
}

void options_numbered(const struct options *o, const char *base, int i, char *out, size_t size)
{
	const char *slash = strrchr(base, '/'), *dot = strrchr(base, '.');
	if (o->count == 1)
		snprintf(out, size, "%s", base);
	else if (dot && dot > base && (!slash || dot > slash + 1))
		snprintf(out, size, "%.*s-%d%s", (int)(dot - base), base, i, dot);
	else
		snprintf(out, size, "%s-%d", base, i);
}

int options_listen(const struct options *o, int i, char *out, size_t size, struct err *reterr)
{
	const char *colon = strrchr(o->listen, ':');
	uint64_t port;
	if (!colon || num_parse_u64(span_of(colon + 1), 65535, &port) ||
	    (port && port + (uint64_t)i > 65535))
		return err_set(reterr, ERR_BAD_REQUEST, "--listen: \"%s\" is not HOST:PORT",
			       o->listen);
	snprintf(out, size, "%.*s:%llu", (int)(colon - o->listen), o->listen,
		 (unsigned long long)(port ? port + (uint64_t)i : 0));
	return 0;
}
