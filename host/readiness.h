/*
 * Whether this host can use RDMA, concluded from an inventory. Each check returns HOST_READY, or
 * the first thing that is missing with what was seen of it in evidence, which is "" otherwise and
 * is cut at size. Any thread.
 */
#ifndef HOST_READINESS_H
#define HOST_READINESS_H

#include "base/failure.h"
#include "host/inventory.h"

/* Less locked memory than this, in bytes, is too little for a queue pair and its buffers. */
#define READINESS_LOCKED_MIN UINT64_C(65536)

/*
 * Checks the host, then its devices, or only the one of that name, then the limit on locked memory.
 * One usable port is enough; without any, reports the port that lacks least.
 */
enum readiness readiness_check(
	const struct inventory *inventory, const char *device, char *evidence, size_t size);

/*
 * Takes an inventory, and checks only what all devices need: that there is one, and the file of the
 * connection manager. Without memory nothing is found missing. root: see host/sysfs.h.
 */
enum readiness readiness_of_host(const char *root, char *evidence, size_t size);

#endif
