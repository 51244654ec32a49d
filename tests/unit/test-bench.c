/* Measured runs, both ends of them, on a made-up device. */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>

#include "bench-rig.h"
#include "lib/pattern.h"

#define OPERATIONS 120
#define MEMORY     65536

/* Too large for a stack. */
static struct latency latency;

static struct plan plan_of(bool reads, bool both_ways, bool verify)
{
	return (struct plan){
		.reads = reads,
		.both_ways = both_ways,
		.verify = verify,
		.size = 1000,
		.queue_pairs = 1,
		.depth = 8,
		.slots = verify ? 8 : 1,
		.operations = OPERATIONS,
		.seed = 42,
	};
}

static void assert_done(const struct bench_rig *rig, const struct plan *plan)
{
	uint64_t all = plan->operations * plan->queue_pairs;

	assert_int_equal(rig->client.tally.operations, all);
	assert_int_equal(rig->client.tally.bytes, all * plan->size);
	assert_true(rig->client.tally.nanoseconds > 0);
	assert_int_equal(rig->client.tally.wrong, 0);
	assert_int_equal(rig->server.result, 0);
	assert_int_equal(rig->server.tally.wrong, 0);
	/* Without verification the server stops when the client has enough. */
	if (!plan->both_ways)
		assert_int_equal(rig->server.tally.operations, 0);
	else if (plan->verify)
		assert_int_equal(rig->server.tally.operations, all);
	else
		assert_true(rig->server.tally.operations <= all);
}

/* All kinds of a bandwidth's run, one after another on one connection. */
static void run_all(uint32_t queue_pairs, uint32_t depth, uint32_t slots, uint32_t size)
{
	struct bench_rig rig;

	bench_rig_start(&rig, queue_pairs, depth, MEMORY);
	for (unsigned int kind = 0; kind < 16; kind++) {
		struct plan plan = plan_of(kind & 1, kind & 2, kind & 4);

		plan.wait = kind & 8 ? PLAN_SPIN : PLAN_EVENT;
		plan.queue_pairs = queue_pairs;
		plan.depth = depth;
		plan.slots = plan.verify ? slots : 1;
		plan.size = size;
		if (bench_rig_run(&rig, &plan, NULL))
			fail_msg("kind %u: %s", kind, rig.client.probe.failure.call);
		assert_done(&rig, &plan);
	}
	bench_rig_stop(&rig);
}

static void bandwidth_of_one_queue_pair(void **state)
{
	(void)state;
	run_all(1, 8, 8, 1000);
	run_all(1, 16, 5, 1);
	run_all(1, 1, 1, 4096);
	run_all(1, 100, 2, 33);
	run_all(1, 3, 3, 32);
}

static void bandwidth_of_several_queue_pairs(void **state)
{
	(void)state;
	run_all(3, 8, 8, 1000);
	run_all(3, 1, 1, 64);
	run_all(7, 40, 4, 2048);
}

/* What a device of no great memory takes goes inline, if it is no READ. */
static void small_writes_are_inline(void **state)
{
	static const struct {
		uint32_t size;
		bool reads, is_inline;
	} cases[] = {{32, false, true}, {33, false, false}, {8, true, false}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct plan plan = plan_of(cases[i].reads, false, false);
		struct bench_rig rig;

		plan.size = cases[i].size;
		bench_rig_start(&rig, 1, 8, MEMORY);
		assert_int_equal(bench_rig_run(&rig, &plan, NULL), 0);
		assert_int_equal(bench_rig_operations(), OPERATIONS);
		assert_int_equal(bench_rig_inline(), cases[i].is_inline ? OPERATIONS : 0);
		bench_rig_stop(&rig);
	}
}

static void a_time_ends_a_run(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < 8; kind++) {
		struct plan plan = plan_of(kind & 1, kind & 2, kind & 4);
		struct bench_rig rig;

		plan.operations = 0;
		plan.milliseconds = 20;
		bench_rig_start(&rig, 1, 8, MEMORY);
		assert_int_equal(bench_rig_run(&rig, &plan, NULL), 0);
		/* A server that is slow to make what is READ lets the time pass. */
		assert_true(rig.client.tally.operations > 0 || (plan.reads && plan.verify));
		assert_true(rig.client.tally.nanoseconds >= 20000000);
		assert_int_equal(rig.client.tally.wrong + rig.server.tally.wrong, 0);
		assert_int_equal(rig.server.result, 0);
		bench_rig_stop(&rig);
	}
}

