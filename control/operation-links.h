/*
 * Connections of a diagnosis's operations over devices on which only rdmacm can connect queue pairs
 * (iWARP): see docs/protocol.md, "Operations over iWARP". The server listens at a port of its own,
 * on the address of the control connection, and the client connects each queue pair to it. A
 * request shows by a number from the server's offer which queue pair it is for; all others are
 * rejected.
 *
 * A firewall may let only the server's own port through, so a connection that fails proves nothing
 * about the devices. All functions belong to the thread of the control connection.
 */
#ifndef CONTROL_OPERATION_LINKS_H
#define CONTROL_OPERATION_LINKS_H

#include <rdma/rdma_cma.h>
#include <stdint.h>

#include "base/deadline.h"
#include "control/control.h"
#include "protocol/operations.h"

/* In order of progress. */
enum operation_link_state {
	LINK_NONE = 0,
	LINK_RESOLVING, /* client: the server's address, then the route to it */
	LINK_RESOLVED,
	LINK_ROUTED,
	LINK_REQUESTED, /* the request was sent or, at the server, accepted */
	LINK_ESTABLISHED,
	LINK_FAILED,
};

struct operation_links {
	struct control *control; /* whose addresses they have; set by the user, like the next two */
	/* Creates the queue pair of a connection with rdma_create_qp(3). Returns 0 or -errno. */
	int (*create)(void *user, enum operation_queue queue, struct rdma_cm_id *id);
	void *user;
	struct cm_channel *channel;
	struct rdma_cm_id *listener; /* of the server */
	uint16_t port;               /* of the listener */
	struct rdma_cm_id *ids[OPERATION_QUEUES];
	enum operation_link_state states[OPERATION_QUEUES];
	uint32_t numbers[OPERATION_QUEUES]; /* of the server: 24 bits that a request contains */
};

/*
 * Server: starts to listen, and chooses the number that a request for each queue pair must contain.
 * Returns 0 or -errno. rdma_listen(3).
 */
int operation_links_listen(struct operation_links *links);

/*
 * Server: accepts the requests for these queue pairs, as bits, until all are established or the
 * deadline has passed. Returns those that are established, as bits. rdma_accept(3).
 */
uint32_t operation_links_accept(
	struct operation_links *links, uint32_t queues, deadline_t deadline);

/*
 * Client: creates a queue pair and requests its connection to this port of the server. Returns 0
 * once the request is sent, or -errno. rdma_resolve_addr(3), rdma_connect(3).
 */
int operation_links_request(struct operation_links *links, enum operation_queue queue,
	uint16_t port, uint32_t number, deadline_t deadline);

/*
 * Client: waits for the replies to all requests. Returns the queue pairs that are connected, as
 * bits.
 */
uint32_t operation_links_establish(struct operation_links *links, deadline_t deadline);

/* Ends all connections, and frees their queue pairs. The links may be all zero. */
void operation_links_close(struct operation_links *links);

#endif
