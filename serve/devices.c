/* RDMA devices through which a server's clients connect: see serve/devices.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "serve/devices.h"
#include "verbs/bootstrap.h"
#include "verbs/device-events.h"

static struct served_device *find(
	const struct served_devices *devices, const struct ibv_context *verbs)
{
	struct served_device *served;

	SLIST_FOREACH (served, devices, next)
		if (served->verbs == verbs && !served->removed)
			return served;
	return NULL;
}

static int hold(struct served_device *served, struct cm_channel *channel, struct rdma_cm_id *id,
	struct failure *failure)
{
	if (bootstrap_of(id)->hold(id, channel, &served->bound_id) == 0) {
		served->bootstrap = bootstrap_of(id);
		return 0;
	}
	return failure_set(failure, FAILURE_ERRNO, PHASE_QUEUE_PAIR, errno, "rdma_bind_addr",
		"cannot bind to %s: %s", ibv_get_device_name(id->verbs->device), strerror(errno));
}

static void release(struct served_device *served)
{
	device_stop(served->device);
	device_events_unwatch(served->verbs);
	if (served->bootstrap)
		served->bootstrap->release(served->verbs, served->bound_id);
	free(served);
}

struct served_device *devices_get(struct served_devices *devices, struct cm_channel *channel,
	struct rdma_cm_id *id, struct failure *failure)
{
	struct served_device *served = find(devices, id->verbs);

	if (served)
		return served;
	served = calloc(1, sizeof(*served));
	if (!served) {
		failure_set(failure, FAILURE_ERRNO, PHASE_ALLOCATION, ENOMEM, "calloc", "");
		return NULL;
	}
	served->verbs = id->verbs;
	if (hold(served, channel, id, failure) ||
		device_start(id->verbs, &served->device, failure)) {
		release(served);
		return NULL;
	}
	SLIST_INSERT_HEAD(devices, served, next);
	return served;
}

struct served_device *devices_of(const struct served_devices *devices, const struct rdma_cm_id *id)
{
	struct served_device *served;

	SLIST_FOREACH (served, devices, next)
		if (served->bound_id == id)
			return served;
	return NULL;
}

struct served_device *devices_unused(const struct served_devices *devices)
{
	struct served_device *served;

	SLIST_FOREACH (served, devices, next)
		if ((served->removed || !served->bound_id) && served->clients == 0)
			return served;
	return NULL;
}

void devices_free(struct served_devices *devices, struct served_device *served)
{
	SLIST_REMOVE(devices, served, served_device, next);
	release(served);
}

void devices_free_all(struct served_devices *devices)
{
	while (!SLIST_EMPTY(devices))
		devices_free(devices, SLIST_FIRST(devices));
}
