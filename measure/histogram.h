/*
 * How long operations took: counted in classes that are at most 1/256 wide, so that any number of
 * them takes the same memory, and a percentile is right to 0.2 %. Minimum and maximum are exact.
 */
#ifndef MEASURE_HISTOGRAM_H
#define MEASURE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

/* Below 512 ns each nanosecond is a class; above, 256 for each power of two. */
#define LATENCY_CLASSES (512 + 55 * 256)

struct histogram {
	uint64_t count;            /* of operations */
	uint64_t minimum, maximum; /* nanoseconds */
	uint64_t counts[LATENCY_CLASSES];
};

/* Empties it. Any thread, like all functions here; the caller serialises. */
void histogram_init(struct histogram *latency);

/* Adds one operation. */
void histogram_add(struct histogram *latency, uint64_t nanoseconds);

/*
 * The time in nanoseconds within which that part of the operations, from 0 to 1, was over: 0.5 is
 * the median. By the nearest-rank method; 0 if there are none.
 */
uint64_t histogram_percentile(const struct histogram *latency, double part);

/*
 * Steps through the bars of a histogram that are not empty; a power of two has eight. *at is 0 at
 * first. Returns the number of operations in the next bar, with its bounds in nanoseconds, `to`
 * excluded; 0 at the end.
 */
uint64_t histogram_bar(const struct histogram *latency, size_t *at, uint64_t *from, uint64_t *to);

#endif
