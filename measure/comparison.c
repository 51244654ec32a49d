/*
 * Reads both files, then compares them size by size. A file's documents belong to its side. They
 * may come from anywhere, so that types are checked before use.
 */
#include <errno.h>
#include <json-c/json.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/envelope.h"
#include "base/json-document.h"
#include "base/text.h"
#include "cli/startup.h"
#include "measure/comparison.h"
#include "measure/screen.h"
#include "measure/table.h"

/* Maximum size of a file, and of an error. */
#define FILE_SIZE_MAX (UINT64_C(64) << 20)
#define ERROR_SIZE    1024

/* With fewer runs, their results say little about the noise. */
#define RUNS_MIN 3

#define RUNS_MAX 256

/* "compare-and-swap bandwidth in both directions" */
#define OPERATION_TEXT 64

/* Percentiles are rounded by up to one part of this: measure/histogram.h. */
#define RESOLUTION 256

/* The columns of a table with ranges. */
#define WIDE 76

/* One file. */
struct side {
	const char *file;
	struct json_object *runs[RUNS_MAX]; /* documents, owned */
	size_t count;
	bool latency, both;
	const struct test_operation *operation; /* of the first document */
};

struct comparison {
	struct options options; /* `operation` is the one that both sides measured */
	struct output output;
	struct side sides[2];
	struct json_object *results; /* for --json */
	char error[ERROR_SIZE];      /* "": none */
};

/* A result and its range, in bytes per second or nanoseconds. */
struct value {
	double typical, low, high;
	bool ranged;
};

/* Records why the side's file cannot be compared. Returns -1. */
__attribute__((format(printf, 3, 4))) static int comparison_failed(
	struct comparison *comparison, const struct side *side, const char *format, ...)
{
	char reason[ERROR_SIZE / 2];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reason, sizeof(reason), format, arguments);
	va_end(arguments);
	snprintf(comparison->error, sizeof(comparison->error), "cannot compare %.*s: %s",
		ERROR_SIZE / 4, side->file, reason);
	return -1;
}

/* A text; "" if there is none. */
static const char *text_of(struct json_object *object, const char *key)
{
	struct json_object *value = document_member(object, key);

	return json_object_is_type(value, json_type_string) ? json_object_get_string(value) : "";
}

/* A number that is not negative; NAN if there is none. */
static double number_of(struct json_object *object, const char *key)
{
	struct json_object *value = document_member(object, key);
	double number;

	if (!json_object_is_type(value, json_type_int) &&
		!json_object_is_type(value, json_type_double))
		return NAN;
	number = json_object_get_double(value);
	return isfinite(number) && number >= 0 ? number : NAN;
}

/* The documents in a file. */

/* Reads a file as text, which the caller frees. NULL: failed, with errno set. */
static char *read_file(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t size = 0, capacity = 0;
	int error = 0;

	if (!file)
		return NULL;
	do {
		if (size + 1 >= capacity) {
			char *larger = realloc(text, capacity = 2 * capacity + 65536);

			if (!larger) {
				error = ENOMEM;
				break;
			}
			text = larger;
		}
		size += fread(text + size, 1, capacity - size - 1, file);
		if (ferror(file))
			error = errno;
		else if (size > FILE_SIZE_MAX)
			error = EFBIG;
	} while (!error && !feof(file));
	fclose(file);
	if (error) {
		free(text);
		errno = error;
		return NULL;
	}
	text[size] = '\0';
	return text;
}

/* The command that wrote the document. Version 0.1 called it "measured". */
static const char *command_of(struct json_object *document)
{
	const char *command = text_of(document, "command");

	return *command ? command : text_of(document, "measured");
}

/* True if the document has the members that a measurement has. */
static bool is_measurement(struct json_object *document)
{
	const char *command = command_of(document);

	return (strcmp(command, "bandwidth") == 0 || strcmp(command, "latency") == 0) &&
	       test_operation_by_name(text_of(document, "mode")) &&
	       json_object_is_type(document_member(document, "results"), json_type_array);
}

static bool is_bidirectional(struct json_object *document)
{
	return json_object_get_boolean(
		document_member(document_member(document, "asked"), "bidirectional"));
}

/* Writes what a document measured: "WRITE bandwidth". Returns the text. */
static const char *operation_of(const struct side *side, char text[OPERATION_TEXT])
{
	snprintf(text, OPERATION_TEXT, "%s %s%s", side->operation->word,
		side->latency ? "latency" : "bandwidth",
		side->both && !side->latency ? " in both directions" : "");
	return text;
}

