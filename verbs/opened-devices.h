/*
 * RDMA devices that are used without rdmacm. Each is opened once and, like those of librdmacm,
 * stays open until the process exits, so that all connections share its context. Any thread.
 */
#ifndef VERBS_OPENED_DEVICES_H
#define VERBS_OPENED_DEVICES_H

#include <infiniband/verbs.h>

#include "base/failure.h"

/* Returns the named device, or NULL with the failure recorded. ibv_open_device(3). */
struct ibv_context *opened_device(const char *name, struct failure *failure);

#endif
