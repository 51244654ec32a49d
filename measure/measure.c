/*
 * `rdma-client bandwidth` and `latency`: connects the threads, runs a test per message size and has
 * the results printed. The main thread owns struct measurement, which contains the results and all
 * threads' connections. The other threads run only during a test, each on its own connection.
 */
#include <json-c/json.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/explain.h"
#include "base/json-document.h"
#include "cli/startup.h"
#include "host/link-speed.h"
#include "measure/csv.h"
#include "measure/measure.h"
#include "measure/metrics.h"
#include "measure/parameters.h"
#include "measure/plot.h"
#include "measure/screen.h"
#include "measure/support.h"
#include "measure/waiting.h"

/* Minimum duration in milliseconds of a trial that compares spinning with sleeping. */
#define TRIAL_MS 50

static void show_running(void *context, uint64_t now)
{
	screen_show_running(context, now);
}

/*
 * Runs a test and counts its operations with wrong data. The phase is NULL for the measured test,
 * and what is done before it for the others.
 */
static int run(struct measurement *measurement, const struct test_parameters *parameters,
	const char *phase, struct measured *measured)
{
	struct screen_test running = {measurement, parameters, phase, 0};
	struct perf_test *first = &measurement->threads.members[0].test;
	struct test_parameters own = *parameters;

	if (parameters_need_immediate(measurement, parameters))
		own.wait = TEST_SPIN_IMMEDIATE;
	first->show = show_running;
	first->show_context = &running;
	measurement->threads.rehearses = phase != NULL;
	if (test_threads_run(&measurement->threads, &own, measured, &measurement->latency)) {
		if (measurement->threads.failure.kind == FAILURE_INTERRUPTED)
			screen_print_interrupted(&running, test_now());
		return -1;
	}
	measurement->wrong_here += measured->ours.wrong;
	measurement->wrong_there += measured->theirs.wrong;
	return 0;
}

/* Chooses how both ends wait in a bandwidth test, by trials with messages of the first size. */
static int try_both(struct measurement *measurement, const struct test_parameters *parameters,
	enum test_wait *wait, const char **why)
{
	struct test_parameters trial = *parameters;
	struct measured measured;
	double rates[WAITING_TRIALS];

	trial.operations = 0;
	trial.milliseconds = (uint32_t)measurement->options->measure.warm_up / WAITING_TRIALS;
	if (trial.milliseconds < TRIAL_MS)
		trial.milliseconds = TRIAL_MS;
	for (unsigned int i = 0; i < WAITING_TRIALS; i++) {
		trial.wait = waiting_of_trial(i);
		if (run(measurement, &trial, "choosing how to wait", &measured))
			return -1;
		rates[i] = measurement_rate(&measured);
	}
	*wait = waiting_of_bandwidth(rates, why);
	return 0;
}

/* Chooses how both ends wait in all tests of this run: by --poll, or as measure/waiting.h says. */
static int choose_wait(struct measurement *measurement)
{
	const struct options_measure *measure = &measurement->options->measure;
	bool immediate = measurement->threads.members[0].control.device.traits->immediate;
	struct test_parameters parameters;
	const char *why;

	parameters_choose(measurement, measure->smallest, &parameters);
	measurement->wait = parameters.wait;
	if (measure->poll != POLL_AUTO)
		return 0;
	if (measure->latency && test_operation_is_silent(parameters.operation) && !immediate) {
		measurement->wait = TEST_SPIN;
		why = "iWARP cannot wait for an event here";
	} else if (measure->latency) {
		measurement->wait = waiting_of_latency(waiting_processors(), &why);
	} else if (try_both(measurement, &parameters, &measurement->wait, &why)) {
		return -1;
	}
	output_detail(&measurement->output, "--poll auto chose %s: %s",
		measurement_waiting(measurement->wait), why);
	return 0;
}

/* Warms up the caches, the device's tables and the CPU clock. */
static int warm_up(struct measurement *measurement, const struct test_parameters *parameters)
{
	struct test_parameters warm = *parameters;
	struct measured measured;

	warm.operations = 0;
	warm.milliseconds = (uint32_t)measurement->options->measure.warm_up;
	return warm.milliseconds ? run(measurement, &warm, "warming up", &measured) : 0;
}

/* Remembers the best results. */
static void compare_with_best(struct measurement *measurement, const struct measured *measured)
{
	double rate = measurement_rate(measured);
	uint64_t median;

	if (rate > measurement->best) {
		measurement->best = rate;
		measurement->best_size = measured->parameters.size;
	}
	if (!measured->latency || measured->latency->count == 0)
		return;
	median = histogram_percentile(measured->latency, HISTOGRAM_MEDIAN);
	if (measurement->lowest == 0 || median < measurement->lowest) {
		measurement->lowest = median;
		measurement->lowest_size = measured->parameters.size;
	}
}

