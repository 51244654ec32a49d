/*
 * What the tests of lines share: each prints in a process of its own, whose standard output and
 * error are files that are looked at afterwards, or a terminal, or a pipe that nobody reads.
 */
#ifndef TESTS_UNIT_BASE_OUTPUT_FIXTURE_H
#define TESTS_UNIT_BASE_OUTPUT_FIXTURE_H

#include <stdbool.h>

#include "base/output.h"

/* When threads print at the same time: how many of them, and how often each. */
#define THREADS 4
#define LINES   500

/* What a process printed, and its exit status. */
extern struct printed {
	char out[65536], error[131072];
	int status;
} printed;

extern const struct output plain, quiet, verbose;

/* Runs body in a process of its own; where is the path of its standard output, NULL for a file. */
void run(int (*body)(void), const char *where);

/* Runs body with a terminal as its standard error, and as its standard output or that discarded. */
void run_on_terminal(int (*body)(void), bool both, unsigned short columns);

/* Makes a full pipe of standard error or output. Returns the end to read from. */
int fill(int descriptor);

/* Empties the pipe until the text came so often. Returns 0 if it did, after only what filled it. */
int read_after_filling(int pipe, const char *text, unsigned int times);

#endif
