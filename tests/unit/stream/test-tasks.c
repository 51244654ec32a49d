/* Tasks: their results are taken in order, no matter which thread works on them. */
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "host/memory-budget.h"
#include "stream/crew.h"
#include "stream/tasks.h"
#include "tests/unit/unit.h"

#define TASKS 500

struct number {
	struct task task;
	unsigned int value, result;
};

static atomic_uint worked;

/* Takes up to 100 us. */
static void square(struct task *task)
{
	static const long moments[] = {0, 100000, 0, 0, 50000};
	struct number *number = (struct number *)task;
	struct timespec moment = {.tv_nsec = moments[number->value % COUNT(moments)]};

	if (moment.tv_nsec)
		nanosleep(&moment, NULL);
	number->result = number->value * number->value;
	worked++;
}

static void add(struct tasks *tasks, unsigned int value, bool done)
{
	struct number *number = calloc(1, sizeof(*number));

	assert_non_null(number);
	number->value = value;
	tasks_add(tasks, &number->task, done);
}

/* Takes a result, which must be that of this value. */
static void take(struct tasks *tasks, unsigned int value, bool done)
{
	struct number *number = (struct number *)tasks_take(tasks, true);

	assert_non_null(number);
	assert_int_equal(number->value, value);
	assert_int_equal(number->result, done ? 0 : value * value);
	free(number);
}

static void one_thread_does_all_the_work(void **state)
{
	struct tasks tasks;

	(void)state;
	tasks_init(&tasks, square);
	assert_null(tasks_take(&tasks, true));
	add(&tasks, 3, false);
	add(&tasks, 4, true);
	add(&tasks, 5, false);
	assert_int_equal(tasks_count(&tasks), 3);
	assert_null(tasks_take(&tasks, false));
	take(&tasks, 3, false);
	take(&tasks, 4, true);
	take(&tasks, 5, false);
	assert_null(tasks_take(&tasks, true));
	assert_int_equal(tasks_count(&tasks), 0);
	tasks_destroy(&tasks);
}

static void what_is_left_can_be_dropped(void **state)
{
	struct tasks tasks;
	struct task *task;
	unsigned int dropped = 0;

	(void)state;
	tasks_init(&tasks, square);
	for (unsigned int i = 0; i < 5; i++)
		add(&tasks, i, i == 2);
	take(&tasks, 0, false);
	tasks_end(&tasks);
	worked = 0;
	tasks_help(&tasks);
	while ((task = tasks_drop(&tasks))) {
		dropped++;
		free(task);
	}
	assert_int_equal(dropped, 4);
	assert_int_equal(worked, 0);
	tasks_destroy(&tasks);
}

/* A crew: the owner keeps up to this many tasks. It may end early. */
struct run {
	struct tasks tasks;
	unsigned int window, ends_after;
};

static void work(void *argument, unsigned int number)
{
	struct run *run = argument;
	unsigned int added = 0;

	if (number > 0) {
		tasks_help(&run->tasks);
		return;
	}
	for (unsigned int taken = 0; taken < run->ends_after; taken++) {
		while (added < TASKS && tasks_count(&run->tasks) < run->window) {
			add(&run->tasks, added, added % 7 == 6);
			added++;
		}
		take(&run->tasks, taken, taken % 7 == 6);
	}
	tasks_end(&run->tasks);
}

static void results_keep_their_order(void **state)
{
	static const unsigned int workers[] = {1, 2, 4, 16}, windows[] = {1, 3, 16, 64};
	struct task *task;

	(void)state;
	for (size_t i = 0; i < COUNT(workers) * COUNT(windows); i++) {
		struct run run = {
			.window = windows[i / COUNT(workers)], .ends_after = i % 3 ? TASKS : 37};

		tasks_init(&run.tasks, square);
		crew_run(workers[i % COUNT(workers)], "tasks", work, &run);
		while ((task = tasks_drop(&run.tasks)))
			free(task);
		tasks_destroy(&run.tasks);
	}
}

static uint64_t used(void)
{
	struct memory_budget budget;

	memory_budget_read(&budget);
	return budget.used;
}

/* Last, because the budget stays. */
static void memory_is_taken_from_the_budget(void **state)
{
	unsigned int window;

	(void)state;
	assert_int_equal(tasks_take_memory(1), 1);
	memory_budget_start(4 * TASKS_FILE_SIZE);
	assert_int_equal(tasks_take_memory(64), 1);
	assert_int_equal(used(), 0);
	memory_budget_start(1000 * TASKS_FILE_SIZE);
	window = tasks_take_memory(4);
	assert_true(window > 4);
	assert_int_equal(used(), window * TASKS_FILE_SIZE);
	tasks_return_memory(window);
	assert_int_equal(used(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_thread_does_all_the_work),
		cmocka_unit_test(what_is_left_can_be_dropped),
		cmocka_unit_test(results_keep_their_order),
		cmocka_unit_test(memory_is_taken_from_the_budget),
	};

	return cmocka_run_group_tests_name("tasks", tests, NULL, NULL);
}
