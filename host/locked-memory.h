/* Whether the limit of locked memory, RLIMIT_MEMLOCK, applies to this process. */
#ifndef HOST_LOCKED_MEMORY_H
#define HOST_LOCKED_MEMORY_H

#include <stdbool.h>

/*
 * True if the process has CAP_IPC_LOCK in the initial user namespace: memory registration is then
 * unlimited. In any other namespace, for example in a container without root, the capability does
 * not lift the limit. root: see host/sysfs.h. Any thread. capabilities(7), user_namespaces(7).
 */
bool locked_memory_is_exempt(const char *root);

#endif