/* Adds a document to the side, which takes ownership. */
static int add_run(struct comparison *comparison, struct side *side, struct json_object *document)
{
	struct side run = {.operation = test_operation_by_name(text_of(document, "mode")),
		.latency = strcmp(command_of(document), "latency") == 0,
		.both = is_bidirectional(document)};
	char text[OPERATION_TEXT], other[OPERATION_TEXT];

	side->runs[side->count++] = document;
	if (!is_measurement(document))
		return comparison_failed(comparison, side,
			"it is not what `bandwidth --json` or `latency --json` prints");
	if (json_object_array_length(document_member(document, "results")) == 0)
		return comparison_failed(comparison, side, "the measurement has no results: %s",
			*text_of(document, "message") ? text_of(document, "message")
						      : "no size was measured");
	if (side->count == 1) {
		side->operation = run.operation;
		side->latency = run.latency;
		side->both = run.both;
	} else if (strcmp(operation_of(side, text), operation_of(&run, other)) != 0) {
		return comparison_failed(comparison, side, "it contains %s and %s", text, other);
	}
	return 0;
}

static int parse(struct comparison *comparison, struct side *side, struct json_tokener *tokener,
	const char *text)
{
	while (*(text += strspn(text, " \t\r\n"))) {
		struct json_object *document =
			json_tokener_parse_ex(tokener, text, (int)strlen(text));

		if (json_tokener_get_error(tokener) != json_tokener_success)
			return comparison_failed(comparison, side, "it is not valid JSON");
		if (side->count == RUNS_MAX) {
			json_object_put(document);
			return comparison_failed(
				comparison, side, "it contains more than %d documents", RUNS_MAX);
		}
		if (add_run(comparison, side, document))
			return -1;
		text += json_tokener_get_parse_end(tokener);
		json_tokener_reset(tokener);
	}
	return side->count ? 0 : comparison_failed(comparison, side, "it is empty");
}

static int read_side(struct comparison *comparison, struct side *side)
{
	struct json_tokener *tokener = json_tokener_new();
	char *text = read_file(side->file);
	int result;

	if (!text)
		result = comparison_failed(comparison, side, "%s", strerror(errno));
	else if (!tokener)
		result = comparison_failed(comparison, side, "out of memory");
	else
		result = parse(comparison, side, tokener, text);
	free(text);
	if (tokener)
		json_tokener_free(tokener);
	return result;
}

/* Values. */

/* Returns the result of this size in a document, NULL if there is none. */
static struct json_object *result_of(struct json_object *document, double size)
{
	struct json_object *results = document_member(document, "results");

	for (size_t i = 0; i < json_object_array_length(results); i++) {
		struct json_object *result = json_object_array_get_idx(results, i);

		if (number_of(result, "size_bytes") == size)
			return result;
	}
	return NULL;
}

/* The value of one result, with the range within the run. NAN: unknown. */
static struct value value_of(const struct side *side, struct json_object *result)
{
	struct json_object *here = document_member(result, "here"),
			   *there = document_member(result, "there");
	struct json_object *latency = document_member(result, "latency_ns");
	struct value value = {.low = NAN};

	if (side->latency) {
		value.typical = number_of(latency, "median");
		value.low = number_of(latency, "minimum");
		value.high = number_of(latency, "p90");
	} else {
		value.typical = number_of(result, "bytes_per_second");
		value.low = number_of(here, "worst_interval_bytes_per_second");
		value.high = number_of(here, "best_interval_bytes_per_second");
		if (side->both) {
			value.low += number_of(there, "worst_interval_bytes_per_second");
			value.high += number_of(there, "best_interval_bytes_per_second");
		}
	}
	value.ranged = !isnan(value.low) && !isnan(value.high);
	return value;
}

static int compare_numbers(const void *one, const void *other)
{
	const double *a = one, *b = other;

	return (*a > *b) - (*a < *b);
}

/* The value of a size in all runs of a side: the median, and the range. */
static struct value typical(const struct side *side, double size)
{
	struct value all = {.typical = NAN, .low = INFINITY, .ranged = true};
	double values[RUNS_MAX];
	size_t count = 0;

