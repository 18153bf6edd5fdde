/*
 * muster: the command line. Also installed as kubectl-muster, and as kubectl-amc for
 * `kubectl amc get KIND [NAME] [-M | -m CLUSTER]`.
 */
#include "base/json.h"
#include "base/num.h"
#include "command.h"
#include "completion.h"
#include "live.h"

#include <curl/curl.h>
#include <getopt.h>
#include <unistd.h>

#ifndef MUSTER_VERSION
#define MUSTER_VERSION "0.1.0"
#endif

/* In the shape of `kubectl version -o json`. */
static void print_versions(struct cJSON *take_hub, enum output output)
{
	auto_json *all = json_object();
	struct cJSON *client = json_object();

	json_set_str(client, "gitVersion", MUSTER_VERSION);
	json_add(all, "clientVersion", client);
	if (take_hub)
		json_add(all, "serverVersion", take_hub);
	command_print_tree(all, output);
}

static int run_version(const struct command_line *line)
{
	bool tree = line->output == OUTPUT_JSON || line->output == OUTPUT_YAML;
	struct client *c = NULL;
	auto_json *hub = NULL;
	struct err err = ERR_INIT;
	int r = client_open(&line->client, &c, &err);

	if (r == 0)
		r = client_get(c, "/version", &hub, &err);
	client_close(c);
	if (tree) {
		print_versions(steal_ptr(&hub), line->output);
	} else {
		printf("Client Version: %s\n", MUSTER_VERSION);
		if (r == 0)
			printf("Hub Version: %s\n", json_str(hub, "gitVersion"));
	}
	return r < 0 ? command_fail(&err) : EXIT_OK;
}

static const struct verb verb_version = {"version", "[-o json|yaml]", "versions of client and hub",
					 run_version};

const struct verb *const command_verbs[] = {
    &verb_clusters, &verb_jobs,	      &verb_why,     &verb_wait, &verb_pods,
    &verb_logs,	    &verb_queue,      &verb_quota,   &verb_top,	 &verb_join,
    &verb_unjoin,   &verb_completion, &verb_version, NULL,
};

static void help(FILE *to)
{
	fputs(
	    "Muster: a fleet hub for batch and training jobs.\n\nusage: muster VERB [options]\n\n",
	    to);
	for (const struct verb *const *v = command_verbs; *v; v++)
		fprintf(to, "  %-10s %-45s %s\n", (*v)->name, (*v)->arguments, (*v)->summary);
	fputs("\noptions:\n"
	      "  -n NAMESPACE  -A (all namespaces)  -o json|yaml|wide  -w (watch)  --no-headers\n"
	      "  --color auto|always|never (auto: on a terminal, unless NO_COLOR is set)\n"
	      "  --timeout SECONDS[s|m|h] (wait)\n"
	      "  --kubeconfig FILE (join: the member's)  --hub-kubeconfig FILE  --context NAME\n"
	      "exit codes: 0 ok, 1 error, 2 usage, 3 not found, 4 not allowed, 5 hub unreachable,\n"
	      "  6 timed out, 7 the job failed, 8 it can never be placed\n",
	      to);
}

int command_usage(const struct verb *v)
{
	fprintf(stderr, "usage: muster %s %s\n", v->name, v->arguments);
	return EXIT_USAGE;
}

static int parse_output(const char *text, enum output *ret)
{
	static const char *const names[] = {"table", "wide", "json", "yaml"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcmp(text, names[i]) == 0) {
			*ret = (enum output)i;
			return 0;
		}
	}
	fprintf(stderr, "error: -o takes json, yaml or wide, not \"%s\"\n", text);
	return -1;
}

enum {
	OPT_NO_HEADERS = 256,
	OPT_HUB_KUBECONFIG,
	OPT_KUBECONFIG,
	OPT_CONTEXT,
	OPT_COLOR,
	OPT_FOR,
	OPT_TIMEOUT,
	OPT_REPLICA,
	OPT_ALL,
};

/* As no-color.org and the terminal have it. */
static bool default_colour(void)
{
	const char *no = getenv("NO_COLOR");

	return !(no && no[0]) && live_is_possible();
}

static int parse_colour(const char *text, struct command_line *line)
{
	if (strcmp(text, "auto") == 0)
		line->colour = default_colour();
	else if (strcmp(text, "always") == 0 || strcmp(text, "never") == 0)
		line->colour = text[0] == 'a';
	else
		return fprintf(stderr, "error: --color takes auto, always or never\n"), -1;
	return 0;
}

/* "90", "90s", "5m", "2h"; seconds. */
static int parse_timeout(const char *text, int64_t *ret)
{
	size_t n = strlen(text);
	char unit = n && strchr("smh", text[n - 1]) ? text[n - 1] : 's';
	bool has_unit = n && strchr("smh", text[n - 1]);

	if (num_parse_i64(span_make(text, n - has_unit), 1, 1000000, ret) < 0)
		return fprintf(stderr, "error: --timeout takes seconds, or 90s, 5m, 2h\n"), -1;
	*ret *= unit == 'h' ? 3600 : unit == 'm' ? 60 : 1;
	return 0;
}

