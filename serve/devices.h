/*
 * The RDMA devices that a server's clients come through. A device is made when the first client
 * comes through it; its bound_id, an rdma_cm_id that is only bound to the address, keeps librdmacm
 * from closing the device under us and reports its removal, which device_removed() in
 * serve/service.c handles. Everything here runs on the main thread.
 */
#ifndef SERVE_DEVICES_H
#define SERVE_DEVICES_H

#include <stdbool.h>
#include <sys/queue.h>

#include "base/deadline.h"
#include "rdma-common.h"

struct served_device {
	SLIST_ENTRY(served_device) next;
	struct rdma_cm_id *bound_id;
	struct ibv_context *verbs;
	struct device *device;
	unsigned int clients; /* that came through it: counted by the service */
	bool removed;
	deadline_t removal; /* by when the kernel must have done without us */
};

SLIST_HEAD(served_devices, served_device);

/*
 * The device that id came through, made if it is the first to come. NULL, with the failure
 * recorded, if that cannot be.
 */
struct served_device *devices_get(struct served_devices *devices,
	struct rdma_event_channel *channel, struct rdma_cm_id *id, struct failure *failure);

/* The device whose bound_id the id is, NULL if it is none. */
struct served_device *devices_of(const struct served_devices *devices, const struct rdma_cm_id *id);

/* A removed device that no client uses any more, NULL if there is none. */
struct served_device *devices_removed(const struct served_devices *devices);

/* Frees one that no client uses, or all. */
void devices_free(struct served_devices *devices, struct served_device *served);
void devices_free_all(struct served_devices *devices);

#endif
