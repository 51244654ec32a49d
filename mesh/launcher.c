/* See mesh/launcher.h. A row of the table for each way to start agents. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "copy/rsh.h"
#include "mesh/launcher.h"
#include "protocol/secret.h"

/* How long programs may take to end once their agents have. */
#define END_MS   5000
#define PAUSE_MS 20

/* Enough for a launcher with an agent's words: there are at most ADDRESSES_MAX addresses. */
#define WORDS_MAX 64

/* "/proc/PID/fd/N" */
#define KEPT_PATH_SIZE 40

/* What a row needs to make the words. */
struct start {
	const struct options *options;
	const struct host_list *hosts;
	const struct rendezvous *rendezvous;
	const char *host; /* of the agent; NULL: all */
	char *list;       /* of hosts: "h1,h2" */
	char *slots;      /* of hosts: "h1:1,h2:1" */
	char *command;    /* of an agent, for a shell, without the name of its host */
	char *rsh;        /* words of --rsh, which are separated here */
	char count[16];
	char port[8];
	char name[MESH_NAME_SIZE + 16];
	char script[KEPT_PATH_SIZE];
	const char *words[WORDS_MAX + RSH_WORDS_MAX];
	int used;
};

struct launcher_row {
	const char *name;
	bool each; /* one program for each host */
	enum token_way { BY_INPUT, BY_FILE, BY_VARIABLE } token;
	void (*words)(struct start *start);
};

static void add(struct start *start, const char *word)
{
	start->words[start->used++] = word;
	start->words[start->used] = NULL;
}

/* Adds words up to NULL. */
static void add_all(struct start *start, const char *const words[])
{
	for (; *words; words++)
		add(start, *words);
}

/* Adds these words. */
#define ADD(start, ...) add_all(start, (const char *const[]){__VA_ARGS__, NULL})

/* The words of an agent. */
static void add_agent(struct start *start)
{
	const struct options *options = start->options;

	ADD(start, options->mesh.agent_path ? options->mesh.agent_path : "rdma-client",
		"mesh-agent", start->port);
	for (unsigned int i = 0; i < start->rendezvous->count; i++)
		add(start, start->rendezvous->addresses[i]);
	if (options->device)
		ADD(start, "--device", options->device);
}

/* The words of --rsh; or ssh, which asks nothing, because nobody would see its prompts. */
static void add_rsh(struct start *start)
{
	char *words[RSH_WORDS_MAX + 1];
	int count = rsh_split(start->rsh, words);

	for (int i = 0; i < count; i++)
		add(start, words[i]);
	if (count == 1 && strcmp(words[0], "ssh") == 0)
		ADD(start, "-o", "BatchMode=yes");
}

static void add_ssh(struct start *start)
{
	add_rsh(start);
	ADD(start, start->host, start->command);
	snprintf(start->name, sizeof(start->name), "--name %s", start->host);
	add(start, start->name);
}

static void add_srun(struct start *start)
{
	ADD(start, "srun", "--nodelist", start->list, "--nodes", start->count, "--ntasks",
		start->count, "--ntasks-per-node=1", "--overlap", "--mpi=none",
		"--kill-on-bad-exit=0", "--input=all");
	add_agent(start);
}

static void add_clush(struct start *start)
{
	ADD(start, "clush", "-w", start->list, "-f", start->count, start->command);
}

/* pdsh has no standard input for the agents, so it runs a script that reads the token. */
static void add_pdsh(struct start *start)
{
	ADD(start, "pdsh", "-R", "exec", "-f", start->count, "-w", start->list, "sh", start->script,
		"%h");
}

/* mpirun gives standard input to one process only, so it passes on a variable. */
static void add_mpirun(struct start *start)
{
	ADD(start, "mpirun", "--host", start->slots, "-np", start->count, "--map-by", "ppr:1:node",
		"-x", TOKEN_VARIABLE);
	add_agent(start);
}

static const struct launcher_row rows[] = {
	[VIA_SSH] = {"ssh", true, BY_INPUT, add_ssh},
	[VIA_SRUN] = {"srun", false, BY_INPUT, add_srun},
	[VIA_CLUSH] = {"clush", false, BY_INPUT, add_clush},
	[VIA_PDSH] = {"pdsh", false, BY_FILE, add_pdsh},
	[VIA_MPIRUN] = {"mpirun", false, BY_VARIABLE, add_mpirun},
	[VIA_NONE] = {"none", false, BY_FILE, NULL},
};

