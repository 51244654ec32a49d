/* `rdma-server multicast GROUP`: receives the streams that are sent to a group. Main thread. */
#ifndef MULTICAST_RECEIVE_H
#define MULTICAST_RECEIVE_H

#include "cli/options.h"

/*
 * Joins the group and reports each stream that ends, until a signal or, with --count, the last
 * stream. Returns the exit status of the first stream with losses, or that of a failure; *signal is
 * the signal that was read, 0: none. The caller waits for the output: output_finish().
 */
enum exit_status multicast_receive(const struct options *options, const char *program, int *signal);

#endif
