#include "flow.h"

/* Credit is given for a quarter of what was allowed, so that few messages carry it. */
#define PARTS 4

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Bytes from this position to the end of a ring of that size. */
static uint64_t to_end(uint64_t ring, uint64_t position)
{
	return ring - position % ring;
}

uint32_t flow_chunk(uint32_t wanted, uint64_t ring, uint64_t stream)
{
	/* Half a ring of one byte would be nothing, and the stream would stand still. */
	uint64_t most = stream <= ring || ring == 1 ? ring : ring / 2;

	return (uint32_t)smaller(wanted, most);
}

size_t flow_next_piece(const struct flow *flow, const struct flow_sender *sender, uint64_t filled)
{
	uint64_t piece = filled - sender->told, room;

	if (piece == 0 || sender->pieces - sender->pieces_credited >= flow->depth)
		return 0;
	if (!flow->writes)
		return (size_t)piece; /* it is in the exposed ring already */
	piece = smaller(piece, flow->chunk);
	piece = smaller(piece, to_end(flow->local, sender->told));
	piece = smaller(piece, to_end(flow->exposed, sender->told));
	room = flow->exposed - (sender->told - sender->credited);
	/* Rather wait for credit, which will come, than cut a chunk in two. */
	return piece <= room ? (size_t)piece : 0;
}

void flow_told(struct flow_sender *sender, size_t bytes)
{
	sender->told += bytes;
	sender->pieces++;
}

bool flow_credited(struct flow_sender *sender, uint64_t position, uint64_t pieces)
{
	if (position < sender->credited || position > sender->told ||
		pieces < sender->pieces_credited || pieces > sender->pieces)
		return false;
	sender->credited = position;
	sender->pieces_credited = pieces;
	return true;
}

bool flow_hear(const struct flow *flow, struct flow_receiver *receiver, uint64_t position)
{
	if (position <= receiver->told || position - receiver->credited > flow->exposed ||
		receiver->pieces - receiver->pieces_credited >= flow->depth)
		return false;
	receiver->told = position;
	receiver->pieces++;
	if (flow->writes)
		receiver->arrived = position;
	return true;
}

size_t flow_next_read(const struct flow *flow, const struct flow_receiver *receiver, uint64_t freed)
{
	uint64_t bytes = receiver->told - receiver->requested;

	if (flow->writes || receiver->reading >= flow->reads)
		return 0;
	bytes = smaller(bytes, flow->chunk);
	bytes = smaller(bytes, to_end(flow->exposed, receiver->requested));
	bytes = smaller(bytes, to_end(flow->local, receiver->requested));
	return bytes <= flow->local - (receiver->requested - freed) ? (size_t)bytes : 0;
}

bool flow_give_credit(const struct flow *flow, struct flow_receiver *receiver, uint64_t freed)
{
	/* A place that was WRITTEN is free when it is emptied; one that was READ, at once. */
	uint64_t position = flow->writes ? freed : receiver->arrived;
	uint64_t share = (flow->exposed + PARTS - 1) / PARTS;
	uint64_t pieces_share = (flow->depth + PARTS - 1) / PARTS;

	if (position - receiver->credited < share &&
		receiver->pieces - receiver->pieces_credited < pieces_share)
		return false;
	receiver->credited = position;
	receiver->pieces_credited = receiver->pieces;
	return true;
}
