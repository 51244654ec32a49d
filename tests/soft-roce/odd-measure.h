/* The steps of an odd peer in a measurement: the head of odd-peer.c lists them. */
#ifndef ODD_MEASURE_H
#define ODD_MEASURE_H

#include "odd-steps.h"

/* What follows the step's colon is in `how`. */
void odd_lanes(struct peer *peer, const char *how);
void odd_begin(struct peer *peer, const char *how);
void odd_notice(struct peer *peer, const char *how);
void odd_hear(struct peer *peer, const char *how);
void odd_pings(struct peer *peer, const char *how);

#endif
