/* Recognises a limit on RDMA resources as the reason why the kernel refuses one. Any thread. */
#ifndef VERBS_RESOURCE_LIMIT_H
#define VERBS_RESOURCE_LIMIT_H

#include <stdbool.h>

#include "base/failure.h"

/*
 * Writes why a thread could not be started, truncated to size: the text of the errno, and the
 * control group whose pids.max is reached: "Resource temporarily unavailable (control group /pod,
 * pids.max: 10)".
 */
void resource_limit_of_threads(int error, char *text, size_t size);

/*
 * If the kernel refused a resource of the device (NULL: unknown) in this phase with this errno
 * because of a control group, records that and returns true; likewise, if control groups cannot be
 * seen and EAGAIN shows that the kernel refused it. The kernel reports EAGAIN; rdmacm
 * reports EPERM if it could not open the device of an address.
 */
bool resource_limit_is_reached(
	const char *device, enum phase phase, const char *call, int error, struct failure *failure);

#endif
