/*
 * The lines that the programs print: the exchange's on standard output, details and errors on
 * standard error. Each is written whole and flushed, whichever thread prints it, so that scripts
 * can wait for a line and lines never mix.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdbool.h>

#include "failure.h"

struct output {
	const char *program; /* begins lines on standard error */
	bool quiet;          /* nothing on standard output */
	bool verbose;        /* details on standard error */
};

/* Makes standard output line-buffered. Before any other thread starts. setvbuf(3). */
void output_start(void);

/* A line of the exchange. Any thread, like the next two. */
void output_line(const struct output *output, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A line that only --verbose shows. */
void output_detail(const struct output *output, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A line about a failure. */
void output_error(const struct output *output, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Flushes standard output at the end of main. Returns the status given, or STATUS_FAILED, having
 * said so, if that was STATUS_OK but lines were lost (a closed pipe, a full disk).
 */
enum exit_status output_finish(const struct output *output, enum exit_status status);

#endif
