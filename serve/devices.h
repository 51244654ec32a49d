/*
 * RDMA devices through which a server's clients connect. A device is opened for its first client.
 * Its bound_id, an rdma_cm_id that is only bound to an address, keeps librdmacm from closing the
 * device and reports its removal, which device_removed() in serve/service.c handles. A device whose
 * removal cannot be reported is freed with its last client. Everything here runs on the main
 * thread.
 */
#ifndef SERVE_DEVICES_H
#define SERVE_DEVICES_H

#include <stdbool.h>
#include <sys/queue.h>

#include "base/deadline.h"
#include "rdma-common.h"

struct served_device {
	SLIST_ENTRY(served_device) next;
	const struct bootstrap *bootstrap; /* of its clients; NULL: it is not held */
	struct rdma_cm_id *bound_id;       /* NULL: its removal is not reported */
	struct ibv_context *verbs;
	struct device *device;
	unsigned int clients; /* connected through it; counted by the service */
	bool removed;
	deadline_t removal; /* deadline for the kernel to complete the removal */
};

SLIST_HEAD(served_devices, served_device);

/* Returns the device of `id`, opened for its first client, or NULL with the failure recorded. */
struct served_device *devices_get(struct served_devices *devices, struct cm_channel *channel,
	struct rdma_cm_id *id, struct failure *failure);

/* Returns the device whose bound_id this is, or NULL. */
struct served_device *devices_of(const struct served_devices *devices, const struct rdma_cm_id *id);

/*
 * Returns a device that no client uses any longer, and that was removed or may be removed without a
 * report; or NULL.
 */
struct served_device *devices_unused(const struct served_devices *devices);

/* Frees one device, which no client uses, or all. */
void devices_free(struct served_devices *devices, struct served_device *served);
void devices_free_all(struct served_devices *devices);

#endif
