/*
 * Asks the connection manager which RDMA device serves an address of this host. Sends nothing. Any
 * thread.
 */
#ifndef HOST_BOUND_DEVICE_H
#define HOST_BOUND_DEVICE_H

#include <stdbool.h>
#include <sys/socket.h>

/*
 * True if the connection manager binds the address to the named device: rdma_bind_addr(3). False if
 * it binds it to another or to none, or if it cannot be asked.
 */
bool bound_device_is(const char *device, const struct sockaddr *address);

#endif
