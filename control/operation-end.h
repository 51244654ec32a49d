/*
 * One end of the operations that a diagnosis tries (protocol/operations.h): queue pairs, memory and
 * completions of their own. Nothing that goes wrong here can break the control connection, and the
 * peer can access no memory but what is made here, until operation_end_close().
 *
 * The queue pairs follow the path of the control connection. All functions belong to the thread of
 * that connection.
 */
#ifndef CONTROL_OPERATION_END_H
#define CONTROL_OPERATION_END_H

#include "control/control.h"
#include "control/operation-links.h"
#include "protocol/operations.h"

/* Bytes that an operation moves, and of each operation's part of a region. */
#define OPERATION_BYTES 16
#define OPERATION_PART  256

/* In its part: where READs and atomic operations return what they fetched. */
#define OPERATION_FETCHED 128

/* Bytes before the data of a datagram, and between two receives of an operation. */
#define OPERATION_HEADER  40
#define OPERATION_RECEIVE 64

/* Datagrams, and SENDs over an unreliable connection: one may be lost. */
#define OPERATION_COPIES 3

/* Any key would do: it is no secret. */
#define OPERATION_QKEY 0x72646d61

struct operation_end {
	struct control *control;      /* the connection whose path the queue pairs follow */
	bool passive;                 /* the server */
	struct operation_links links; /* where only rdmacm connects queue pairs */
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_mw *window;
	uint32_t window_key, window_type; /* of a bound window; type 0: none */
	struct ibv_ah *address;           /* the peer's, for datagrams */
	struct region memory;             /* a part for each operation; the server's is exposed */
	struct region receives;           /* a part for each operation */
	struct {
		struct ibv_qp *qp;
		uint32_t sequence, inline_max;
		uint32_t number_of_peer;
		bool broken; /* a request failed: what is posted later fails as well */
	} queues[OPERATION_QUEUES];
	struct operation_result results[OPERATIONS];
	uint32_t awaited; /* server: operations as bits, whose receives must arrive */

	/* Of the requests of each operation. */
	struct {
		uint8_t posted, completed, received;
		uint8_t failed_step;
		enum ibv_wc_status status; /* of the first that failed */
		struct ibv_wc last;        /* the last receive */
	} counts[OPERATIONS];
};

/*
 * Creates the protection domain, the completion queue and the memory. Returns 0 or -errno;
 * operation_end_close() frees everything in either case.
 */
int operation_end_open(struct operation_end *end, struct control *control, bool passive);

/* True if only rdmacm connects the queue pairs, as operation-links.h describes: iWARP. */
bool operation_end_links(const struct operation_end *end);

/*
 * Creates this queue pair, if it does not exist. Returns 0 or -errno. ibv_create_qp(3),
 * rdma_create_qp(3).
 */
int operation_end_add_queue(struct operation_end *end, enum operation_queue queue);

/*
 * Connects a queue pair to the peer's with these numbers, which come from the peer. Returns 0 or
 * -errno. rdma_init_qp_attr(3), ibv_modify_qp(3).
 */
int operation_end_connect(
	struct operation_end *end, enum operation_queue queue, uint32_t number, uint32_t sequence);

/* The operation's part of the local memory, and of the receives. */
uint8_t *operation_part(const struct operation_end *end, enum operation operation);
uint8_t *operation_receive(const struct operation_end *end, enum operation operation);

/* Fills OPERATION_BYTES with the data of this operation, or compares them. */
void operation_fill(uint8_t *data, enum operation operation);
bool operation_is_filled(const uint8_t *data, enum operation operation);

/*
 * Posts one receive of an operation: `pieces` of these sizes from this offset in its part of the
 * receives. Returns 0 or -errno. ibv_post_recv(3), ibv_post_srq_recv(3).
 */
int operation_post_receive(struct operation_end *end, enum operation operation,
	enum operation_queue queue, uint32_t offset, const uint32_t sizes[], int pieces);

/* Numbers, signals and posts a request of this operation. Returns 0 or -errno. */
int operation_post(struct operation_end *end, enum operation operation, enum operation_queue queue,
	struct ibv_send_wr *request);

/*
 * Takes completions until `is_done` returns true or the deadline has passed. Returns 0, or -1 if
 * the control connection has ended meanwhile.
 */
int operation_end_collect(struct operation_end *end, deadline_t deadline,
	bool (*is_done)(const struct operation_end *end));

/* Records the result of an operation at this end. */
void operation_lacks(struct operation_end *end, enum operation operation, enum operation_lack lack);
void operation_fails(struct operation_end *end, enum operation operation,
	enum operation_fault fault, int detail);

/* Frees everything. The end may be all zero. */
void operation_end_close(struct operation_end *end);

#endif
