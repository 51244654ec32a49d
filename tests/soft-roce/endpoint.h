/*
 * One end of a connection for the test peers: deliberately apart from the verbs module under test,
 * synchronous, one connection, one thread. Whatever goes wrong ends the process with a sentence and
 * EXIT_FAILURE; so does ENDPOINT_SECONDS without an end.
 */
#ifndef TESTS_SOFT_ROCE_ENDPOINT_H
#define TESTS_SOFT_ROCE_ENDPOINT_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

#define ENDPOINT_SECONDS 60
#define ENDPOINT_REGION  1024  /* bytes that the other side may access */
#define ENDPOINT_LOCAL   65536 /* bytes that our RDMA may read from or write to */
#define ENDPOINT_SLOTS   64
#define ENDPOINT_SLOT    4200 /* bytes of a message, longer than any of the protocol's */

struct endpoint {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener, *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *slots_mr, *exposed_mr, *local_mr;
	uint8_t (*sends)[ENDPOINT_SLOT], (*receives)[ENDPOINT_SLOT];
	uint8_t *exposed; /* what the other side may access */
	uint8_t *local;   /* what our RDMA reads from or writes to */
	unsigned int sent, posted;
	uint32_t receive_fault;       /* what the key of a receive is wrong by */
	struct rdma_conn_param heard; /* the other side's parameters; private data in `words` */
	uint8_t words[256];
	struct rdma_conn_param parameters; /* ours: to be set before connecting */
	int exposed_access;
};

void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Connects to host and port, or listens (writing the port into a file) and accepts one. */
void endpoint_connect(
	struct endpoint *end, const char *host, const char *port, unsigned int receives);
void endpoint_accept(
	struct endpoint *end, const char *address, const char *port_file, unsigned int receives);

/* Listens likewise and refuses the first request with this private data. */
void endpoint_refuse(struct endpoint *end, const char *address, const char *port_file,
	const void *words, uint8_t length);

/* Asks for a connection and, when it is granted, never says that it has come to be. */
void endpoint_half_open(struct endpoint *end, const char *host, const char *port);

/*
 * Asks for so many connections at a time, and again whenever one is refused, until the process
 * ends.
 */
void endpoint_knock(struct endpoint *end, const char *host, const char *port, unsigned int at_once)
	__attribute__((noreturn));

void endpoint_post_receive(struct endpoint *end);

/* Posts a SEND of these bytes. */
void endpoint_send(struct endpoint *end, const void *bytes, uint32_t length);

/* Posts a READ into, or a WRITE from, `local`; `immediate` is for a WRITE that has some. */
void endpoint_rdma(struct endpoint *end, enum ibv_wr_opcode opcode, uint64_t address, uint32_t rkey,
	uint32_t length, uint32_t immediate);

/* Waits for the next completion, whatever its status. */
struct ibv_wc endpoint_completion(struct endpoint *end);

/* The bytes that a receive completion brought. */
const uint8_t *endpoint_received(const struct endpoint *end, const struct ibv_wc *completion);

/* Waits for an event of this type; another one is fatal. */
void endpoint_event(struct endpoint *end, enum rdma_cm_event_type type);

void endpoint_free(struct endpoint *end);

#endif