	for (size_t i = 0; i < side->count; i++) {
		struct value value = value_of(side, result_of(side->runs[i], size));

		if (isnan(value.typical))
			continue;
		values[count++] = value.typical;
		all.ranged &= value.ranged;
		all.low = value.low < all.low ? value.low : all.low;
		all.high = value.high > all.high ? value.high : all.high;
	}
	if (count == 0)
		return all;
	qsort(values, count, sizeof(*values), compare_numbers);
	all.typical = (values[(count - 1) / 2] + values[count / 2]) / 2;
	if (count >= RUNS_MIN)
		all = (struct value){all.typical, values[0], values[count - 1], true};
	return all;
}

/* Output. */

static void print_side(const struct comparison *comparison, const struct side *side, char letter)
{
	struct json_object *first = side->runs[0];
	char line[4096];

	snprintf(line, sizeof(line), "%c: %s, %zu run%s, from %s to %s (%s), version %s, %.20s",
		letter, side->file, side->count, side->count == 1 ? "" : "s",
		text_of(document_member(first, "here"), "device"), text_of(first, "host"),
		text_of(document_member(first, "there"), "device"), text_of(first, "version"),
		text_of(first, "time"));
	screen_print_line(&comparison->output, line);
}

/* Lists the options that differ, except sizes. */
static void print_options(const struct comparison *comparison)
{
	struct json_object *ours = document_member(comparison->sides[0].runs[0], "asked");
	struct json_object *theirs = document_member(comparison->sides[1].runs[0], "asked");
	char line[4096] = "";

	if (!json_object_is_type(ours, json_type_object))
		return;
	json_object_object_foreach(ours, key, value)
	{
		struct json_object *other = document_member(theirs, key);

		if (json_object_equal(value, other) || strcmp(key, "smallest_bytes") == 0 ||
			strcmp(key, "largest_bytes") == 0)
			continue;
		text_append(line, sizeof(line), "%s%s %s and %s",
			*line ? ", " : "different options: ", key,
			json_object_to_json_string(value), json_object_to_json_string(other));
	}
	if (*line)
		screen_print_line(&comparison->output, line);
}

static bool is_wide(const struct comparison *comparison)
{
	return screen_columns(&comparison->output) >= WIDE;
}

/* The range of a latency begins with the best value, that of a rate with the worst. */
static void print_head(const struct comparison *comparison)
{
	bool wide = is_wide(comparison), latency = comparison->sides[0].latency;
	const char *unit = latency ? "us" : measurement_unit(&comparison->options);
	char text[OPERATION_TEXT];

	screen_print_line(&comparison->output, operation_of(&comparison->sides[0], text));
	print_side(comparison, &comparison->sides[0], 'A');
	print_side(comparison, &comparison->sides[1], 'B');
	print_options(comparison);
	if (wide) {
		output_line(&comparison->output, "%4s%10s%9s%9s%10s%9s%9s%8s", "size", "A",
			latency ? "A best" : "A worst", latency ? "A worst" : "A best", "B",
			latency ? "B best" : "B worst", latency ? "B worst" : "B best", "B/A");
		output_line(&comparison->output, "%4s%10s%9s%9s%10s%9s%9s", "", unit, unit, unit,
			unit, unit, unit);
	} else {
		output_line(&comparison->output, "%4s%10s%10s%8s", "size", "A", "B", "B/A");
		output_line(&comparison->output, "%4s%10s%10s", "", unit, unit);
	}
}

static void append_value(char line[TABLE_LINE], const struct comparison *comparison,
	const struct value *value, bool wide)
{
	double numbers[] = {value->typical, value->low, value->high};

	for (unsigned int i = 0; i < (wide ? 3 : 1); i++) {
		char cell[TABLE_CELL] = "-";

		if (i > 0 && !value->ranged)
			;
		else if (comparison->sides[0].latency)
			table_latency(cell, numbers[i]);
		else
			table_rate(cell, &comparison->options, numbers[i]);
		text_append(line, TABLE_LINE, "%*s", i == 0 ? 10 : 9, cell);
	}
}

/* How B's result of a size differs from A's. */
enum difference { NOISE, FASTER, SLOWER, UNKNOWN, DIFFERENCES };

static const char *const differences[DIFFERENCES] = {
	[NOISE] = "noise", [FASTER] = "faster", [SLOWER] = "slower", [UNKNOWN] = "unknown"};

