/* Runs a test in a child process and captures its output. Owns the child and its files. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/output.h"
#include "tests/unit/base/output-fixture.h"
#include "tests/unit/unit.h"

const struct output plain = {.program = "prog"};
const struct output quiet = {.program = "prog", .quiet = true};
const struct output verbose = {.program = "prog", .verbose = true};

struct printed printed;

static void read_back(FILE *file, char text[65536])
{
	size_t size;

	rewind(file);
	size = fread(text, 1, 65535, file);
	text[size] = '\0';
	fclose(file);
}

/* Forks a child with these descriptors as its standard output and error. Returns like fork(2). */
static pid_t begin(int out, int error)
{
	pid_t child;

	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		dup2(out, STDOUT_FILENO);
		dup2(error, STDERR_FILENO);
		output_start();
	}
	return child;
}

static void end(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	printed.status = WEXITSTATUS(status);
}

void run(int (*body)(void), const char *where)
{
	FILE *out = where ? fopen(where, "r+") : tmpfile();
	FILE *error = tmpfile();
	pid_t child;

	assert_true(out && error);
	child = begin(fileno(out), fileno(error));
	if (child == 0)
		_exit(body());
	end(child);
	if (where)
		fclose(out);
	else
		read_back(out, printed.out);
	read_back(error, printed.error);
}

/* Opens a raw pseudoterminal of this width. Returns the master and stores the slave in *other. */
static int open_terminal(unsigned short columns, int *other)
{
	const struct winsize window = {.ws_row = 24, .ws_col = columns};
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	struct termios settings;

	assert_true(master >= 0 && !grantpt(master) && !unlockpt(master));
	*other = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(*other >= 0 && !tcgetattr(*other, &settings));
	cfmakeraw(&settings);
	assert_int_equal(tcsetattr(*other, TCSANOW, &settings), 0);
	assert_int_equal(ioctl(*other, TIOCSWINSZ, &window), 0);
	return master;
}

void run_on_terminal(int (*body)(void), bool both, unsigned short columns)
{
	int terminal, master = open_terminal(columns, &terminal);
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	size_t size = 0;
	ssize_t got;
	pid_t child;

	assert_true(nowhere >= 0);
	child = begin(both ? terminal : nowhere, terminal);
	if (child == 0)
		_exit(body());
	close(nowhere);
	close(terminal);
	/* EIO means that no process has the slave open anymore. */
	while ((got = read(master, printed.error + size, sizeof(printed.error) - 1 - size)) > 0)
		size += (size_t)got;
	assert_true(got < 0 && errno == EIO);
	printed.error[size] = '\0';
	close(master);
	end(child);
}

int fill(int descriptor)
{
	char bytes[4096];
	int ends[2];

	memset(bytes, 'x', sizeof(bytes));
	assert_false(pipe(ends));
	assert_true(dup2(ends[1], descriptor) == descriptor);
	assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
	while (write(ends[1], bytes, sizeof(bytes)) > 0)
		;
	assert_int_equal(fcntl(ends[1], F_SETFL, 0), 0);
	close(ends[1]);
	return ends[0];
}

int read_after_filling(int pipe, const char *text, unsigned int times)
{
	char bytes[4096];
	size_t met = 0;

	while (met < times * strlen(text)) {
		ssize_t got = read(pipe, bytes, sizeof(bytes));

		if (got < 0)
			nanosleep(&(struct timespec){0, 1000000}, NULL); /* EAGAIN */
		for (ssize_t i = 0; i < got; i++)
			if (bytes[i] == text[met % strlen(text)])
				met++;
			else if (bytes[i] != 'x' || met > 0)
				return 1;
	}
	return 0;
}
