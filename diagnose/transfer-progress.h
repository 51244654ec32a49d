/*
 * Tells a transfer that stands still from one that is only slow, as on a busy host: the numbers of
 * the queue pair's next packets advance. One thread.
 */
#ifndef DIAGNOSE_TRANSFER_PROGRESS_H
#define DIAGNOSE_TRANSFER_PROGRESS_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

/* What was seen of a queue pair so far. Begin with zeros. */
struct transfer_progress {
	bool begun;
	uint32_t sent;     /* highest number of a packet to send, modulo 2^24 */
	uint32_t received; /* number of the packet expected from the peer */
};

/*
 * Records the numbers of the next packets. Returns true if a new packet of the peer has arrived
 * since the first call, or, unless `learning` is true, if a new packet was sent. A sender that gets
 * no acknowledgement sends the same packets again and again, so those of a whole round must be
 * recorded first, with `learning`.
 */
bool transfer_progress_record(
	struct transfer_progress *progress, uint32_t sent, uint32_t received, bool learning);

/*
 * Watches the queue pair for up to 3 s. Returns true as soon as new packets have passed in either
 * direction, and false if none have or if this is unknown: some adapters do not report the numbers.
 */
bool transfer_progress_watch(struct ibv_qp *queue_pair);

#endif
