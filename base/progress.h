/*
 * How far a transfer is, as a line for people. It knows neither clock nor terminal: whoever shows
 * the line says what time it is and how much was moved, as often as it likes. With both directions
 * at work, bytes and total are the sums of both.
 */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

/* The total of a transfer whose end is not known: a pipe. */
#define PROGRESS_UNKNOWN UINT64_MAX

/*
 * No line is longer, without its terminator: it fits into the 80 columns of a terminal. What does
 * not fit is cut, which takes rates from 100 GB/s on.
 */
#define PROGRESS_COLUMNS_MAX 79

/* Enough for the samples of a few seconds, which are not taken closer than some tenths of one. */
#define PROGRESS_SAMPLES 16

/* Belongs to one thread at a time. Needs no end. */
struct progress {
	int64_t start_ms;
	/* What was moved at some points in time, the latest at (count - 1) % PROGRESS_SAMPLES. */
	struct progress_sample {
		int64_t at_ms;
		uint64_t bytes;
	} samples[PROGRESS_SAMPLES];
	uint64_t count; /* of samples ever taken */
};

/* Begins with nothing moved, now in milliseconds of any clock that does not go backwards. */
void progress_start(struct progress *progress, int64_t now_ms);

/*
 * Takes a sample and writes one line without its end:
 *
 *   1.24 GB of 5.37 GB  23 %  81.3 MB/s now, 79.9 MB/s average, 0:52 left
 *   1.24 GB  81.3 MB/s now, 79.9 MB/s average, 0:12 so far          (total is PROGRESS_UNKNOWN)
 *
 * "now" is the average of the last seconds, and the time left follows from it; both are "--" while
 * nothing can be said about them. The line is cut if size is less than PROGRESS_COLUMNS_MAX + 1.
 */
void progress_line(struct progress *progress, int64_t now_ms, uint64_t bytes, uint64_t total,
	char *text, size_t size);

#endif
