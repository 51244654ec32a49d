/* The steps of a misbehaving peer in a measurement, listed at the top of misbehaving-peer.c. */
#ifndef TESTS_ONE_HOST_MISBEHAVING_MEASURE_H
#define TESTS_ONE_HOST_MISBEHAVING_MEASURE_H

#include "tests/one-host/misbehaving-steps.h"

/* `how` is the part of the step after the colon. */
void misbehaving_queue_pairs(struct peer *peer, const char *how);
void misbehaving_own_queue_pair(struct peer *peer, const char *how);
void misbehaving_datagram_pair(struct peer *peer, const char *how);
void misbehaving_datagram(struct peer *peer, const char *how);
void misbehaving_drain(struct peer *peer, const char *how);
void misbehaving_begin(struct peer *peer, const char *how);
void misbehaving_notice(struct peer *peer, const char *how);
void misbehaving_receive_notice(struct peer *peer, const char *how);
void misbehaving_pings(struct peer *peer, const char *how);

#endif
