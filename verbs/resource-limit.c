/* Looks up the limits of control groups: see verbs/resource-limit.h. */
#include "verbs/resource-limit.h"
#include "host/control-group.h"

bool resource_limit_is_reached(
	const char *device, enum phase phase, const char *call, int error, struct failure *failure)
{
	char text[sizeof(failure->evidence)];

	if ((error != EAGAIN && (error != EPERM || phase != PHASE_ADDRESS)) ||
		!control_group_limits("", device, text, sizeof(text)))
		return false;
	failure_set(failure, FAILURE_HOST, phase, HOST_CONTROL_GROUP, call, "%s", text);
	return true;
}
