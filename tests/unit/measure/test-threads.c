/*
 * The processors on which the threads of a measurement run their tests, and the results that they
 * report to the server.
 */
#include "measure/atomics.h"
#include "measure/test-run.h"
#include "measure/threads.h"
#include "tests/unit/unit.h"
#include "tests/unit/verbs/locality-fixture.h"

#define ANY (-1)

/* The measurement, and the processors of each thread while it runs its test. */
static struct test_threads threads;
static cpu_set_t processors[OPTIONS_THREADS_MAX];

/* The bytes that each thread reported to the server, and how many threads have ended their test. */
#define NOT_REPORTED UINT64_MAX
static uint64_t reported[OPTIONS_THREADS_MAX];
static unsigned int ended, first_ended;

/* Whether the test is one of latency, of 100, 200 and 300 ns, and what is reported as best. */
static bool of_latency;
static uint64_t reported_best;

/* These replace measure/test-run.c: there is no peer. */
int test_run_connect(struct perf_test *test, uint32_t queue_pairs, deadline_t deadline)
{
	(void)test, (void)queue_pairs, (void)deadline;
	return 0;
}

int test_run_begin_both(
	struct perf_test *test, const struct test_parameters *parameters, int64_t timeout)
{
	(void)timeout;
	test->parameters = *parameters;
	test->tickets = (struct tickets){0};
	test->queue_pairs->next_ticket = 0;
	return 0;
}

/* What each thread fetches from the counter that they share. */
#define TICKETS 3
static uint64_t fetched[OPTIONS_THREADS_MAX][TICKETS];

static void take_tickets(struct perf_test *test)
{
	const struct test_thread *member =
		(const struct test_thread *)(const void *)((char *)test -
							   offsetof(struct test_thread, test));
	size_t thread = (size_t)(member - threads.members);

	test->control = &threads.members[thread].control;
	for (size_t i = 0; i < TICKETS; i++) {
		test->control->private.start = (uint8_t *)&fetched[thread][i];
		atomics_check(test, test->queue_pairs, 0);
	}
}

/* cppcheck-suppress constParameter ; its type is given by measure/test-run.h */
int test_run(struct perf_test *test, struct test_shared *shared, struct test_result *result,
	struct histogram *latency)
{
	(void)shared;
	for (uint64_t i = 1; latency && i <= 3; i++)
		histogram_add(latency, i * 100);
	if (test->parameters.counter)
		take_tickets(test);
	*result = (struct test_result){.operations = 1, .bytes = 100, .worst = 5, .best = 7};
	for (size_t i = 0; i < OPTIONS_THREADS_MAX; i++)
		if (test == &threads.members[i].test)
			processors[i] = locality_fixture_own();
	return 0;
}

/* cppcheck-suppress constParameter ; its type is given by measure/test-run.h */
int test_run_end(struct perf_test *test, const struct test_result *ours, struct test_result *theirs,
	deadline_t deadline)
{
	(void)deadline;
	*theirs = (struct test_result){.operations = 1, .bytes = 1, .worst = 5, .best = 7};
	for (size_t i = 0; i < OPTIONS_THREADS_MAX; i++)
		if (test == &threads.members[i].test)
			reported[i] = ours ? ours->bytes : NOT_REPORTED;
	if (test == &threads.members[0].test) {
		first_ended = ended;
		reported_best = ours ? ours->best : 0;
	}
	ended++;
	return 0;
}

/* Measures with all threads, on a device with this locality, while the caller runs on `current`. */
static void measure(const struct locality *locality, int current)
{
	const struct options options = {.measure.threads = OPTIONS_THREADS_MAX};
	const struct test_parameters parameters = {.kind = TEST_BANDWIDTH};
	const struct output output = {.quiet = true};
	struct histogram latency;
	struct measured measured;
	cpu_set_t before, after;

	locality_fixture_start();
	locality_fixture_run_on(current);
	before = locality_fixture_own();
	test_threads_init(&threads, &options, &output, "a server", 1, 4096);
	for (size_t i = 0; i < OPTIONS_THREADS_MAX; i++)
		threads.members[i].control.device.locality = *locality;
	assert_int_equal(test_threads_run(&threads, &parameters, &measured, &latency), 0);
	after = locality_fixture_own();
	assert_true(CPU_EQUAL(&before, &after));
	locality_fixture_stop();
}

/* Each thread has run on its processor. */
static void expect(const int chosen[OPTIONS_THREADS_MAX])
{
	for (size_t i = 0; i < OPTIONS_THREADS_MAX; i++) {
		assert_int_equal(
			CPU_COUNT(&processors[i]), chosen[i] == ANY ? LOCALITY_PROCESSORS : 1);
		if (chosen[i] != ANY)
			assert_true(CPU_ISSET((unsigned int)chosen[i], &processors[i]));
	}
}

