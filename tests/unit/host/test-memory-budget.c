/* The memory budget, with the host's memory and the clock as this test sets them. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/deadline.h"
#include "host/memory-budget.h"
#include "tests/unit/unit.h"

#define MIB (UINT64_C(1024) * 1024)

static uint64_t available_now; /* bytes */
static deadline_t now;

/* These override host/control-group.c, host/available-memory.c and base/deadline.c. */
void control_group_find(const char *root, const char *controller, struct control_group *group)
{
	(void)root;
	assert_string_equal(controller, "memory");
	memset(group, 0, sizeof(*group));
}

void available_memory_read(
	const char *root, const struct control_group *group, struct available_memory *available)
{
	(void)root;
	(void)group;
	*available = (struct available_memory){.bytes = available_now, .source = "this host"};
}

deadline_t deadline_now(void)
{
	return now;
}

deadline_t deadline_in(int64_t milliseconds)
{
	return now + milliseconds;
}

int deadline_left(deadline_t deadline)
{
	return deadline > now ? (int)(deadline - now) : 0;
}

/* Some time later, this much is available. */
static void later(uint64_t mebibytes)
{
	now += 1000;
	available_now = mebibytes * MIB;
}

static void start(uint64_t mebibytes, uint64_t wanted)
{
	later(mebibytes);
	memory_budget_start(wanted * MIB);
}

static uint64_t left(void)
{
	return memory_budget_left() / MIB;
}

static void take(uint64_t mebibytes)
{
	struct failure failure = {0};

	assert_int_equal(memory_budget_take(mebibytes * MIB, &failure), 0);
	assert_false(failure_is_set(&failure));
}

/* Takes and fills this many times `step` of what is available. */
static void take_in_steps(uint64_t available, uint64_t step, unsigned int times)
{
	for (unsigned int i = 1; i <= times; i++) {
		take(step);
		memory_budget_filled(step * MIB);
		later(available - step * i);
	}
}

static void cannot_take(uint64_t mebibytes)
{
	struct failure failure = {0};

	assert_int_equal(memory_budget_take(mebibytes * MIB, &failure), -1);
	assert_int_equal(failure.kind, FAILURE_LIMIT);
	assert_int_equal(failure.code, LIMIT_MEMORY);
}

static void give_back(uint64_t mebibytes, uint64_t filled)
{
	memory_budget_return(mebibytes * MIB, filled * MIB);
}

static uint64_t used(void)
{
	struct memory_budget budget;

	memory_budget_read(&budget);
	return budget.used / MIB;
}

/* First, because no budget has been started yet. */
static void without_a_budget_there_is_no_limit(void **state)
{
	(void)state;
	assert_int_equal(memory_budget_left(), UINT64_MAX);
	take(1 << 20);
	give_back(1 << 20, 0);
}

static void half_of_what_is_available(void **state)
{
	char text[MEMORY_BUDGET_USED];

	(void)state;
	start(800, 0);
	assert_int_equal(left(), 400);
	cannot_take(401);
	take(400);
	assert_int_equal(left(), 0);
	cannot_take(1);
	assert_int_equal(used(), 400);
	assert_string_equal(memory_budget_used(text), "419.4 MB of 419.4 MB");
	give_back(400, 0);
	assert_int_equal(left(), 400);
	assert_int_equal(used(), 0);
}

static void two_do_not_take_the_same_memory(void **state)
{
	(void)state;
	start(800, 0);
	take(300);
	/* The first has not filled its memory, so the host still reports it as available. */
	later(800);
	assert_int_equal(left(), 100);
	cannot_take(101);
	memory_budget_filled(300 * MIB);
	later(500);
	assert_int_equal(left(), 100);
	give_back(300, 300);
}

static void other_programs_take_memory_too(void **state)
{
	(void)state;
	start(800, 0);
	take(100);
	memory_budget_filled(100 * MIB);
	later(200); /* without this process, 300: its half is 150 */
	assert_int_equal(left(), 50);
	later(120);
	assert_int_equal(left(), 10);
	later(0);
	cannot_take(1);
	later(700);
	assert_int_equal(left(), 300);
	give_back(100, 100);
}

