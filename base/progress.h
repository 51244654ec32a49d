/*
 * Formats the progress of a transfer as one line. It uses neither clock nor terminal: the caller
 * passes the time and the state of the transfer, as often as it likes. For transfers in both
 * directions, all bytes are the sums of both.
 */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The total of a transfer of unknown size: a pipe. */
#define PROGRESS_UNKNOWN UINT64_MAX

/* Size of a name, which is truncated at its start, and of a line, both with the terminator. */
#define PROGRESS_NAME_SIZE 256
#define PROGRESS_LINE_SIZE 1024

/* Size of the address of a client, with the terminator. */
#define PROGRESS_PEER_SIZE 96

/* Enough for a few seconds of samples, taken a few tenths of a second apart. */
#define PROGRESS_SAMPLES 16

/* The state of a transfer. */
struct progress_state {
	uint64_t moved; /* bytes that were transferred */
	uint64_t there; /* bytes that did not have to be, because the receiver had them */
	uint64_t total; /* bytes of both in the end, or PROGRESS_UNKNOWN */
	int64_t began;  /* if there is such data, the time in ms from which the rest could move */
	bool checking;  /* no data moves yet: both sides compare what the receiver has */
	uint64_t file;  /* in a directory, the number of the current file, from 1; 0: none */
	uint64_t files; /* in that directory; 0: unknown */
	char name[PROGRESS_NAME_SIZE]; /* of the current file: any bytes */
	char peer[PROGRESS_PEER_SIZE]; /* of a client that resumes, at a server; otherwise "" */
};

/* How a line is shown. */
struct progress_style {
	unsigned int columns; /* of the line, at least 1; 0: a file, without bar and limit */
	bool utf8;            /* the terminal shows UTF-8 */
};

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

/*
 * Starts after this many bytes were transferred. now_ms is the time of any monotonic clock, in
 * milliseconds.
 */
void progress_start(struct progress *progress, int64_t now_ms, uint64_t moved);

/*
 * Takes a sample and writes one line without a newline:
 *
 *   [=====>             ]  23 %   1.24 GB of 5.37 GB   81.3 MB/s   0:52 left
 *    23 %   1.24 GB of 5.37 GB   81.3 MB/s   0:52 left  42 of 5,000: in/file
 *    1.24 GB   81.3 MB/s   0:15 so far                           (total is PROGRESS_UNKNOWN)
 *
 * The rate is the average of the last seconds and determines the time left; both are "--" while
 * unknown. If there is not enough room, parts are left out in this order: the bar, the name, the
 * number of the file, the total, the rate, the bytes, the percentage.
 */
void progress_line(struct progress *progress, int64_t now_ms, const struct progress_state *state,
	const struct progress_style *style, char text[PROGRESS_LINE_SIZE]);

/*
 * Writes what a transfer that resumes says once: "resuming at 60 %: 1.20 GB of 2.00 GB ...", at a
 * server with the client: "resuming from 192.0.2.7:4711 at 60 %: ...".
 */
void progress_resumed(const struct progress_state *state, char text[PROGRESS_LINE_SIZE]);

#endif
