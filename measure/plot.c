/*
 * gnuplot reads commands from a pipe and writes the picture to its standard output, a hidden file.
 * It runs without a shell, and no file name is part of its commands. posix_spawn(3).
 */
#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/spawn.h"
#include "measure/plot.h"
#include "measure/screen.h"
#include "measure/table.h"

/* The most sizes that are named below the picture. */
#define NAMES_MAX 13

/* The space between the names of two lines, relative to the height of the picture. */
#define NAME_HEIGHT 0.05

#define LINES_MAX 4

/* Lines by message size, and what they show. */
struct lines {
	size_t count;
	const char *names[LINES_MAX];
	double last[LINES_MAX]; /* value at the largest size */
	double lowest, highest;
	bool logarithmic;
	bool band; /* two more values: a range around the first line */
};

static bool is_svg(const char *file)
{
	size_t length = strlen(file);

	return length > 4 && strcmp(file + length - 4, ".svg") == 0;
}

/* gnuplot. */

static void clean(struct plot *plot)
{
	if (plot->commands)
		fclose(plot->commands);
	plot->commands = NULL;
	replacement_discard(&plot->picture);
}

#define NOT_INSTALLED \
	"gnuplot is not installed; install gnuplot-nox (Debian, Ubuntu) or gnuplot (Fedora)"

/* The status of a child that could not execute its program: posix_spawn(3). */
#define NOT_EXECUTED 127

static int cannot_draw(struct failure *failure, enum phase phase, const struct plot *plot,
	int error, const char *reason)
{
	return failure_set(failure, FAILURE_FILE, phase, error, "--plot", "cannot draw %s: %s",
		plot->file, reason);
}

int plot_begin(struct plot *plot, const char *file, struct failure *failure)
{
	static char *const gnuplot[] = {(char *)"gnuplot", (char *)"-d", NULL};
	int picture, ends[2], error;

	*plot = (struct plot){.file = file};
	picture = replacement_open(&plot->picture, file);
	if (picture < 0)
		return cannot_draw(failure, PHASE_START, plot, -picture, strerror(-picture));
	if (pipe2(ends, O_CLOEXEC)) {
		error = errno;
	} else {
		error = spawn_program(&plot->gnuplot, gnuplot, ends[0], picture, false);
		close(ends[0]);
		plot->commands = error ? NULL : fdopen(ends[1], "w");
		if (!plot->commands)
			close(ends[1]);
		if (!plot->commands && !error)
			error = ENOMEM;
	}
	close(picture);
	if (!error)
		return 0;
	clean(plot);
	return cannot_draw(failure, PHASE_START, plot, error,
		error == ENOENT ? NOT_INSTALLED : strerror(error));
}

