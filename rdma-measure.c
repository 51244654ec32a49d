#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/document.h"
#include "lib/host.h"
#include "lib/measurement.h"
#include "rdma-ask.h"
#include "rdma-bench.h"
#include "rdma-measure.h"
#include "rdma-session.h"
#include "rdma-way.h"

/* Address resolution is asked for in short attempts: see rdma-client.c. */
#define RESOLVE_MS 1000

/* Operations under way if --depth does not say it: so many, or bytes; and of a latency's WRITEs. */
#define DEPTH_MAX     128
#define DEPTH_MIN     16
#define DEPTH_BYTES   (4 << 20)
#define DEPTH_LATENCY 64

/* READs at a time that are asked for, as many as can be: the devices do what they can. */
#define READS 255

/* What the patterns of two runs differ by: any large odd number but that of lib/pattern.c. */
#define RUN_SEED UINT64_C(0xd1342543de82ef95)

/* The least time in which one way of waiting is compared with another, in milliseconds. */
#define TRIAL_MS 50

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct measurement {
	const struct options *options;
	struct output output;
	struct secret *secret;
	int signals;
	char peer[SESSION_PEER_SIZE];
	struct way way;
	struct ask ask;
	struct bench bench;
	struct facts ours, theirs;
	struct counters our_counters, their_counters; /* before; then what they have increased by */
	bool counted;
	struct latency latency;
	struct json_object *results;
	uint64_t wrong_here, wrong_there; /* operations whose data was not right */
	uint64_t runs;
	double best; /* bytes in a second */
	struct failure failure;
};

static deadline_t patience(const struct measurement *measurement)
{
	return deadline_in(measurement->options->timeout);
}

/* Keeps the first failure; of what a diagnosis says of silence nothing is true here. */
static int take_failure(struct measurement *measurement)
{
	struct failure *failure = &measurement->ask.probe.failure;

	if (failure->phase == PHASE_EXCHANGE)
		failure->phase = PHASE_MEASUREMENT;
	if (failure->kind == FAILURE_DEADLINE && failure->code == CODE_DIAGNOSIS)
		failure->code = ETIMEDOUT;
	if (failure->kind == FAILURE_ERRNO && failure->phase == PHASE_ADDRESS)
		way_evidence(&measurement->way, measurement->options, failure->code,
			failure->evidence, sizeof(failure->evidence));
	if (failure->kind == FAILURE_DEADLINE && !*failure->evidence)
		snprintf(failure->evidence, sizeof(failure->evidence), "no answer within %g s",
			(double)measurement->options->timeout / 1000);
	if (!failure_is_set(&measurement->failure) || failure->kind == FAILURE_INTERRUPTED)
		measurement->failure = *failure;
	return -1;
}

/* The most work requests under way on a queue pair, whatever the size. */
static uint32_t depth_max(const struct measurement *measurement)
{
	if (measurement->options->measure.latency)
		return DEPTH_LATENCY;
	return measurement->options->depth ? measurement->options->depth : DEPTH_MAX;
}

/* Tries one address of the server. */
static int try_address(struct measurement *measurement, deadline_t deadline)
{
	const struct options *options = measurement->options;
	const struct ask_wish wish = {
		.kind = SESSION_MEASUREMENT,
		.timeout = (uint32_t)options->timeout,
		.queue_pairs = options->measure.queue_pairs,
		.depth = depth_max(measurement),
		.reads = READS,
	};
	const struct sockaddr *server = measurement->way.address->ai_addr;
	struct ask *ask = &measurement->ask;
	struct sockaddr_storage source;
	struct event_copy answer;

	if (session_source(options, measurement->way.sources, server->sa_family, &source,
		    &measurement->failure))
		return -1;
	if (ask_open(ask, server, measurement->secret))
		return take_failure(measurement);
	ask->probe.stop_fd = measurement->signals;
	if (ask_resolve(ask, address_or_none(&source), server, deadline_in(RESOLVE_MS)) ||
		session_check_device(options, ask->probe.id, &ask->probe.failure) ||
		ask_connect(ask, &wish, deadline, &answer) ||
		ask_admission(ask, &wish, &answer, deadline))
		return take_failure(measurement);
	return 0;
}

