/* Which round trips show a long delay, and which may be those of a busy host. */
#include <string.h>

#include "diagnose/checks.h"
#include "diagnose/round-trips.h"
#include "tests/unit/unit.h"

#define MOST 16

/* Returns the list after round trips of these milliseconds. */
static struct check_list after(const unsigned int *milliseconds, unsigned int count)
{
	struct check_list list;
	uint64_t took[MOST];

	assert_true(count <= MOST);
	for (unsigned int i = 0; i < count; i++)
		took[i] = UINT64_C(1000000) * milliseconds[i];
	check_list_init(&list, diagnose_checks, "");
	round_trips_judge(&list, took, count);
	return list;
}

static void short_ones_are_good(void **state)
{
	const unsigned int once[] = {900, 19, 900};
	struct check_list list = after(once, COUNT(once));

	(void)state;
	assert_int_equal(list.checks[CHECK_MESSAGE].state, CHECK_OK);
	assert_string_equal(list.checks[CHECK_MESSAGE].text, "round trip in 19 ms");
}

static void steady_ones_are_a_delay(void **state)
{
	static const struct {
		unsigned int count, took[MOST];
	} cases[] = {
		{13, {201, 200, 202, 200, 200, 201, 200, 200, 203, 200, 201, 200, 200}},
		{7, {400, 401, 400, 402, 400, 400, 401}},
		{5, {800, 801, 800, 802, 805}},
		/* A busy host prolongs some of them, the first of all. */
		{7, {1300, 402, 400, 900, 401, 700, 2000}},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct check_list list = after(cases[i].took, cases[i].count);
		const struct failure *failure = &list.checks[CHECK_MESSAGE].failure;

		assert_int_equal(list.checks[CHECK_MESSAGE].state, CHECK_FAILED);
		assert_int_equal(failure->kind, FAILURE_IMPAIRED);
		assert_int_equal(failure->code, IMPAIRED_DELAY);
	}
	assert_string_equal(
		after(cases[0].took, cases[0].count).checks[CHECK_MESSAGE].failure.evidence,
		"shortest of 13 round trips: 200.0 ms");
}

/* Few of them, or of different length, are those of a busy host. */
static void others_prove_nothing(void **state)
{
	static const struct {
		unsigned int count, took[MOST];
		const char *text;
	} cases[] = {
		{1, {2600},
			"the only round trip took 2600.0 ms; a host seems to be busy, or the path "
			"is slow"},
		{2, {1500, 1500},
			"shortest of only 2 round trips: 1500.0 ms; a host seems to be busy, or the "
			"path is slow"},
		{3, {400, 900, 1300},
			"shortest of only 3 round trips: 400.0 ms; a host seems to be busy, or the "
			"path is slow"},
		{4, {900, 900, 900, 900},
			"shortest of only 4 round trips: 900.0 ms; a host seems to be busy, or the "
			"path is slow"},
		{5, {100, 120, 300, 700, 900},
			"shortest of 5 irregular round trips: 100.0 ms; a host seems to be busy"},
		{6, {100, 120, 300, 700, 900, 500},
			"shortest of 6 irregular round trips: 100.0 ms; a host seems to be busy"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct check_list list = after(cases[i].took, cases[i].count);

		assert_int_equal(list.checks[CHECK_MESSAGE].state, CHECK_OK);
		assert_string_equal(list.checks[CHECK_MESSAGE].text, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_ones_are_good),
		cmocka_unit_test(steady_ones_are_a_delay),
		cmocka_unit_test(others_prove_nothing),
	};

	return cmocka_run_group_tests_name("round-trips", tests, NULL, NULL);
}
