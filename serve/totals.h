/* What a server has done since its start, as numbers and as one line. Main thread. */
#ifndef SERVE_TOTALS_H
#define SERVE_TOTALS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/deadline.h"

/* Sessions of one kind that have ended. */
struct totals_sessions {
	uint64_t ended; /* including those that failed */
	uint64_t failed;
};

struct totals {
	deadline_t start;
	struct totals_sessions exchanges, measurements, diagnoses;
	uint64_t refused;   /* clients; one that retries counts each time */
	uint64_t exchanged; /* bytes of messages, files and pipes, in both directions */
	uint64_t measured;  /* bytes of measurements, in both directions */
};

/* Adds a session that has ended, and the bytes that it moved to *moved, up to 2^64 - 1. */
void totals_add(struct totals_sessions *sessions, bool failed, uint64_t *moved, uint64_t bytes);

/*
 * Writes the totals, without what is 0 and without a period:
 *
 *   served 12 exchanges (1 failed), 3 measurements and 1 diagnosis in 3:12:07; exchanged 4.20 GB;
 *   refused 7 clients
 *
 * on one line.
 */
#define TOTALS_TEXT 480
void totals_text(const struct totals *totals, deadline_t now, char text[TOTALS_TEXT]);

/* What a server that is stopping waits for: "2 exchanges, 1 measurement and 1 diagnosis". */
#define TOTALS_RUNNING_TEXT 160
void totals_running_text(unsigned int exchanges, unsigned int measurements, unsigned int diagnoses,
	char text[TOTALS_RUNNING_TEXT]);

#endif
