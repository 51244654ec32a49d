/*
 * Writes a file in the text format of Prometheus (version 0.0.4), as the textfile collector of its
 * node exporter reads it: families of gauges with labels. The file is replaced as a whole
 * (base/replacement.h). One thread at a time.
 *
 * Names end with the unit: seconds, bytes per second.
 */
#ifndef BASE_METRICS_FILE_H
#define BASE_METRICS_FILE_H

#include <stdio.h>

#include "base/output.h"
#include "base/replacement.h"

/* The most labels that all values of a file have. */
#define METRICS_LABELS 6

/* A name and a value. An unknown value, NULL or "", is the same as no label. */
struct metrics_label {
	const char *name, *value;
};

struct metrics_file {
	/* Set by the caller after metrics_file_open(); the texts outlive the file. */
	const char *prefix;                          /* of all names, such as "rdma_diagnose_" */
	struct metrics_label labels[METRICS_LABELS]; /* of all values, up to the first NULL name */

	/* internal */
	FILE *file;
	const char *name; /* of the family, after the prefix */
	struct replacement replacement;
};

/* How a run ended, for metrics_file_outcome(). */
struct metrics_outcome {
	const char *const *verdicts; /* every word that it can be, up to NULL */
	const char *verdict;         /* one of them */
	enum exit_status status;
};

/* Begins a file without labels and prefix. Returns 0 or -errno. */
int metrics_file_open(struct metrics_file *metrics, const char *path);

/* Begins a family of gauges; its values follow. `help` is one line without a backslash. */
void metrics_file_family(struct metrics_file *metrics, const char *name, const char *help);

/* Adds a value to the family. `label` is one more label; NULL: none. */
void metrics_file_value(
	struct metrics_file *metrics, const struct metrics_label *label, double value);

/* Adds the family end_timestamp_seconds: the current time. */
void metrics_file_end(struct metrics_file *metrics);

/*
 * Adds the families that every run has, even one that failed: verdict, a value of 0 or 1 for each
 * word, exit_status, and end_timestamp_seconds.
 */
void metrics_file_outcome(struct metrics_file *metrics, const struct metrics_outcome *outcome);

/* Completes the file, or removes what was written of it. Returns 0 or -errno. */
int metrics_file_close(struct metrics_file *metrics);

/*
 * Prints the error of metrics_file_open() or metrics_file_close(), if `error` is one. Returns the
 * exit status of a run that ended with `status`: STATUS_FAILED instead of STATUS_OK.
 */
enum exit_status metrics_file_status(
	const struct output *output, const char *path, int error, enum exit_status status);

#endif
