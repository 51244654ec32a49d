/*
 * Several attempts to connect: after which failure another one is made, and which of their failures
 * is reported.
 */
#ifndef DIAGNOSE_ATTEMPTS_H
#define DIAGNOSE_ATTEMPTS_H

#include "base/failure.h"

/*
 * Decides after an attempt that failed. Returns true if another one may succeed: no reply arrived,
 * as if a packet was lost, or this host was too busy to send the request. *kept, zeroed before the
 * first attempt, becomes the failure to report if no other attempt succeeds. A request without a
 * reply tells more than a later attempt that had no time to send one.
 */
bool attempts_continue(struct failure *kept, const struct failure *failure);

#endif
