/*
 * Prints the programs' output: lines about the exchange on standard output, details and errors on
 * standard error. Callers only queue a line; an output thread writes it whole and unbuffered, so
 * that scripts can wait for a line, lines never mix, and no other thread blocks on a file, pipe or
 * terminal. If standard output carries data or reports, the lines of the exchange go to standard
 * error.
 *
 * Under systemd, a line that goes to the journal begins with its priority, for example "<3>", which
 * the journal removes: sd-daemon(3). This applies to each stream whose device and inode are those
 * in JOURNAL_STREAM: systemd.exec(5).
 *
 * On a terminal, the progress line is the last one and is rewritten in place. Every other line
 * printed by these functions erases it first.
 *
 * On a terminal, lines that do not fit are broken between words, and continue below, indented.
 *
 * On a terminal, results are green, warnings yellow and failures red, unless NO_COLOR is set
 * (no-color.org) or TERM is "dumb". The text alone always says the same.
 */
#ifndef BASE_OUTPUT_H
#define BASE_OUTPUT_H

#include <stdbool.h>

#include "base/failure.h"

enum output_color { OUTPUT_PLAIN, OUTPUT_GREEN, OUTPUT_YELLOW, OUTPUT_RED };

/* When lines are colored, in the order of the choices of --color. */
enum output_coloring { OUTPUT_COLOR_AUTO, OUTPUT_COLOR_ALWAYS, OUTPUT_COLOR_NEVER };

struct output {
	const char *program;  /* prefix of lines on standard error */
	bool quiet;           /* omit the lines of the exchange */
	bool verbose;         /* print details to standard error */
	bool brief;           /* omit the transcript: one line for each file */
	bool lines_on_stderr; /* lines of the exchange go to standard error, without prefix */
};

/*
 * Opens /dev/null on any of the descriptors 0 to 2 that is closed, so that no file opened later
 * gets that descriptor, and determines which of them go to the journal. main() calls it first.
 */
void output_start(void);

/* Sets when lines are colored; without this call, on terminals. Before other threads print. */
void output_set_coloring(enum output_coloring coloring);

/*
 * Sets whether each line begins with the local time, for example "2026-11-27 04:01:02.123 ", except
 * documents, the progress on a terminal, and lines of the journal, which has times. Before other
 * threads print.
 */
void output_set_timestamps(bool timestamps);

/* True if this descriptor, 0 to 2, was closed when the program started. Any thread. */
bool output_was_closed(int descriptor);

/* True if the path names standard output: "-" or "/dev/stdout". Any thread. */
bool output_is_standard(const char *path);

/*
 * Prints a line of the exchange. Any thread, as for all functions except output_start() and
 * output_finish().
 */
void output_line(const struct output *output, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Prints a line of the exchange of which `length` bytes from `start` on have this color. The
 * offsets are those of the line, whose end they must not exceed.
 */
void output_colored_line(const struct output *output, const char *line, size_t start, size_t length,
	enum output_color color);

/*
 * Prints the result of an exchange or a test. What it says about verification is colored:
 * "verified" is green, "not verified" and "incomplete" are yellow. On a terminal where the line
 * does not fit, it continues below after a comma, colon or semicolon, without a time. peer: as in
 * output_step(), but the line is printed even if the transcript is omitted.
 */
void output_result(const struct output *output, const char *peer, const char *line);

/* The columns of this terminal; 0: it is none, or has no known size. */
unsigned int output_terminal_columns(int descriptor);

/* The columns of the terminal that the lines of the exchange go to; 0: they go elsewhere. */
unsigned int output_columns(const struct output *output);

/* The same for a line that the operator should notice, although nothing has failed here. */
void output_line_warning(const struct output *output, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* True if standard output is read by the journal, in which details help later. */
bool output_is_journal(void);

/*
 * Prints a line of the tutorial's transcript, which is omitted if files are exchanged. peer is the
 * client that a server's step is about: like tail(1) for its files, this prints a line with its
 * name above its first step after those of another. NULL: a step of a client, which has one peer.
 */
void output_step(const struct output *output, const char *peer, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Prints a line that only --verbose shows. */
void output_detail(const struct output *output, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Prints an error line. */
void output_error(const struct output *output, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Prints a warning to standard error. */
void output_warning(const struct output *output, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Size of the line that explains a failure, in bytes. */
#define OUTPUT_FAILURE_SIZE (1024 + 4096)

/* Prints the line that explains a failure (base/explain.h). peer may be NULL. */
void output_failure(const struct output *output, const struct failure *failure, const char *peer);

/* Does the same if a failure is set. Returns the line, stored in text, or NULL if none is set. */
const char *output_outcome(const struct output *output, const struct failure *failure,
	const char *peer, char text[OUTPUT_FAILURE_SIZE]);

/* The columns that a progress line can have on the terminal; 0: standard error is none. */
unsigned int output_progress_columns(void);

/* Prints a line to standard error that stays above the progress, wrapped; `quiet` is ignored. */
void output_progress_note(const struct output *output, const char *line);

/*
 * Prints the progress to standard error: on a terminal it replaces the previous progress line,
 * otherwise it is an ordinary line. NULL erases the line. While a reader stalls, only the newest
 * progress line is queued. The caller decides whether to show progress; `quiet` is ignored.
 */
void output_progress(const struct output *output, const char *line);

/*
 * Erases the line of the terminal that the cursor is in: on Ctrl-C, a terminal shows ^C there,
 * whether or not it has a progress line.
 */
void output_erase_line(void);

/*
 * Prints a document for other programs as a line on standard output, unchanged and regardless of
 * struct output. It must be safe to print. NULL means that the document could not be allocated, and
 * counts as lost output.
 */
void output_document(const char *line);

/*
 * Waits until every line has been written, or until nothing has been written for some seconds.
 * Returns false if lines are left. A write to a file on a broken disk or network can block
 * indefinitely.
 */
bool output_drain(void);

/* True if lines for standard output were lost: closed pipe, full disk. Any thread. */
bool output_is_lost(void);

/* Reports that lines were lost; for a process whose child has lost some. */
void output_set_lost(void);

/*
 * Erases the progress line and waits for the remaining lines. main() calls it last. If lines for
 * standard output were lost (closed pipe, full disk, stalled reader), prints an error and turns
 * STATUS_OK into STATUS_FAILED; otherwise returns `status`. Ignores data written directly to the
 * descriptor: its writer handles errors.
 */
enum exit_status output_finish(const struct output *output, enum exit_status status);

#endif
