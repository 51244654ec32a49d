/*
 * The checks that move data: WRITE and READ, bandwidth, and the device counters. They run tests on
 * the control connection of the diagnosis, which owns all results.
 */
#include <inttypes.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "diagnose/diagnosis.h"
#include "diagnose/loss-limit.h"
#include "diagnose/mtu-verdicts.h"
#include "diagnose/rounds.h"
#include "diagnose/slow-direction.h"
#include "diagnose/transfer-progress.h"
#include "host/link-speed.h"
#include "host/path-loss.h"
#include "measure/report.h"
#include "measure/test-run.h"

/* The bandwidth test: milliseconds per direction, and bytes per WRITE. */
#define BANDWIDTH_MS   500
#define BANDWIDTH_SIZE 262144

/* From this round trip on, the data check skips some sizes, in nanoseconds. */
#define SKIPPING_NS 50000000

/* Upper bound of the reported rate, in bytes per second. */
#define RATE_MAX 1e18

/*
 * Bytes of a WRITE where one direction seems to be slow: a WRITE must not fill a tenth of a second
 * by itself.
 */
#define CONFIRMING_SIZE 65536

/* How often each direction is then measured again. */
#define CONFIRMATIONS 2

/*
 * Bytes of a WRITE that should not overflow any queue: a few packets. If this many bytes arrive
 * without a loss, the path does not lose 1 % of its packets; a few tests are enough to send them.
 */
#define GENTLE_SIZE  16384
#define GENTLE_BYTES (UINT64_C(400) * GENTLE_SIZE)
#define GENTLE_TESTS 3

#define ENDS  "this host: %s; the other host: %s"
#define RATES "%.1f MB/s to the server, %.1f MB/s from it"

/*
 * Records a failed test, with the operation and the local counters as evidence. That a step took
 * too long proves nothing as long as its packets pass.
 */
static int test_failed(struct diagnosis *diagnosis, enum check check, const char *doing)
{
	struct failure failure = diagnosis->control.failure;
	char seen[sizeof(failure.evidence)], counted[120];

	endpoint_blame(&diagnosis->control.endpoint, &failure);
	check_blame_loss(diagnosis, &failure);
	if (failure.kind == FAILURE_DEADLINE && transfer_progress_watch(diagnosis->control.id->qp))
		failure.code = CODE_TOO_SLOW;
	else
		address_conflicts_blame(&diagnosis->conflicts, &diagnosis->route, &failure);
	memcpy(seen, failure.evidence, sizeof(seen));
	counters_describe(&diagnosis->counted_here, counted, sizeof(counted));
	snprintf(failure.evidence, sizeof(failure.evidence),
		"%.40s%s%.120s; counters of this host: %s", doing, *seen ? ": " : "", seen,
		counted);
	return check_list_fail(&diagnosis->list, check, &failure);
}

/*
 * Ends a slow check if the local device has missed packets: each step may still be in
 * time, but all of them together would take much longer to come to the same conclusion.
 */
static int check_loss(struct diagnosis *diagnosis, const char *doing)
{
	struct path_loss loss;
	char counted[120];

	if (deadline_left(diagnosis->end) > 0 || !check_count_loss(diagnosis, &loss))
		return 0;
	counters_describe(&diagnosis->counted_here, counted, sizeof(counted));
	return check_failed(diagnosis, CHECK_DATA, FAILURE_IMPAIRED, PHASE_EXCHANGE,
		(int)path_loss_impairment(&loss), "%s ended late; counters of this host: %s", doing,
		counted);
}

/*
 * Runs a test at both ends. drain: the milliseconds that the operations in flight at its end are
 * known to take; 0 if unknown.
 */
