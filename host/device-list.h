/*
 * Names of RDMA devices with commas between them, "mlx5_0,mlx5_1", as of --device; NULL or "all"
 * stands for all devices. Pure functions; any thread.
 */
#ifndef HOST_DEVICE_LIST_H
#define HOST_DEVICE_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* Space for a name. */
#define DEVICE_NAME_SIZE 64

/* True if the list stands for all devices. */
bool device_list_is_all(const char *list);

/* True if it does, or consists of at most this many names, none of which is empty or repeated. */
bool device_list_is_valid(const char *list, unsigned int most);

/*
 * Copies the first name, truncated, and moves *list behind it. Returns false at the end. The list
 * consists of names.
 */
bool device_list_next(const char **list, char name[DEVICE_NAME_SIZE]);

/* True if the list has this name, or stands for all devices. */
bool device_list_has(const char *list, const char *name);

/* Returns the list if it is a single name, otherwise NULL. */
const char *device_list_single(const char *list);

#endif
