/*
 * `rdma-client bandwidth` and `latency`: connects the threads, runs a test per message size and
 * prints the results. The main thread owns struct measurement, which contains the results and all
 * threads' connections. The other threads run only during a test, each on its own connection.
 */
#include <json-c/json.h>
#include <stdlib.h>

#include "base/explain.h"
#include "base/json-document.h"
#include "cli/startup.h"
#include "measure/measure.h"
#include "measure/parameters.h"
#include "measure/waiting.h"

/* Minimum duration in milliseconds of a trial that compares spinning with sleeping. */
#define TRIAL_MS 50

/* Runs a test and counts its operations with wrong data. */
static int run(struct measurement *measurement, const struct test_parameters *parameters,
	struct measured *measured)
{
	struct test_parameters own = *parameters;

	if (parameters_need_immediate(measurement, parameters))
		own.wait = TEST_SPIN_IMMEDIATE;
	if (test_threads_run(&measurement->threads, &own, measured, &measurement->latency))
		return -1;
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
		if (run(measurement, &trial, &measured))
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
	if (measure->latency && !parameters.reads && !immediate) {
		measurement->wait = TEST_SPIN;
		why = "iWARP cannot wait for an event here";
	} else if (measure->latency) {
		measurement->wait = waiting_of_latency(waiting_processors(), &why);
	} else if (try_both(measurement, &parameters, &measurement->wait, &why)) {
		return -1;
	}
	output_detail(&measurement->output, "--poll auto chose %s: %s",
		measurement->wait == TEST_SPIN ? "spin" : "event", why);
	return 0;
}

/* Warms up the caches, the device's tables and the CPU clock. */
static int warm_up(struct measurement *measurement, const struct test_parameters *parameters)
{
	struct test_parameters warm = *parameters;
	struct measured measured;

	warm.operations = 0;
	warm.milliseconds = (uint32_t)measurement->options->measure.warm_up;
	return warm.milliseconds ? run(measurement, &warm, &measured) : 0;
}

/* Prints one result and keeps it for the JSON document. */
static void show(struct measurement *measurement, const struct measured *measured)
{
	const struct options *options = measurement->options;
	char line[MEASUREMENT_LINE];
	size_t bar = 0;

	for (unsigned int i = 0; measurement_row(line, options, measured, i); i++)
		output_line(&measurement->output, "%s", line);
	while (options->measure.histogram && measurement_bar(line, &measurement->latency, &bar))
		output_line(&measurement->output, "%s", line);
	if (measurement_rate(measured) > measurement->best)
		measurement->best = measurement_rate(measured);
	document_append(
		measurement->results, measurement_json(measured, options->measure.histogram));
}

static const char *value(const struct facts *facts, const char *name)
{
	const char *known = facts_value(facts, name);

	return known ? known : "unknown";
}

static void show_end(
	const struct measurement *measurement, const char *where, const struct facts *facts)
{
	output_line(&measurement->output,
		"%s %s port %s (%s), link %s, RDMA MTU %s, GID %s, NUMA node %s, thread on node %s",
		where, value(facts, "device"), value(facts, "port"), value(facts, "driver"),
		value(facts, "rate"), value(facts, "rdma mtu"), value(facts, "gid type"),
		value(facts, "numa node"), value(facts, "thread numa node"));
}

static void show_tuning(
	const struct measurement *measurement, const char *where, const struct facts *facts)
{
	output_detail(&measurement->output,
		"%s DSCP %s, relaxed ordering %s, huge pages %s, processors %s, completion vector "
		"%s",
		where, value(facts, "dscp"), value(facts, "relaxed ordering"),
		value(facts, "huge pages"),
		facts_value(facts, "processors") ? value(facts, "processors") : "any",
		value(facts, "completion vector"));
}

