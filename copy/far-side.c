/* Starts and ends the server at the other host: see copy/far-side.h. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/deadline.h"
#include "copy/far-command.h"
#include "copy/far-side.h"
#include "copy/reach.h"
#include "protocol/ready-line.h"

#define RSH_DEFAULT   "ssh"
#define RSH_WORDS_MAX 32

/* Bytes of the secret, each of them two hexadecimal digits. */
#define SECRET_BYTES 32

/* Exit statuses of a shell that finds no such program, and of ssh(1) itself. */
#define STATUS_NOT_FOUND 127
#define STATUS_OF_SSH    255

/* Interval between checks whether the server has ended. */
#define END_CHECK_NS 20000000

static const char *rsh_of(const struct options *options)
{
	const char *rsh = options->copy.rsh ? options->copy.rsh : getenv("RDMA_RSH");

	return rsh && *rsh ? rsh : RSH_DEFAULT;
}

/* Makes a secret. Returns the line, or NULL with the reason in errno. */
static const char *make_secret(struct far_side *side, char line[2 * SECRET_BYTES + 2])
{
	uint8_t bytes[SECRET_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return NULL;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(line + 2 * i, 3, "%02x", bytes[i]);
	side->secret = secret_keep(line, side->secret_path);
	if (side->secret < 0) {
		errno = -side->secret;
		return NULL;
	}
	strcat(line, "\n");
	return line;
}

/* Runs the words with these descriptors as standard input and output. Returns 0 or an errno. */
static int spawn(pid_t *process, char *const words[], int input, int output)
{
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return error;
	error = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
	if (!error)
		error = posix_spawnp(process, words[0], &actions, NULL, words, environ);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

/* Runs --rsh with the command. Returns 0 or an errno. */
static int run(struct far_side *side, const struct options *options, char *rsh, char *command)
{
	char *words[RSH_WORDS_MAX + 3], *rest = rsh;
	int count = 0, to[2], from[2], error;

	while (count < RSH_WORDS_MAX && (words[count] = strtok_r(rest, " ", &rest)))
		count++;
	words[count++] = (char *)options->copy.remote;
	words[count++] = command;
	words[count] = NULL;
	if (pipe2(to, O_CLOEXEC))
		return errno;
	if (pipe2(from, O_CLOEXEC)) {
		error = errno;
		close(to[0]);
		close(to[1]);
		return error;
	}
	error = spawn(&side->process, words, to[0], from[1]);
	close(to[0]);
	close(from[1]);
	side->input = to[1];
	side->lines = fdopen(from[0], "r");
	if (!side->lines)
		close(from[0]);
	return error ? error : side->lines ? 0 : ENOMEM;
}

/* Closes what run() has opened. */
static void hang_up(struct far_side *side)
{
	if (side->lines)
		fclose(side->lines);
	close(side->input);
	side->lines = NULL;
	side->input = -1;
}

/* Waits for the process, and kills it at the deadline. Returns its exit status. */
static int await(struct far_side *side, deadline_t deadline)
{
	const struct timespec pause = {.tv_nsec = END_CHECK_NS};
	int status;
	pid_t ended;

	while ((ended = waitpid(side->process, &status, WNOHANG)) == 0 &&
		deadline_left(deadline) > 0)
		nanosleep(&pause, NULL);
	if (ended == 0) {
		kill(side->process, SIGKILL);
		ended = waitpid(side->process, &status, 0);
	}
	side->process = 0;
	if (ended < 0)
		return STATUS_OF_SSH;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Prints why no line has told where the server listens. Returns the exit status. */
static enum exit_status explain(
	struct far_side *side, const struct options *options, const struct output *output)
{
	const char *remote = options->copy.remote, *rsh = rsh_of(options);
	int status;

	hang_up(side);
	status = await(side, deadline_in(options->timeout));
	if (status == STATUS_NOT_FOUND)
		output_error(output,
			"rdma-server is not installed at %s, or not in its PATH; install it there, or "
			"name it with --server-path",
			remote);
	else if (status == STATUS_OF_SSH)
		output_error(output, "cannot reach %s by %s; see above", remote, rsh);
	else
		output_error(output,
			"rdma-server at %s has not started (exit status %d of %s); see above",
			remote, status, rsh);
	return STATUS_CONNECT;
}

/* Reads lines until one tells where the server listens. Returns its addresses, or NULL. */
static const char *read_ready(struct far_side *side, char **line, size_t *size, uint16_t *port)
{
	const char *addresses = NULL;

	while (!addresses && getline(line, size, side->lines) > 0)
		addresses = ready_line_read(*line, port);
	return addresses;
}

/* Waits until the server listens, and chooses its address. */
static enum exit_status find_server(
	struct far_side *side, struct options *options, const struct output *output)
{
	enum exit_status status = STATUS_OK;
	char *line = NULL;
	size_t size = 0;
	const char *addresses = read_ready(side, &line, &size, &options->port);

	if (!addresses) {
		status = explain(side, options, output);
	} else if (!reach_choose(addresses, options->device, side->address)) {
		output_error(output,
			"%s has no address on an RDMA device; add one there: ip addr add",
			options->copy.remote);
		far_side_end(side, options, output, STATUS_CONNECT);
		status = STATUS_CONNECT;
	}
	free(line);
	return status;
}

/* Starts the process and gives it the secret. Returns 0 or an errno. */
static int start(struct far_side *side, const struct options *options)
{
	char secret[2 * SECRET_BYTES + 2], *rsh = strdup(rsh_of(options));
	char *command = far_command_of(options);
	int error = rsh && command ? 0 : ENOMEM;

	if (!error && !make_secret(side, secret))
		error = errno;
	if (!error)
		error = run(side, options, rsh, command);
	if (!error) {
		/* If it has ended already, its output says so. */
		signal(SIGPIPE, SIG_IGN);
		if (write(side->input, secret, strlen(secret)) < 0 && errno != EPIPE)
			error = errno;
	}
	secret_forget(secret, sizeof(secret));
	free(command);
	free(rsh);
	return error;
}

enum exit_status far_side_start(
	struct far_side *side, struct options *options, const struct output *output)
{
	enum exit_status status;
	int error;

	*side = (struct far_side){.input = -1, .secret = -1};
	error = start(side, options);
	if (error) {
		output_error(output, "cannot run %s: %s", rsh_of(options), strerror(error));
		status = STATUS_FAILED;
	} else {
		status = find_server(side, options, output);
	}
	if (status != STATUS_OK) {
		if (side->secret >= 0)
			close(side->secret);
		return status;
	}
	options->command = CLI_EXCHANGE;
	options->secret_file = side->secret_path;
	options->host = side->address;
	return STATUS_OK;
}

enum exit_status far_side_end(struct far_side *side, const struct options *options,
	const struct output *output, enum exit_status status)
{
	int theirs;

	hang_up(side);
	theirs = await(side, deadline_in(options->timeout));
	if (side->secret >= 0)
		close(side->secret);
	side->secret = -1;
	if (status != STATUS_OK || theirs == 0)
		return status;
	output_error(output, "rdma-server at %s ended with status %d; see above",
		options->copy.remote, theirs);
	return STATUS_PEER;
}