/* Connects to the server, at whichever of its addresses. */
static int connect_server(struct measurement *measurement)
{
	const struct failure *failure = &measurement->failure;
	deadline_t deadline = patience(measurement);

	if (way_find(&measurement->way, measurement->options, deadline, &measurement->failure))
		return -1;
	/* Not before the lookups: until here a signal just ends the process. */
	measurement->signals = signals_open();
	if (measurement->signals < 0)
		return failure_set(&measurement->failure, FAILURE_ERRNO, PHASE_ADDRESS,
			-measurement->signals, "signalfd", "%s", strerror(-measurement->signals));
	while (try_address(measurement, deadline)) {
		ask_close(&measurement->ask);
		if (failure->kind == FAILURE_INTERRUPTED || deadline_left(deadline) == 0 ||
			!way_next(&measurement->way, failure->code == ETIMEDOUT))
			return -1;
	}
	measurement->failure = (struct failure){0}; /* of an address tried before */
	return 0;
}

static bool is_iwarp(const struct measurement *measurement)
{
	return measurement->ask.probe.id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
}

/* iWARP knows neither immediate data nor queue pairs that rdmacm has not connected. */
static int check_transport(struct measurement *measurement)
{
	const struct options_measure *measure = &measurement->options->measure;
	const char *option = measure->queue_pairs > 1 ? "--qps" : NULL;

	if (measure->latency && measure->poll == POLL_EVENT)
		option = "--poll event";
	if (!option || !is_iwarp(measurement))
		return 0;
	return failure_set(&measurement->failure, FAILURE_ERRNO, PHASE_QUEUE_PAIR, EOPNOTSUPP,
		"iWARP", "iWARP cannot do %s", option);
}

/* Memory, and the queue pairs beside the first one. */
static int prepare(struct measurement *measurement)
{
	struct ask *ask = &measurement->ask;
	struct bench *bench = &measurement->bench;
	uint8_t numbers[4 * PLAN_QUEUE_PAIRS_MAX];
	struct order lanes = {.type = ORDER_LANES, .text = (char *)numbers}, answer;

	if (check_transport(measurement))
		return -1;
	bench_init(bench, &ask->probe, depth_max(measurement), false);
	if (probe_enlarge(&ask->probe, options_measure_memory(&measurement->options->measure)) ||
		ask_facts(ask, &measurement->theirs, patience(measurement)) ||
		ask_region(ask, patience(measurement)) ||
		bench_make_lanes(bench, measurement->options->measure.queue_pairs))
		return take_failure(measurement);
	lanes.text_size = (uint16_t)bench_lanes_tell(bench, numbers);
	if (ask_order(ask, &lanes, &answer, patience(measurement)) ||
		bench_lanes_meet(bench, answer.text, answer.text_size))
		return take_failure(measurement);
	probe_facts(&ask->probe, &measurement->ours);
	return 0;
}

/* As many operations under way as fill the way, and not more memory than there is. */
static void choose_depth(const struct measurement *measurement, struct plan *plan)
{
	uint64_t fitting = DEPTH_BYTES / plan->size, pieces;

	plan->depth = depth_max(measurement);
	if (!measurement->options->depth && fitting < plan->depth &&
		!measurement->options->measure.latency)
		plan->depth = fitting < DEPTH_MIN ? DEPTH_MIN : (uint32_t)fitting;
	plan->slots = 1;
	if (!plan->verify || measurement->options->measure.latency)
		return;
	pieces = measurement->ask.probe.private.size / plan->size / plan->queue_pairs;
	plan->slots = pieces < plan->depth ? (uint32_t)pieces : plan->depth;
	plan->depth = plan->slots; /* no more can be under way */
}

