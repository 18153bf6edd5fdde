#include "kinds/container_probes.h"

#define MAX_PORT      65535
#define MAX_PORT_NAME 15

static const char *const probes[] = {"livenessProbe", "readinessProbe", "startupProbe"};

/* ---- ports ---- */

static const char *port_name_problem(const char *name)
{
	size_t n = strlen(name);
	bool letter = false;

	if (n > MAX_PORT_NAME)
		return "must be no more than 15 characters";
	for (size_t i = 0; i < n; i++) {
		bool is_letter = name[i] >= 'a' && name[i] <= 'z';
		letter = letter || is_letter;
		if (!is_letter && !(name[i] >= '0' && name[i] <= '9') && name[i] != '-')
			return "must contain only alpha-numeric characters (a-z, 0-9), and "
			       "hyphens (-)";
	}
	if (!letter)
		return "must contain at least one letter (a-z)";
	if (strstr(name, "--"))
		return "must not contain consecutive hyphens";
	if (name[0] == '-' || name[n - 1] == '-')
		return "must not begin or end with a hyphen";
	return NULL;
}

bool container_probes_check_port_name(const char *name, const struct at *at,
				      struct field_errors *errors)
{
	const char *problem = port_name_problem(name);

	if (problem)
		refuse_text_at(errors, FIELD_INVALID, name, problem, at);
	return !problem;
}

/* By number or by name. */
static void check_port(const struct cJSON *action, const struct at *at, struct field_errors *errors)
{
	const struct cJSON *port = json_get(action, "port");
	const char *name = json_value_str(port);
	int64_t number = 0;

	if (name)
		(void)container_probes_check_port_name(name, AT_FIELD(at, "port"), errors);
	else if (json_value_int64(port, &number) < 0 || number < 1 || number > MAX_PORT)
		refuse_at(errors, FIELD_INVALID, port, "must be between 1 and 65535, inclusive",
			  AT_FIELD(at, "port"));
}

/* ---- actions ---- */

static void check_exec(const struct cJSON *exec, const struct at *at, struct field_errors *errors)
{
	if (!json_first(json_get(exec, "command")))
		refuse_at(errors, FIELD_REQUIRED, NULL, "", AT_FIELD(at, "command"));
}

static bool is_header_name(const char *name)
{
	for (const char *c = name; *c; c++)
		if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
		      (*c >= '0' && *c <= '9') || *c == '-'))
			return false;
	return name[0];
}

static void check_http(const struct cJSON *http, const struct at *at, struct field_errors *errors)
{
	check_port(http, at, errors);
	json_foreach (json_get(http, "httpHeaders"), h) {
		const char *name = json_str(h, "name");
		if (!is_header_name(name ? name : ""))
			refuse_text_at(errors, FIELD_INVALID, name ? name : "",
				       "a valid HTTP header must consist of alphanumeric "
				       "characters or '-' (e.g. 'X-Header-Name', regex used for "
				       "validation is '[-A-Za-z0-9]+')",
				       AT_FIELD(at, "httpHeaders"));
	}
}

/* As long as the pod has time to stop. */
static void check_sleep(const struct cJSON *sleep, const struct cJSON *pod, const struct at *at,
			struct field_errors *errors)
{
	const struct cJSON *seconds = json_get(sleep, "seconds");
	int64_t wanted = 0, grace = 0;
	char words[120];

	(void)json_value_int64(seconds, &wanted);
	if (json_int64(pod, "terminationGracePeriodSeconds", &grace) < 0 ||
	    (wanted >= 0 && wanted <= grace))
		return;
	(void)snprintf(words, sizeof(words),
		       "must be non-negative and less than terminationGracePeriodSeconds (%lld)",
		       (long long)grace);
	refuse_at(errors, FIELD_INVALID, seconds, words, at);
}

static void check_action(const char *name, const struct cJSON *action, const struct cJSON *pod,
			 const struct at *at, struct field_errors *errors)
{
	if (strcmp(name, "exec") == 0)
		check_exec(action, at, errors);
	else if (strcmp(name, "httpGet") == 0)
		check_http(action, at, errors);
	else if (strcmp(name, "sleep") == 0)
		check_sleep(action, pod, at, errors);
	else
		check_port(action, at, errors);
}

/* Exactly one action; what is wrong in the others is not looked at. */
static void check_handler(const struct cJSON *handler, const struct cJSON *pod, const struct at *at,
			  struct field_errors *errors)
{
	static const char *const actions[] = {"exec", "httpGet", "tcpSocket", "grpc", "sleep"};
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(actions); i++) {
		const struct cJSON *action = json_get(handler, actions[i]);
		if (!action)
			continue;
		if (n++ > 0)
			refuse_at(errors, FIELD_FORBIDDEN, NULL,
				  "may not specify more than 1 handler type",
				  AT_FIELD(at, actions[i]));
		else
			check_action(actions[i], action, pod, AT_FIELD(at, actions[i]), errors);
	}
	if (n == 0)
		refuse_at(errors, FIELD_REQUIRED, NULL, "must specify a handler type", at);
}

/* ---- of a container ---- */

static void check_probe(const char *name, const struct cJSON *probe, const struct cJSON *pod,
			const struct at *at, struct field_errors *errors)
{
	const struct cJSON *grace = json_get(probe, "terminationGracePeriodSeconds");
	int64_t successes = 1;

	check_handler(probe, pod, at, errors);
	(void)json_int64(probe, "successThreshold", &successes);
	if (strcmp(name, "readinessProbe") != 0 && successes > 1)
		refuse_at(errors, FIELD_INVALID, json_get(probe, "successThreshold"), "must be 1",
			  AT_FIELD(at, "successThreshold"));
	else if (strcmp(name, "readinessProbe") == 0 && grace)
		refuse_at(errors, FIELD_INVALID, grace, "must not be set for readinessProbes",
			  AT_FIELD(at, "terminationGracePeriodSeconds"));
}

static void check_lifecycle(const struct cJSON *lifecycle, const struct cJSON *pod,
			    const struct at *at, struct field_errors *errors)
{
	static const char *const handlers[] = {"postStart", "preStop"};

	for (size_t i = 0; i < ARRAY_LEN(handlers); i++)
		if (json_get(lifecycle, handlers[i]))
			check_handler(json_get(lifecycle, handlers[i]), pod,
				      AT_FIELD(at, handlers[i]), errors);
}

void container_probes_check(const struct cJSON *container, const struct cJSON *pod,
			    const struct at *at, struct field_errors *errors)
{
	check_lifecycle(json_get(container, "lifecycle"), pod, AT_FIELD(at, "lifecycle"), errors);
	for (size_t i = 0; i < ARRAY_LEN(probes); i++)
		if (json_get(container, probes[i]))
			check_probe(probes[i], json_get(container, probes[i]), pod,
				    AT_FIELD(at, probes[i]), errors);
}

void container_probes_forbid(const struct cJSON *container, const struct at *at,
			     struct field_errors *errors)
{
	static const char words[] =
	    "may not be set for init containers without restartPolicy=Always";

	if (json_get(container, "lifecycle"))
		refuse_at(errors, FIELD_FORBIDDEN, NULL, words, AT_FIELD(at, "lifecycle"));
	for (size_t i = 0; i < ARRAY_LEN(probes); i++)
		if (json_get(container, probes[i]))
			refuse_at(errors, FIELD_FORBIDDEN, NULL, words, AT_FIELD(at, probes[i]));
}
