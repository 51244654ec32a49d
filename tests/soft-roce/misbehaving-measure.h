/* The steps of a misbehaving peer in a measurement: the head of misbehaving-peer.c lists them. */
#ifndef TESTS_SOFT_ROCE_MISBEHAVING_MEASURE_H
#define TESTS_SOFT_ROCE_MISBEHAVING_MEASURE_H

#include "tests/soft-roce/misbehaving-steps.h"

/* What follows the step's colon is in `how`. */
void misbehaving_queue_pairs(struct peer *peer, const char *how);
void misbehaving_begin(struct peer *peer, const char *how);
void misbehaving_notice(struct peer *peer, const char *how);
void misbehaving_receive_notice(struct peer *peer, const char *how);
void misbehaving_pings(struct peer *peer, const char *how);

#endif
