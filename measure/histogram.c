/*
 * Histogram of a latency test: classes, percentiles and bars. A histogram has a fixed size,
 * contains no pointers and belongs to the caller. Only one thread at a time may use it.
 */
#include <string.h>

#include "measure/histogram.h"

/* Classes are 1 ns wide below EXACT; above, each power of two has PARTS classes. */
#define EXACT 512
#define PARTS 256

/* Classes per bar: a power of two above EXACT has eight bars. */
#define BAR (PARTS / 8)

/* The number of halvings needed to bring the time below EXACT. */
static unsigned int halvings(uint64_t nanoseconds)
{
	return nanoseconds < EXACT ? 0 : 55 - (unsigned int)__builtin_clzll(nanoseconds);
}

static size_t class_of(uint64_t nanoseconds)
{
	unsigned int halved = halvings(nanoseconds);

	return (size_t)halved * PARTS + (size_t)(nanoseconds >> halved);
}

/* The lower bound of a class in nanoseconds. */
static uint64_t class_from(size_t class)
{
	size_t halved = class < EXACT ? 0 : class / PARTS - 1;

	return (uint64_t)(class - halved * PARTS) << halved;
}

void histogram_init(struct histogram *latency)
{
	memset(latency, 0, sizeof(*latency));
	latency->minimum = UINT64_MAX;
}

void histogram_add(struct histogram *latency, uint64_t nanoseconds)
{
	if (nanoseconds < latency->minimum)
		latency->minimum = nanoseconds;
	if (nanoseconds > latency->maximum)
		latency->maximum = nanoseconds;
	latency->counts[class_of(nanoseconds)]++;
	latency->count++;
}

/* The middle of a class, clamped to the minimum and the maximum. */
static uint64_t typical(const struct histogram *latency, size_t class)
{
	uint64_t from = class_from(class);
	uint64_t middle = class < EXACT ? from : from + (((uint64_t)1 << (class / PARTS - 1)) >> 1);

	if (middle < latency->minimum)
		return latency->minimum;
	return middle > latency->maximum ? latency->maximum : middle;
}

uint64_t histogram_percentile(const struct histogram *latency, double part)
{
	double exact = part * (double)latency->count;
	uint64_t rank = (uint64_t)exact, seen = 0;

	if (latency->count == 0)
		return 0;
	if ((double)rank < exact || rank == 0)
		rank++;
	for (size_t i = 0; i < LATENCY_CLASSES; i++) {
		seen += latency->counts[i];
		if (seen >= rank)
			return typical(latency, i);
	}
	return latency->maximum;
}

uint64_t histogram_bar(const struct histogram *latency, size_t *at, uint64_t *from, uint64_t *to)
{
	while (*at < LATENCY_CLASSES) {
		uint64_t count = 0;
		size_t first = *at;

		while (*at < first + BAR)
			count += latency->counts[(*at)++];
		if (count > 0) {
			*from = class_from(first);
			*to = class_from(*at);
			return count;
		}
	}
	return 0;
}