/* With --csv, prints the result as a line on standard output. */
static void print_csv(const struct options *options, struct json_object *result)
{
	char line[CSV_LINE];

	if (!options->measure.csv)
		return;
	csv_row(line, options->measure.latency, result);
	output_document(result ? line : NULL);
}

/* Prints one result and keeps it for the JSON document. */
static void show(struct measurement *measurement, const struct measured *measured)
{
	const struct options *options = measurement->options;
	struct json_object *result = measurement_json(measured, options->measure.histogram);

	screen_print_result(measurement, measured);
	print_csv(options, result);
	compare_with_best(measurement, measured);
	document_append(measurement->results, result);
}

static void show_head(const struct measurement *measurement)
{
	char line[CSV_LINE];

	screen_print_head(measurement);
	if (measurement->options->measure.csv) {
		csv_head(line, measurement->options->measure.latency);
		output_document(line);
	}
}

/* Reads the counters of both ports. */
static int read_counters(
	struct measurement *measurement, struct counters *ours, struct counters *theirs)
{
	struct control *control = &measurement->threads.members[0].control;

	control_counters(control, ours);
	return control_client_counters(control, theirs, deadline_in(measurement->options->timeout))
		       ? test_threads_failed(&measurement->threads, control)
		       : 0;
}

/* Prints how much the counters of both ports increased during the tests. */
static int count(struct measurement *measurement)
{
	struct counters ours, theirs;

	if (read_counters(measurement, &ours, &theirs))
		return -1;
	counters_difference(&measurement->our_counters, &ours, &measurement->our_counters);
	counters_difference(&measurement->their_counters, &theirs, &measurement->their_counters);
	measurement->counted = true;
	screen_print_counters(measurement);
	return 0;
}

/* Fails if data is wrong or the rate is below --expect. */
static int check_result(struct measurement *measurement)
{
	const struct options_measure *measure = &measurement->options->measure;
	uint64_t wrong = measurement->wrong_here + measurement->wrong_there;
	double wanted =
		measurement_wanted(measurement->options, &measurement->ours, &measurement->theirs);
	char got[40], least[40];

	if (wrong > 0 && measurement->options->operation->atomic)
		return failure_set(&measurement->threads.failure,
			measurement->wrong_here ? FAILURE_DAMAGED : FAILURE_DAMAGED_THERE,
			PHASE_MEASUREMENT, 0, "--verify",
			"a counter did not count every operation once");
	if (wrong > 0)
		return failure_set(&measurement->threads.failure,
			measurement->wrong_here ? FAILURE_DAMAGED : FAILURE_DAMAGED_THERE,
			PHASE_MEASUREMENT, 0, "--verify", "wrong data in %llu operation%s",
			(unsigned long long)wrong, wrong == 1 ? "" : "s");
	if (measure->verify)
		output_result(&measurement->output, NULL,
			measurement->options->operation->atomic
				? "verified: every operation counted once"
			: measurement->options->measure.transport != TEST_RC
				? "verified: every byte of every operation that arrived"
				: "verified: every byte of every operation");
	screen_print_best(measurement);
	if (measurement->best >= wanted)
		return 0;
	measurement_rate_text(got, sizeof(got), measurement->options, measurement->best);
	measurement_rate_text(least, sizeof(least), measurement->options, wanted);
	return failure_set(&measurement->threads.failure, FAILURE_IMPAIRED, PHASE_MEASUREMENT,
		IMPAIRED_EXPECTED, "--expect", "%s of %s", got, least);
}

/* Reads the facts of both ends. */
static int read_facts(struct measurement *measurement)
{
	struct control *control = &measurement->threads.members[0].control;

	if (control_client_facts(
		    control, &measurement->theirs, deadline_in(measurement->options->timeout)))
		return test_threads_failed(&measurement->threads, control);
	control_facts(control, &measurement->ours);
	return 0;
}

/* Chooses the number of the counter that the threads share, if the server's release can. */
static void choose_counter(struct measurement *measurement)
{
	const struct options *options = measurement->options;
	bool shares;

	if (options->measure.threads == 1 || !options->measure.verify ||
		!options->operation->atomic)
		return;
	shares = support_shares_counters(measurement);
	if (shares)
		getrandom(&measurement->threads.counter, sizeof(measurement->threads.counter), 0);
	output_detail(&measurement->output,
		shares ? "all threads share one counter"
		       : "each thread has a counter of its own, because the server's release is older");
}

