/* Packets that soft-RoCE could not send: see verbs/send-errors.h. The caller owns the struct. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "host/sysfs.h"
#include "verbs/send-errors.h"

static int read_count(const struct send_errors *errors, const char *root, uint64_t *count)
{
	return sysfs_number(root, count, "/sys/class/infiniband/%s/ports/%u/hw_counters/send_err",
		errors->device, errors->port);
}

void send_errors_begin(struct send_errors *errors, const char *root, const char *device,
	unsigned int port, bool flushes)
{
	snprintf(errors->device, sizeof(errors->device), "%s", device);
	errors->port = port;
	errors->flushes = flushes;
	if (read_count(errors, root, &errors->before))
		errors->port = 0;
}

/* True if packets that were not sent can be the cause of this failure. */
static bool can_explain(const struct send_errors *errors, const struct failure *failure)
{
	if (failure->kind == FAILURE_GONE)
		return failure->code == CODE_UNACKNOWLEDGED;
	if (failure->kind == FAILURE_ABORTED)
		return failure->code == CODE_VIOLATION && !errors->flushes;
	return failure->kind == FAILURE_COMPLETION &&
	       (failure->code == IBV_WC_REM_INV_REQ_ERR ||
		       (failure->code == IBV_WC_WR_FLUSH_ERR && errors->flushes));
}

void send_errors_blame(const struct send_errors *errors, const char *root, struct failure *failure)
{
	char evidence[sizeof(failure->evidence)];
	uint64_t count;

	if (errors->port == 0 || !can_explain(errors, failure) ||
		read_count(errors, root, &count) || count <= errors->before)
		return;
	count -= errors->before;
	snprintf(evidence, sizeof(evidence), "%s could not send %" PRIu64 " packet%s%s%.200s",
		errors->device, count, count == 1 ? "" : "s", *failure->evidence ? "; " : "",
		failure->evidence);
	memcpy(failure->evidence, evidence, sizeof(evidence));
	failure->kind = FAILURE_COMPLETION;
	failure->code = CODE_UNSENT;
}

unsigned int linux_version(const char *release)
{
	unsigned int major, minor;

	return sscanf(release, "%3u.%3u", &major, &minor) == 2 ? LINUX(major, minor) : 0;
}
