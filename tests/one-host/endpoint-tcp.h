/* How an endpoint connects without rdmacm, for endpoint.c only: one step each, which waits. */
#ifndef TESTS_ONE_HOST_ENDPOINT_TCP_H
#define TESTS_ONE_HOST_ENDPOINT_TCP_H

#include <netdb.h>

#include "tests/one-host/endpoint.h"

/* The client: finds the path, whose device end->id then has; connects end->id->qp. */
void endpoint_tcp_resolve(struct endpoint *end, const struct addrinfo *to);
void endpoint_tcp_connect(struct endpoint *end);

/* Creates end->id->qp in state INIT. */
void endpoint_tcp_create_queue_pair(struct endpoint *end, struct ibv_qp_init_attr *wanted);

/* Sends the request and awaits the reply, without the confirmation that would follow. */
void endpoint_tcp_request(struct endpoint *end);

/*
 * Keeps requests outstanding, each on a connection of its own, and replaces those that are refused.
 * Does not return.
 */
void endpoint_tcp_knock(struct endpoint *end, const struct addrinfo *to, unsigned int at_once);

/* The server: listens and returns the port; awaits a request; replies. */
unsigned int endpoint_tcp_listen(struct endpoint *end, const struct addrinfo *at);
void endpoint_tcp_await_request(struct endpoint *end);
void endpoint_tcp_accept(struct endpoint *end);
void endpoint_tcp_reject(struct endpoint *end, const void *words, uint8_t length);

/* Waits until the peer has disconnected. */
void endpoint_tcp_await_end(struct endpoint *end);

void endpoint_tcp_attributes(struct endpoint *end, struct ibv_qp_attr *attributes, int *mask);

/* Frees end->id, and closes what is open. */
void endpoint_tcp_free(struct endpoint *end);

#endif
