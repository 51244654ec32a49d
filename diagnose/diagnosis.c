/*
 * Functions shared by all checks: recording a failure, and computing deadlines. The caller owns the
 * diagnosis.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "diagnose/diagnosis.h"
#include "diagnose/loss-limit.h"

/*
 * Minimum time for a check in milliseconds, even if it starts late: a slow host is not a broken
 * one.
 */
#define LEAST_MS 4000

int check_failed(struct diagnosis *diagnosis, enum check check, enum failure_kind kind,
	enum phase phase, int code, const char *format, ...)
{
	struct failure failure = {0};
	char evidence[sizeof(failure.evidence)];
	va_list args;

	va_start(args, format);
	vsnprintf(evidence, sizeof(evidence), format, args);
	va_end(args);
	failure_set(&failure, kind, phase, code, "diagnose", "%s", evidence);
	return check_list_fail(&diagnosis->list, check, &failure);
}

deadline_t check_deadline(const struct diagnosis *diagnosis, int64_t milliseconds, int64_t least)
{
	deadline_t usual = deadline_in(milliseconds), soon = deadline_in(least + LEAST_MS);
	deadline_t end = diagnosis->end > soon ? diagnosis->end : soon;

	return usual < end ? usual : end;
}

bool check_count_loss(struct diagnosis *diagnosis, struct path_loss *loss)
{
	static const struct counters unknown;
	uint64_t sent, received;
	struct counters now;

	control_counters(&diagnosis->control, &now);
	counters_difference(&diagnosis->our_counters, &now, &diagnosis->counted_here);
	*loss = path_loss_of(&diagnosis->counted_here, &unknown);
	if (!counters_packets(&diagnosis->counted_here, &sent, &received))
		sent = received = 0;
	return loss_limit_exceeded(loss->to + loss->from, sent + received, 1);
}

/* A timeout, disconnect or retry limit combined with many missing packets means packet loss. */
static bool may_be_loss(const struct failure *failure)
{
	return failure->kind == FAILURE_DEADLINE || failure->kind == FAILURE_GONE ||
	       (failure->kind == FAILURE_COMPLETION && failure->code == IBV_WC_RETRY_EXC_ERR);
}

void check_blame_loss(struct diagnosis *diagnosis, struct failure *failure)
{
	struct path_loss loss;

	if (check_count_loss(diagnosis, &loss) && may_be_loss(failure)) {
		failure->kind = FAILURE_IMPAIRED;
		failure->code = (int)path_loss_impairment(&loss);
	}
}

int check_control_failed(struct diagnosis *diagnosis, enum check check)
{
	struct failure failure = diagnosis->control.failure;

	endpoint_blame(&diagnosis->control.endpoint, &failure);
	check_blame_loss(diagnosis, &failure);
	address_conflicts_blame(&diagnosis->conflicts, &diagnosis->route, &failure);
	return check_list_fail(&diagnosis->list, check, &failure);
}

bool check_differs(const struct diagnosis *diagnosis, const char *name)
{
	const char *ours = facts_value(&diagnosis->ours, name);
	const char *theirs = facts_value(&diagnosis->theirs, name);

	return ours && theirs && strcmp(ours, theirs) != 0;
}