static int run_test(struct diagnosis *diagnosis, const struct test_parameters *parameters,
	int64_t drain, struct test_result *ours, struct test_result *theirs)
{
	int64_t milliseconds = parameters->milliseconds;
	struct test_shared shared;

	if (test_run_begin_both(&diagnosis->test, parameters,
		    deadline_left(check_deadline(diagnosis, COMMAND_MS, 0))))
		return -1;
	test_shared_init(&shared, test_now());
	if (test_run(&diagnosis->test, &shared, ours, NULL))
		return -1;
	return test_run_end(&diagnosis->test, ours, theirs,
		check_deadline(diagnosis, COMMAND_MS + milliseconds, milliseconds + drain));
}

/* Runs one verified operation of the given size. */
static int try_operation(struct diagnosis *diagnosis, enum test_direction direction,
	const struct test_operation *operation, uint32_t size)
{
	const struct test_parameters parameters = {
		.direction = direction,
		.operation = operation,
		.verify = true,
		.size = size,
		.queue_pairs = 1,
		.depth = 1,
		.slots = 1,
		.operations = 1,
		.seed = diagnosis->control.commands + 1,
	};
	struct test_result ours, theirs;
	uint64_t offset;
	char name[64], count[UNITS_TEXT];

	snprintf(name, sizeof(name), "%s %s of %s bytes",
		direction == TEST_CLIENT ? "client" : "server", operation->word,
		units_format_count(count, size));
	if (run_test(diagnosis, &parameters, 0, &ours, &theirs))
		return test_failed(diagnosis, CHECK_DATA, name);
	if (!ours.wrong && !theirs.wrong)
		return check_loss(diagnosis, name);
	offset = ours.wrong ? ours.wrong_offset : theirs.wrong_offset;
	return check_failed(diagnosis, CHECK_DATA,
		ours.wrong ? FAILURE_DAMAGED : FAILURE_DAMAGED_THERE, PHASE_EXCHANGE, 0,
		"%s: first wrong byte at offset %" PRIu64, name, offset);
}

/* Bytes of data per packet, 0 if unknown. */
static unsigned long packet_size(const struct diagnosis *diagnosis)
{
	return facts_number(&diagnosis->ours, "rdma mtu");
}

static void report_data(struct check_list *list)
{
	char most[UNITS_TEXT];

	check_list_ok(list, CHECK_DATA,
		"WRITE and READ of 1 to %s bytes in both directions: all bytes correct",
		units_format_count(most, COMMAND_REGION_MIN));
	check_list_shorten(list, CHECK_DATA,
		"WRITE and READ of up to %u MiB, both ways: all bytes correct",
		COMMAND_REGION_MIN >> 20);
	check_list_shorten(list, CHECK_DATA, "WRITE and READ, both ways: all bytes correct");
	check_list_shorten(list, CHECK_DATA, "all bytes correct");
}

int check_data(struct diagnosis *diagnosis)
{
	const unsigned long packet = packet_size(diagnosis);
	const uint32_t sizes[] = {1, packet ? (uint32_t)packet : 4096, 65536, COMMAND_REGION_MIN};
	const size_t count = sizeof(sizes) / sizeof(sizes[0]);

	if (mtu_verdicts_peer_cannot_send(diagnosis)) {
		check_list_skip(&diagnosis->list, CHECK_DATA,
			"the other end's interface cannot send packets of this connection's MTU");
		return -1;
	}
	perf_test_init(&diagnosis->test, &diagnosis->control, TEST_DIAGNOSIS_DEPTH, false);
	if (test_run_connect(&diagnosis->test, 1, check_deadline(diagnosis, COMMAND_MS, 0)))
		return check_control_failed(diagnosis, CHECK_DATA);
	/* WRITEs first: if their packets are lost, the counters show in which direction. */
	for (size_t i = 0; i < 2 * count; i++) {
		const struct test_operation *operation =
			&test_operations[i < count ? TEST_WRITE : TEST_READ];
		uint32_t size = sizes[i % count];

		/* On a slow path, the smallest and the largest size must do. */
		if (diagnosis->round_trip > SKIPPING_NS && i % count > 0 && i % count < count - 1)
			continue;
		if (try_operation(diagnosis, TEST_CLIENT, operation, size) ||
			try_operation(diagnosis, TEST_SERVER, operation, size))
			return -1;
	}
	report_data(&diagnosis->list);
	return 0;
}

