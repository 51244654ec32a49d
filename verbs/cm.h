/*
 * Event channels, the events of connections and the failures they report, in the terms of
 * librdmacm. Connections without rdmacm report the same events: verbs/bootstrap.h. Nothing here
 * blocks: the caller polls the channel's descriptor.
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

/* Whose events a channel takes, as bits. */
#define CHANNEL_RDMACM 1U
#define CHANNEL_TCP    2U

struct tcp_channel;

/* Where the events of connections arrive. */
struct cm_channel {
	int fd;                            /* readable if an event may be pending */
	struct rdma_event_channel *rdmacm; /* librdmacm's; NULL: none */
	struct tcp_channel *tcp;           /* of connections without rdmacm; NULL: none */
};

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
