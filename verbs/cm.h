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

#include "verbs/bootstrap.h"

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