static void each_thread_has_a_processor_of_the_node(void **state)
{
	const struct locality node = locality_fixture_node();

	(void)state;
	measure(&node, 1);
	expect((const int[]){4, 5, 6, 7});
	measure(&node, 6);
	expect((const int[]){6, 7, 4, 5});
}

static void each_thread_has_any_processor_if_there_is_no_node(void **state)
{
	const struct locality unknown = {.node = -1};

	(void)state;
	measure(&unknown, 6);
	expect((const int[]){6, 7, 0, 1});
}

static void an_unknown_processor_is_kept(void **state)
{
	const struct locality node = locality_fixture_node();

	(void)state;
	measure(&node, -1);
	expect((const int[]){ANY, ANY, ANY, ANY});
}

/* Runs a test without processors with this number of threads. */
static struct measured run(uint32_t count, bool rehearses)
{
	const struct options options = {.measure.threads = count};
	const struct test_parameters parameters = {
		.kind = of_latency ? TEST_LATENCY : TEST_BANDWIDTH};
	const struct output output = {.quiet = true};
	struct histogram latency;
	struct measured measured;

	ended = 0;
	locality_fixture_start();
	test_threads_init(&threads, &options, &output, "a server", 1, 4096);
	threads.rehearses = rehearses;
	assert_int_equal(test_threads_run(&threads, &parameters, &measured, &latency), 0);
	locality_fixture_stop();
	return measured;
}

static void the_first_thread_reports_for_all_at_the_end(void **state)
{
	struct measured measured = run(3, false);

	(void)state;
	assert_int_equal(reported[0], 3 * 100 + 2 * 1);
	assert_int_equal(reported[1], NOT_REPORTED);
	assert_int_equal(reported[2], NOT_REPORTED);
	assert_int_equal(first_ended, 2);
	assert_int_equal(measured.ours.bytes, 300);
	assert_int_equal(measured.theirs.bytes, 3);
	assert_int_equal(measured.theirs.best, 0);
	measured = run(1, false);
	assert_int_equal(reported[0], 100);
	assert_int_equal(measured.ours.bytes, 100);
	assert_int_equal(measured.theirs.bytes, 1);
	assert_int_equal(measured.theirs.best, 7);
}

static void a_latency_test_reports_its_median(void **state)
{
	(void)state;
	of_latency = true;
	run(1, false);
	assert_int_equal(reported_best, 200);
	of_latency = false;
	run(1, false);
	assert_int_equal(reported_best, 7);
}

static void a_warm_up_is_not_reported(void **state)
{
	(void)state;
	run(2, true);
	assert_int_equal(reported[0], NOT_REPORTED);
	assert_int_equal(reported[1], NOT_REPORTED);
}

/* Runs a test of two threads that share a counter, and returns the number of wrong operations. */
static uint64_t share(uint64_t last)
{
	static const uint64_t tickets[2][TICKETS] = {{0, 2, 3}, {1, 4, 5}};
	const struct options options = {.measure.threads = 2};
	const struct test_parameters parameters = {.kind = TEST_BANDWIDTH,
		.operation = test_operation_by_number(TEST_FETCH_ADD),
		.verify = true,
		.queue_pairs = 1,
		.depth = 1,
		.slots = 1,
		.size = TEST_ATOMIC_SIZE};
	const struct output output = {.quiet = true};
	struct histogram latency;
	struct measured measured;

	memcpy(fetched, tickets, sizeof(tickets));
	fetched[1][TICKETS - 1] = last;
	locality_fixture_start();
	test_threads_init(&threads, &options, &output, "a server", 1, 4096);
	threads.counter = 7;
	assert_int_equal(test_threads_run(&threads, &parameters, &measured, &latency), 0);
	locality_fixture_stop();
	return measured.ours.wrong;
}

static void threads_take_each_ticket_once(void **state)
{
	(void)state;
	assert_int_equal(share(5), 0);
	assert_int_equal(share(6), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_thread_has_a_processor_of_the_node),
		cmocka_unit_test(each_thread_has_any_processor_if_there_is_no_node),
		cmocka_unit_test(an_unknown_processor_is_kept),
		cmocka_unit_test(the_first_thread_reports_for_all_at_the_end),
		cmocka_unit_test(a_latency_test_reports_its_median),
		cmocka_unit_test(a_warm_up_is_not_reported),
		cmocka_unit_test(threads_take_each_ticket_once),
	};

	return cmocka_run_group_tests_name("threads of a measurement", tests, NULL, NULL);
}
