/*
 * The librdmacm connection manager: its event channel, events and the failures they report. Nothing
 * here blocks: the caller polls the channel's descriptor.
 */
#ifndef VERBS_CM_H
#define VERBS_CM_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/failure.h"

/*
 * Retry parameters of the transport. A lost packet is retransmitted after TRANSPORT_ACK_TIMEOUT
 * (4.096 us * 2^17, half a second), up to TRANSPORT_RETRIES times. This maximum allows about four
 * seconds on an adapter and is unlimited on soft-RoCE, of Linux 6.1 and 6.12, so a connection
 * survives a brief link failure; --timeout limits a longer outage. No setting helps if this host's
 * interface drops packets of soft-RoCE: docs/hardware.md. The active side's values apply to both
 * sides. RNR retries are unlimited (7): a tutorial peer posts its second receive late, and the
 * deadline covers all other cases.
 */
#define TRANSPORT_ACK_TIMEOUT 17
#define TRANSPORT_RETRIES     7
#define TRANSPORT_RNR_RETRIES 7

/* Creates a non-blocking event channel. Returns 0 or -errno. rdma_create_event_channel(3). */
int channel_create(struct rdma_event_channel **channel);

/*
 * Creates the program's first event channel, or records why this host cannot create one.
 * rdma_create_event_channel(3).
 */
struct rdma_event_channel *channel_open(struct failure *failure);

/*
 * Requests this DSCP for the packets of an id that has resolved no route yet, or of a listener; -1:
 * the system's choice. On RoCE, the client's request tells the server the traffic class of both
 * directions. On iWARP, each end marks its own packets, a listener those of the connections that it
 * accepts, if the driver supports it. On InfiniBand, the subnet manager chooses the service level.
 * Returns 0, or -1 with the failure recorded. rdma_set_option(3).
 */
int id_set_dscp(struct rdma_cm_id *id, int dscp, struct failure *failure);

/*
 * Accepts a connection request. Returns 0, or -1 with the failure recorded; EINVAL means that the
 * client has given up, so the request no longer exists. rdma_accept(3).
 */
int id_accept(struct rdma_cm_id *id, struct rdma_conn_param *parameters, struct failure *failure);

/* A copy of an event and its private data that remains valid after the acknowledgement. */
struct event_copy {
	struct rdma_cm_event event;
	uint8_t private_data[UINT8_MAX];
};

/*
 * Copies and acknowledges the next event, so that its handler can destroy the id; destroying it
 * blocks until all its events are acknowledged. Returns 1, 0 if no event is pending, or -errno if
 * the channel is broken. Call only from the thread that owns the channel. rdma_get_cm_event(3).
 */
int channel_take(struct rdma_event_channel *channel, struct event_copy *copy);

/*
 * Records the failure reported by an rdmacm event: a positive REJECTED status is an InfiniBand
 * reason, any other status a negative errno. Decodes a refusal by rdma-server. Any thread.
 * rdma_get_cm_event(3).
 */
void failure_from_event(
	struct failure *failure, const struct rdma_cm_event *event, enum phase phase);

/*
 * For a server: replaces the failure of a connection that the client did not confirm within
 * `waited` milliseconds after the server accepted it, if it is a timeout of either side. A client
 * whose kernel received the reply rejects it differently, so after a moment such a timeout means
 * that the reply was lost. Returns true if it replaced the failure. Any thread.
 */
bool failure_reply_lost(struct failure *failure, int64_t waited);

#endif
