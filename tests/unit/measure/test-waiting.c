/* The choice of --poll auto. */
#include <sched.h>
#include <string.h>

#include "measure/waiting.h"
#include "tests/unit/unit.h"

static void a_latency_test_spins_unless_there_is_one_processor(void **state)
{
	static const struct {
		unsigned int processors;
		enum test_wait wait;
	} cases[] = {{0, TEST_SPIN}, {1, TEST_EVENT}, {2, TEST_SPIN}, {1024, TEST_SPIN}};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *why = NULL;

		assert_int_equal(waiting_of_latency(cases[i].processors, &why), cases[i].wait);
		assert_non_null(why);
	}
}

static void only_the_processors_that_the_process_may_use_count(void **state)
{
	cpu_set_t before, one;
	int processor = sched_getcpu();

	(void)state;
	assert_true(processor >= 0);
	assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
	assert_int_equal(waiting_processors(), CPU_COUNT(&before));
	CPU_ZERO(&one);
	CPU_SET((unsigned int)processor, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	assert_int_equal(waiting_processors(), 1);
	assert_int_equal(sched_setaffinity(0, sizeof(before), &before), 0);
}

/* Each pair has one trial of each method, and neither is always first. */
static void trials_alternate(void **state)
{
	unsigned int first = 0;

	(void)state;
	for (unsigned int i = 0; i < WAITING_TRIALS; i += 2) {
		assert_int_not_equal(waiting_of_trial(i), waiting_of_trial(i + 1));
		first += waiting_of_trial(i) == TEST_SPIN;
	}
	assert_in_range(first, 1, WAITING_TRIALS / 2 - 1);
}

/* Bit n of a case: spinning is faster in pair n. Only if all pairs agree is spinning chosen. */
static void a_bandwidth_test_spins_only_if_all_trials_agree(void **state)
{
	const unsigned int pairs = WAITING_TRIALS / 2, all = (1U << pairs) - 1;

	(void)state;
	for (unsigned int faster = 0; faster <= all; faster++) {
		double rates[WAITING_TRIALS];
		const char *why = NULL;

		/* The machine's speed changes more between pairs than the methods differ. */
		for (unsigned int i = 0; i < WAITING_TRIALS; i++) {
			bool spins = waiting_of_trial(i) == TEST_SPIN;
			unsigned int pair = i / 2;
			bool wins = spins == !!(faster & 1U << pair);

			rates[i] = 1000.0 * (pair + 1) + (wins ? 1 : 0);
		}
		assert_int_equal(
			waiting_of_bandwidth(rates, &why), faster == all ? TEST_SPIN : TEST_EVENT);
		assert_int_equal(strncmp(why, "it was faster", strlen("it was faster")) == 0,
			faster == 0 || faster == all);
	}
}

/* One trial that another process disturbed, of either method, does not make the test spin. */
static void a_disturbed_trial_does_not_decide(void **state)
{
	(void)state;
	for (unsigned int disturbed = 0; disturbed < WAITING_TRIALS; disturbed++) {
		double rates[WAITING_TRIALS];
		const char *why;

		for (unsigned int i = 0; i < WAITING_TRIALS; i++)
			rates[i] = i == disturbed                     ? 1
				   : waiting_of_trial(i) == TEST_SPIN ? 100
								      : 101;
		assert_int_equal(waiting_of_bandwidth(rates, &why), TEST_EVENT);
	}
}

/* Equal rates, for example 0 if no operation completed, are no reason to spin. */
static void equal_rates_do_not_spin(void **state)
{
	const double rates[WAITING_TRIALS] = {0};
	const char *why;

	(void)state;
	assert_int_equal(waiting_of_bandwidth(rates, &why), TEST_EVENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_latency_test_spins_unless_there_is_one_processor),
		cmocka_unit_test(only_the_processors_that_the_process_may_use_count),
		cmocka_unit_test(trials_alternate),
		cmocka_unit_test(a_bandwidth_test_spins_only_if_all_trials_agree),
		cmocka_unit_test(a_disturbed_trial_does_not_decide),
		cmocka_unit_test(equal_rates_do_not_spin),
	};

	return cmocka_run_group_tests_name("waiting", tests, NULL, NULL);
}
