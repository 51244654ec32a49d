/* Which of a server's addresses the RDMA devices of this host reach. Main thread. */
#ifndef COPY_REACH_H
#define COPY_REACH_H

#include <stddef.h>

#include "cli/options.h"

/* How well this host reaches an address: the higher, the better. */
enum reach {
	REACH_INVALID, /* it is no address */
	REACH_NOT,     /* by no RDMA device */
	REACH_ROUTED,  /* through a gateway */
	REACH_DIRECT,
};

/*
 * Chooses the best of these addresses, which blanks separate, by this host's routes and the
 * interfaces of its RDMA devices, or of the device of this name unless it is NULL; of several, the
 * first. Returns how well this host reaches it; REACH_INVALID if there is no valid address.
 */
enum reach reach_choose(const char *addresses, const char *device, char chosen[OPTIONS_HOST_SIZE]);

/*
 * Writes the valid ones of these addresses, with commas between them, and this host's addresses of
 * the same devices, or "" if they have none; both truncated to size.
 */
void reach_list(const char *addresses, const char *device, char *there, char *here, size_t size);

#endif
