/*
 * RDMA devices that are used without rdmacm. Each is opened once and, like those of librdmacm,
 * stays open until the process exits, so that all connections share its context. Any thread.
 */
#ifndef VERBS_OPENED_DEVICES_H
#define VERBS_OPENED_DEVICES_H

#include <infiniband/verbs.h>
#include <stddef.h>

/* More devices than a host has. */
#define OPENED_DEVICES_MAX 64

/*
 * Opens all devices that are not open yet, unless it has done so within the last second. What
 * cannot be opened is left out. ibv_open_device(3).
 */
void opened_devices_look(void);

/* Does so, and stores the contexts of all, or only of the named one. Returns their number. */
size_t opened_devices(const char *name, struct ibv_context *contexts[OPENED_DEVICES_MAX]);

/* Returns the named device if opened_devices() has opened it, otherwise NULL. */
struct ibv_context *opened_device(const char *name);

#endif
