/* See measure/screen.h. Only the measurement and the size of the terminal are read. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "host/path-loss.h"
#include "measure/screen.h"
#include "measure/table.h"

/* Enough for all facts of a group, or the counters of a port. */
#define LINE 4096

/* Columns before the continuation of a line. */
#define INDENT 12

/* Time between two running rows in nanoseconds. */
#define RUNNING_NS UINT64_C(250000000)

unsigned int screen_columns(const struct output *output)
{
	unsigned int columns = output_columns(output);

	return columns >= TABLE_COLUMNS_MIN && columns < TABLE_COLUMNS ? columns : TABLE_COLUMNS;
}

/* A line with a label continues below what follows it, another one as elsewhere. */
static int continuation(const char *line)
{
	size_t label = strcspn(line, ":") + 1;

	return label < INDENT && strspn(line + label, " ") == INDENT - label ? INDENT : 2;
}

void screen_print_line(const struct output *output, const char *line)
{
	size_t room = screen_columns(output), size = text_fit(line, room);
	int indent = continuation(line);

	output_line(output, "%.*s", (int)size, line);
	for (line += size; *line; line += size) {
		line += strspn(line, " ");
		size = text_fit(line, room - (size_t)indent);
		output_line(output, "%*s%.*s", indent, "", (int)size, line);
	}
}

/* A fact about an end, and what is printed before it. */
struct shown {
	const char *name, *before;
	bool only_known; /* otherwise, "unknown" is printed */
};

static const struct shown ports[] = {
	{"driver", "", false},
	{"rate", "", false},
	{"rdma mtu", "RDMA MTU ", false},
	{"gid type", "", false},
	{"numa node", "NUMA node ", true},
	{"thread numa node", "thread on node ", true},
	{NULL, NULL, false},
};

static const struct shown tuning[] = {
	{"dscp", "DSCP ", false},
	{"relaxed ordering", "relaxed ordering ", false},
	{"huge pages", "huge pages ", false},
	{"processors", "processors ", true},
	{"completion vector", "completion vector ", false},
	{NULL, NULL, false},
};

/* Where the thread runs does not matter if the device belongs to no node. */
static bool is_shown(const struct facts *facts, const struct shown *fact)
{
	if (strcmp(fact->name, "thread numa node") == 0 && !facts_value(facts, "numa node"))
		return false;
	return !fact->only_known || facts_value(facts, fact->name);
}

static void append(
	char line[LINE], const char *where, const struct facts *facts, const struct shown *fact)
{
	if (!is_shown(facts, fact))
		return;
	if (*line)
		text_append(line, LINE, ", ");
	else
		snprintf(line, LINE, "%-*s", INDENT, where);
	text_append(line, LINE, "%s%s", fact->before, facts_shown(facts, fact->name));
}

/* Prints these facts about both ends: those that are equal once. `last` follows these. */
static void print_facts(
	const struct measurement *measurement, const struct shown *facts, const char *last)
{
	const struct facts *ours = &measurement->ours, *theirs = &measurement->theirs;
	char both[LINE] = "", here[LINE] = "", there[LINE] = "";

	for (; facts->name; facts++)
		if (is_shown(ours, facts) == is_shown(theirs, facts) &&
			strcmp(facts_shown(ours, facts->name), facts_shown(theirs, facts->name)) ==
				0) {
			append(both, "both ends:", ours, facts);
		} else {
			append(here, "this host:", ours, facts);
			append(there, "other host:", theirs, facts);
		}
	if (*last && *both)
		text_append(both, sizeof(both), ", %s", last);
	else if (*last)
		snprintf(both, sizeof(both), "%-*s%s", INDENT, "both ends:", last);
	if (*here)
		screen_print_line(&measurement->output, here);
	if (*there)
		screen_print_line(&measurement->output, there);
	if (*both)
		screen_print_line(&measurement->output, both);
}

/* An end, with the port of its device. */
#define END_SIZE (OPTIONS_HOST_SIZE + 2 * FACT_VALUE_SIZE + 8)

static void put_end(char end[END_SIZE], const char *host, const struct facts *facts)
{
	snprintf(end, END_SIZE, "%s (%s/%s)", host, facts_shown(facts, "device"),
		facts_shown(facts, "port"));
}

