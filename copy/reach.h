/* Which of a server's addresses the RDMA devices of this host reach. Main thread. */
#ifndef COPY_REACH_H
#define COPY_REACH_H

#include <stdbool.h>

#include "cli/options.h"

/*
 * Chooses one of these addresses, which blanks separate: best one to which this host's route leads
 * through an RDMA device, of this name unless it is NULL, and without a gateway. If there is no
 * route through an RDMA device at all, the first one, so that the connection tells why. Returns
 * false if there is no valid address.
 */
bool reach_choose(const char *addresses, const char *device, char chosen[OPTIONS_HOST_SIZE]);

#endif
