/*
 * Connections without rdmacm: the two ends exchange their GIDs and queue pair numbers over a TCP
 * connection (protocol/tcp-frames.h), which may use another network than RDMA does, and move their
 * queue pairs to RTR and RTS themselves. The TCP connection then stays open until one end
 * disconnects, or its process ends.
 *
 * A channel owns an epoll instance and the connections whose request has not arrived yet: at most
 * TCP_HALF_OPEN, or a quarter of the descriptors if that is less, each for TCP_HALF_OPEN_MS. The
 * caller that takes the event of a request owns its id, which must be destroyed before its channel.
 * Nothing here blocks, except that destroying an id or its queue pair waits for the thread that
 * moves the queue pair. Only the thread that owns the channel may call these functions.
 */
#ifndef VERBS_TCP_BOOTSTRAP_H
#define VERBS_TCP_BOOTSTRAP_H

#include <rdma/rdma_cma.h>

#include "base/output.h"
#include "host/path-settings.h"
#include "verbs/bootstrap.h"
#include "verbs/cm.h"

/* Connections without a request: a new one takes the place of the oldest. */
#define TCP_HALF_OPEN    1024
#define TCP_HALF_OPEN_MS 10000

extern const struct bootstrap bootstrap_tcp;

/* Returns 0 or -errno. epoll_create1(2). */
int tcp_channel_create(struct tcp_channel **channel);
void tcp_channel_destroy(struct tcp_channel *channel);

/* Readable if an event may be pending. */
int tcp_channel_fd(const struct tcp_channel *channel);

/* As channel_take(). A bounded number of sockets is looked at. */
int tcp_channel_take(struct tcp_channel *channel, struct event_copy *copy);

/*
 * Accepts connections at this address; rdma_get_src_port() returns the port. The settings and the
 * output, which --verbose shows the transitions on, must outlive the listener and its connections.
 * Returns 0 and its id, or -errno. listen(2).
 */
int tcp_listen(struct tcp_channel *channel, const struct sockaddr *address,
	const struct path_settings *settings, const struct output *output,
	struct rdma_cm_id **listener);

/*
 * Begins to connect from this source, NULL: any. RDMA_CM_EVENT_ADDR_RESOLVED or _ADDR_ERROR
 * follows. Returns 0 and the id, or -errno. connect(2).
 */
int tcp_start(struct tcp_channel *channel, const struct sockaddr *address,
	const struct sockaddr *source, const struct path_settings *settings,
	const struct output *output, struct rdma_cm_id **id);

/* Records what the errno of connect(2) says of the server; returns false if it says nothing. */
bool tcp_explain(struct failure *failure, int error);

/*
 * While it connects: reads this host's GIDs, which takes some milliseconds. If that fails,
 * tcp_offer() reports it.
 */
void tcp_look(struct rdma_cm_id *id);

/*
 * After RDMA_CM_EVENT_ADDR_RESOLVED, offers them to the server. RDMA_CM_EVENT_ROUTE_RESOLVED
 * follows, when the id has its device and port, or _ROUTE_ERROR, whose cause the id's bootstrap
 * knows. If all GIDs are of one port, the id has it at once, and its queue pair may be made while
 * the server chooses. Returns 0, or -1 with the failure recorded.
 */
int tcp_offer(struct rdma_cm_id *id, struct failure *failure);

/* True while none of the two events has followed. */
bool tcp_awaits_path(const struct rdma_cm_id *id);

/*
 * Sends the request, for which a client of one port need not await the path: if there is none, or
 * the server has gone, _ROUTE_ERROR follows. Otherwise, RDMA_CM_EVENT_ESTABLISHED, _REJECTED
 * or _CONNECT_ERROR does. Returns 0, or -1 with errno set.
 */
int tcp_request(struct rdma_cm_id *id, const struct rdma_conn_param *parameters);

#endif
