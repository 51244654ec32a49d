/*
 * The fixture of the output tests. Each test prints from a child process, whose standard output and
 * error are files that are read afterwards, a terminal, or a full pipe.
 */
#ifndef TESTS_UNIT_BASE_OUTPUT_FIXTURE_H
#define TESTS_UNIT_BASE_OUTPUT_FIXTURE_H

#include <stdbool.h>

#include "base/output.h"

/* For tests that print concurrently: the number of threads, and of iterations per thread. */
#define THREADS 4
#define LINES   500

/* The output of the child process, and its exit status. */
extern struct printed {
	char out[65536], error[131072];
	int status;
} printed;

extern const struct output plain, quiet, verbose;

/* Runs body in a child process with standard output to the path `where`; NULL: a temporary file. */
void run(int (*body)(void), const char *where);

/*
 * Runs body in a child process with standard error on a terminal of this width. Standard output is
 * the same terminal if `both` is set, otherwise /dev/null. Stores the terminal's output in
 * printed.error.
 */
void run_on_terminal(int (*body)(void), bool both, unsigned short columns);

/* Replaces the descriptor with the write end of a full pipe. Returns the read end, nonblocking. */
int fill(int descriptor);

/*
 * Reads from a pipe that fill() filled until the text has arrived this many times. Returns 0, or 1
 * if the pipe contains anything but the filling followed by the text.
 */
int read_after_filling(int pipe, const char *text, unsigned int times);

#endif
