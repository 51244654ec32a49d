/* Starts and ends the server at the other host: see copy/far-side.h. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/spawn.h"
#include "copy/far-command.h"
#include "copy/far-side.h"
#include "copy/reach.h"
#include "copy/rsh.h"
#include "protocol/ready-line.h"

/* Exit statuses of a shell that finds no such program, and of ssh(1) itself. */
#define STATUS_NOT_FOUND 127
#define STATUS_OF_SSH    255

/* How long the server may take to end, interval between checks, and reads at each of them. */
#define END_MS       10000
#define END_CHECK_NS 20000000
#define DRAIN_MAX    256

/* Bytes of a line, and lines of these, before the server has told where it listens. */
#define LINE_SIZE 8192
#define LINES_MAX 4096

/* Bytes of a list of addresses in a message. */
#define ADDRESSES_SIZE 300

/* Runs --rsh with the command. Returns 0 or an errno. */
static int run(struct far_side *side, const struct options *options, char *rsh, char *command)
{
	char *words[RSH_WORDS_MAX + 3];
	int count = rsh_split(rsh, words), to[2], from[2], error;

	if (count < 0)
		return E2BIG;
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
	error = spawn_program(&side->process, words, to[0], from[1], true);
	close(to[0]);
	close(from[1]);
	side->input = to[1];
	side->lines = fdopen(from[0], "r");
	if (!side->lines)
		close(from[0]);
	return error ? error : side->lines ? 0 : ENOMEM;
}

/* The process, for the handler of signals. */
static volatile sig_atomic_t child;

/* Ends the process, too: it may not notice the end of this one, as ssh(1) at a password prompt. */
static void end_both(int number)
{
	if (child > 0)
		kill((pid_t)child, SIGTERM);
	signal(number, SIG_DFL);
	raise(number);
}

/* Handles signals while nothing else reads them: before the exchange and, at its end, again. */
static void watch_signals(pid_t process)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = process ? end_both : SIG_DFL}, before;
	sigset_t handled;

	child = process;
	sigemptyset(&handled);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		sigaddset(&handled, numbers[i]);
		/* nohup(1) has some ignored, and a shell for its background jobs. */
		if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
	}
	pthread_sigmask(SIG_UNBLOCK, &handled, NULL);
}

/* Reads what the process still prints, but does not wait, nor read without end. */
static void drain(const struct far_side *side)
{
	char ignored[4096];

	for (int i = 0; i < DRAIN_MAX && read(fileno(side->lines), ignored, sizeof(ignored)) > 0;
		i++)
		;
}

/*
 * Ends the process by the end of its input, or kills it after a while. Returns its exit status, or
 * -1 if that is unknown.
 */
static int hang_up(struct far_side *side)
{
	const struct timespec pause = {.tv_nsec = END_CHECK_NS};
	deadline_t deadline = deadline_in(END_MS);
	int status = 0;
	pid_t ended;

	close(side->input);
	fcntl(fileno(side->lines), F_SETFL, O_NONBLOCK);
	while ((ended = waitpid(side->process, &status, WNOHANG)) == 0 &&
		deadline_left(deadline) > 0) {
		drain(side);
		nanosleep(&pause, NULL);
	}
	if (ended == 0) {
		kill(side->process, SIGKILL);
		ended = waitpid(side->process, &status, 0);
	}
	watch_signals(0);
	fclose(side->lines);
	if (ended < 0)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Prints why no line has told where the server listens. Returns the exit status. */
static enum exit_status explain(
	struct far_side *side, const struct options *options, const struct output *output)
{
	const char *remote = options->copy.remote, *rsh = rsh_of(options);
	int status;

	/* It prints something else, perhaps without end. */
	if (!feof(side->lines))
		kill(side->process, SIGKILL);
	status = hang_up(side);
	if (status == STATUS_NOT_FOUND)
		output_error(output,
			"rdma-server is not installed at %s, or not in its PATH; install it there, or "
			"name it with --server-path",
			remote);
	else if (status == STATUS_OF_SSH)
		output_error(output, "cannot reach %s by %s; see above", remote, rsh);
	else if (status == STATUS_USAGE)
		output_error(output,
			"rdma-server at %s does not know the options of this copy, as older releases do "
			"not; see above, and install the same release at both hosts",
			remote);
	else
		output_error(output,
			"rdma-server at %s has not started (exit status %d of %s); see above",
			remote, status, rsh);
	return STATUS_CONNECT;
}

/* Reads lines until one tells where the server listens. Returns its addresses, or NULL. */
static const char *read_ready(struct far_side *side, char line[LINE_SIZE], uint16_t *port)
{
	const char *addresses = NULL;

	for (int i = 0; !addresses && i < LINES_MAX && fgets(line, LINE_SIZE, side->lines); i++)
		addresses = ready_line_read(line, port);
	return addresses;
}

/*
 * Chooses the server's address. If this host has no RDMA device with an address, any is as good:
 * the connection tells why. Returns false after an error was printed.
 */
static bool choose_address(struct far_side *side, const struct options *options,
	const char *addresses, const struct output *output)
{
	enum reach reach = reach_choose(addresses, options->device, side->address);
	char there[ADDRESSES_SIZE], here[ADDRESSES_SIZE];

	if (reach == REACH_INVALID)
		output_error(output,
			"rdma-server at %s has no RDMA address; look there: rdma-client diagnose",
			options->copy.remote);
	if (reach != REACH_NOT)
		return reach != REACH_INVALID;
	reach_list(addresses, options->device, there, here, sizeof(there));
	if (*here == '\0')
		return true;
	output_error(output,
		"no common RDMA network with %s: its RDMA addresses are %s, those of this host %s; "
		"give a device at each host an address of one network, or add a route",
		options->copy.remote, there, here);
	return false;
}

/* Waits until the server listens, and chooses its address. */
static enum exit_status find_server(
	struct far_side *side, struct options *options, const struct output *output)
{
	char line[LINE_SIZE];
	const char *addresses = read_ready(side, line, &options->port);

	if (!addresses)
		return explain(side, options, output);
	if (choose_address(side, options, addresses, output))
		return STATUS_OK;
	hang_up(side);
	return STATUS_CONNECT;
}

/* Starts the process and gives it the secret. Returns 0 or an errno. */
static int start(struct far_side *side, const struct options *options)
{
	char secret[SECRET_TEXT_SIZE], *rsh = strdup(rsh_of(options));
	char *command = far_command_of(options);
	int error = rsh && command ? 0 : ENOMEM;

	secret_make(secret);
	if (!error)
		side->secret = secret_keep(secret, side->secret_path);
	if (!error && side->secret < 0)
		error = -side->secret;
	if (!error)
		error = run(side, options, rsh, command);
	if (!error) {
		watch_signals(side->process);
		/* If it has ended already, its output says so. */
		signal(SIGPIPE, SIG_IGN);
		if (dprintf(side->input, "%s\n", secret) < 0 && errno != EPIPE)
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

void far_side_end(struct far_side *side)
{
	watch_signals(side->process);
	hang_up(side);
	close(side->secret);
}
