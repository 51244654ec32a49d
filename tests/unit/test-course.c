/* What the threads of a run share. */
#include "lib/course.h"
#include "unit.h"

#define MS      UINT64_C(1000000)
#define START   (UINT64_C(5000) * MS)
#define THREADS 4
#define NOTES   10000

static void what_all_have_moved_counts(void **state)
{
	struct course course;
	struct intervals intervals;

	(void)state;
	course_init(&course, START);
	assert_int_equal(course.start, START);
	assert_false(course.broken);
	course_note(&course, START + 40 * MS, 400);
	course_note(&course, START + 60 * MS, 500);
	assert_int_equal(course_intervals(&course).best, 0);
	course_note(&course, START + 100 * MS, 100);
	course_note(&course, START + 200 * MS, 3000);
	intervals = course_intervals(&course);
	assert_int_equal(intervals.worst, 10000);
	assert_int_equal(intervals.best, 30000);
	assert_int_equal(course.bytes, 4000);
}

/* Who had to wait for another thread has an older time. It counts as now, and ends no interval. */
static void an_older_time_counts_as_now(void **state)
{
	struct course course;
	struct intervals intervals;

	(void)state;
	course_init(&course, START);
	course_note(&course, START + 100 * MS, 1000);
	course_note(&course, START + 99 * MS, 500);
	intervals = course_intervals(&course);
	assert_int_equal(intervals.worst, 10000);
	assert_int_equal(intervals.best, 10000);
	course_note(&course, START + 150 * MS, 250);
	course_note(&course, START + 200 * MS, 250);
	intervals = course_intervals(&course);
	assert_int_equal(intervals.worst, 10000);
	assert_int_equal(intervals.best, 10000);
}

static void *note(void *argument)
{
	for (unsigned int i = 1; i <= NOTES; i++)
		course_note(argument, START + i, 3);
	return NULL;
}

static void no_byte_is_lost_between_threads(void **state)
{
	pthread_t threads[THREADS];
	struct course course;

	(void)state;
	course_init(&course, START);
	for (unsigned int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, note, &course), 0);
	for (unsigned int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(course.bytes, THREADS * NOTES * 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_all_have_moved_counts),
		cmocka_unit_test(an_older_time_counts_as_now),
		cmocka_unit_test(no_byte_is_lost_between_threads),
	};

	return cmocka_run_group_tests_name("course", tests, NULL, NULL);
}
