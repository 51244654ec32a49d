/*
 * Fixture for the output tests. Each test prints from a child process whose standard output and
 * error are files to be read afterwards, a terminal or a full pipe.
 */
#ifndef TESTS_UNIT_BASE_OUTPUT_FIXTURE_H
#define TESTS_UNIT_BASE_OUTPUT_FIXTURE_H

#include <stdbool.h>

#include "base/output.h"

/* The number of threads in tests that print concurrently, and of iterations per thread. */
#define THREADS 4
#define LINES   500

/* The output and exit status of the child process. */
extern struct printed {
	char out[65536], error[131072];
	int status;
} printed;

extern const struct output plain, quiet, verbose;

/*
 * Runs body in a child process with standard output redirected to the path `where`, or to a
 * temporary file if it is NULL.
 */
void run(int (*body)(void), const char *where);

/*
 * Runs body in a child process with standard error on a terminal of this width. Standard output is
 * the same terminal if `both` is set, otherwise /dev/null. Stores the terminal's output in
 * printed.error.
 */
void run_on_terminal(int (*body)(void), bool both, unsigned short columns);

/* Replaces the descriptor with the write end of a full pipe. Returns the nonblocking read end. */
int fill(int descriptor);

/*
 * Reads a pipe that was filled by fill(), until `text` has arrived `times` times. Returns 1 if the
 * pipe contains anything but the filling followed by the text, otherwise 0.
 */
int read_after_filling(int pipe, const char *text, unsigned int times);

#endif