const char *launcher_name(const struct launcher *launcher)
{
	return launcher->row->name;
}

/* True if a folder of PATH has the program. */
static bool is_installed(const char *program)
{
	const char *path = getenv("PATH");
	char file[4096];

	while (path && *path) {
		size_t length = strcspn(path, ":");

		snprintf(file, sizeof(file), "%.*s/%s", (int)length, path, program);
		if (access(file, X_OK) == 0)
			return true;
		path += length + (path[length] == ':');
	}
	return false;
}

static enum options_via choose(const struct options *options)
{
	static const enum options_via others[] = {VIA_CLUSH, VIA_PDSH};

	if (options->mesh.via != VIA_AUTO)
		return options->mesh.via;
	if (getenv("SLURM_JOB_ID") && is_installed("srun"))
		return VIA_SRUN;
	/* What --rsh names is how the user reaches the hosts. */
	for (size_t i = 0; !options->copy.rsh && i < sizeof(others) / sizeof(others[0]); i++)
		if (is_installed(rows[others[i]].name))
			return others[i];
	return VIA_SSH;
}

/* Joins the names of the hosts, each followed by this text, by commas. The caller frees it. */
static char *join(const struct host_list *hosts, const char *suffix)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return NULL;
	for (unsigned int i = 0; i < hosts->count; i++)
		fprintf(stream, "%s%s%s", i ? "," : "", hosts->names[i], suffix);
	return fclose(stream) ? NULL : text;
}

/* The command of an agent for a shell. The caller frees it. */
static char *shell_command(struct start *start)
{
	char *text = NULL, *quoted;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return NULL;
	start->used = 0;
	add_agent(start);
	for (int i = 0; i < start->used; i++) {
		quoted = malloc(TEXT_QUOTED_SIZE(strlen(start->words[i])));
		if (quoted)
			text_quote(quoted, start->words[i]);
		fprintf(stream, "%s%s", i ? " " : "", quoted ? quoted : "");
		free(quoted);
	}
	start->used = 0;
	return fclose(stream) ? NULL : text;
}

/*
 * Keeps a text where only programs of this user can read it, and only until launcher_end() or the
 * end of this program. Returns 0 or -errno.
 */
static int keep(struct launcher *launcher, const char *text, char path[KEPT_PATH_SIZE])
{
	char own[SECRET_PATH_SIZE];
	int file = secret_keep(text, own);

	if (file < 0)
		return file;
	launcher->kept[launcher->kept_count++] = file;
	snprintf(path, KEPT_PATH_SIZE, "/proc/%d/fd/%d", getpid(), file);
	return 0;
}

/* Returns a script that gives the agent of the host "$1" this token. The caller frees it. */
static char *make_script(struct start *start, const char *token)
{
	char *script = NULL;
	size_t size;
	FILE *stream = open_memstream(&script, &size);

	if (!stream)
		return NULL;
	start->used = 0;
	add_rsh(start);
	fputs("exec", stream);
	for (int i = 0; i < start->used; i++)
		fprintf(stream, " %s", start->words[i]);
	fprintf(stream, " \"$1\" \"%s --name $1\" <%s\n", start->command, token);
	return fclose(stream) ? NULL : script;
}

/* Keeps the token, and the script that gives it to an agent. Returns 0 or -errno. */
static int keep_token(struct launcher *launcher, struct start *start)
{
	char line[SECRET_TEXT_SIZE + 1], path[KEPT_PATH_SIZE], *script;
	int error;

	snprintf(line, sizeof(line), "%s\n", start->rendezvous->token);
	error = keep(launcher, line, path);
	if (error)
		return error;
	script = make_script(start, path);
	error = script ? keep(launcher, script, start->script) : -ENOMEM;
	free(script);
	return error;
}

/* Starts one program, and gives it the token. */
static int start_child(struct launcher *launcher, struct start *start)
{
	const struct launcher_row *row = launcher->row;
	struct child *child = &launcher->children[launcher->count];
	int error;

	start->used = 0;
	free(start->rsh);
	start->rsh = strdup(rsh_of(start->options));
	if (!start->rsh)
		return -ENOMEM;
	row->words(start);
	if (row->token == BY_VARIABLE)
		setenv(TOKEN_VARIABLE, start->rendezvous->token, 1);
	error = child_start(child, start->words, row->token == BY_INPUT, true, -1);
	unsetenv(TOKEN_VARIABLE);
	if (error)
		return error;
	launcher->count++;
	/* Of a program that has ended already, launcher_has_ended() tells why. */
	if (row->token == BY_INPUT && dprintf(child->input, "%s\n", start->rendezvous->token) < 0 &&
		errno != EPIPE)
		return -errno;
	child_close_input(child);
	return 0;
}