/* Connects, and reads the facts and counters of both ends. */
static int prepare(struct measurement *measurement)
{
	struct test_threads *threads = &measurement->threads;

	if (test_threads_connect(threads))
		return -1;
	/* An older server would create other queue pairs. */
	if ((measurement->options->measure.shares ||
		    measurement->options->measure.transport != TEST_RC) &&
		(read_facts(measurement) || support_check(measurement)))
		return -1;
	if (test_threads_prepare(threads) || read_facts(measurement))
		return -1;
	choose_counter(measurement);
	return read_counters(measurement, &measurement->our_counters, &measurement->their_counters);
}

/* The rate of an end's link, in words. */
static const char *link_rate(const struct facts *facts)
{
	return link_speed_is_software(facts) ? "which is software without a link rate"
					     : facts_shown(facts, "rate");
}

/* Fails before the tests if --expect is a percentage of an unknown link rate. */
static int check_expectation(struct measurement *measurement)
{
	const struct facts *ours = &measurement->ours, *theirs = &measurement->theirs;

	if (!measurement->options->measure.expect_percent ||
		measurement_wanted(measurement->options, ours, theirs) > 0)
		return 0;
	return failure_set(&measurement->threads.failure, FAILURE_IMPAIRED, PHASE_MEASUREMENT,
		IMPAIRED_UNKNOWN, "--expect", "this host: %s, %s; the other host: %s, %s",
		facts_shown(ours, "driver"), link_rate(ours), facts_shown(theirs, "driver"),
		link_rate(theirs));
}

/* Measures all sizes. */
static int measure_sizes(struct measurement *measurement)
{
	const struct options_measure *measure = &measurement->options->measure;
	struct measured measured;
	struct test_parameters parameters;

	for (uint64_t size = measure->smallest; size <= measure->largest; size *= 2) {
		parameters_choose(measurement, size, &parameters);
		parameters.wait = measurement->wait;
		if (warm_up(measurement, &parameters) ||
			run(measurement, &parameters, NULL, &measured))
			return -1;
		show(measurement, &measured);
	}
	return 0;
}

static int measure_all(struct measurement *measurement)
{
	if (prepare(measurement) || support_check(measurement) || check_expectation(measurement))
		return -1;
	if (choose_wait(measurement))
		return -1;
	show_head(measurement);
	if (measure_sizes(measurement)) {
		if (measurement->threads.failure.kind == FAILURE_INTERRUPTED)
			screen_print_best(measurement);
		return -1;
	}
	return count(measurement) || check_result(measurement) ? -1 : 0;
}

/* Prints the error and, with --json, the document. */
static void report(struct measurement *measurement)
{
	char text[OUTPUT_FAILURE_SIZE];
	const char *message = output_outcome(
		&measurement->output, &measurement->threads.failure, measurement->peer, text);

	if (measurement->options->json)
		document_print(measurement_document(measurement, message));
}

/* Measures and, with --plot, draws the results. */
static void measure_and_draw(struct measurement *measurement)
{
	const char *file = measurement->options->measure.plot;
	struct failure *failure = &measurement->threads.failure;
	struct plot plot = {0};

	if (file && plot_begin(&plot, file, failure))
		return;
	/* What was measured is drawn even if it is too slow. */
	measure_all(measurement);
	if (file && json_object_array_length(measurement->results) > 0)
		plot_draw(&plot, measurement, failure);
	plot_end(&plot);
}

enum exit_status measure_server(const struct options *options, const char *program)
{
	struct measurement *measurement = calloc(1, sizeof(*measurement));
	struct output output = startup_output(program, options);
	enum exit_status status;

	if (!measurement) {
		output_error(&output, "out of memory");
		return output_finish(&output, STATUS_FAILED);
	}
	measurement->options = options;
	measurement->output = output;
	measurement->output.quiet |= options->measure.csv;
	measurement->results = json_object_new_array();
	measurement->start = time(NULL);
	gethostname(measurement->host_name, sizeof(measurement->host_name) - 1);
	startup_server_name(options, measurement->peer);
	test_threads_init(&measurement->threads, options, &measurement->output, measurement->peer,
		parameters_depth_max(options), parameters_memory(options));
	if (startup_secret(&measurement->threads.secret, options->secret_file,
		    &measurement->threads.failure) == 0)
		measure_and_draw(measurement);
	report(measurement);
	status = explain_status(&measurement->threads.failure);
	if (options->metrics)
		status = measurement_metrics_write(measurement, status);
	test_threads_close(&measurement->threads);
	secret_free(measurement->threads.secret);
	json_object_put(measurement->results);
	free(measurement);
	return output_finish(&output, status);
}
