/*
 * What a diagnosis prints: the verdict, then a line for each check, and the facts of this host and
 * of both ends. Without --verbose, it omits the facts of this host unless something is wrong, facts
 * that are equal at both ends, and checks that were not reached; and on a terminal, results are
 * shortened to fit a line. What does not fit continues indented. Main thread.
 */
#ifndef DIAGNOSE_SCREEN_H
#define DIAGNOSE_SCREEN_H

#include <time.h>

#include "diagnose/diagnosis.h"
#include "diagnose/rounds.h"

/* Shows which check runs now: on a terminal, or with --verbose. */
void screen_show_progress(const struct diagnosis *diagnosis, enum check check);

/*
 * Prints the results of all checks. With --quiet, prints only a verdict that is not good, as an
 * error.
 */
void screen_print(const struct diagnosis *diagnosis);

/*
 * Counts a round of a repeated diagnosis and prints it as one line, with a mark if the result
 * differs from that of the round before.
 */
void screen_print_round(
	const struct diagnosis *diagnosis, struct rounds *rounds, const struct tm *time);

/* Prints the summary of the rounds, which took this long. host may be NULL. Any thread. */
void screen_print_summary(const struct output *output, const struct rounds *rounds,
	const char *host, int64_t milliseconds);

#endif