static void make_plan(const struct measurement *measurement, uint64_t size, struct plan *plan)
{
	const struct options_measure *measure = &measurement->options->measure;

	*plan = (struct plan){
		.kind = measure->latency ? PLAN_LATENCY : PLAN_BANDWIDTH,
		.wait = measure->poll == POLL_SPIN ? PLAN_SPIN : PLAN_EVENT,
		.reads = measurement->options->mode->number == MODE_READ,
		.both_ways = measure->bidirectional,
		.verify = measure->verify,
		.size = (uint32_t)size,
		.queue_pairs = measure->queue_pairs,
		.operations = measure->iterations,
		.milliseconds = (uint32_t)measure->duration,
	};
	choose_depth(measurement, plan);
}

/* Carries out a plan, at both ends. */
static int run(struct measurement *measurement, struct plan *plan, struct measured *measured)
{
	struct ask *ask = &measurement->ask;
	struct bench *bench = &measurement->bench;
	uint8_t text[PLAN_SIZE];
	struct order begin = {.type = ORDER_BEGIN, .text = (char *)text, .text_size = PLAN_SIZE};
	struct order end = {.type = ORDER_END}, answer;

	/* Data of another run is wrong in this one. */
	plan->seed = ++measurement->runs * RUN_SEED;
	*measured = (struct measured){.plan = *plan};
	if (plan->kind == PLAN_LATENCY) {
		latency_init(&measurement->latency);
		measured->latency = &measurement->latency;
	}
	plan_encode(plan, text);
	bench_begin(bench, plan, measurement->options->timeout);
	if (ask_order(ask, &begin, &answer, patience(measurement)) ||
		bench_run(bench, &measured->ours, &measurement->latency) ||
		ask_order(ask, &end, &answer, patience(measurement)))
		return take_failure(measurement);
	if (tally_decode(&measured->theirs, answer.text, answer.text_size)) {
		failure_set(&ask->probe.failure, FAILURE_PROTOCOL, PHASE_EXCHANGE, -EPROTO,
			"tally_decode", "what it says of the run makes no sense");
		return take_failure(measurement);
	}
	measurement->wrong_here += measured->ours.wrong;
	measurement->wrong_there += measured->theirs.wrong;
	return 0;
}

/* How good a run was, for comparison with another one. */
static double merit(const struct measured *measured)
{
	if (!measured->latency)
		return measurement_rate(measured);
	return 1 / ((double)latency_percentile(measured->latency, 0.5) + 1);
}

/*
 * Warms up: caches, the device's tables, the processor's clock. If nobody has said how to wait, each way
 * has its turn, and the better one is taken.
 */
static int warm_up(struct measurement *measurement, struct plan *plan)
{
	const struct options_measure *measure = &measurement->options->measure;
	struct measured measured;
	struct plan trial = *plan;
	/* In turns, so that neither has the advantage of coming later. */
	static const enum plan_wait trials[] = {PLAN_EVENT, PLAN_SPIN, PLAN_SPIN, PLAN_EVENT};
	double merits[PLAN_WAITS] = {0};

	trial.operations = 0;
	trial.milliseconds = (uint32_t)measure->warm_up;
	if (measure->latency && is_iwarp(measurement))
		trial.wait = plan->wait = PLAN_SPIN;
	if (measure->poll != POLL_AUTO || trial.wait == PLAN_SPIN)
		return trial.milliseconds ? run(measurement, &trial, &measured) : 0;
	trial.milliseconds /= COUNT(trials);
	if (trial.milliseconds < TRIAL_MS)
		trial.milliseconds = TRIAL_MS;
	for (size_t i = 0; i < COUNT(trials); i++) {
		trial.wait = trials[i];
		if (run(measurement, &trial, &measured))
			return -1;
		merits[trial.wait] += merit(&measured);
	}
	plan->wait = merits[PLAN_SPIN] > merits[PLAN_EVENT] ? PLAN_SPIN : PLAN_EVENT;
	output_detail(&measurement->output, "%u bytes: %s is better by %.1f %%", plan->size,
		plan->wait == PLAN_SPIN ? "spinning" : "sleeping",
		100 * (merits[plan->wait] / merits[!plan->wait] - 1));
	return 0;
}

