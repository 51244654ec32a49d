/* Flow control arithmetic for one stream. Owns nothing; the caller serialises access. */
#include "exchange/flow-control.h"

/*
 * Credit is granted in quarters of the allowance, so that few messages are needed; for receives
 * that pieces hold, in halves, because the peer needs a receive as large as theirs for each of the
 * messages that may be in flight.
 */
#define PARTS      4
#define PARTS_HELD 2

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Bytes from this position to the end of a ring of this size. */
static uint64_t to_end(uint64_t ring, uint64_t position)
{
	return ring - position % ring;
}

uint32_t flow_chunk(uint32_t wanted, uint64_t ring, uint64_t stream)
{
	/* Half of a one-byte ring would be 0 bytes, and the stream would stall. */
	uint64_t most = stream <= ring || ring == 1 ? ring : ring / 2;

	return (uint32_t)smaller(wanted, most);
}

/* False while the receiver has no posted receive left for another piece. */
static bool may_announce(const struct flow *flow, const struct flow_sender *sender)
{
	return sender->pieces - sender->pieces_credited < flow->depth;
}

/* The size of the next WRITE. */
static uint64_t next_write(
	const struct flow *flow, const struct flow_sender *sender, uint64_t filled)
{
	uint64_t bytes = smaller(filled - sender->written, flow->chunk), room;

	if (!may_announce(flow, sender))
		return 0;
	bytes = smaller(bytes, to_end(flow->local, sender->written));
	bytes = smaller(bytes, to_end(flow->exposed, sender->written));
	room = flow->exposed - (sender->written - sender->credited);
	/* Wait for credit, which always arrives, rather than split a chunk. */
	return bytes <= room ? bytes : 0;
}

size_t flow_write(const struct flow *flow, struct flow_sender *sender, uint64_t filled)
{
	uint64_t bytes = next_write(flow, sender, filled);

	sender->written += bytes;
	return (size_t)bytes;
}

size_t flow_send(const struct flow *flow, struct flow_sender *sender, uint64_t filled)
{
	size_t bytes = flow_write(flow, sender, filled);

	sender->announced = sender->written;
	sender->pieces += bytes > 0;
	return bytes;
}

bool flow_announce(const struct flow *flow, struct flow_sender *sender, uint64_t filled)
{
	uint64_t unannounced = sender->written - sender->announced;

	if (unannounced == 0 || !may_announce(flow, sender))
		return false;
	if (unannounced < (uint64_t)FLOW_TOGETHER * flow->chunk &&
		next_write(flow, sender, filled) > 0)
		return false;
	sender->announced = sender->written;
	sender->pieces++;
	return true;
}

bool flow_receive_credit(struct flow_sender *sender, uint64_t position, uint64_t pieces)
{
	if (position < sender->credited || position > sender->announced ||
		pieces < sender->pieces_credited || pieces > sender->pieces)
		return false;
	sender->credited = position;
	sender->pieces_credited = pieces;
	return true;
}

bool flow_receive_announcement(
	const struct flow *flow, struct flow_receiver *receiver, uint64_t position)
{
	if (position <= receiver->announced || position - receiver->credited > flow->exposed ||
		receiver->pieces - receiver->pieces_credited >= flow->depth)
		return false;
	receiver->announced = position;
	receiver->pieces++;
	receiver->pieces_freed += !flow->held;
	if (!flow->fetched)
		receiver->arrived = position;
	return true;
}

static uint64_t next_read(
	const struct flow *flow, const struct flow_receiver *receiver, uint64_t freed)
{
	uint64_t bytes = smaller(receiver->announced - receiver->requested, flow->chunk);
	uint64_t in_flight = receiver->requested - receiver->arrived;

	if (receiver->reads - receiver->reads_complete >= flow->reads)
		return 0;
	bytes = smaller(bytes, to_end(flow->exposed, receiver->requested));
	bytes = smaller(bytes, to_end(flow->local, receiver->requested));
	/* Credit queues behind READs; with more in flight, the sender would run out of credit. */
	if (in_flight > 0 && in_flight + bytes > flow->exposed / PARTS)
		return 0;
	return bytes <= flow->local - (receiver->requested - freed) ? bytes : 0;
}

size_t flow_read(
	const struct flow *flow, struct flow_receiver *receiver, uint64_t freed, bool *last)
{
	uint64_t bytes = next_read(flow, receiver, freed);

	receiver->requested += bytes;
	receiver->reads += bytes > 0;
	*last = next_read(flow, receiver, freed) == 0;
	return (size_t)bytes;
}

void flow_arrived(struct flow_receiver *receiver, uint64_t position, uint64_t reads)
{
	receiver->arrived = position;
	receiver->reads_complete = reads;
}

/* The fraction of the allowance at which credit is due, rounded up. */
static uint64_t share_of(uint64_t all, uint64_t parts)
{
	return all / parts + (all % parts > 0);
}

bool flow_give_credit(const struct flow *flow, struct flow_receiver *receiver, uint64_t freed)
{
	/* Credit READ data when it arrives, but written data only once the sink has freed it. */
	uint64_t position = flow->fetched ? receiver->arrived : freed;

	uint64_t parts = flow->held ? PARTS_HELD : PARTS;

	if (position - receiver->credited < share_of(flow->exposed, PARTS) &&
		receiver->pieces_freed - receiver->pieces_credited < share_of(flow->depth, parts))
		return false;
	receiver->credited = position;
	receiver->pieces_credited = receiver->pieces_freed;
	return true;
}