/* Adds shorter forms of the rates, in bytes per second. */
static void shorten_rates(struct diagnosis *diagnosis)
{
	double there = (double)diagnosis->rate_there / 1e6;
	double back = (double)diagnosis->rate_back / 1e6;
	struct check_list *list = &diagnosis->list;
	char text[ROUNDS_LINE];

	if (strstr(list->checks[CHECK_BANDWIDTH].text, "(software RDMA"))
		check_list_shorten(list, CHECK_BANDWIDTH, RATES " (software RDMA)", there, back);
	check_list_shorten(list, CHECK_BANDWIDTH, RATES, there, back);
	check_list_shorten(
		list, CHECK_BANDWIDTH, "%.1f MB/s to it, %.1f MB/s from it", there, back);
	check_list_shorten(list, CHECK_BANDWIDTH, "%s",
		rounds_format_rates(text, diagnosis->rate_there, diagnosis->rate_back));
}

static void assess_bandwidth(struct diagnosis *diagnosis, double there, double back)
{
	enum impairment why;
	char text[240];

	if (link_speed_is_good(
		    &diagnosis->ours, &diagnosis->theirs, there, back, &why, text, sizeof(text)))
		check_list_ok(&diagnosis->list, CHECK_BANDWIDTH, "%s", text);
	else
		check_failed(diagnosis, CHECK_BANDWIDTH, FAILURE_IMPAIRED, PHASE_EXCHANGE, (int)why,
			"%s", text);
	shorten_rates(diagnosis);
}

/* Returns the milliseconds in which WRITEs of this size arrive that are in flight; 0 if unknown. */
static int64_t drain_time(uint64_t rate, uint32_t size)
{
	uint64_t flight = UINT64_C(1000) * TEST_DIAGNOSIS_DEPTH * size;

	if (rate == 0)
		return 0;
	return rate > flight / COMMAND_MS ? (int64_t)(flight / rate) : COMMAND_MS;
}

/* Measures WRITEs of this size in one direction. The rate is the highest that was measured. */
static int try_bandwidth(struct diagnosis *diagnosis, enum test_direction direction, uint32_t size,
	struct test_result *result)
{
	const struct test_parameters parameters = {
		.direction = direction,
		.operation = &test_operations[TEST_WRITE],
		.size = size,
		.queue_pairs = 1,
		.depth = TEST_DIAGNOSIS_DEPTH,
		.slots = 1,
		.milliseconds = BANDWIDTH_MS,
	};
	bool to_server = direction == TEST_CLIENT;
	uint64_t *rate = to_server ? &diagnosis->rate_there : &diagnosis->rate_back;
	struct test_result ours = {0}, theirs = {0};
	double measured;

	if (run_test(diagnosis, &parameters, drain_time(*rate, size), &ours, &theirs))
		return test_failed(
			diagnosis, CHECK_BANDWIDTH, to_server ? "client WRITEs" : "server WRITEs");
	*result = to_server ? ours : theirs;
	diagnosis->moved += result->bytes;
	/* The server is not trusted: it may report any result. */
	measured = measurement_rate_of(result);
	if (measured > RATE_MAX)
		measured = RATE_MAX;
	if ((uint64_t)measured > *rate)
		*rate = (uint64_t)measured;
	return 0;
}

/*
 * True if both ends are the same port, so no packet can be lost. Soft-RoCE still retransmits: its
 * timers expire while a queue pair is too busy to process acknowledgements.
 */
static bool is_one_port(const struct diagnosis *diagnosis)
{
	return diagnosis->route.route.type == RTN_LOCAL && !check_differs(diagnosis, "device") &&
	       !check_differs(diagnosis, "port");
}

/*
 * Reads the counters of both ends and stores their increases since the data check began. Returns 0,
 * or -1 with the check failed.
 */
