/*
 * A connection endpoint for the test peers: deliberately independent of the verbs module under
 * test, synchronous, one connection, one thread. Any error prints a message and exits with
 * EXIT_FAILURE. SIGALRM kills the process after ENDPOINT_SECONDS.
 */
#ifndef TESTS_ONE_HOST_ENDPOINT_H
#define TESTS_ONE_HOST_ENDPOINT_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

#include "protocol/tcp-frames.h"

#define ENDPOINT_SECONDS 60
#define ENDPOINT_REGION  1024  /* bytes that the peer may access */
#define ENDPOINT_LOCAL   65536 /* bytes of the local buffer for RDMA operations */
#define ENDPOINT_SLOTS   64
#define ENDPOINT_SLOT    4200 /* bytes of a message, more than the protocol's longest */

/* With PAIR_BOOTSTRAP=tcp, a connection without rdmacm: endpoint-tcp.c. */
struct endpoint_tcp {
	bool used;
	int fd, listener;
	struct tcp_gid own, peer;
	struct tcp_queue_pair ours, theirs;
};

struct endpoint {
	struct endpoint_tcp tcp;
	struct rdma_event_channel *channel; /* of rdmacm */
	struct rdma_cm_id *listener, *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *slots_mr, *exposed_mr, *local_mr;
	uint8_t (*sends)[ENDPOINT_SLOT], (*receives)[ENDPOINT_SLOT];
	uint8_t *exposed; /* memory that the peer may access */
	uint8_t *local;   /* local buffer for RDMA operations */
	unsigned int sent, posted;
	uint32_t receive_fault;       /* XORed into the lkey of receives */
	struct rdma_conn_param heard; /* the peer's parameters; private data in `words` */
	uint8_t words[256];
	struct rdma_conn_param parameters; /* the local ones; set before connecting */
	int exposed_access;
};

void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Connects to host and port, or listens (writing the port to a file) and accepts one request. */
void endpoint_connect(
	struct endpoint *end, const char *host, const char *port, unsigned int receives);
void endpoint_accept(
	struct endpoint *end, const char *address, const char *port_file, unsigned int receives);

/* Listens and refuses the first request with this private data. */
void endpoint_refuse(struct endpoint *end, const char *address, const char *port_file,
	const void *words, uint8_t length);

/* Requests a connection, but does not confirm it after the server has accepted. */
void endpoint_half_open(struct endpoint *end, const char *host, const char *port);

/* Keeps this many connection requests outstanding, replacing each that is refused. */
void endpoint_knock(struct endpoint *end, const char *host, const char *port, unsigned int at_once)
	__attribute__((noreturn));

void endpoint_post_receive(struct endpoint *end);

/* Posts a SEND of these bytes. */
void endpoint_send(struct endpoint *end, const void *bytes, uint32_t length);

/* Posts a READ into `local` or a WRITE from it; `immediate` is used by WRITE_WITH_IMM only. */
void endpoint_rdma(struct endpoint *end, enum ibv_wr_opcode opcode, uint64_t address, uint32_t rkey,
	uint32_t length, uint32_t immediate);

/* Waits for the next completion, whatever its status. */
struct ibv_wc endpoint_completion(struct endpoint *end);

/* Returns the message of a receive completion. */
const uint8_t *endpoint_received(const struct endpoint *end, const struct ibv_wc *completion);

/* Waits for an event of this type; any other is an error. */
void endpoint_event(struct endpoint *end, enum rdma_cm_event_type type);

/* The attributes that move a queue pair of this connection to attributes->qp_state. */
void endpoint_attributes(struct endpoint *end, struct ibv_qp_attr *attributes, int *mask);

/* Moves the queue pair to the error state and tells the peer. */
void endpoint_disconnect(struct endpoint *end);

void endpoint_free(struct endpoint *end);

#endif