void screen_title(const struct measurement *measurement, char title[SCREEN_TITLE])
{
	const struct options *options = measurement->options;
	bool both = options->measure.bidirectional, fetches = options->operation->fetches;
	static const char *const transports[] = {
		[TEST_RC] = "", [TEST_UC] = "over UC ", [TEST_UD] = "over UD "};
	char here[END_SIZE], there[END_SIZE], date[32] = "";
	struct tm local;

	put_end(here, measurement->host_name, &measurement->ours);
	put_end(there, options->host, &measurement->theirs);
	if (localtime_r(&measurement->start, &local))
		strftime(date, sizeof(date), ", %Y-%m-%d %H:%M:%S", &local);
	snprintf(title, SCREEN_TITLE, "%s %s %s%s %s %s %s%s", options->operation->word,
		options->measure.latency ? "latency" : "bandwidth",
		transports[options->measure.transport], both ? "between" : "from",
		fetches ? there : here, both ? "and" : "to", fetches ? here : there, date);
}

/* Prints how many threads and queue pairs measure, unless it is one. */
static void print_connections(const struct measurement *measurement)
{
	uint32_t threads = measurement->options->measure.threads;
	uint32_t pairs = measurement->options->measure.queue_pairs;
	char line[LINE];

	if (threads <= 1 && pairs <= 1)
		return;
	snprintf(line, sizeof(line), "%-*s%" PRIu32 " thread%s, %" PRIu32 " queue pair%s%s", INDENT,
		"test:", threads, threads > 1 ? "s" : "", pairs, pairs > 1 ? "s" : "",
		threads > 1 ? " each" : "");
	screen_print_line(&measurement->output, line);
}

void screen_print_head(const struct measurement *measurement)
{
	unsigned int columns = screen_columns(&measurement->output);
	char title[SCREEN_TITLE], line[TABLE_LINE], poll[32];

	screen_title(measurement, title);
	screen_print_line(&measurement->output, title);
	snprintf(poll, sizeof(poll), "poll %s", measurement_waiting(measurement->wait));
	print_facts(measurement, ports, poll);
	print_connections(measurement);
	if (measurement->output.verbose)
		print_facts(measurement, tuning, "");
	for (unsigned int i = 0; table_head(line, measurement->options, columns, i); i++)
		output_line(&measurement->output, "%s", line);
}

/* With --histogram. */
static void print_bars(const struct measurement *measurement, const struct histogram *latency)
{
	const struct output *output = &measurement->output;
	unsigned int columns = screen_columns(output), width = output_columns(output);
	char line[TABLE_LINE];
	size_t bar = 0;

	if (!measurement->options->measure.histogram)
		return;
	table_bars_head(line);
	output_line(output, "%s", line);
	while (table_bar(line, width > columns ? width : columns, latency, &bar))
		output_line(output, "%s", line);
}

void screen_print_result(const struct measurement *measurement, const struct measured *measured)
{
	const struct output *output = &measurement->output;
	char line[TABLE_LINE];

	for (unsigned int i = 0;
		table_row(line, measurement->options, screen_columns(output), measured, i); i++)
		output_line(output, "%s", line);
	print_bars(measurement, measured->latency);
}

/*
 * True if soft-RoCE at both ends counted nothing but packets that were sent again without need: its
 * timers expire while a queue pair is too busy to process acknowledgements.
 */
static bool is_needless(const struct measurement *measurement)
{
	const struct counters *ours = &measurement->our_counters;
	const struct counters *theirs = &measurement->their_counters;
	uint64_t again = 0, other = 0;

	for (enum counter_class class = 0; class < COUNTER_OTHER; class ++) {
		uint64_t total = counters_total(ours, class) + counters_total(theirs, class);

		if (class == COUNTER_RETRANSMISSION || class == COUNTER_DUPLICATE)
			again += total;
		else
			other += total;
	}
	return again > 0 && other == 0 && path_loss_total(ours, theirs) == 0 &&
	       strcmp(facts_shown(&measurement->ours, "driver"), "rdma_rxe") == 0 &&
	       strcmp(facts_shown(&measurement->theirs, "driver"), "rdma_rxe") == 0;
}

