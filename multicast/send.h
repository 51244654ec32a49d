/* `rdma-client multicast GROUP`: sends a message or a stream of datagrams. Main thread. */
#ifndef MULTICAST_SEND_H
#define MULTICAST_SEND_H

#include "cli/options.h"

/*
 * Joins the group, sends and reports what was sent; the receivers need not be known. Returns the
 * exit status; *signal is the signal that ended it, 0: none.
 */
enum exit_status multicast_send(const struct options *options, const char *program, int *signal);

#endif
