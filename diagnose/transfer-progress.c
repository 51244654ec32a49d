/* Progress of a transfer: see diagnose/transfer-progress.h. It keeps no state between calls. */
#include <poll.h>

#include "base/deadline.h"
#include "diagnose/transfer-progress.h"

/*
 * Time in milliseconds for one round of retransmissions, whose timer expires after half a second;
 * the time of the whole watch, and the time between looks.
 */
#define LEARN_MS 1000
#define WATCH_MS 3000
#define LOOK_MS  20

/* Numbers of packets have 24 bits and wrap around. */
#define NUMBER_MASK 0xffffffu
#define NUMBER_HALF 0x800000u

/* True if the number follows the other one. */
static bool follows(uint32_t number, uint32_t other)
{
	uint32_t distance = (number - other) & NUMBER_MASK;

	return distance > 0 && distance < NUMBER_HALF;
}

bool transfer_progress_record(
	struct transfer_progress *progress, uint32_t sent, uint32_t received, bool learning)
{
	bool moved;

	if (!progress->begun) {
		*progress = (struct transfer_progress){true, sent, received};
		return false;
	}
	moved = follows(received, progress->received) ||
		(!learning && follows(sent, progress->sent));
	if (follows(sent, progress->sent))
		progress->sent = sent;
	return moved;
}

bool transfer_progress_watch(struct ibv_qp *queue_pair)
{
	deadline_t learned = deadline_in(LEARN_MS), end = deadline_in(WATCH_MS);
	struct transfer_progress progress = {0};
	struct ibv_qp_init_attr ignored;
	struct ibv_qp_attr now;

	while (deadline_left(end) > 0) {
		now = (struct ibv_qp_attr){0};
		if (ibv_query_qp(queue_pair, &now, IBV_QP_SQ_PSN | IBV_QP_RQ_PSN, &ignored))
			return false;
		if (transfer_progress_record(
			    &progress, now.sq_psn, now.rq_psn, deadline_left(learned) > 0))
			return true;
		(void)poll(NULL, 0, LOOK_MS);
	}
	return false;
}