static int read_counters(struct diagnosis *diagnosis, enum check check)
{
	struct counters after;

	control_counters(&diagnosis->control, &after);
	counters_difference(&diagnosis->our_counters, &after, &diagnosis->counted_here);
	if (control_client_counters(
		    &diagnosis->control, &after, check_deadline(diagnosis, COMMAND_MS, 0)))
		return check_control_failed(diagnosis, check);
	counters_difference(&diagnosis->their_counters, &after, &diagnosis->counted_there);
	return 0;
}

/*
 * Tells a bottleneck, whose queue overflows while much data is in flight, from a path that loses
 * packets at any time: transfers a little data at a time. Returns 1 if packets are lost
 * nevertheless, 0 if not, or -1 with the check failed.
 */
static int loses_at_any_time(struct diagnosis *diagnosis, enum test_direction direction)
{
	static const struct test_parameters gentle = {
		.operation = &test_operations[TEST_WRITE],
		.size = GENTLE_SIZE,
		.queue_pairs = 1,
		.depth = 1,
		.slots = 1,
		.milliseconds = BANDWIDTH_MS,
	};
	struct counters here = diagnosis->counted_here, there = diagnosis->counted_there;
	struct test_parameters parameters = gentle;
	struct test_result ours, theirs;
	struct path_loss loss = path_loss_of(&here, &there);
	uint64_t bytes = 0, lost = 0;

	if ((direction == TEST_CLIENT ? loss.to : loss.from) == 0)
		return 0;
	parameters.direction = direction;
	for (int i = 0; i < GENTLE_TESTS && bytes < GENTLE_BYTES; i++) {
		if (run_test(diagnosis, &parameters, 0, &ours, &theirs))
			return test_failed(diagnosis, CHECK_BANDWIDTH, "WRITEs one at a time");
		if (read_counters(diagnosis, CHECK_BANDWIDTH))
			return -1;
		counters_difference(&here, &diagnosis->counted_here, &here);
		counters_difference(&there, &diagnosis->counted_there, &there);
		/* A lost packet that nothing followed was sent again, but not reported missing. */
		lost += path_loss_total(&here, &there);
		here = diagnosis->counted_here;
		there = diagnosis->counted_there;
		bytes += direction == TEST_CLIENT ? ours.bytes : theirs.bytes;
		if (loss_limit_exceeded(lost, bytes, packet_size(diagnosis)))
			return 1;
	}
	return 0;
}

/* Measures the direction that seems to be slow, and then the other one. */
static int confirm(
	struct diagnosis *diagnosis, enum test_direction slow, struct slow_direction *seen)
{
	enum test_direction other = slow == TEST_CLIENT ? TEST_SERVER : TEST_CLIENT;
	struct test_result result;

	if (try_bandwidth(diagnosis, slow, CONFIRMING_SIZE, &result))
		return -1;
	slow_direction_add(seen, true, &result);
	if (try_bandwidth(diagnosis, other, CONFIRMING_SIZE, &result))
		return -1;
	slow_direction_add(seen, false, &result);
	return 0;
}

/*
 * Measures both directions. Sets *slow to the one that is slow at any time, or to IMPAIRED_SPEED.
 * Losses, judged later, may have taken the time for more than one confirmation.
 */
static int measure_both(struct diagnosis *diagnosis, enum impairment *slow)
{
	struct slow_direction seen = {0};
	struct test_result result;

	if (try_bandwidth(diagnosis, TEST_CLIENT, BANDWIDTH_SIZE, &result) ||
		try_bandwidth(diagnosis, TEST_SERVER, BANDWIDTH_SIZE, &result))
		return -1;
	*slow = slow_direction_suspected(diagnosis->rate_there, diagnosis->rate_back);
	for (int i = 0; i < CONFIRMATIONS && *slow != IMPAIRED_SPEED; i++) {
		if (i > 0 && deadline_left(diagnosis->end) == 0)
			break;
		if (confirm(diagnosis, *slow == IMPAIRED_SLOW_TO ? TEST_CLIENT : TEST_SERVER,
			    &seen))
			return -1;
		if (!slow_direction_holds(&seen))
			*slow = IMPAIRED_SPEED;
	}
	return 0;
}

