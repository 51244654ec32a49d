/*
 * Tells other processes of this host what a server is doing: `rdma-server status`. The server
 * listens on a socket with an abstract address, which lives in its network namespace, as its port
 * does, and vanishes with the process: unix(7). A process that connects receives one JSON object,
 * an element of "servers" in docs/status.schema.json; then the server closes the connection.
 */
#ifndef SERVE_STATUS_H
#define SERVE_STATUS_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "serve/service.h"

/* Clients that an answer lists; it says how many there are. */
#define STATUS_CLIENTS_MAX 200

/* Maximum size of an answer, in bytes: what fits into a socket's default buffer at once. */
#define STATUS_SIZE_MAX 131072

/* What the addresses of all servers begin with, after the null byte; then follow port and pid. */
#define STATUS_PREFIX "rdma-server/"

/*
 * Writes the address of the process that listens on this port, and returns its length. Any thread.
 */
socklen_t status_address(struct sockaddr_un *address, uint16_t port, long pid);

/*
 * Opens the socket of this process. Returns it, or -errno; the caller closes it. Nothing but
 * `rdma-server status` needs it. Main thread.
 */
int status_open(uint16_t port);

/*
 * Answers everyone who has connected, without waiting for anyone: root and the user that runs the
 * server; others get nothing. Returns 0, or -errno if a connection cannot be accepted and would be
 * reported again and again, as when no descriptor is left. Main thread.
 */
int status_answer(int socket, const struct service *service, uint16_t port);

#endif
