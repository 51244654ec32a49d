/* Several attempts to connect: see diagnose/attempts.h. */
#include "diagnose/attempts.h"

bool attempts_continue(struct failure *kept, const struct failure *failure)
{
	bool late = failure->kind == FAILURE_DEADLINE, first = !failure_is_set(kept);
	bool silent = late && failure->phase == PHASE_CONNECT;
	bool busy = late && failure->code == CODE_NOTHING_ASKED;

	if (first || silent || !late)
		*kept = *failure;
	return late && (!first || silent || busy);
}