/* Whatever becomes of one operation, whoever looks at its data sees it, and no other one is wrong. */
static void wrong_data_is_found(void **state)
{
	static const enum mishap mishaps[] = {DAMAGED, LOST, MISPLACED};
	static const unsigned int places[] = {0, 7, 60, OPERATIONS - 1};

	(void)state;
	for (unsigned int reads = 0; reads < 2; reads++)
		for (size_t i = 0; i < COUNT(mishaps); i++)
			for (size_t j = 0; j < COUNT(places); j++) {
				struct plan plan = plan_of(reads, false, true);
				struct bench_rig rig;

				bench_rig_start(&rig, 1, 8, MEMORY);
				bench_rig_mishap(places[j], mishaps[i]);
				assert_int_equal(bench_rig_run(&rig, &plan, NULL), 0);
				assert_int_equal(rig.client.tally.wrong, reads ? 1 : 0);
				assert_int_equal(rig.server.tally.wrong, reads ? 0 : 1);
				bench_rig_stop(&rig);
			}
}

/* Who does not verify does not see it: it is no test of the tests. */
static void wrong_data_is_not_looked_for(void **state)
{
	struct plan plan = plan_of(false, false, false);
	struct bench_rig rig;

	(void)state;
	bench_rig_start(&rig, 1, 8, MEMORY);
	bench_rig_mishap(5, DAMAGED);
	assert_int_equal(bench_rig_run(&rig, &plan, NULL), 0);
	assert_done(&rig, &plan);
	bench_rig_stop(&rig);
}

static void assert_failure(const struct bench_end *end, enum failure_kind kind)
{
	assert_int_equal(end->result, -1);
	assert_int_equal(end->probe.failure.kind, kind);
}

static void a_failed_operation_ends_it(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < 4; kind++) {
		struct plan plan = plan_of(kind & 1, false, kind & 2);
		struct bench_rig rig;

		bench_rig_start(&rig, 1, 8, MEMORY);
		bench_rig_mishap(20, REFUSED);
		assert_int_equal(bench_rig_run(&rig, &plan, NULL), -1);
		assert_failure(&rig.client, FAILURE_COMPLETION);
		assert_int_equal(rig.client.probe.failure.code, IBV_WC_REM_ACCESS_ERR);
		bench_rig_stop(&rig);
	}
}

/* A peer that falls silent is given up by both ends, however they wait. */
static void silence_ends_it(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < 4; kind++) {
		struct plan plan = plan_of(kind & 1, false, true);
		struct bench_rig rig;

		plan.wait = kind & 2 ? PLAN_SPIN : PLAN_EVENT;
		bench_rig_start(&rig, 3, 8, MEMORY);
		plan.queue_pairs = 3;
		plan.slots = 4;
		assert_int_equal(bench_rig_run_alone(&rig.client, &plan, NULL), -1);
		assert_failure(&rig.client, FAILURE_DEADLINE);
		assert_int_equal(bench_rig_run_alone(&rig.server, &plan, NULL), -1);
		assert_failure(&rig.server, FAILURE_DEADLINE);
		bench_rig_stop(&rig);
	}
}

/* An end whose peer has said this on that lane gives it up. */
static void assert_impossible(
	const struct plan *plan, bool at_server, size_t lane, const struct notice *notice)
{
	struct bench_rig rig;
	struct bench_end *end;
	struct bench *other;

	bench_rig_start(&rig, 2, 64, MEMORY);
	end = at_server ? &rig.server : &rig.client;
	other = at_server ? &rig.client.bench : &rig.server.bench;
	latency_init(&latency);
	assert_int_equal(bench_notify(other, &other->lanes[lane], notice), 0);
	assert_int_equal(bench_rig_run_alone(end, plan, &latency), -1);
	assert_failure(end, FAILURE_PROTOCOL);
	bench_rig_stop(&rig);
}

/* Whoever it is that says so: who is ahead of what there is, has done nothing, or has nothing to say. */
static void notices_that_cannot_be(void **state)
{
	static const struct notice ahead = {9, true, false}, ready_ahead = {17, false, false},
				   nothing = {0, true, false}, done = {0, true, true},
				   confirmed = {0, false, true};

	(void)state;
	for (unsigned int kind = 0; kind < 4; kind++) {
		struct plan plan = plan_of(kind & 1, false, true);

		plan.wait = kind & 2 ? PLAN_SPIN : PLAN_EVENT;
		assert_impossible(&plan, true, 0, &ahead);
		assert_impossible(&plan, true, 0, &nothing);
		assert_impossible(&plan, true, 0, &confirmed);
		assert_impossible(&plan, true, 1, &done);
		assert_impossible(&plan, false, 0, &ready_ahead);
		assert_impossible(&plan, false, 0, &done);
		/* Of an end that nobody has told of. */
		assert_impossible(&plan, false, 0, &confirmed);
		assert_impossible(&plan, false, 1, &confirmed);
		plan.both_ways = true;
		plan.verify = false;
		assert_impossible(&plan, true, 0, &done);
		assert_impossible(&plan, true, 0, &confirmed);
	}
}

