/*
 * Asynchronous events of RDMA devices: port errors, address changes, failed queue pairs and
 * devices. One thread of the process reads the events of all devices in use, so that none pile up
 * in the kernel, and keeps the latest, because they explain the failures that follow.
 * ibv_get_async_event(3).
 */
#ifndef VERBS_DEVICE_EVENTS_H
#define VERBS_DEVICE_EVENTS_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/deadline.h"
#include "host/counters.h"

/* Number of events of ports and devices that are kept, and of queue pairs. */
#define DEVICE_EVENTS_KEPT 64

struct device_event {
	char device[IBV_SYSFS_NAME_MAX];
	unsigned int port;   /* 0: the event concerns no port */
	uint32_t queue_pair; /* its number; 0: the event concerns no queue pair */
	enum ibv_event_type type;
	deadline_t time;
};

/*
 * Starts reading the events of a device, until it fails or is removed. Does nothing for a device
 * that is already watched. Returns 0 or -errno. Any thread.
 */
int device_events_watch(struct ibv_context *verbs);

/* Stops reading the events of a device. Call it before the device may be closed. Any thread. */
void device_events_unwatch(const struct ibv_context *verbs);

/*
 * Forgets the events of earlier queue pairs that had the same number. Call it when a queue pair has
 * been created. Any thread.
 */
void device_events_forget(const struct ibv_qp *qp);

/*
 * Adds the number of events of each type so far, of this port or of the whole device, as counters
 * named event_port_error and so on. Events of queues are added only if there were any, and only to
 * port 1, because their port is unknown. Any thread.
 */
void device_events_count(const char *device, unsigned int port, struct counters *counters);

/*
 * Describes the latest event of this port or of its device that can explain a failure, unless it is
 * older than `since`: "port error 0.4 s ago". Events of queues are ignored: they explain only
 * failures of their own connection. Events that the device has raised but nobody has read are taken
 * into account. Returns false, and an empty text, if there is none. Any thread.
 */
bool device_events_describe(
	struct ibv_context *verbs, unsigned int port, deadline_t since, char *text, size_t size);

/* Does the same for the latest event of this queue pair. */
bool device_events_describe_queue_pair(const struct ibv_qp *qp, char *text, size_t size);

/*
 * Converts an event of this device that has not been acknowledged. Returns false for events that
 * belong to normal operation. Any thread.
 */
bool device_event_decode(const struct ibv_context *verbs, const struct ibv_async_event *read,
	struct device_event *event);

/* The name of a type of events: "port error". Static. */
const char *device_event_name(enum ibv_event_type type);

#endif
