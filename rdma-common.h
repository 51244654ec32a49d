/*
 * What server and client share: the context of an RDMA device with the thread that polls its
 * completions, and the main thread's rdmacm events and signals.
 */
#ifndef RDMA_COMMON_H
#define RDMA_COMMON_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/address.h"
#include "base/deadline.h"
#include "base/failure.h"
#include "base/output.h"
#include "base/signals.h"
#include "base/wakeup-queue.h"
#include "exchange/connection.h"
#include "exchange/report.h"
#include "protocol/hello.h"
#include "protocol/mode.h"
#include "protocol/secret.h"
#include "stream/output-file.h"
#include "verbs/cm.h"
#include "verbs/device.h"

/*
 * Makes the context for one RDMA device and starts its CQ thread. verbs belongs to librdmacm and
 * must stay open until device_stop(): hold an rdma_cm_id that is bound to the device. Returns 0, or
 * -1 with the failure recorded. Main thread. ibv_create_comp_channel(3).
 */
int device_start(struct ibv_context *verbs, struct device **device, struct failure *failure);

/*
 * Ends and joins the CQ thread and frees the context; all its connections are destroyed already.
 * NULL is allowed. Main thread.
 */
void device_stop(struct device *device);

#endif
