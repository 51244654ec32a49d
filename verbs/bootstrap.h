/*
 * How a connection comes about: by rdmacm, or by a TCP connection over which the two ends tell each
 * other their GIDs and queue pair numbers (verbs/tcp-bootstrap.h). Both describe a connection by a
 * struct rdma_cm_id and report what happens by rdmacm's events (verbs/cm.h), so that nothing above
 * verbs/ knows which one it is. Only an id that librdmacm made may be passed to librdmacm: all
 * others call its function in this table. How a client finds a server is in verbs/dial.h.
 *
 * The functions return 0, or -1 with errno set, as those of librdmacm. The thread that owns the
 * id's channel calls them, unless the function says otherwise.
 */
#ifndef VERBS_BOOTSTRAP_H
#define VERBS_BOOTSTRAP_H

#include <rdma/rdma_cma.h>
#include <stdint.h>

#include "base/failure.h"
#include "protocol/tcp-frames.h"

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

/* A copy of an event and its private data that remains valid after the acknowledgement. */
struct event_copy {
	struct rdma_cm_event event;
	uint8_t private_data[UINT8_MAX];
};

struct bootstrap {
	const char *name;          /* as --bootstrap names it */
	unsigned int channel_kind; /* of the channels that take its events: CHANNEL_... */

	/* For a server: accepts or rejects a request. rdma_accept(3), rdma_reject(3). */
	int (*accept)(struct rdma_cm_id *id, struct rdma_conn_param *parameters);
	int (*reject)(struct rdma_cm_id *id, const void *data, uint8_t size);

	/* Creates the queue pair id->qp in state INIT, or destroys it. rdma_create_qp(3). */
	int (*create_queue_pair)(
		struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *attributes);
	void (*destroy_queue_pair)(struct rdma_cm_id *id);

	/*
	 * The attributes that move a queue pair of this connection to the state
	 * attributes->qp_state. Any thread. rdma_init_qp_attr(3).
	 */
	int (*attributes)(struct rdma_cm_id *id, struct ibv_qp_attr *attributes, int *mask);

	/* Moves the queue pair to the error state and tells the peer. rdma_disconnect(3). */
	int (*disconnect)(struct rdma_cm_id *id);

	/*
	 * Keeps the device of the id open, and has its removal reported on this channel to *held,
	 * until release() is called with both. *held is NULL if the removal cannot be reported: the
	 * kernel may then have to wait for release().
	 */
	int (*hold)(struct rdma_cm_id *id, struct cm_channel *channel, struct rdma_cm_id **held);
	void (*release)(struct ibv_context *verbs, struct rdma_cm_id *held);

	/* Moves a connection's events to another channel. rdma_migrate_id(3). */
	int (*migrate)(struct rdma_cm_id *id, struct cm_channel *channel);

	/* Frees the id, whose queue pair must be destroyed. rdma_destroy_id(3). */
	void (*destroy)(struct rdma_cm_id *id);

	/*
	 * The GIDs that the two ends told each other, for a client's id: ours, and theirs with the
	 * chosen ones; false: they did not, as by rdmacm.
	 */
	bool (*gids)(const struct rdma_cm_id *id, struct tcp_offer *ours, struct tcp_path *theirs);

	/* Why it failed, if more is known than the event says; otherwise NULL. */
	const struct failure *(*failure)(const struct rdma_cm_id *id);
};

extern const struct bootstrap bootstrap_rdmacm;

/* An id that librdmacm did not make: its port space is none of librdmacm's. */
#define OWN_PORT_SPACE ((enum rdma_port_space)0x5443)
struct own_id {
	struct rdma_cm_id id; /* the first member: what everything else sees */
	const struct bootstrap *bootstrap;
};

/* The row of an id. Any thread. */
const struct bootstrap *bootstrap_of(const struct rdma_cm_id *id);

#endif