/* One after the other, connections do not take half of each rest. */
static void half_is_left_to_other_programs(void **state)
{
	(void)state;
	start(800, 0);
	later(200);
	take_in_steps(200, 10, 10);
	cannot_take(1);
	give_back(100, 100);
}

static void what_others_took_and_we_reserved(void **state)
{
	(void)state;
	start(800, 0);
	take(300);
	later(400); /* half of it is less than what was reserved */
	assert_int_equal(left(), 0);
	cannot_take(1);
	give_back(300, 0);
	later(400);
	assert_int_equal(left(), 200);
}

static void a_size_that_was_given(void **state)
{
	struct memory_budget budget;
	char text[MEMORY_BUDGET_TEXT];

	(void)state;
	start(800, 700);
	memory_budget_read(&budget);
	assert_true(budget.chosen);
	assert_int_equal(budget.size, 700 * MIB);
	memory_budget_text(&budget, text);
	assert_string_equal(text, "734.0 MB (--memory; this host has 838.9 MB available)");
	/* All of it can be used, because it is not more than seven eighths. */
	take_in_steps(800, 100, 7);
	cannot_take(1);
	give_back(700, 700);
	start(800, 900);
	assert_int_equal(left(), 700);
}

static void the_text_names_the_source(void **state)
{
	struct memory_budget budget = {
		.size = 400 * MIB, .available = {.bytes = 800 * MIB, .source = "control group /x"}};
	char text[MEMORY_BUDGET_TEXT];

	(void)state;
	memory_budget_text(&budget, text);
	assert_string_equal(text, "419.4 MB, half of what control group /x has available");
	budget.size = UINT64_MAX;
	memory_budget_text(&budget, text);
	assert_string_equal(text, "any amount: what is available is unknown");
}

static void an_unknown_amount_is_no_limit(void **state)
{
	(void)state;
	available_now = UINT64_MAX;
	now += 1000;
	memory_budget_start(0);
	assert_int_equal(memory_budget_left(), UINT64_MAX);
	/* With --memory, that is the limit. */
	memory_budget_start(10 * MIB);
	assert_int_equal(left(), 10);
}

#define THREADS 8
#define ROUNDS  2000

/* Takes and returns, and counts how often there was nothing left. */
static void *compete(void *argument)
{
	unsigned int *taken = argument;
	struct failure failure;

	for (int i = 0; i < ROUNDS; i++) {
		failure = (struct failure){0};
		if (memory_budget_take(MIB, &failure))
			continue;
		(*taken)++;
		if (i % 2)
			memory_budget_filled(MIB);
		memory_budget_return(MIB, i % 2 ? MIB : 0);
	}
	return NULL;
}

static void threads_leave_nothing_behind(void **state)
{
	pthread_t threads[THREADS];
	unsigned int taken[THREADS] = {0}, all = 0;

	(void)state;
	start(8, 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, compete, &taken[i]), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		all += taken[i];
	}
	assert_true(all >= ROUNDS);
	assert_int_equal(used(), 0);
	later(8);
	assert_int_equal(left(), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_budget_there_is_no_limit),
		cmocka_unit_test(half_of_what_is_available),
		cmocka_unit_test(two_do_not_take_the_same_memory),
		cmocka_unit_test(other_programs_take_memory_too),
		cmocka_unit_test(half_is_left_to_other_programs),
		cmocka_unit_test(what_others_took_and_we_reserved),
		cmocka_unit_test(a_size_that_was_given),
		cmocka_unit_test(the_text_names_the_source),
		cmocka_unit_test(an_unknown_amount_is_no_limit),
		cmocka_unit_test(threads_leave_nothing_behind),
	};

	return cmocka_run_group_tests_name("memory-budget", tests, NULL, NULL);
}