static void notices_in_a_latency(void **state)
{
	static const struct notice notice = {1, true, false};

	(void)state;
	for (unsigned int kind = 0; kind < 4; kind++) {
		struct plan plan = plan_of(false, false, kind & 2);

		plan.kind = PLAN_LATENCY;
		plan.wait = kind & 1 ? PLAN_SPIN : PLAN_EVENT;
		assert_impossible(&plan, true, 0, &notice);
		assert_impossible(&plan, false, 0, &notice);
	}
}

static void silence_ends_a_latency(void **state)
{
	(void)state;
	for (unsigned int wait = 0; wait < PLAN_WAITS; wait++) {
		struct plan plan = plan_of(false, false, false);
		struct bench_rig rig;

		plan.kind = PLAN_LATENCY;
		plan.wait = (enum plan_wait)wait;
		bench_rig_start(&rig, 1, 64, MEMORY);
		latency_init(&latency);
		assert_int_equal(bench_rig_run_alone(&rig.server, &plan, NULL), -1);
		assert_failure(&rig.server, FAILURE_DEADLINE);
		assert_int_equal(bench_rig_run_alone(&rig.client, &plan, &latency), -1);
		assert_failure(&rig.client, FAILURE_DEADLINE);
		assert_int_equal(latency.count, 0);
		bench_rig_stop(&rig);
	}
}

static void a_signal_ends_it(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < 4; kind++) {
		struct plan plan = plan_of(false, false, true);
		struct bench_rig rig;

		plan.kind = kind & 1 ? PLAN_LATENCY : PLAN_BANDWIDTH;
		plan.wait = kind & 2 ? PLAN_SPIN : PLAN_EVENT;
		bench_rig_start(&rig, 1, 64, MEMORY);
		latency_init(&latency);
		eventfd_write(rig.client.probe.stop_fd, 1);
		assert_int_equal(bench_rig_run_alone(&rig.client, &plan, &latency), -1);
		assert_failure(&rig.client, FAILURE_INTERRUPTED);
		bench_rig_stop(&rig);
	}
}

/* Each thread of a client has a bench: if one has failed, nobody waits for the others' time to pass. */
static void another_thread_that_failed_ends_it(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < 8; kind++) {
		struct plan plan = plan_of(kind & 1, kind & 2, kind & 4);
		struct bench_rig rig;

		plan.operations = 0;
		plan.milliseconds = 86400000;
		bench_rig_start(&rig, 1, 8, MEMORY);
		rig.client.others_failed = true;
		assert_int_equal(bench_rig_run(&rig, &plan, NULL), -1);
		assert_failure(&rig.client, FAILURE_INTERRUPTED);
		bench_rig_stop(&rig);
	}
}

/* Damaged data is waited for a while, each time anew; a signal is seen all the same. */
static void a_signal_ends_it_though_all_is_wrong(void **state)
{
	struct plan plan = plan_of(false, false, true);
	struct bench_rig rig;
	struct bench *bench = &rig.server.bench;
	struct course course;
	uint8_t *memory;

	(void)state;
	plan.kind = PLAN_LATENCY;
	plan.wait = PLAN_SPIN;
	plan.slots = 1;
	bench_rig_start(&rig, 1, 64, MEMORY);
	memory = rig.server.probe.offered.start;
	bench_begin(bench, &plan, 60000);
	/* The first is right, and quick: by itself the server looks again at the 64th. */
	pattern_fill(memory, plan.size - 1, bench_seed(bench, bench->lanes, 0, false));
	memory[plan.size - 1] = 1;
	bench_rig_answer(memory + plan.size - 1);
	eventfd_write(rig.server.probe.stop_fd, 1);
	course_init(&course, probe_now());
	rig.server.result = bench_run(bench, &course, &rig.server.tally, NULL);
	assert_failure(&rig.server, FAILURE_INTERRUPTED);
	assert_in_range(rig.server.tally.operations, 0, 2);
	bench_rig_stop(&rig);
}

/* All kinds of a latency's run, one after another on one connection, waiting in these ways. */
static void run_latencies(uint32_t size, unsigned int waits)
{
	struct bench_rig rig;

	bench_rig_start(&rig, 1, 64, MEMORY);
	for (unsigned int kind = 0; kind < 4 * waits; kind++) {
		struct plan plan = plan_of(kind & 1, false, kind & 2);

		plan.kind = PLAN_LATENCY;
		plan.wait = kind & 4 ? PLAN_SPIN : PLAN_EVENT;
		plan.depth = 64;
		plan.slots = 1;
		plan.size = size;
		latency_init(&latency);
		if (bench_rig_run(&rig, &plan, &latency))
			fail_msg("kind %u: %s", kind, rig.client.probe.failure.call);
		assert_int_equal(latency.count, OPERATIONS);
		assert_true(latency.minimum > 0);
		assert_int_equal(rig.client.tally.operations, OPERATIONS);
		assert_int_equal(rig.client.tally.wrong, 0);
		assert_int_equal(rig.server.result, 0);
		assert_int_equal(rig.server.tally.wrong, 0);
		if (!plan.reads)
			assert_int_equal(rig.server.tally.operations, OPERATIONS);
	}
	bench_rig_stop(&rig);
}

