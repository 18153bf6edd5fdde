/*
 * completion: a script for the shell, which asks `muster __complete` for the words, so that names
 * are those of the hub. `kubectl muster <TAB>` asks the program kubectl_complete-muster for them.
 */
#include "completion.h"

#include "base/json.h"
#include "command.h"

#include <string.h>

static const char bash[] =
    "_muster() {\n"
    "    local IFS=$'\\n'\n"
    "    COMPREPLY=($(compgen -W \"$(muster __complete \"${COMP_WORDS[@]:1:COMP_CWORD}\" "
    "2>/dev/null)\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n"
    "}\n"
    "complete -F _muster muster kubectl-muster\n";
static const char zsh[] =
    "#compdef muster kubectl-muster\n"
    "_muster() {\n"
    "    local -a found\n"
    "    found=(\"${(@f)$(muster __complete \"${(@)words[2,CURRENT]}\" 2>/dev/null)}\")\n"
    "    compadd -- $found\n"
    "}\n"
    "compdef _muster muster kubectl-muster\n";
static const char fish[] = "complete -c muster -f -a '(muster __complete (commandline -opc)[2..-1] "
			   "(commandline -ct) 2>/dev/null)'\n";

static int run_completion(const struct command_line *line)
{
	static const struct {
		const char *shell, *script;
	} scripts[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

	for (size_t i = 0; line->n_args == 1 && i < ARRAY_LEN(scripts); i++) {
		if (strcmp(line->args[0], scripts[i].shell) == 0) {
			fputs(scripts[i].script, stdout);
			return EXIT_OK;
		}
	}
	return command_usage(&verb_completion);
}

const struct verb verb_completion = {"completion", "bash|zsh|fish", "a script for the shell",
				     run_completion};

/* ---- words ---- */

static void add_jobs(struct client *c, const struct command_line *line)
{
	auto_buf path = BUF_INIT;
	auto_json *tree = NULL;

	buf_addf(&path, COMMAND_QUERY_PATH "/namespaces/%s/jobs", command_namespace(line, c));
	if (client_get(c, path.ptr, &tree, NULL) < 0)
		return;
	json_foreach (json_get(tree, "items"), j) {
		const char *kind = json_str(j, "kind"), *name = json_str(j, "name");
		if (!kind || !name)
			continue;
		for (const char *p = kind; *p; p++)
			putchar(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p);
		printf("/%s\n%s\n", name, name);
	}
}

static void add_names(struct client *c, const char *query, const char *list, const char *key)
{
	auto_json *tree = NULL;

	if (client_get(c, query, &tree, NULL) < 0)
		return;
	json_foreach (json_get(tree, list), o)
		if (json_str(o, key))
			printf("%s\n", json_str(o, key));
}

static bool takes_job(const char *verb)
{
	static const char *const verbs[] = {"why", "wait", "logs", "pods"};

	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (strcmp(verbs[i], verb) == 0)
			return true;
	return false;
}

/* The last word is the one that is being typed. */
int completion_words(const struct command_line *line)
{
	struct client *c = NULL;

	if (line->n_args <= 1) {
		for (const struct verb *const *v = command_verbs; *v; v++)
			printf("%s\n", (*v)->name);
		return EXIT_OK;
	}
	const char *verb = line->args[0];
	if (line->n_args != 2)
		return EXIT_OK;
	if (strcmp(verb, "completion") == 0) {
		fputs("bash\nzsh\nfish\n", stdout);
		return EXIT_OK;
	}
	if (client_open(&line->client, &c, NULL) < 0)
		return EXIT_OK;
	if (takes_job(verb))
		add_jobs(c, line);
	else if (strcmp(verb, "unjoin") == 0)
		add_names(c, COMMAND_QUERY_PATH "/clusters", "items", "name");
	else if (strcmp(verb, "quota") == 0)
		add_names(c, COMMAND_QUERY_PATH "/quota", "nodes", "path");
	client_close(c);
	return EXIT_OK;
}
