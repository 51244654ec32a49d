/*
 * Packets that were lost between the two hosts, by direction, as the counters of both ends show.
 * Any thread.
 */
#ifndef HOST_PATH_LOSS_H
#define HOST_PATH_LOSS_H

#include <stdint.h>

#include "base/failure.h"
#include "host/counters.h"

struct path_loss {
	uint64_t to, from; /* the other host: how often packets were found missing */
};

/*
 * Returns the loss that the increases of the counters of both ends show. Either end sees both
 * directions: what is missing from the peer, and what the peer reports missing. An empty list means
 * unknown.
 *
 * A device that accepts packets in any order (mlx5) counts those out of order. They count as lost
 * only up to the number of losses that other counters at either end show, because adaptive routing
 * reorders packets, too.
 */
struct path_loss path_loss_of(const struct counters *ours, const struct counters *theirs);

/*
 * Returns the number of losses in both directions: gaps in the sequence, and packets that were sent
 * again. What arrived twice is not counted: on a slow path or a busy host, timers expire although
 * nothing is lost.
 */
uint64_t path_loss_total(const struct counters *ours, const struct counters *theirs);

/*
 * Returns the impairment that describes the loss: in one direction if at most a quarter of it was
 * in the other.
 */
enum impairment path_loss_impairment(const struct path_loss *loss);

#endif