static void latencies_of_each_operation(void **state)
{
	(void)state;
	run_latencies(1, PLAN_WAITS);
	run_latencies(8, PLAN_WAITS);
	run_latencies(32, PLAN_WAITS);
	run_latencies(33, 1);
	run_latencies(4096, 1);
}

/* In the middle, and of a single byte, too, of which who sleeps learns by an event. */
static void a_latency_finds_wrong_data(void **state)
{
	static const enum mishap mishaps[] = {DAMAGED, LOST};

	(void)state;
	for (unsigned int kind = 0; kind < 8; kind++) {
		struct plan plan = plan_of(kind & 1, false, true);
		struct bench_rig rig;

		plan.kind = PLAN_LATENCY;
		plan.wait = PLAN_EVENT;
		plan.slots = 1;
		plan.size = kind & 2 ? 1 : 1000;
		bench_rig_start(&rig, 1, 64, MEMORY);
		latency_init(&latency);
		bench_rig_mishap(10, mishaps[kind >> 2]);
		assert_int_equal(bench_rig_run(&rig, &plan, &latency), 0);
		assert_int_equal(rig.client.tally.wrong + rig.server.tally.wrong, 1);
		bench_rig_stop(&rig);
	}
}

static void does_only_what_it_can(void **state)
{
	struct plan plan = plan_of(false, false, true);
	struct bench_rig rig;
	struct bench *bench = &rig.server.bench;

	(void)state;
	bench_rig_start(&rig, 2, 8, MEMORY);
	assert_true(bench_can(bench, &plan));
	plan.queue_pairs = 3;
	assert_false(bench_can(bench, &plan));
	plan.queue_pairs = 2;
	plan.depth = 9;
	assert_false(bench_can(bench, &plan));
	plan.depth = 8;
	plan.slots = 8;
	plan.size = MEMORY / 16;
	assert_true(bench_can(bench, &plan));
	plan.size++;
	assert_false(bench_can(bench, &plan));
	plan.size--;
	rig.server.probe.peer_length--;
	assert_false(bench_can(bench, &plan));
	bench_rig_stop(&rig);
}

/* Before it has any, and numbers of more or fewer than there are. */
static void lanes_are_as_many_as_agreed(void **state)
{
	static const size_t wrong[] = {0, 1, 3, 5, 8, 256};
	struct bench unmade;
	struct plan plan = plan_of(false, false, false);
	uint8_t numbers[256] = {0};
	struct bench_rig rig;

	(void)state;
	bench_rig_start(&rig, 2, 8, MEMORY);
	for (size_t i = 0; i < COUNT(wrong); i++) {
		rig.server.probe.failure = (struct failure){0};
		assert_int_equal(bench_lanes_meet(&rig.server.bench, numbers, wrong[i]), -1);
		assert_int_equal(rig.server.probe.failure.kind, FAILURE_PROTOCOL);
	}
	assert_int_equal(bench_lanes_tell(&rig.server.bench, numbers), 4);
	bench_init(&unmade, &rig.server.probe, 8, true);
	assert_false(bench_can(&unmade, &plan));
	bench_rig_stop(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bandwidth_of_one_queue_pair),
		cmocka_unit_test(bandwidth_of_several_queue_pairs),
		cmocka_unit_test(small_writes_are_inline),
		cmocka_unit_test(a_time_ends_a_run),
		cmocka_unit_test(wrong_data_is_found),
		cmocka_unit_test(wrong_data_is_not_looked_for),
		cmocka_unit_test(a_failed_operation_ends_it),
		cmocka_unit_test(silence_ends_it),
		cmocka_unit_test(notices_that_cannot_be),
		cmocka_unit_test(notices_in_a_latency),
		cmocka_unit_test(silence_ends_a_latency),
		cmocka_unit_test(a_signal_ends_it),
		cmocka_unit_test(another_thread_that_failed_ends_it),
		cmocka_unit_test(a_signal_ends_it_though_all_is_wrong),
		cmocka_unit_test(latencies_of_each_operation),
		cmocka_unit_test(a_latency_finds_wrong_data),
		cmocka_unit_test(does_only_what_it_can),
		cmocka_unit_test(lanes_are_as_many_as_agreed),
	};

	return cmocka_run_group_tests_name("bench", tests, NULL, NULL);
}