/* Waits for gnuplot. Returns its exit status, -1 if it has none. */
static int await_gnuplot(struct plot *plot)
{
	pid_t child = plot->gnuplot;
	int status;

	plot->gnuplot = 0;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int plot_draw(struct plot *plot, const struct measurement *measurement, struct failure *failure)
{
	struct stat picture;
	int status, error;

	plot_write(plot->commands, measurement, is_svg(plot->file));
	fclose(plot->commands);
	plot->commands = NULL;
	status = await_gnuplot(plot);
	/* Where fork(2) replaces vfork(2), as under qemu-user, posix_spawnp() cannot report it. */
	if (status == NOT_EXECUTED)
		return cannot_draw(failure, PHASE_MEASUREMENT, plot, ENOENT, NOT_INSTALLED);
	if (status != 0 || stat(replacement_name(&plot->picture), &picture) || picture.st_size == 0)
		return cannot_draw(failure, PHASE_MEASUREMENT, plot, EIO, "gnuplot failed");
	error = replacement_commit(&plot->picture);
	if (error)
		return cannot_draw(failure, PHASE_MEASUREMENT, plot, -error, strerror(-error));
	return 0;
}

void plot_end(struct plot *plot)
{
	clean(plot);
	if (plot->gnuplot > 0)
		await_gnuplot(plot);
}

/* Commands. */

/* Quotes a text for gnuplot. Control characters would end it. */
static void put_text(FILE *commands, const char *text)
{
	putc('\'', commands);
	for (; *text; text++) {
		if (*text == '\'')
			putc('\'', commands);
		putc((unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text, commands);
	}
	putc('\'', commands);
}

/* A number in a result, at this path of one or two members; NAN if it is null. */
static double number_at(struct json_object *result, const char *member, const char *inner)
{
	struct json_object *value = json_object_object_get(result, member);

	if (inner)
		value = json_object_object_get(value, inner);
	return value ? json_object_get_double(value) : NAN;
}

/* Reads the values of a result: first of the lines, then of the band. Returns their number. */
static size_t values_of(const struct measurement *measurement, struct json_object *result,
	double values[LINES_MAX + 2])
{
	const struct options *options = measurement->options;
	size_t count = 0;

	if (options->measure.latency) {
		for (size_t i = 0; i < LINES_MAX; i++)
			values[count++] =
				number_at(result, "latency_ns", measurement_percentiles[i].key) /
				1000;
		return count;
	}
	values[count++] = number_at(result, "bytes_per_second", NULL);
	if (options->measure.bidirectional) {
		values[count++] = number_at(result, "here", "bytes_per_second");
		values[count++] = number_at(result, "there", "bytes_per_second");
	} else {
		values[count++] = number_at(result, "here", "worst_interval_bytes_per_second");
		values[count++] = number_at(result, "here", "best_interval_bytes_per_second");
		if (isnan(values[1]) || isnan(values[2]))
			values[1] = values[2] = values[0];
	}
	for (size_t i = 0; i < count; i++)
		values[i] = measurement_in_unit(options, values[i]);
	return count;
}

/* Names the lines and finds their range. */
static struct lines lines_of(const struct measurement *measurement)
{
	const struct options_measure *measure = &measurement->options->measure;
	size_t results = json_object_array_length(measurement->results);
	struct lines lines = {
		.count = measure->latency         ? LINES_MAX
			 : measure->bidirectional ? 3
						  : 1,
		.names = {measure->bidirectional ? "both" : "average", "client", "server"},
		.lowest = INFINITY,
		.band = !measure->latency && !measure->bidirectional,
	};

	for (size_t i = 0; measure->latency && i < LINES_MAX; i++)
		lines.names[i] = measurement_percentiles[i].name;
	for (size_t i = 0; i < results; i++) {
		double values[LINES_MAX + 2];
		size_t count = values_of(
			measurement, json_object_array_get_idx(measurement->results, i), values);

		for (size_t j = 0; j < count; j++) {
			if (values[j] < lines.lowest)
				lines.lowest = values[j];
			if (values[j] > lines.highest)
				lines.highest = values[j];
			if (j < lines.count)
				lines.last[j] = values[j];
		}
	}
	if (!(lines.highest > 0))
		lines.highest = 1;
	lines.logarithmic =
		measure->latency && lines.lowest > 0 && lines.highest > 10 * lines.lowest;
	lines.lowest = lines.logarithmic ? lines.lowest / 1.5 : 0;
	lines.highest *= lines.logarithmic ? 1.5 : 1.08;
	return lines;
}

/* Returns the line with this rank, from 0 for the lowest, at the largest size. */
static size_t line_of_rank(const struct lines *lines, size_t rank)
{
	for (size_t i = 0; i < lines->count; i++) {
		size_t below = 0;

		for (size_t j = 0; j < lines->count; j++)
			below += lines->last[j] < lines->last[i] ||
				 (j < i && lines->last[j] == lines->last[i]);
		if (below == rank)
			return i;
	}
	return rank;
}

/* Names each line at its right end. gnuplot moves names apart that would overlap. */
static void name_lines(FILE *commands, const struct lines *lines)
{
	fprintf(commands,
		lines->logarithmic ? "height(value) = log(value / %f) / log(%f / %f)\n"
				   : "height(value) = (value - %f) / (%f - %f)\n",
		lines->lowest, lines->highest, lines->lowest);
	fputs("free = 0\n", commands);
	for (size_t rank = 0; rank < lines->count; rank++) {
		size_t i = line_of_rank(lines, rank);

		fprintf(commands, "free = height(%f) > free ? height(%f) : free\n", lines->last[i],
			lines->last[i]);
		fprintf(commands, "set label '%s' at graph 1.01, graph free", lines->names[i]);
		fprintf(commands, " textcolor linestyle %zu\nfree = free + %f\n", i + 1,
			NAME_HEIGHT);
	}
}

/* Names at most NAMES_MAX sizes at the horizontal axis. */
static void name_sizes(FILE *commands, struct json_object *results)
{
	size_t count = json_object_array_length(results);
	size_t step = (count + NAMES_MAX - 1) / NAMES_MAX;
	char text[TABLE_SIZE];

	fputs("set xtics (", commands);
	for (size_t i = 0; i < count; i += step) {
		double size = number_at(json_object_array_get_idx(results, i), "size_bytes", NULL);

		fprintf(commands, "%s'%s' %.0f", i ? ", " : "", table_size(text, (uint64_t)size),
			size);
	}
	fputs(")\n", commands);
}

static void put_data(FILE *commands, const struct measurement *measurement)
{
	fputs("$data << END\n", commands);
	for (size_t i = 0; i < json_object_array_length(measurement->results); i++) {
		struct json_object *result = json_object_array_get_idx(measurement->results, i);
		double values[LINES_MAX + 2];
		size_t count = values_of(measurement, result, values);

		fprintf(commands, "%.0f", number_at(result, "size_bytes", NULL));
		for (size_t j = 0; j < count; j++)
			fprintf(commands, " %.6f", values[j]);
		putc('\n', commands);
	}
	fputs("END\n", commands);
}

void plot_write(FILE *commands, const struct measurement *measurement, bool svg)
{
	static const char *const colors[LINES_MAX] = {"#1f5fa8", "#2e8b57", "#d17a00", "#b02a2a"};
	const struct options *options = measurement->options;
	struct json_object *results = measurement->results;
	size_t count = json_object_array_length(results);
	struct lines lines = lines_of(measurement);
	char title[SCREEN_TITLE];
	double first, last;

	if (count == 0)
		return;
	first = number_at(json_object_array_get_idx(results, 0), "size_bytes", NULL);
	last = number_at(json_object_array_get_idx(results, count - 1), "size_bytes", NULL);
	fprintf(commands, "set terminal %s noenhanced size 1000, 560 font 'sans,13'%s\n",
		svg ? "svg" : "pngcairo", svg ? " background 'white'" : "");
	fputs("set title ", commands);
	screen_title(measurement, title);
	put_text(commands, title);
	fputs("\nset xlabel 'size of an operation in bytes'\nset ylabel ", commands);
	put_text(commands,
		options->measure.latency ? "latency in microseconds" : measurement_unit(options));
	fprintf(commands,
		"\nset border 3\nset tics nomirror\nset grid ytics\nset rmargin 11\n"
		"set logscale x 2\nset xrange [%.1f:%.1f]\n%sset yrange [%.6f:%.6f]\n",
		first / 1.2, last * 1.2, lines.logarithmic ? "set logscale y 10\n" : "",
		lines.lowest, lines.highest);
	for (size_t i = 0; i < LINES_MAX; i++)
		fprintf(commands, "set style line %zu linecolor rgb '%s' linewidth 2 pointtype 7\n",
			i + 1, colors[i]);
	name_sizes(commands, results);
	name_lines(commands, &lines);
	fputs(lines.band ? "set key bottom right\n" : "unset key\n", commands);
	put_data(commands, measurement);
	fputs("plot ", commands);
	if (lines.band)
		fputs("$data using 1:3:4 with filledcurves fillcolor rgb '#c6dbef' title "
		      "'worst to best 0.1 s', ",
			commands);
	for (size_t i = 0; i < lines.count; i++)
		fprintf(commands, "%s$data using 1:%zu with linespoints linestyle %zu notitle",
			i ? ", " : "", i + 2, i + 1);
	putc('\n', commands);
}
