/* What measured runs cost, and what they tell of their time, on a made-up device. */
#include "bench-rig.h"
#include "unit.h"

#define OPERATIONS 120
#define MEMORY     65536

/* Too large for a stack. */
static struct latency latency;

static struct plan plan_of(bool reads, uint32_t size, uint32_t depth)
{
	return (struct plan){
		.reads = reads,
		.size = size,
		.queue_pairs = 1,
		.depth = depth,
		.slots = 1,
		.operations = OPERATIONS,
	};
}

/* A quarter of the depth goes together, but not too many bytes; the last of each list is signaled. */
static void operations_share_a_call_and_a_signal(void **state)
{
	static const struct {
		uint32_t size, depth;
		unsigned int lists;
	} cases[] = {
		{8, 64, 8}, {8, 128, 4}, {8, 200, 4}, {8, 4, 120}, {8, 1, 120}, {65536, 64, 30}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++)
		for (unsigned int reads = 0; reads < 2; reads++) {
			struct plan plan = plan_of(reads, cases[i].size, cases[i].depth);
			struct bench_rig rig;

			bench_rig_start(&rig, 1, plan.depth, MEMORY);
			assert_int_equal(bench_rig_run(&rig, &plan, NULL), 0);
			assert_int_equal(bench_rig_operations(), OPERATIONS);
			assert_int_equal(bench_rig_lists(), cases[i].lists);
			assert_int_equal(bench_rig_signaled(), cases[i].lists);
			bench_rig_stop(&rig);
		}
}

/* Of a latency's WRITEs each is known to be over by its answer; of READs by nothing else. */
static void few_writes_of_a_latency_are_signaled(void **state)
{
	(void)state;
	for (unsigned int reads = 0; reads < 2; reads++) {
		struct plan plan = plan_of(reads, 8, 64);
		struct bench_rig rig;

		plan.kind = PLAN_LATENCY;
		bench_rig_start(&rig, 1, 64, MEMORY);
		latency_init(&latency);
		assert_int_equal(bench_rig_run(&rig, &plan, &latency), 0);
		/* Both ends WRITE. */
		assert_int_equal(bench_rig_lists(), reads ? OPERATIONS : 2 * OPERATIONS);
		assert_int_equal(bench_rig_signaled(), reads ? OPERATIONS : 2 * (OPERATIONS / 16));
		bench_rig_stop(&rig);
	}
}

/* Of a WRITE half of the time there and back counts, so all times are half of the run's at most. */
static void a_write_is_one_way(void **state)
{
	struct plan plan = plan_of(false, 8, 64);
	uint64_t from, to, count, all = 0;
	struct bench_rig rig;
	size_t at = 0;

	(void)state;
	plan.kind = PLAN_LATENCY;
	bench_rig_start(&rig, 1, 64, MEMORY);
	latency_init(&latency);
	assert_int_equal(bench_rig_run(&rig, &plan, &latency), 0);
	while ((count = latency_bar(&latency, &at, &from, &to)))
		all += count * from;
	assert_in_range(all, 1, rig.client.tally.nanoseconds / 2);
	bench_rig_stop(&rig);
}

/* Both ends are told of what they did, at most all the time of one processor. */
static void the_processors_time_is_told(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < 4; kind++) {
		struct plan plan = plan_of(kind & 1, 1000, 8);
		struct bench_rig rig;

		plan.wait = kind & 2 ? PLAN_SPIN : PLAN_EVENT;
		plan.both_ways = true;
		bench_rig_start(&rig, 1, 8, MEMORY);
		assert_int_equal(bench_rig_run(&rig, &plan, NULL), 0);
		assert_in_range(rig.client.tally.cpu_nanoseconds, 1,
			rig.client.tally.nanoseconds + 10000000);
		assert_in_range(rig.server.tally.cpu_nanoseconds, 1,
			rig.server.tally.nanoseconds + 10000000);
		bench_rig_stop(&rig);
	}
}

/* Who is to wait for an event does not look again and again meanwhile. */
static void who_waits_for_an_event_sleeps(void **state)
{
	(void)state;
	for (unsigned int kind = 0; kind < 2; kind++) {
		struct plan plan = plan_of(false, 1000, 64);
		struct bench_rig rig;

		plan.kind = kind ? PLAN_LATENCY : PLAN_BANDWIDTH;
		plan.verify = true;
		bench_rig_start(&rig, 1, 64, MEMORY);
		latency_init(&latency);
		assert_int_equal(bench_rig_run_alone(&rig.client, &plan, &latency), -1);
		assert_in_range(bench_rig_polls(), 1, 100);
		bench_rig_stop(&rig);
	}
}

/* A run that is long enough has a worst and a best tenth of a second, and the average between them. */
static void the_tenths_of_a_second_are_told(void **state)
{
	(void)state;
	for (unsigned int reads = 0; reads < 2; reads++) {
		struct plan plan = plan_of(reads, 1000, 8);
		struct bench_rig rig;

		plan.both_ways = true;
		plan.operations = 0;
		plan.milliseconds = 250;
		bench_rig_start(&rig, 1, 8, MEMORY);
		assert_int_equal(bench_rig_run(&rig, &plan, NULL), 0);
		assert_in_range(rig.client.tally.worst, 1, rig.client.tally.best);
		/* Its thread may have come late. */
		if (rig.server.tally.nanoseconds >= 2 * INTERVAL_NS)
			assert_in_range(rig.server.tally.worst, 1, rig.server.tally.best);
		plan.milliseconds = 20;
		assert_int_equal(bench_rig_run(&rig, &plan, NULL), 0);
		/* Unless the machine was so busy that it took longer. */
		if (rig.client.tally.nanoseconds < INTERVAL_NS)
			assert_int_equal(rig.client.tally.best, 0);
		bench_rig_stop(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operations_share_a_call_and_a_signal),
		cmocka_unit_test(few_writes_of_a_latency_are_signaled),
		cmocka_unit_test(a_write_is_one_way),
		cmocka_unit_test(the_processors_time_is_told),
		cmocka_unit_test(who_waits_for_an_event_sleeps),
		cmocka_unit_test(the_tenths_of_a_second_are_told),
	};

	return cmocka_run_group_tests_name("bench-cost", tests, NULL, NULL);
}