void screen_print_counters(const struct measurement *measurement)
{
	const struct output *output = &measurement->output;
	char here[COUNTERS_TEXT_MAX], there[COUNTERS_TEXT_MAX];
	char line[2 * COUNTERS_TEXT_MAX + 64];

	counters_describe(&measurement->our_counters, here, sizeof(here));
	counters_describe(&measurement->their_counters, there, sizeof(there));
	snprintf(line, sizeof(line), "counters of this host: %s; of the other host: %s", here,
		there);
	if (strlen(line) <= screen_columns(output)) {
		output_line(
			output, "counters of this host: %s; of the other host: %s", here, there);
	} else {
		snprintf(line, sizeof(line), "counters of this host: %s", here);
		screen_print_line(output, line);
		snprintf(line, sizeof(line), "counters of the other host: %s", there);
		screen_print_line(output, line);
	}
	if (is_needless(measurement))
		screen_print_line(output,
			"no packet is known to be lost: soft-RoCE often retransmits without need");
}

void screen_print_best(const struct measurement *measurement)
{
	const struct options *options = measurement->options;
	char size[TABLE_SIZE], rate[40];

	if (measurement->best_size == 0)
		return;
	if (options->measure.latency) {
		output_line(&measurement->output, "best median: %.2f us at size %s%s",
			(double)measurement->lowest / 1000,
			table_size(size, measurement->lowest_size),
			options->operation->fetches ? "" : ", half the round trip");
		return;
	}
	measurement_rate_text(rate, sizeof(rate), options, measurement->best);
	output_line(&measurement->output, "best rate: %s%s at size %s", rate,
		options->measure.bidirectional ? " in both directions together" : "",
		table_size(size, measurement->best_size));
}

/* How far the test is: seconds or operations. What is in flight at its end may take longer. */
static void put_progress(char text[64], const struct test_parameters *parameters,
	uint64_t nanoseconds, uint64_t operations)
{
	uint64_t total = (uint64_t)parameters->operations * parameters->queue_pairs;

	if (!total && nanoseconds / 1000000 > parameters->milliseconds)
		snprintf(text, 64, "finishing");
	else if (total)
		snprintf(text, 64, "%" PRIu64 " of %" PRIu64, operations, total);
	else
		snprintf(text, 64, "%.1f of %.1f s", (double)nanoseconds / 1e9,
			(double)parameters->milliseconds / 1000);
}

/* The result of the running test so far. Returns false if there is none. */
static bool result_so_far(const struct screen_test *test, uint64_t now, struct measured *measured)
{
	const struct measurement *measurement = test->measurement;
	struct test_shared *shared = (struct test_shared *)&measurement->threads.shared;
	struct intervals intervals = test_shared_intervals(shared);

	*measured = (struct measured){
		.parameters = *test->parameters,
		.ours =
			{
				.nanoseconds = now - shared->start,
				.bytes = intervals.until_last,
				.operations = intervals.until_last / test->parameters->size,
				.worst = intervals.worst,
				.best = intervals.best,
			},
	};
	if (!measurement->options->measure.latency)
		return true;
	measured->latency = &measurement->latency;
	measured->ours.operations = measurement->latency.count;
	return measurement->latency.count > 0;
}

/* Formats the row of a result so far. */
static void put_running_row(
	char line[TABLE_LINE], const struct screen_test *test, const struct measured *measured)
{
	const struct measurement *measurement = test->measurement;
	char progress[64];

	put_progress(
		progress, test->parameters, measured->ours.nanoseconds, measured->ours.operations);
	table_running_row(line, measurement->options, screen_columns(&measurement->output),
		measured, progress);
}

void screen_show_running(struct screen_test *test, uint64_t now)
{
	const struct measurement *measurement = test->measurement;
	char line[TABLE_LINE], size[TABLE_SIZE];
	struct measured measured;

	if (measurement->options->quiet || measurement->options->json || now < test->next ||
		!isatty(STDERR_FILENO))
		return;
	test->next = now + RUNNING_NS;
	if (test->phase)
		snprintf(line, sizeof(line), "%4s  %s", table_size(size, test->parameters->size),
			test->phase);
	else if (result_so_far(test, now, &measured))
		put_running_row(line, test, &measured);
	else
		return;
	output_progress(&measurement->output, line);
}

void screen_print_interrupted(const struct screen_test *test, uint64_t now)
{
	struct measured measured;
	char line[TABLE_LINE];

	if (test->phase || !result_so_far(test, now, &measured) || measured.ours.operations == 0)
		return;
	put_running_row(line, test, &measured);
	output_line(&test->measurement->output, "%s", line);
	print_bars(test->measurement, measured.latency);
}