/* Shows one run, and keeps what is judged at the end. */
static int show(struct measurement *measurement, const struct measured *measured)
{
	const struct options *options = measurement->options;
	struct json_object *result = measurement_json(measured, options->measure.histogram);
	char line[MEASUREMENT_LINE];
	size_t bar = 0;

	for (unsigned int i = 0; measurement_row(line, options, measured, i); i++)
		output_line(&measurement->output, "%s", line);
	while (options->measure.histogram && measurement_bar(line, &measurement->latency, &bar))
		output_line(&measurement->output, "%s", line);
	if (measurement_rate(measured) > measurement->best)
		measurement->best = measurement_rate(measured);
	if (result && json_object_array_add(measurement->results, result) == 0)
		return 0;
	json_object_put(result);
	return failure_set(&measurement->failure, FAILURE_ERRNO, PHASE_MEMORY, ENOMEM, "json-c",
		"%s", strerror(ENOMEM));
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
		"%s: %s port %s (%s), link %s, RDMA MTU %s, GID %s, NUMA node %s, thread on %s",
		where, value(facts, "device"), value(facts, "port"), value(facts, "driver"),
		value(facts, "rate"), value(facts, "rdma mtu"), value(facts, "gid type"),
		value(facts, "numa node"), value(facts, "thread numa node"));
}

static void show_head(const struct measurement *measurement)
{
	char line[MEASUREMENT_LINE];

	show_end(measurement, "here ", &measurement->ours);
	show_end(measurement, "there", &measurement->theirs);
	for (unsigned int i = 0; measurement_head(line, measurement->options, i); i++)
		output_line(&measurement->output, "%s", line);
}

/* What both ports counted meanwhile. */
static int count(struct measurement *measurement)
{
	struct counters ours, theirs;
	char here[COUNTERS_TEXT_MAX], there[COUNTERS_TEXT_MAX];

	ask_count_here(&measurement->ask, &ours);
	if (ask_count_there(&measurement->ask, &theirs, patience(measurement)))
		return take_failure(measurement);
	counters_difference(&measurement->our_counters, &ours, &measurement->our_counters);
	counters_difference(&measurement->their_counters, &theirs, &measurement->their_counters);
	measurement->counted = true;
	counters_sum_up(&measurement->our_counters, here, sizeof(here));
	counters_sum_up(&measurement->their_counters, there, sizeof(there));
	output_line(&measurement->output, "counted here: %s; there: %s", here, there);
	return 0;
}

/* Data that was not right is a failure; a rate that is too low one of another kind. */
static int judge(struct measurement *measurement)
{
	const struct options_measure *measure = &measurement->options->measure;
	uint64_t wrong = measurement->wrong_here + measurement->wrong_there;
	double wanted =
		measurement_wanted(measurement->options, &measurement->ours, &measurement->theirs);
	char got[40], least[40];

	if (wrong > 0)
		return failure_set(&measurement->failure,
			measurement->wrong_here ? FAILURE_DAMAGED : FAILURE_DAMAGED_THERE,
			PHASE_MEASUREMENT, 0, "--verify",
			"the data of %llu operation%s was not right", (unsigned long long)wrong,
			wrong == 1 ? "" : "s");
	if (measure->verify)
		output_line(&measurement->output, "verified: every byte of every operation");
	if (measurement->best >= wanted)
		return 0;
	measurement_rate_text(got, sizeof(got), measurement->options, measurement->best);
	measurement_rate_text(least, sizeof(least), measurement->options, wanted);
	return failure_set(&measurement->failure, FAILURE_IMPAIRED, PHASE_MEASUREMENT,
		IMPAIRED_EXPECTED, "--expect", "%s of %s", got, least);
}

