/*
 * The judgement of the message check: whether the round trips show a path with a long delay, or may
 * be those of a busy host. Any thread; the caller serialises.
 */
#ifndef DIAGNOSE_ROUND_TRIPS_H
#define DIAGNOSE_ROUND_TRIPS_H

#include <stdbool.h>
#include <stdint.h>

#include "diagnose/check-list.h"

/* A shortest round trip of this length is reported, in nanoseconds. */
#define ROUND_TRIPS_SLOW 20000000

/* With fewer round trips, a delay of the path cannot be told from a busy host. */
#define ROUND_TRIPS_LEAST 5

/* Returns the shortest of these round trips, of which there is at least one. */
uint64_t round_trips_shortest(const uint64_t *took, unsigned int count);

/*
 * Records the result of the message check from at least one round trip, each in nanoseconds. Only
 * slow ones of similar length are a delay, which is a failure.
 */
void round_trips_judge(struct check_list *list, const uint64_t *took, unsigned int count);

#endif
