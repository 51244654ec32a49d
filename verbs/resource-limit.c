/* Looks up the limits of control groups: see verbs/resource-limit.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "host/control-group.h"
#include "verbs/resource-limit.h"

void resource_limit_of_threads(int error, char *text, size_t size)
{
	char group[160];

	snprintf(text, size, "%s", strerror(error));
	if (error == EAGAIN && control_group_is_full("", group, sizeof(group)))
		text_append(text, size, " (%s)", group);
}

bool resource_limit_is_reached(
	const char *device, enum phase phase, const char *call, int error, struct failure *failure)
{
	char text[sizeof(failure->evidence)];

	if (error != EAGAIN && (error != EPERM || phase != PHASE_ADDRESS))
		return false;
	if (control_group_limits("", device, text, sizeof(text)))
		failure_set(failure, FAILURE_HOST, phase, HOST_CONTROL_GROUP, call, "%s", text);
	else if (error == EAGAIN && control_group_is_unseen(""))
		failure_set(
			failure, FAILURE_HOST, phase, HOST_REFUSES, call, "%s", strerror(error));
	else
		return false;
	return true;
}
