/*
 * The lines that the programs print: the exchange's on standard output, details and errors on
 * standard error. Each is written whole and flushed, whichever thread prints it, so that scripts
 * can wait for a line and lines never mix. Where standard output is for data or reports, the lines
 * of the exchange move to standard error.
 *
 * One line may stand at the end of a terminal and be rewritten in place: that of the progress. Every
 * other line that reaches a terminal through these functions erases it first.
 */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "failure.h"

struct output {
	const char *program; /* begins lines on standard error */
	bool quiet;          /* no lines of the exchange */
	bool verbose;        /* details on standard error */
	/* The exchange's lines go to standard error, as they are: standard output has other uses. */
	bool lines_on_stderr;
};

/* Makes standard output line-buffered. Before any other thread starts. setvbuf(3). */
void output_start(void);

/* A line of the exchange. Any thread, like the next four. */
void output_line(const struct output *output, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A line that only --verbose shows. */
void output_detail(const struct output *output, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A line about a failure. */
void output_error(const struct output *output, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Shows how far the exchange is, on standard error: on a terminal in place of what was shown before,
 * else as a line like the others. NULL erases what stands there. Nobody waits for this line: if
 * whoever reads standard error pauses, it is left out. Whether progress is wanted is for the caller
 * to know; `quiet` does not count here.
 */
void output_progress(const struct output *output, const char *line);

/*
 * A line of another module, on any stream and as it is. Unlike those of the exchange it is printed
 * with `quiet`, too, may have any length, and must be safe to print.
 */
void output_document(FILE *stream, const char *line);

/*
 * Erases the progress and flushes standard output at the end of main. Returns the status given, or
 * STATUS_FAILED, having said so, if that was STATUS_OK but lines were lost (a closed pipe, a full
 * disk). Data that was written to the descriptor itself is not looked at: its writer has seen how
 * that went.
 */
enum exit_status output_finish(const struct output *output, enum exit_status status);

#endif
