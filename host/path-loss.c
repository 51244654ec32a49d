/* See host/path-loss.h. It keeps no state. */
#include "host/path-loss.h"

/* The other direction's part of the loss in one direction. */
#define OTHER_PART 4

/* Packets that one end sent again and the other had not received before. */
static uint64_t resent(const struct counters *from, const struct counters *to)
{
	uint64_t sent = counters_total(from, COUNTER_RETRANSMISSION);
	uint64_t twice = counters_total(to, COUNTER_DUPLICATE);

	return sent > twice ? sent - twice : 0;
}

/* Losses according to counters that increase only when a packet is lost. */
static uint64_t certain(const struct counters *ours, const struct counters *theirs)
{
	return resent(ours, theirs) + resent(theirs, ours) + counters_missing(ours) +
	       counters_missing(theirs);
}

/* Out-of-order packets count as lost only up to the number of losses that other counters show. */
static uint64_t confirmed(const struct counters *counters, uint64_t certain)
{
	uint64_t reordered = counters_reordered(counters);

	return reordered < certain ? reordered : certain;
}

struct path_loss path_loss_of(const struct counters *ours, const struct counters *theirs)
{
	uint64_t missed_there = counters_missed_by_peer(ours);
	uint64_t missed_here = counters_missed_by_peer(theirs);
	uint64_t lost = certain(ours, theirs);

	return (struct path_loss){
		.to = missed_there + counters_missing(theirs) - missed_here +
		      confirmed(theirs, lost),
		.from = missed_here + counters_missing(ours) - missed_there + confirmed(ours, lost),
	};
}

uint64_t path_loss_total(const struct counters *ours, const struct counters *theirs)
{
	uint64_t lost = certain(ours, theirs);

	return lost + confirmed(ours, lost) + confirmed(theirs, lost);
}

enum impairment path_loss_impairment(const struct path_loss *loss)
{
	if (loss->to / OTHER_PART >= loss->from && loss->to > 0)
		return IMPAIRED_LOSS_TO;
	if (loss->from / OTHER_PART >= loss->to && loss->from > 0)
		return IMPAIRED_LOSS_FROM;
	return IMPAIRED_LOSS;
}