/* A size that both sides have. */
struct pair {
	uint64_t size;
	struct value a, b;
	enum difference difference;
};

/* Compares the ranges, of which the ends may have been rounded. */
static enum difference difference_of(const struct pair *pair, bool latency)
{
	double step = latency ? 1.0 / RESOLUTION : 0;
	const struct value *a = &pair->a, *b = &pair->b;

	if (!a->ranged || !b->ranged)
		return UNKNOWN;
	if (b->low * (1 - step) > a->high * (1 + step))
		return latency ? SLOWER : FASTER;
	if (b->high * (1 + step) < a->low * (1 - step))
		return latency ? FASTER : SLOWER;
	return NOISE;
}

static void print_pair(const struct comparison *comparison, const struct pair *pair)
{
	bool wide = is_wide(comparison), green = pair->difference == FASTER;
	const char *mark = pair->difference == NOISE ? "" : differences[pair->difference];
	char line[TABLE_LINE], text[TABLE_SIZE];

	snprintf(line, sizeof(line), "%4s", table_size(text, pair->size));
	append_value(line, comparison, &pair->a, wide);
	append_value(line, comparison, &pair->b, wide);
	text_append(line, sizeof(line), "%8.3f%s%s", pair->b.typical / pair->a.typical,
		*mark ? "  " : "", mark);
	output_colored_line(&comparison->output, line, strlen(line) - strlen(mark),
		green || pair->difference == SLOWER ? strlen(mark) : 0,
		green ? OUTPUT_GREEN : OUTPUT_RED);
}

/*
 * What counts as noise: the range, which only wide tables show. Of sides with these numbers of
 * runs.
 */
static const char *noise_of(const struct comparison *comparison)
{
	bool latency = comparison->sides[0].latency;
	bool a = comparison->sides[0].count >= RUNS_MIN, b = comparison->sides[1].count >= RUNS_MIN;

	if (a && b)
		return "from the worst to the best run";
	if (a || b)
		return latency ? "from the minimum (best) to 90 % (worst) of the operations, or "
				 "from the best to the worst of three runs or more"
			       : "from the worst to the best 0.1 s, or of three runs or more";
	return latency ? "from the minimum (best) to 90 % (worst) of the operations"
		       : "from the worst to the best 0.1 s";
}

/* Explains the noise, and counts the sizes with each kind of difference. */
static void print_summary(
	const struct comparison *comparison, const unsigned int counts[DIFFERENCES], size_t sizes)
{
	char line[1024];

	snprintf(line, sizeof(line), "noise: %s", noise_of(comparison));
	screen_print_line(&comparison->output, line);
	snprintf(line, sizeof(line),
		"B is faster at %u of %zu size%s, slower at %u, within the noise at %u",
		counts[FASTER], sizes, sizes == 1 ? "" : "s", counts[SLOWER], counts[NOISE]);
	if (counts[UNKNOWN])
		text_append(line, sizeof(line), ", unknown at %u", counts[UNKNOWN]);
	screen_print_line(&comparison->output, line);
}

/* The JSON document: docs/comparison.schema.json. */

/* Digits after the decimal point of numbers that were calculated. */
#define FRACTION_DIGITS 6

static void add_text(
	struct json_object *object, const char *key, struct json_object *from, const char *name)
{
	const char *text = text_of(from, name);

	document_add_text(object, key, *text ? text : NULL);
}

static struct json_object *side_json(const struct side *side)
{
	struct json_object *object = json_object_new_object(), *first = side->runs[0];

	document_add_text(object, "file", side->file);
	document_add_number(object, "runs", side->count);
	add_text(object, "time", first, "time");
	add_text(object, "version", first, "version");
	add_text(object, "host", first, "host");
	add_text(object, "device_here", document_member(first, "here"), "device");
	add_text(object, "device_there", document_member(first, "there"), "device");
	return document_filled(object);
}

static struct json_object *value_json(const struct value *value)
{
	struct json_object *object = json_object_new_object();

	document_add_decimal(object, "typical", value->typical, FRACTION_DIGITS);
	if (value->ranged) {
		document_add_decimal(object, "low", value->low, FRACTION_DIGITS);
		document_add_decimal(object, "high", value->high, FRACTION_DIGITS);
	} else {
		document_add_null(object, "low");
		document_add_null(object, "high");
	}
	return document_filled(object);
}

