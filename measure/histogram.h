/*
 * Latency histogram: classes are at most 1/256 wide, so memory use is constant and percentiles are
 * accurate to 0.2 %. Minimum and maximum are exact.
 */
#ifndef MEASURE_HISTOGRAM_H
#define MEASURE_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

/* Classes are 1 ns wide below 512 ns; above, each power of two has 256 classes. */
#define LATENCY_CLASSES (512 + 55 * 256)

/* The part of histogram_percentile() that the median is. */
#define HISTOGRAM_MEDIAN 0.5

struct histogram {
	uint64_t count;            /* operations */
	uint64_t minimum, maximum; /* nanoseconds */
	uint64_t counts[LATENCY_CLASSES];
};

/* Clears the histogram. Any thread, like all functions here; the caller serialises. */
void histogram_init(struct histogram *latency);

/* Adds the latency of one operation. */
void histogram_add(struct histogram *latency, uint64_t nanoseconds);

/*
 * Returns a percentile in nanoseconds by the nearest-rank method, or 0 if the histogram is empty.
 * part is between 0 and 1; 0.5 is the median.
 */
uint64_t histogram_percentile(const struct histogram *latency, double part);

/*
 * Iterates over the non-empty bars, eight per power of two. Set *at to 0 before the first call.
 * Returns the number of operations in the next bar and its bounds in nanoseconds, `to` exclusive; 0
 * at the end.
 */
uint64_t histogram_bar(const struct histogram *latency, size_t *at, uint64_t *from, uint64_t *to);

#endif
