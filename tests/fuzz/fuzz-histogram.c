/*
 * Times of operations in classes, beside a list of them all that is sorted: minimum and maximum are
 * exact, percentiles right to 0.4 %, and no time is lost.
 */
#include "measure/histogram.h"
#include "tests/fuzz/fuzz.h"

#define TIMES_MAX 128

static int by_size(const void *a, const void *b)
{
	uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

	return first < second ? -1 : first > second;
}

/* The parts of which the rank is a whole number, as people who count by hand would have it. */
static void check_ranks(const struct histogram *latency, const uint64_t *sorted, size_t count)
{
	for (size_t rank = 1; rank <= count; rank++) {
		/* The middle between two ranks, which no rounding moves. */
		double part = ((double)rank - 0.5) / (double)count;
		uint64_t got = histogram_percentile(latency, part), wanted = sorted[rank - 1];
		uint64_t difference = got < wanted ? wanted - got : got - wanted;

		fuzz_check(difference == 0 || (double)difference <= 0.004 * (double)wanted);
		fuzz_check(got >= latency->minimum && got <= latency->maximum);
	}
	fuzz_check(histogram_percentile(latency, 1) >= sorted[count - 1] / 2);
}

static void check_bars(const struct histogram *latency, const uint64_t *sorted)
{
	uint64_t from, to, count;
	size_t at = 0, seen = 0;

	while ((count = histogram_bar(latency, &at, &from, &to))) {
		fuzz_check(seen + count <= latency->count);
		for (; count > 0; count--, seen++)
			fuzz_check(sorted[seen] >= from && sorted[seen] - from <= to - from - 1);
	}
	fuzz_check(seen == latency->count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct histogram latency;
	struct fuzz_input input = {data, size};
	uint64_t times[TIMES_MAX];
	size_t count = 0;

	histogram_init(&latency);
	while (input.left > 0 && count < TIMES_MAX) {
		uint8_t how = fuzz_byte(&input);

		/* So many bytes, at any place of the 64 bits. */
		times[count] = fuzz_number(&input, how & 7) << (how >> 3);
		histogram_add(&latency, times[count++]);
	}
	fuzz_check(latency.count == count);
	if (count == 0) {
		fuzz_check(histogram_percentile(&latency, 0.5) == 0);
		return 0;
	}
	qsort(times, count, sizeof(times[0]), by_size);
	fuzz_check(latency.minimum == times[0] && latency.maximum == times[count - 1]);
	check_ranks(&latency, times, count);
	check_bars(&latency, times);
	return 0;
}
