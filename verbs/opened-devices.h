/*
 * RDMA devices that are used without rdmacm. All connections share the context of a device, which
 * is open while anything uses it, and for a second or so longer. Any thread.
 */
#ifndef VERBS_OPENED_DEVICES_H
#define VERBS_OPENED_DEVICES_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>

/* More devices than a host has. */
#define OPENED_DEVICES_MAX 64

/*
 * Opens all devices that are not open, or only the named one, unless it has done so within the last
 * second, and stores their contexts. What cannot be opened is left out. Returns their number. They
 * stay open until this thread calls opened_devices_close_unused(). ibv_open_device(3).
 */
size_t opened_devices(const char *name, struct ibv_context *contexts[OPENED_DEVICES_MAX]);

/* Returns the named device if it is open, otherwise NULL. */
struct ibv_context *opened_device(const char *name);

/*
 * Opens the named device if it is not open, and keeps it open until opened_device_release().
 * Returns NULL if there is none.
 */
struct ibv_context *opened_device_use(const char *name);

/* Keeps a device that is in use open until opened_device_release() was called once more. */
void opened_device_keep(const struct ibv_context *context);
void opened_device_release(const struct ibv_context *context);

/*
 * Closes the devices that nothing has used for a second: while one is open, the kernel may be
 * unable to remove it. Returns true if others are still open. ibv_close_device(3).
 */
bool opened_devices_close_unused(void);

#endif
