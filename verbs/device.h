/*
 * An open RDMA device as its users share it: the verbs context, its limits, what its transport or
 * driver requires or lacks, and how the thread that polls its completions is reached. What happens
 * when it is removed: serve/devices.h and, at a client, rdma-client.c.
 */
#ifndef VERBS_DEVICE_H
#define VERBS_DEVICE_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/failure.h"
#include "base/wakeup-queue.h"

/* What a transport or driver requires or lacks. One row for each: verbs/device.c. */
struct device_traits {
	const char *driver; /* kernel driver; NULL: any of the transport */
	enum ibv_transport_type transport;
	bool immediate;               /* has RDMA WRITE with immediate data */
	bool read_needs_remote_write; /* the target of our READ needs IBV_ACCESS_REMOTE_WRITE */
	bool own_queue_pairs;         /* connects queue pairs without rdmacm */
	uint32_t chunk;               /* bytes of one WRITE or READ with which it is fast */
};

struct device {
	struct ibv_context *verbs; /* librdmacm's: stays open until the process ends */
	struct ibv_device_attr attributes;
	const struct device_traits *traits;
	struct ibv_comp_channel *channel; /* for all completion queues of the device */

	/* Of the context in rdma-common.c; a control connection has no use for them. */
	struct wakeup_queue wakeups; /* of the thread that polls the channel */
	uint64_t locked;             /* bytes registered through it: the main thread's count */
};

/*
 * Reads the limits and traits of the device, and makes its completion channel, which does not
 * block. Returns 0, or -1 with the failure recorded. ibv_query_device(3),
 * ibv_create_comp_channel(3).
 */
int device_open(struct device *device, struct ibv_context *verbs, struct failure *failure);

/* Destroys the completion channel, if there is one. Its completion queues are destroyed before. */
void device_close(struct device *device);

/* The row that describes this device. Static. Any thread. ibv_query_device(3). */
const struct device_traits *device_traits(
	const struct ibv_context *verbs, const struct ibv_device_attr *attributes);

/* The device's name as `rdma link` shows it. Any thread. */
const char *device_name(const struct device *device);

/*
 * The largest message that a port moves with one work request, in bytes. Any thread.
 * ibv_query_port(3).
 */
uint32_t device_message_max(const struct device *device, uint8_t port);

#endif