static int start_children(struct launcher *launcher, struct start *start)
{
	const struct host_list *hosts = start->hosts;
	int error = 0;

	if (launcher->row->token == BY_FILE)
		error = keep_token(launcher, start);
	if (!launcher->row->each)
		return error ? error : start_child(launcher, start);
	for (unsigned int i = 0; !error && i < hosts->count; i++) {
		start->host = hosts->names[i];
		error = start_child(launcher, start);
	}
	return error;
}

int launcher_start(struct launcher *launcher, const struct options *options,
	const struct host_list *hosts, const struct rendezvous *rendezvous,
	char why[MESH_REASON_SIZE])
{
	struct start start = {.options = options, .hosts = hosts, .rendezvous = rendezvous};
	int error = -ENOMEM;

	*launcher = (struct launcher){.row = &rows[choose(options)]};
	if (!launcher->row->words)
		return 0;
	snprintf(start.count, sizeof(start.count), "%u", hosts->count);
	snprintf(start.port, sizeof(start.port), "%u", rendezvous->port);
	start.rsh = strdup(rsh_of(options));
	start.list = join(hosts, "");
	start.slots = join(hosts, ":1");
	start.command = shell_command(&start);
	launcher->children = calloc(hosts->count, sizeof(launcher->children[0]));
	if (start.rsh && start.list && start.slots && start.command && launcher->children)
		error = start_children(launcher, &start);
	free(start.rsh);
	free(start.list);
	free(start.slots);
	free(start.command);
	if (error)
		snprintf(why, MESH_REASON_SIZE, "cannot run %s: %s", launcher->row->name,
			strerror(-error));
	return error ? -1 : 0;
}

size_t launcher_poll(
	const struct launcher *launcher, struct pollfd *polled, size_t size, int *milliseconds)
{
	size_t count = 0;

	for (unsigned int i = 0; i < launcher->count && count + 2 <= size; i++)
		count += child_poll(&launcher->children[i], polled + count, milliseconds);
	return count;
}

bool launcher_check(struct launcher *launcher)
{
	bool ended = false;

	for (unsigned int i = 0; i < launcher->count; i++)
		ended |= child_check(&launcher->children[i]);
	return ended;
}

/*
 * Copies the last line that is not empty or, if there is one, the first that begins with the name
 * of the host, as clush(1) and pdsh(1) print what a host has printed.
 */
static void copy_line(const char *text, const char *host, char line[MESH_REASON_SIZE])
{
	size_t size = strlen(host);
	bool found = false;

	*line = '\0';
	while (*(text += strspn(text, "\r\n")) && !found) {
		size_t length = strcspn(text, "\r\n");

		found = strncmp(text, host, size) == 0 && text[size] == ':';
		snprintf(line, MESH_REASON_SIZE, "%.*s", (int)length, text);
		text += length;
	}
	text_printable(line);
}

bool launcher_has_ended(const struct launcher *launcher, unsigned int host, const char *name,
	char why[MESH_REASON_SIZE])
{
	const struct child *child;

	*why = '\0';
	if (launcher->count == 0)
		return false;
	child = &launcher->children[launcher->row->each && host < launcher->count ? host : 0];
	copy_line(child->error_text, name, why);
	return !child_runs(child);
}

bool launcher_runs(const struct launcher *launcher)
{
	bool runs = false;

	for (unsigned int i = 0; i < launcher->count; i++)
		runs |= child_runs(&launcher->children[i]);
	return runs;
}

void launcher_end(struct launcher *launcher)
{
	deadline_t deadline = deadline_in(END_MS);

	launcher_check(launcher);
	while (launcher_runs(launcher) && deadline_left(deadline) > 0) {
		poll(NULL, 0, PAUSE_MS);
		launcher_check(launcher);
	}
	for (unsigned int i = 0; i < launcher->count; i++)
		child_end(&launcher->children[i]);
	for (unsigned int i = 0; i < launcher->count; i++)
		child_free(&launcher->children[i]);
	free(launcher->children);
	launcher->children = NULL;
	launcher->count = 0;
	while (launcher->kept_count > 0)
		close(launcher->kept[--launcher->kept_count]);
}
