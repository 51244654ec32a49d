/*
 * What a diagnosis prints: the verdict, then a line for each check, and the facts of this host and
 * of both ends. Without --verbose, it omits facts that are equal at both ends, and checks that were
 * skipped for the same reason as one before. On a terminal, long lines continue indented. Main
 * thread.
 */
#ifndef DIAGNOSE_SCREEN_H
#define DIAGNOSE_SCREEN_H

#include <time.h>

#include "diagnose/diagnosis.h"

/* Shows which check runs now: on a terminal, or with --verbose. */
void screen_show_progress(const struct diagnosis *diagnosis, enum check check);

/*
 * Prints the results of all checks. With --quiet, prints only a verdict that is not good, as an
 * error.
 */
void screen_print(const struct diagnosis *diagnosis);

/* The previous round of a repeated diagnosis; all zero before the first. */
struct screen_round {
	bool known;
	enum exit_status status;
	char verdict[512]; /* of a round that failed; "" if it did not */
};

/*
 * Prints a round of a repeated diagnosis as one line, with a mark if the result differs from that
 * of the previous round, which this one replaces.
 */
void screen_print_round(
	const struct diagnosis *diagnosis, struct screen_round *previous, const struct tm *time);

#endif
