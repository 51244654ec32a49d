/* See diagnose/loss-limit.h. It keeps no state. */
#include "diagnose/loss-limit.h"

/* A healthy link loses at most one packet in this many. */
#define LOSS_DIVISOR 1000

bool loss_limit_exceeded(uint64_t lost, uint64_t bytes, uint64_t packet)
{
	return packet > 0 && lost > bytes / packet / LOSS_DIVISOR + 1;
}