static void show_head(const struct measurement *measurement)
{
	char line[MEASUREMENT_LINE];

	show_end(measurement, "local: ", &measurement->ours);
	show_end(measurement, "remote:", &measurement->theirs);
	show_tuning(measurement, "local: ", &measurement->ours);
	show_tuning(measurement, "remote:", &measurement->theirs);
	for (unsigned int i = 0; measurement_head(line, measurement->options, i); i++)
		output_line(&measurement->output, "%s", line);
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
	char here[COUNTERS_TEXT_MAX], there[COUNTERS_TEXT_MAX];

	if (read_counters(measurement, &ours, &theirs))
		return -1;
	counters_difference(&measurement->our_counters, &ours, &measurement->our_counters);
	counters_difference(&measurement->their_counters, &theirs, &measurement->their_counters);
	measurement->counted = true;
	counters_describe(&measurement->our_counters, here, sizeof(here));
	counters_describe(&measurement->their_counters, there, sizeof(there));
	output_line(&measurement->output, "local counters: %s; remote counters: %s", here, there);
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

	if (wrong > 0)
		return failure_set(&measurement->threads.failure,
			measurement->wrong_here ? FAILURE_DAMAGED : FAILURE_DAMAGED_THERE,
			PHASE_MEASUREMENT, 0, "--verify", "wrong data in %llu operation%s",
			(unsigned long long)wrong, wrong == 1 ? "" : "s");
	if (measure->verify)
		output_line(&measurement->output, "verified: every byte of every operation");
	if (measurement->best >= wanted)
		return 0;
	measurement_rate_text(got, sizeof(got), measurement->options, measurement->best);
	measurement_rate_text(least, sizeof(least), measurement->options, wanted);
	return failure_set(&measurement->threads.failure, FAILURE_IMPAIRED, PHASE_MEASUREMENT,
		IMPAIRED_EXPECTED, "--expect", "%s of %s", got, least);
}

/* Connects, and reads the facts and counters of both ends. */
static int prepare(struct measurement *measurement)
{
	struct test_threads *threads = &measurement->threads;
	struct control *control = &threads->members[0].control;

	if (test_threads_connect(threads))
		return -1;
	if (test_threads_prepare(threads))
		return -1;
	if (control_client_facts(
		    control, &measurement->theirs, deadline_in(measurement->options->timeout)))
		return test_threads_failed(threads, control);
	control_facts(control, &measurement->ours);
	return read_counters(measurement, &measurement->our_counters, &measurement->their_counters);
}

/* Fails before the tests if --expect is a percentage of an unknown link rate. */
static int check_expectation(struct measurement *measurement)
{
	const struct facts *ours = &measurement->ours, *theirs = &measurement->theirs;

	if (!measurement->options->measure.expect_percent ||
		measurement_wanted(measurement->options, ours, theirs) > 0)
		return 0;
	return failure_set(&measurement->threads.failure, FAILURE_IMPAIRED, PHASE_MEASUREMENT,
		IMPAIRED_UNKNOWN, "--expect", "local: %s, %s; remote: %s, %s",
		value(ours, "driver"), value(ours, "rate"), value(theirs, "driver"),
		value(theirs, "rate"));
}

static int measure_all(struct measurement *measurement)
{
	const struct options_measure *measure = &measurement->options->measure;
	struct measured measured;
	struct test_parameters parameters;

	if (prepare(measurement) || check_expectation(measurement))
		return -1;
	show_head(measurement);
	if (choose_wait(measurement))
		return -1;
	for (uint64_t size = measure->smallest; size <= measure->largest; size *= 2) {
		parameters_choose(measurement, size, &parameters);
		parameters.wait = measurement->wait;
		if (warm_up(measurement, &parameters) || run(measurement, &parameters, &measured))
			return -1;
		show(measurement, &measured);
	}
	return count(measurement) || check_result(measurement) ? -1 : 0;
}

/* Prints the error and, with --json, the document. */
static void report(struct measurement *measurement)
{
	char text[OUTPUT_FAILURE_SIZE];
	const char *error = output_outcome(
		&measurement->output, &measurement->threads.failure, measurement->peer, text);

	if (measurement->options->json)
		document_print(measurement_document(measurement, error));
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
	measurement->results = json_object_new_array();
	startup_server_name(options, measurement->peer);
	test_threads_init(&measurement->threads, options, &measurement->output, measurement->peer,
		parameters_depth_max(options));
	if (startup_secret(&measurement->threads.secret, options->secret_file,
		    &measurement->threads.failure) == 0)
		measure_all(measurement);
	report(measurement);
	status = explain_status(&measurement->threads.failure);
	test_threads_close(&measurement->threads);
	secret_free(measurement->threads.secret);
	json_object_put(measurement->results);
	free(measurement);
	return output_finish(&output, status);
}