/* A share of what nobody knows is never reached: that is better told before than after. */
static int check_expectation(struct measurement *measurement)
{
	const struct facts *ours = &measurement->ours, *theirs = &measurement->theirs;

	if (!measurement->options->measure.expect_percent ||
		measurement_wanted(measurement->options, ours, theirs) > 0)
		return 0;
	return failure_set(&measurement->failure, FAILURE_IMPAIRED, PHASE_MEASUREMENT,
		IMPAIRED_UNKNOWN, "--expect", "%s, %s here; %s, %s there", value(ours, "driver"),
		value(ours, "rate"), value(theirs, "driver"), value(theirs, "rate"));
}

static int measure_all(struct measurement *measurement)
{
	const struct options_measure *measure = &measurement->options->measure;
	struct measured measured;
	struct plan plan;

	if (connect_server(measurement) || prepare(measurement) || check_expectation(measurement))
		return -1;
	ask_count_here(&measurement->ask, &measurement->our_counters);
	if (ask_count_there(&measurement->ask, &measurement->their_counters, patience(measurement)))
		return take_failure(measurement);
	show_head(measurement);
	for (uint64_t size = measure->smallest; size <= measure->largest; size *= 2) {
		make_plan(measurement, size, &plan);
		if (warm_up(measurement, &plan) || run(measurement, &plan, &measured) ||
			show(measurement, &measured))
			return -1;
	}
	return count(measurement) || judge(measurement) ? -1 : 0;
}

static void print_document(const struct measurement *measurement, const char *error)
{
	struct json_object *object = measurement_document(&(struct measurement_report){
		.program = measurement->output.program,
		.options = measurement->options,
		.status = failure_status(&measurement->failure),
		.error = error,
		.ours = &measurement->ours,
		.theirs = &measurement->theirs,
		.our_counters = measurement->counted ? &measurement->our_counters : NULL,
		.their_counters = measurement->counted ? &measurement->their_counters : NULL,
		.results = measurement->results,
	});

	output_document(document_line(object));
	json_object_put(object);
}

/* Says how it ended. */
static void report(struct measurement *measurement)
{
	const char *error = NULL;
	char text[1024];

	if (failure_is_set(&measurement->failure)) {
		failure_explain(&measurement->failure, measurement->peer,
			measurement->output.verbose, text, sizeof(text));
		output_error(&measurement->output, "%s", text);
		error = text;
	}
	if (measurement->options->json)
		print_document(measurement, error);
}

static void tear_down(struct measurement *measurement)
{
	bench_free(&measurement->bench);
	ask_close(&measurement->ask);
	way_free(&measurement->way);
	secret_free(measurement->secret);
	if (measurement->signals >= 0)
		close(measurement->signals);
	json_object_put(measurement->results);
	free(measurement);
}

enum exit_status measure_server(const struct options *options, const char *program)
{
	struct measurement *measurement = calloc(1, sizeof(*measurement));
	struct output output = session_output(program, options);
	enum exit_status status = STATUS_FAILED;

	if (measurement)
		measurement->results = json_object_new_array();
	if (!measurement || !measurement->results) {
		output_error(&output, "there is not enough memory");
		free(measurement);
		return output_finish(&output, STATUS_FAILED);
	}
	measurement->options = options;
	measurement->output = output;
	measurement->signals = -1;
	session_peer(options, measurement->peer);
	if (session_load_secret(&measurement->secret, options->secret_file, &output) == 0) {
		measure_all(measurement);
		report(measurement);
		status = failure_status(&measurement->failure);
	}
	tear_down(measurement);
	return output_finish(&output, status);
}
