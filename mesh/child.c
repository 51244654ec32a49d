/* See mesh/child.h. fork(2): between it and execvp(3), the child calls only system calls. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mesh/child.h"

/* How long it may take to end by itself; interval between checks. */
#define END_MS        2000
#define STUCK_MS      1000
#define PAUSE_NS      5000000
#define CHECK_MS      20
#define STATUS_SIGNAL 128

/* The ends of the pipes: [0] is read. */
struct pipes {
	int input[2], output[2], errors[2], failure[2];
};

static void close_pair(int ends[2])
{
	for (int i = 0; i < 2; i++)
		if (ends[i] >= 0)
			close(ends[i]);
	ends[0] = ends[1] = -1;
}

static void close_pipes(struct pipes *pipes)
{
	close_pair(pipes->input);
	close_pair(pipes->output);
	close_pair(pipes->errors);
	close_pair(pipes->failure);
}

static int open_pipes(struct pipes *pipes, bool takes_input, bool keeps_errors)
{
	*pipes = (struct pipes){{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
	if (pipe2(pipes->output, O_CLOEXEC) || pipe2(pipes->failure, O_CLOEXEC) ||
		(takes_input && pipe2(pipes->input, O_CLOEXEC)) ||
		(keeps_errors && pipe2(pipes->errors, O_CLOEXEC)))
		return -errno;
	if (!takes_input)
		pipes->input[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return pipes->input[0] < 0 ? -errno : 0;
}

/* In the child: makes this file the descriptor that the program inherits. */
static bool give(int file)
{
	return (file == CHILD_PASSED ? fcntl(file, F_SETFD, 0) : dup2(file, CHILD_PASSED)) >= 0;
}

/* In the child: becomes the program, or reports why not. The parent may have died meanwhile. */
static void become(const char *const words[], const struct pipes *pipes, int pass, pid_t parent)
{
	sigset_t none;
	int error;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	setpgid(0, 0);
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) || getppid() != parent)
		_exit(STATUS_SIGNAL + SIGTERM);
	/* pass may be one of the descriptors that are replaced, but is not below CHILD_PASSED. */
	if (dup2(pipes->input[0], STDIN_FILENO) >= 0 &&
		dup2(pipes->output[1], STDOUT_FILENO) >= 0 &&
		(pipes->errors[1] < 0 || dup2(pipes->errors[1], STDERR_FILENO) >= 0) &&
		(pass < 0 || give(pass)) &&
		close_range(pass < 0 ? CHILD_PASSED : CHILD_PASSED + 1, UINT_MAX,
			CLOSE_RANGE_CLOEXEC) == 0)
		execvp(words[0], (char *const *)words);
	error = errno;
	if (write(pipes->failure[1], &error, sizeof(error)) < 0)
		_exit(STATUS_SIGNAL);
	_exit(STATUS_SIGNAL - 1);
}

static int take_end(int *end)
{
	int taken = *end;

	*end = -1;
	if (taken >= 0)
		fcntl(taken, F_SETFL, O_NONBLOCK);
	return taken;
}

/* Moves the failure pipe's end away from the descriptor that the child replaces. */
static int keep_above(int *end)
{
	int moved = fcntl(*end, F_DUPFD_CLOEXEC, CHILD_PASSED + 1);

	if (moved < 0)
		return -errno;
	close(*end);
	*end = moved;
	return 0;
}

int child_start(struct child *child, const char *const words[], bool takes_input, bool keeps_errors,
	int pass)
{
	pid_t parent = getpid();
	struct pipes pipes;
	int error = open_pipes(&pipes, takes_input, keeps_errors), reported = 0;

	*child = CHILD_NONE;
	if (!error)
		error = keep_above(&pipes.failure[1]);
	if (!error && !(child->text = calloc(1, CHILD_TEXT_MAX + 1)))
		error = -ENOMEM;
	if (!error && (child->process = fork()) < 0)
		error = -errno;
	if (!error && child->process == 0)
		become(words, &pipes, pass, parent);
	if (!error) {
		setpgid(child->process, child->process);
		close(pipes.failure[1]);
		pipes.failure[1] = -1;
		/* Nothing arrives if the program runs: the pipe is closed then. */
		if (read(pipes.failure[0], &reported, sizeof(reported)) == sizeof(reported)) {
			waitpid(child->process, NULL, 0);
			error = -reported;
		}
	}
	if (!error) {
		child->input = takes_input ? take_end(&pipes.input[1]) : -1;
		child->output = take_end(&pipes.output[0]);
		child->errors = take_end(&pipes.errors[0]);
	} else {
		free(child->text);
		*child = CHILD_NONE;
	}
	close_pipes(&pipes);
	return error;
}

bool child_runs(const struct child *child)
{
	return child->process > 0;
}

/* Reads what a pipe has; what exceeds the text is lost. Closes the pipe at its end. */
static void drain(int *end, char *text, size_t *used, size_t size)
{
	char more[4096];
	ssize_t got;

	while (*end >= 0 && (got = read(*end, more, sizeof(more))) != -1) {
		size_t kept = (size_t)got < size - *used ? (size_t)got : size - *used;

		memcpy(text + *used, more, kept);
		*used += kept;
		text[*used] = '\0';
		if (got == 0) {
			close(*end);
			*end = -1;
		}
	}
	if (*end >= 0 && errno != EAGAIN && errno != EINTR) {
		close(*end);
		*end = -1;
	}
}

static void drain_both(struct child *child)
{
	drain(&child->output, child->text, &child->text_used, CHILD_TEXT_MAX);
	drain(&child->errors, child->error_text, &child->error_used, CHILD_ERRORS_MAX - 1);
}

bool child_check(struct child *child)
{
	int status;

	if (!child_runs(child))
		return false;
	drain_both(child);
	if (child->ending && deadline_left(child->killing) == 0)
		kill(-child->process, SIGKILL);
	if (waitpid(child->process, &status, WNOHANG) != child->process)
		return false;
	/* What it printed last. */
	drain_both(child);
	child->status = WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_SIGNAL + WTERMSIG(status);
	child->process = 0;
	return true;
}

size_t child_poll(const struct child *child, struct pollfd polled[2], int *milliseconds)
{
	size_t count = 0;

	if (!child_runs(child))
		return 0;
	if (child->output >= 0)
		polled[count++] = (struct pollfd){.fd = child->output, .events = POLLIN};
	if (child->errors >= 0)
		polled[count++] = (struct pollfd){.fd = child->errors, .events = POLLIN};
	/* The end of a process is no event, but it follows that of its output. */
	if ((child->output < 0 || child->ending) && *milliseconds > CHECK_MS)
		*milliseconds = CHECK_MS;
	return count;
}

void child_close_input(struct child *child)
{
	if (child->input >= 0)
		close(child->input);
	child->input = -1;
}

void child_end(struct child *child)
{
	if (!child_runs(child) || child->ending)
		return;
	kill(-child->process, SIGTERM);
	child->ending = true;
	child->killing = deadline_in(END_MS);
}

bool child_is_stuck(const struct child *child)
{
	return child_runs(child) && child->ending && deadline_left(child->killing + STUCK_MS) == 0;
}

void child_free(struct child *child)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};

	child_close_input(child);
	child_end(child);
	while (child_runs(child) && !child_check(child) && !child_is_stuck(child))
		nanosleep(&pause, NULL);
	if (child->output >= 0)
		close(child->output);
	if (child->errors >= 0)
		close(child->errors);
	free(child->text);
	*child = CHILD_NONE;
}

void child_own_program(const char *name, char *path, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", path, size - 1);
	char *end;

	path[length > 0 ? length : 0] = '\0';
	end = strrchr(path, '/');
	if (end && (size_t)(end - path) + strlen(name) + 2 <= size) {
		memcpy(end + 1, name, strlen(name) + 1);
		if (access(path, X_OK) == 0)
			return;
	}
	snprintf(path, size, "%s", name);
}
