/*
 * Formats the progress of a transfer as one line. It uses neither clock nor terminal: the caller
 * passes the time and the bytes transferred, as often as it likes. For transfers in both
 * directions, bytes and total are the sums of both.
 */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stddef.h>
#include <stdint.h>

/* The total of a transfer of unknown size: a pipe. */
#define PROGRESS_UNKNOWN UINT64_MAX

/*
 * The longest line, without its terminator: it fits an 80-column terminal. Longer lines, which
 * occur only at 100 GB/s or more, are truncated.
 */
#define PROGRESS_COLUMNS_MAX 79

/* Enough for a few seconds of samples, taken a few tenths of a second apart. */
#define PROGRESS_SAMPLES 16

/* Used by one thread at a time. Needs no cleanup. */
struct progress {
	int64_t start_ms;
	/*
	 * Bytes transferred by a given time; the latest sample is at (count - 1) %
	 * PROGRESS_SAMPLES.
	 */
	struct progress_sample {
		int64_t at_ms;
		uint64_t bytes;
	} samples[PROGRESS_SAMPLES];
	uint64_t count; /* all samples taken so far */
};

/* Starts with 0 bytes. now_ms is the time of any monotonic clock, in milliseconds. */
void progress_start(struct progress *progress, int64_t now_ms);

/*
 * Takes a sample and writes one line without a newline:
 *
 *   1.24 GB of 5.37 GB  23 %  81.3 MB/s now, 79.9 MB/s average, 0:52 left
 *   1.24 GB  81.3 MB/s now, 79.9 MB/s average, 0:12 so far          (total is PROGRESS_UNKNOWN)
 *
 * "now" is the average of the last seconds and determines the time left; both are "--" while
 * unknown. The line is truncated if size is less than PROGRESS_COLUMNS_MAX + 1.
 */
void progress_line(struct progress *progress, int64_t now_ms, uint64_t bytes, uint64_t total,
	char *text, size_t size);

#endif