int check_bandwidth(struct diagnosis *diagnosis)
{
	enum impairment slow;
	int lossy;

	if (measure_both(diagnosis, &slow) || read_counters(diagnosis, CHECK_BANDWIDTH))
		return -1;
	if (slow == IMPAIRED_SPEED || is_one_port(diagnosis)) {
		assess_bandwidth(diagnosis, (double)diagnosis->rate_there / 1e6,
			(double)diagnosis->rate_back / 1e6);
		return 0;
	}
	lossy = loses_at_any_time(diagnosis, slow == IMPAIRED_SLOW_TO ? TEST_CLIENT : TEST_SERVER);
	if (lossy < 0)
		return -1;
	diagnosis->bottleneck = !lossy;
	diagnosis->lossy = lossy;
	if (lossy) { /* the counters check reports it */
		check_list_ok(&diagnosis->list, CHECK_BANDWIDTH, RATES,
			(double)diagnosis->rate_there / 1e6, (double)diagnosis->rate_back / 1e6);
		shorten_rates(diagnosis);
	} else {
		check_failed(diagnosis, CHECK_BANDWIDTH, FAILURE_IMPAIRED, PHASE_EXCHANGE,
			(int)slow, RATES, (double)diagnosis->rate_there / 1e6,
			(double)diagnosis->rate_back / 1e6);
	}
	return 0;
}

/*
 * Reports the counters of a check that passed, of one port or two: what they count is too little
 * to do harm.
 */
static void report_counters(struct check_list *list, bool one, const char *here, const char *there)
{
	static const char none[] = "no errors";

	if (strcmp(here, none) == 0 && strcmp(there, none) == 0) {
		if (one) {
			check_list_ok(list, CHECK_COUNTERS, "%s", none);
			return;
		}
		check_list_ok(list, CHECK_COUNTERS, ENDS, here, there);
		check_list_shorten(list, CHECK_COUNTERS, "no errors at either end");
		return;
	}
	check_list_ok(list, CHECK_COUNTERS, "nothing harmful; " ENDS, here, there);
	check_list_shorten(list, CHECK_COUNTERS, "nothing harmful (-v shows what they counted)");
	check_list_shorten(list, CHECK_COUNTERS, "nothing harmful");
}

static void assess_counters(struct diagnosis *diagnosis)
{
	const struct counters *ours = &diagnosis->counted_here, *theirs = &diagnosis->counted_there;
	struct path_loss loss = path_loss_of(ours, theirs);
	char here[160], there[160];
	uint64_t again = path_loss_total(ours, theirs), packet = packet_size(diagnosis);
	uint64_t broken_packets =
		counters_total(ours, COUNTER_LINK) + counters_total(theirs, COUNTER_LINK);

	counters_describe(ours, here, sizeof(here));
	counters_describe(theirs, there, sizeof(there));
	if ((diagnosis->lossy || loss_limit_exceeded(again, diagnosis->moved, packet)) &&
		!is_one_port(diagnosis) && !diagnosis->bottleneck)
		check_failed(diagnosis, CHECK_COUNTERS, FAILURE_IMPAIRED, PHASE_EXCHANGE,
			(int)path_loss_impairment(&loss), ENDS, here, there);
	else if (broken_packets > 0)
		check_failed(diagnosis, CHECK_COUNTERS, FAILURE_IMPAIRED, PHASE_EXCHANGE,
			IMPAIRED_LINK, ENDS, here, there);
	else
		report_counters(&diagnosis->list, is_one_port(diagnosis), here, there);
}

int check_counters(struct diagnosis *diagnosis)
{
	if (read_counters(diagnosis, CHECK_COUNTERS))
		return -1;
	if (counters_include_faults(&diagnosis->counted_here) ||
		counters_include_faults(&diagnosis->counted_there))
		assess_counters(diagnosis);
	else
		check_list_skip(&diagnosis->list, CHECK_COUNTERS,
			"neither device has readable error counters");
	return 0;
}
