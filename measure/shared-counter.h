/*
 * A counter that several sessions of a server offer to their clients, so that the tickets which
 * these take can be counted together (measure/atomics.h). A client chooses a random number for it,
 * which it names in each of its sessions; no other client can guess it. The counter exists as long
 * as a session offers it. A session registers it for its own queue pairs alone.
 *
 * Any number of threads may call these functions, each for its own session.
 */
#ifndef MEASURE_SHARED_COUNTER_H
#define MEASURE_SHARED_COUNTER_H

#include <stdint.h>

#include "verbs/memory.h"

struct shared_counter;

/* A session's part. All zero: it offers none. */
struct counter_share {
	struct shared_counter *counter;
	struct region region; /* 8 bytes, with the rights of the peer */
};

/*
 * Offers the counter with this number, which is 0 at first, instead of the one before. Returns 0,
 * or -1 with the failure recorded and nothing offered. ibv_reg_mr(3).
 */
int counter_share_join(struct counter_share *share, uint64_t number, const struct device *device,
	struct ibv_pd *pd, struct failure *failure);

/* Ends the offer: the peer can no longer change the counter. */
void counter_share_leave(struct counter_share *share);

#endif
