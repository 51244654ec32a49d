/* The latency histogram: percentiles, classes and bars. */
#include <stdlib.h>
#include <string.h>

#include "measure/histogram.h"
#include "tests/unit/unit.h"

#define SAMPLES 20000

static const double parts[] = {0, 0.0001, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 0.9999, 1};

/* Too large for the stack. */
static struct histogram latency;

static uint64_t next_random(uint64_t *random)
{
	*random = *random * 6364136223846793005 + 1442695040888963407;
	return *random >> 32;
}

static int by_size(const void *a, const void *b)
{
	uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

	return first < second ? -1 : first > second;
}

/*
 * Nearest-rank percentile: the smallest time that at least this fraction of the samples does not
 * exceed.
 */
static uint64_t exact(const uint64_t *sorted, size_t count, double part)
{
	size_t rank = (size_t)(part * (double)count);

	if ((double)rank < part * (double)count || rank == 0)
		rank++;
	return sorted[rank - 1];
}

static void assert_near(uint64_t got, uint64_t wanted)
{
	uint64_t difference = got < wanted ? wanted - got : got - wanted;

	assert_true(difference == 0 || (double)difference <= 0.004 * (double)wanted);
}

static void assert_bars_hold_all(void)
{
	uint64_t from, to, count, all = 0, before = 0;
	size_t at = 0;

	while ((count = histogram_bar(&latency, &at, &from, &to))) {
		all += count;
		/* The end of the last bar wraps to 0. */
		assert_true(from >= before && (to > from || to == 0));
		/* A bar wider than 64 spans at most an eighth of its start. */
		assert_true(to == 0 || to - from <= 64 || (to - from) * 8 <= from);
		before = to;
	}
	assert_int_equal(all, latency.count);
	assert_int_equal(histogram_bar(&latency, &at, &from, &to), 0);
}

/* Checks random times of at most this many bits. */
static void check_samples(unsigned int bits, uint64_t seed)
{
	static uint64_t samples[SAMPLES];

	histogram_init(&latency);
	for (size_t i = 0; i < SAMPLES; i++) {
		samples[i] = next_random(&seed) << 32 | next_random(&seed);
		/* Equal numbers of short and long times. */
		samples[i] >>= 64 - 1 - next_random(&seed) % bits;
		histogram_add(&latency, samples[i]);
	}
	qsort(samples, SAMPLES, sizeof(samples[0]), by_size);
	assert_int_equal(latency.count, SAMPLES);
	assert_int_equal(latency.minimum, samples[0]);
	assert_int_equal(latency.maximum, samples[SAMPLES - 1]);
	for (size_t i = 0; i < COUNT(parts); i++)
		assert_near(histogram_percentile(&latency, parts[i]),
			exact(samples, SAMPLES, parts[i]));
	assert_bars_hold_all();
}

static void percentiles_match_a_sorted_list(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 3; seed++)
		for (unsigned int bits = 4; bits <= 64; bits += 4)
			check_samples(bits, seed);
}

static void an_empty_histogram_is_zero(void **state)
{
	uint64_t from, to;
	size_t at = 0;

	(void)state;
	histogram_init(&latency);
	assert_int_equal(latency.count, 0);
	assert_int_equal(histogram_percentile(&latency, 0.5), 0);
	assert_int_equal(histogram_bar(&latency, &at, &from, &to), 0);
}

static void one_time_is_every_percentile(void **state)
{
	static const uint64_t times[] = {0, 1, 511, 512, 513, 1000, 123456789, UINT64_MAX};

	(void)state;
	for (size_t i = 0; i < COUNT(times); i++) {
		histogram_init(&latency);
		histogram_add(&latency, times[i]);
		assert_int_equal(latency.minimum, times[i]);
		assert_int_equal(latency.maximum, times[i]);
		for (size_t j = 0; j < COUNT(parts); j++)
			assert_int_equal(histogram_percentile(&latency, parts[j]), times[i]);
		assert_bars_hold_all();
	}
}

/* On both sides of each power of two, neighboring times are all counted and stay in order. */
static void classes_meet_at_every_power_of_two(void **state)
{
	(void)state;
	for (unsigned int bit = 0; bit < 64; bit++) {
		uint64_t power = UINT64_C(1) << bit;
		uint64_t around[] = {power - 1, power, power + 1};

		histogram_init(&latency);
		for (size_t i = 0; i < COUNT(around); i++)
			histogram_add(&latency, around[i]);
		assert_near(histogram_percentile(&latency, 1.0 / 3), around[0]);
		assert_near(histogram_percentile(&latency, 0.5), around[1]);
		assert_near(histogram_percentile(&latency, 1), around[2]);
		assert_bars_hold_all();
	}
}

/* Below 512 ns each time has its own class; above, each power of two has 256 classes. */
static void small_times_are_exact(void **state)
{
	(void)state;
	for (uint64_t time = 0; time < 512; time++) {
		histogram_init(&latency);
		histogram_add(&latency, 0);
		histogram_add(&latency, time);
		histogram_add(&latency, UINT64_MAX);
		assert_int_equal(histogram_percentile(&latency, 0.5), time);
	}
}

/* A mean would hide rare slow operations. */
static void rare_slow_times_show(void **state)
{
	(void)state;
	histogram_init(&latency);
	for (unsigned int i = 0; i < 9990; i++)
		histogram_add(&latency, 100);
	for (unsigned int i = 0; i < 10; i++)
		histogram_add(&latency, 500);
	assert_int_equal(histogram_percentile(&latency, 0.5), 100);
	assert_int_equal(histogram_percentile(&latency, 0.999), 100);
	assert_int_equal(histogram_percentile(&latency, 0.9991), 500);
	assert_int_equal(histogram_percentile(&latency, 0.9999), 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentiles_match_a_sorted_list),
		cmocka_unit_test(an_empty_histogram_is_zero),
		cmocka_unit_test(one_time_is_every_percentile),
		cmocka_unit_test(classes_meet_at_every_power_of_two),
		cmocka_unit_test(small_times_are_exact),
		cmocka_unit_test(rare_slow_times_show),
	};

	return cmocka_run_group_tests_name("histogram", tests, NULL, NULL);
}
