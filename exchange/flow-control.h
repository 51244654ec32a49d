/*
 * The flow control of one stream, as arithmetic: how much may be sent, read and credited next. It
 * knows no verbs and no threads. docs/protocol.md, "Flow control", has the rules and why they
 * cannot deadlock or overrun the peer's receives.
 *
 * A stream goes from a ring at its sender to a ring at its receiver. One of the two is exposed: in
 * write mode the receiver's, into which the sender WRITEs; in read mode the sender's, out of which
 * the receiver READs. Either way the sender announces each *piece*, a stretch of the stream, with
 * one message (a WRITE's immediate data is one), and the receiver gives *credit* when a place of
 * the exposed ring may be used again. Positions count bytes from the start of the stream, in 64
 * bits.
 */
#ifndef EXCHANGE_FLOW_CONTROL_H
#define EXCHANGE_FLOW_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As many chunks of written data make a piece, unless there is less. */
#define FLOW_TOGETHER 2

/* What both ends of a stream know of it; constant once both MSG_MR are exchanged. */
struct flow {
	uint64_t exposed; /* bytes of the exposed ring */
	uint64_t local;   /* bytes of the ring at this end */
	uint32_t chunk;   /* the most that one WRITE or READ moves */
	uint32_t
		depth; /* pieces that may be announced and not credited: receives at the receiver */
	bool fetched;  /* the receiver READs what is announced; otherwise it is there already */
	uint32_t reads; /* of a stream that is fetched: READs in flight */
};

/* The sender's end. */
struct flow_sender {
	uint64_t written; /* bytes that may be announced: WRITEs are posted, or they may be READ */
	uint64_t announced; /* bytes that were announced to the receiver */
	uint64_t credited;  /* bytes that it gave credit for */
	uint64_t pieces, pieces_credited;
};

/* The receiver's end. */
struct flow_receiver {
	uint64_t announced; /* bytes that we know of */
	uint64_t requested; /* bytes that READs were posted for */
	uint64_t arrived;   /* bytes that are here */
	uint64_t credited;  /* bytes that we gave credit for */
	uint64_t pieces, pieces_credited;
	uint64_t reads, reads_complete; /* READs since the start */
};

/* The largest chunk that suits a ring: two fit into it, unless the whole stream does. */
uint32_t flow_chunk(uint32_t wanted, uint64_t ring, uint64_t stream);

/*
 * The size of the next WRITE, 0 if there is none now, when the stream is in our ring up to
 * `filled`. What is returned counts as written.
 */
size_t flow_write(const struct flow *flow, struct flow_sender *sender, uint64_t filled);

/*
 * Whether to announce now what is written, when the stream is in our ring up to `filled`. Not after
 * every WRITE, because each piece takes one of the receiver's receives and may wake it, but always
 * before nothing more can be written. If so, it counts as announced, up to sender->announced.
 */
bool flow_announce(const struct flow *flow, struct flow_sender *sender, uint64_t filled);

/*
 * The receiver gives credit up to this position and for so many pieces. Returns false if it takes
 * back what it gave, or gives credit for what was not announced.
 */
bool flow_receive_credit(struct flow_sender *sender, uint64_t position, uint64_t pieces);

/*
 * The sender announces a piece that ends at this position. Returns false if it is empty, or more
 * than the credit allows.
 */
bool flow_receive_announcement(
	const struct flow *flow, struct flow_receiver *receiver, uint64_t position);

/*
 * The size of the next READ, 0 if there is none now, when our ring is free up to `freed`. What is
 * returned counts as requested. *last tells whether no other one can follow now.
 */
size_t flow_read(
	const struct flow *flow, struct flow_receiver *receiver, uint64_t freed, bool *last);

/* All READs up to that position are complete; `reads` counts them from the start of the stream. */
void flow_arrived(struct flow_receiver *receiver, uint64_t position, uint64_t reads);

/*
 * Whether credit is due, when our ring is free up to `freed`. If so, it counts as given, and
 * credited and pieces_credited are what to send.
 */
bool flow_give_credit(const struct flow *flow, struct flow_receiver *receiver, uint64_t freed);

#endif