static struct json_object *pair_json(const struct pair *pair)
{
	struct json_object *object = json_object_new_object();

	document_add_number(object, "size_bytes", pair->size);
	document_add(object, "a", value_json(&pair->a));
	document_add(object, "b", value_json(&pair->b));
	document_add_decimal(object, "ratio", pair->b.typical / pair->a.typical, FRACTION_DIGITS);
	document_add_text(object, "b_is", differences[pair->difference]);
	return document_filled(object);
}

/* Prints the document. If the files cannot be compared, the members about them are null. */
static void print_document(struct comparison *comparison)
{
	bool failed = *comparison->error;
	const struct side *a = &comparison->sides[0], *b = &comparison->sides[1];
	const struct envelope envelope = {
		.program = comparison->output.program,
		.command = "compare",
		.status = failed ? STATUS_FAILED : STATUS_OK,
		.verdict = failed ? "failed" : "compared",
		.message = failed ? comparison->error : NULL,
	};
	struct json_object *object = envelope_json(&envelope);

	document_add_text(object, "measured", failed ? NULL : a->latency ? "latency" : "bandwidth");
	document_add_text(object, "mode", failed ? NULL : a->operation->name);
	document_add_text(object, "unit", failed ? NULL : a->latency ? "ns" : "B/s");
	if (failed) {
		document_add_null(object, "a");
		document_add_null(object, "b");
	} else {
		document_add(object, "a", side_json(a));
		document_add(object, "b", side_json(b));
	}
	document_add(object, "results", document_filled(comparison->results));
	comparison->results = NULL;
	document_print(document_filled(object));
}

/* Compares a size. Returns false if a side does not have it. */
static bool compare_size(const struct comparison *comparison, double size, struct pair *pair)
{
	if (isnan(size) || size > UINT32_MAX)
		return false;
	*pair = (struct pair){
		.size = (uint64_t)size,
		.a = typical(&comparison->sides[0], size),
		.b = typical(&comparison->sides[1], size),
	};
	pair->difference = difference_of(pair, comparison->sides[0].latency);
	return pair->a.typical > 0 && pair->b.typical > 0;
}

static int compare(struct comparison *comparison)
{
	const struct side *a = &comparison->sides[0], *b = &comparison->sides[1];
	struct json_object *results = document_member(a->runs[0], "results");
	char first[OPERATION_TEXT], second[OPERATION_TEXT];
	unsigned int counts[DIFFERENCES] = {0};
	size_t sizes = 0;
	struct pair pair;

	if (strcmp(operation_of(a, first), operation_of(b, second)) != 0)
		return comparison_failed(
			comparison, b, "it contains %s, and %s %s", second, a->file, first);
	comparison->options.operation = a->operation;
	for (size_t i = 0; i < json_object_array_length(results); i++) {
		if (!compare_size(comparison,
			    number_of(json_object_array_get_idx(results, i), "size_bytes"), &pair))
			continue;
		if (sizes++ == 0)
			print_head(comparison);
		print_pair(comparison, &pair);
		if (comparison->options.json)
			document_append(comparison->results, pair_json(&pair));
		counts[pair.difference]++;
	}
	if (sizes == 0)
		return comparison_failed(
			comparison, b, "it has no size in common with %s", a->file);
	print_summary(comparison, counts, sizes);
	return 0;
}

enum exit_status comparison_print(const struct options *options, const char *program)
{
	struct comparison *comparison = calloc(1, sizeof(*comparison));
	struct output output = startup_output(program, options);
	enum exit_status status = STATUS_FAILED;

	if (!comparison) {
		output_error(&output, "out of memory");
		return output_finish(&output, status);
	}
	comparison->options = *options;
	comparison->output = output;
	comparison->results = json_object_new_array();
	for (unsigned int i = 0; i < 2; i++)
		comparison->sides[i].file = options->files[i];
	if (read_side(comparison, &comparison->sides[0]) == 0 &&
		read_side(comparison, &comparison->sides[1]) == 0 && compare(comparison) == 0)
		status = STATUS_OK;
	else
		output_error(&output, "%s", comparison->error);
	if (options->json)
		print_document(comparison);
	json_object_put(comparison->results);
	for (unsigned int i = 0; i < 2; i++)
		for (size_t run = 0; run < comparison->sides[i].count; run++)
			json_object_put(comparison->sides[i].runs[run]);
	free(comparison);
	return output_finish(&output, status);
}