static int parse_options(int argc, char **argv, struct command_line *line)
{
	static const struct option options[] = {
	    {"namespace", required_argument, NULL, 'n'},
	    {"all-namespaces", no_argument, NULL, 'A'},
	    {"output", required_argument, NULL, 'o'},
	    {"watch", no_argument, NULL, 'w'},
	    {"no-headers", no_argument, NULL, OPT_NO_HEADERS},
	    {"kubeconfig", required_argument, NULL, OPT_KUBECONFIG},
	    {"hub-kubeconfig", required_argument, NULL, OPT_HUB_KUBECONFIG},
	    {"context", required_argument, NULL, OPT_CONTEXT},
	    {"color", required_argument, NULL, OPT_COLOR},
	    {"follow", no_argument, NULL, 'f'},
	    {"replica", required_argument, NULL, OPT_REPLICA},
	    {"all", no_argument, NULL, OPT_ALL},
	    {"for", required_argument, NULL, OPT_FOR},
	    {"timeout", required_argument, NULL, OPT_TIMEOUT},
	    {"help", no_argument, NULL, 'h'},
	    {0},
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "n:Ao:wMm:fh", options, NULL)) != -1) {
		switch (opt) {
		case 'n':
			line->ns = optarg;
			break;
		case 'A':
			line->all_namespaces = true;
			break;
		case 'o':
			if (parse_output(optarg, &line->output) < 0)
				return EXIT_USAGE;
			break;
		case 'w':
			line->watch = true;
			break;
		case 'M':
			line->all_members = true;
			break;
		case 'm':
			line->member = optarg;
			break;
		case OPT_NO_HEADERS:
			line->no_headers = true;
			break;
		case OPT_KUBECONFIG:
			line->member_kubeconfig = optarg;
			break;
		case OPT_HUB_KUBECONFIG:
			line->client.kubeconfig = optarg;
			break;
		case OPT_CONTEXT:
			line->client.context = optarg;
			break;
		case OPT_COLOR:
			if (parse_colour(optarg, line) < 0)
				return EXIT_USAGE;
			break;
		case 'f':
			line->follow = true;
			break;
		case OPT_REPLICA:
			line->replica = optarg;
			break;
		case OPT_ALL:
			line->all = true;
			break;
		case OPT_FOR:
			line->wait_for = optarg;
			break;
		case OPT_TIMEOUT:
			if (parse_timeout(optarg, &line->timeout) < 0)
				return EXIT_USAGE;
			break;
		case 'h':
			help(stdout);
			exit(EXIT_OK);
		default:
			return EXIT_USAGE;
		}
	}
	while (optind < argc && line->n_args < COMMAND_MAX_ARGS)
		line->args[line->n_args++] = argv[optind++];
	return EXIT_OK;
}

static bool is_called(const char *program, const char *name)
{
	const char *slash = strrchr(program, '/');

	return strcmp(slash ? slash + 1 : program, name) == 0;
}

/* What is being typed is no option of ours. */
static int complete(int argc, char **argv, struct command_line *line)
{
	for (int i = 0; i < argc && line->n_args < COMMAND_MAX_ARGS; i++)
		line->args[line->n_args++] = argv[i];
	curl_global_init(CURL_GLOBAL_DEFAULT);
	return completion_words(line);
}

int main(int argc, char **argv)
{
	struct command_line line = {.colour = default_colour()};

	if (argc > 1 && strcmp(argv[1], "__complete") == 0)
		return complete(argc - 2, argv + 2, &line);
	if (is_called(argv[0], "kubectl_complete-muster"))
		return complete(argc - 1, argv + 1, &line);
	int r = parse_options(argc, argv, &line);
	if (r != EXIT_OK)
		return r;
	curl_global_init(CURL_GLOBAL_DEFAULT);
	bool amc = is_called(argv[0], "kubectl-amc");
	if (!amc && line.n_args && strcmp(line.args[0], "amc") == 0) {
		amc = true;
		memmove(line.args, line.args + 1, --line.n_args * sizeof(line.args[0]));
	}
	if (amc)
		return amc_run(&line);
	if (line.n_args == 0) {
		help(stderr);
		return EXIT_USAGE;
	}
	const char *name = line.args[0];
	memmove(line.args, line.args + 1, --line.n_args * sizeof(line.args[0]));
	for (const struct verb *const *v = command_verbs; *v; v++)
		if (strcmp((*v)->name, name) == 0)
			return (*v)->run(&line);
	fprintf(stderr, "error: unknown verb \"%s\"; see muster --help\n", name);
	return EXIT_USAGE;
}
