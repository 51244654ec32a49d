/*
 * The connection manager, librdmacm: its event channel, its events and what the failed ones mean.
 * Nothing here blocks: the caller polls the channel's descriptor.
 */
#ifndef VERBS_CM_H
#define VERBS_CM_H

#include <rdma/rdma_cma.h>
#include <stdint.h>

#include "base/failure.h"

/*
 * How hard the transport tries. A lost packet is sent again after TRANSPORT_ACK_TIMEOUT (4.096 us *
 * 2^17, half a second), TRANSPORT_RETRIES times: the maximum, which takes an adapter about four
 * seconds and which soft-RoCE takes as infinite. So a link may fail for a while; --timeout ends
 * what lasts. The active side's numbers hold for both. A receiver that is not ready is tried again
 * without limit (7): a tutorial peer posts its second receive late, and the deadline ends the rest.
 */
#define TRANSPORT_ACK_TIMEOUT 17
#define TRANSPORT_RETRIES     7
#define TRANSPORT_RNR_RETRIES 7

/* Makes an event channel, non-blocking. Returns 0 or -errno. rdma_create_event_channel(3). */
int channel_create(struct rdma_event_channel **channel);

/*
 * Makes the first one of a program, or records why this host cannot. rdma_create_event_channel(3).
 */
struct rdma_event_channel *channel_open(struct failure *failure);

/* An event that outlives its acknowledgement, with its private data. */
struct event_copy {
	struct rdma_cm_event event;
	uint8_t private_data[UINT8_MAX];
};

/*
 * Takes the next event: copies and acknowledges it, so that its handler may destroy the id, which
 * waits for acknowledged events. Returns 1, 0 if none waits, or -errno if the channel is broken.
 * The thread that owns the channel. rdma_get_cm_event(3).
 */
int channel_take(struct rdma_event_channel *channel, struct event_copy *copy);

/*
 * Turns an rdmacm event that reports a failure into one: a positive REJECTED status is an
 * InfiniBand reason, everything else a negative errno; a refusal of our own server is decoded.
 * peer names the server in the sentence. Any thread. rdma_get_cm_event(3).
 */
void failure_from_event(struct failure *failure, const struct rdma_cm_event *event,
	enum phase phase, const char *peer);

#endif
