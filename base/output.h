/*
 * The lines that the programs print: the exchange's on standard output, details and errors on
 * standard error. Whichever thread prints a line only leaves it in a queue; a thread of our own
 * writes it, whole and at once, so that scripts can wait for a line, lines never mix, and nobody
 * else ever waits for a file, a pipe or a terminal. Where standard output is for data or reports,
 * the lines of the exchange move to standard error.
 *
 * One line may stand at the end of a terminal and be rewritten in place: that of the progress.
 * Every other line that reaches a terminal through these functions erases it first.
 */
#ifndef BASE_OUTPUT_H
#define BASE_OUTPUT_H

#include <stdbool.h>

#include "base/failure.h"

struct output {
	const char *program; /* begins lines on standard error */
	bool quiet;          /* no lines of the exchange */
	bool verbose;        /* details on standard error */
	/*
	 * The exchange's lines go to standard error, as they are: standard output has other uses.
	 */
	bool lines_on_stderr;
};

/* Makes sure that descriptors 0 to 2 are no file's that is opened later. First of all in main. */
void output_start(void);

/* True if the path names standard output: "-" or "/dev/stdout". Any thread. */
bool output_is_standard(const char *path);

/* A line of the exchange. Any thread, like all but output_start() and output_finish(). */
void output_line(const struct output *output, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A line that only --verbose shows. */
void output_detail(const struct output *output, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A line about an error. */
void output_error(const struct output *output, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Bytes of the line that explains a failure. */
#define OUTPUT_FAILURE_SIZE 1024

/* The line that explains a failure (base/explain.h), with this peer, which may be NULL. */
void output_failure(const struct output *output, const struct failure *failure, const char *peer);

/* Prints it likewise, if it is set. Returns the line, which is in the text, or NULL. */
const char *output_outcome(const struct output *output, const struct failure *failure,
	const char *peer, char text[OUTPUT_FAILURE_SIZE]);

/*
 * Shows how far the exchange is, on standard error: on a terminal in place of what was shown
 * before, else as a line like the others. NULL erases what stands there. Of such lines only the
 * newest waits for a reader that pauses. Whether progress is wanted is for the caller to know;
 * `quiet` does not count here.
 */
void output_progress(const struct output *output, const char *line);

/*
 * A line on standard output as it is, whatever struct output says: a document for other programs.
 * It must be safe to print; NULL is one that there was no memory for, and so is lost.
 */
void output_document(const char *line);

/*
 * Waits until every line is written or, for some seconds, nothing is. False if some still wait.
 * The writes into files that lie on a broken disk or network may take as long as they like.
 */
bool output_drain(void);

/*
 * Erases the progress and waits for the last lines at the end of main. Returns the status given, or
 * STATUS_FAILED, having said so, if that was STATUS_OK but lines for standard output were lost (a
 * closed pipe, a full disk, a reader that stopped). Data that was written to the descriptor itself
 * is not looked at: its writer has seen how that went.
 */
enum exit_status output_finish(const struct output *output, enum exit_status status);

#endif
