/*
 * The format: https://prometheus.io/docs/instrumenting/exposition_formats/. A value of a label is
 * UTF-8, in which a backslash, a quotation mark and a line feed are escaped.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/metrics-file.h"
#include "base/text.h"

/* Longer values of labels are cut off. */
#define LABEL_MAX 255

int metrics_file_open(struct metrics_file *metrics, const char *path)
{
	int descriptor, error = 0;

	*metrics = (struct metrics_file){.prefix = ""};
	descriptor = replacement_open(&metrics->replacement, path);
	if (descriptor < 0)
		return descriptor;
	metrics->file = fdopen(descriptor, "w");
	if (!metrics->file) {
		error = -errno;
		close(descriptor);
		replacement_discard(&metrics->replacement);
	}
	return error;
}

void metrics_file_family(struct metrics_file *metrics, const char *name, const char *help)
{
	metrics->name = name;
	fprintf(metrics->file, "# HELP %s%s %s\n# TYPE %s%s gauge\n", metrics->prefix, name, help,
		metrics->prefix, name);
}

/* Writes a label after this separator. Returns true if it has a value. */
static bool put_label(FILE *file, char separator, const struct metrics_label *label)
{
	char text[TEXT_ESCAPED_SIZE(LABEL_MAX)];

	if (!label->value || !*label->value)
		return false;
	fprintf(file, "%c%s=\"", separator, label->name);
	/* Without control characters and invalid bytes; the backslashes that this adds remain. */
	text_escape_utf8(text, label->value, strnlen(label->value, LABEL_MAX));
	for (const char *at = text; *at; at++) {
		if (*at == '\\' || *at == '"')
			putc('\\', file);
		putc(*at, file);
	}
	putc('"', file);
	return true;
}

void metrics_file_value(
	struct metrics_file *metrics, const struct metrics_label *label, double value)
{
	char separator = '{';

	fprintf(metrics->file, "%s%s", metrics->prefix, metrics->name);
	for (size_t i = 0; i < METRICS_LABELS && metrics->labels[i].name; i++)
		if (put_label(metrics->file, separator, &metrics->labels[i]))
			separator = ',';
	if (label && put_label(metrics->file, separator, label))
		separator = ',';
	/* The time has 10 digits before the decimal point. */
	fprintf(metrics->file, "%s %.15g\n", separator == ',' ? "}" : "", value);
}

void metrics_file_end(struct metrics_file *metrics)
{
	metrics_file_family(metrics, "end_timestamp_seconds", "When the last run ended.");
	metrics_file_value(metrics, NULL, (double)time(NULL));
}

void metrics_file_outcome(struct metrics_file *metrics, const struct metrics_outcome *outcome)
{
	metrics_file_family(
		metrics, "verdict", "1 for the verdict of the last run, 0 for the others.");
	for (const char *const *word = outcome->verdicts; *word; word++)
		metrics_file_value(metrics, &(struct metrics_label){"verdict", *word},
			strcmp(*word, outcome->verdict) == 0);
	metrics_file_family(metrics, "exit_status", "Exit status of the last run.");
	metrics_file_value(metrics, NULL, outcome->status);
	metrics_file_end(metrics);
}

int metrics_file_close(struct metrics_file *metrics)
{
	int error = ferror(metrics->file) ? -EIO : 0;

	if (fclose(metrics->file) && !error)
		error = -errno;
	metrics->file = NULL;
	if (!error)
		return replacement_commit(&metrics->replacement);
	replacement_discard(&metrics->replacement);
	return error;
}

enum exit_status metrics_file_status(
	const struct output *output, const char *path, int error, enum exit_status status)
{
	if (!error)
		return status;
	output_error(output, "cannot write the metrics file %s: %s", path, strerror(-error));
	return status == STATUS_OK ? STATUS_FAILED : status;
}
