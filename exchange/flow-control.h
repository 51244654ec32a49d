/*
 * Flow control arithmetic for one stream: how much may be sent, read and credited next. It uses no
 * verbs and no threads. docs/protocol.md, "Flow control", defines the rules and explains why they
 * cannot deadlock or overrun the peer's receives.
 *
 * A stream flows from a ring at its sender to a ring at its receiver. One of the two rings is
 * exposed: in write mode the receiver's, into which the sender WRITEs; in read mode the sender's,
 * from which the receiver READs. In send mode neither is: each piece is one SEND into a receive in
 * the receiver's ring. In all modes the sender announces each *piece*, a range of the stream, with
 * one message (or the immediate data of a WRITE), and the receiver grants *credit* when space in
 * the exposed ring, or the receive of a piece, may be reused. Positions are 64-bit byte counts
 * from the start of the stream.
 */
#ifndef EXCHANGE_FLOW_CONTROL_H
#define EXCHANGE_FLOW_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Chunks of written data per piece, unless less data is available. */
#define FLOW_TOGETHER 2

/* Without an exposed ring, only the number of pieces is limited. */
#define FLOW_UNEXPOSED UINT64_MAX

/* The parameters of a stream at one end; constant once both MSG_MR messages are exchanged. */
struct flow {
	uint64_t exposed; /* size of the exposed ring in bytes; FLOW_UNEXPOSED: none */
	uint64_t local;   /* size of the local ring in bytes */
	uint32_t chunk;   /* maximum bytes of one WRITE or READ */
	uint32_t depth;   /* maximum uncredited pieces: receives at the receiver */
	bool held;        /* a piece occupies its receive until the receiver says otherwise */
	bool fetched;   /* the receiver READs announced data; otherwise the sender has written it */
	uint32_t reads; /* if fetched: maximum READs in flight */
};

/* The state of the sender. */
struct flow_sender {
	uint64_t written;   /* bytes that may be announced: WRITEs posted, or ready to be READ */
	uint64_t announced; /* bytes announced to the receiver */
	uint64_t credited;  /* bytes credited by the receiver */
	uint64_t pieces, pieces_credited;
};

/* The state of the receiver. */
struct flow_receiver {
	uint64_t announced; /* bytes announced by the sender */
	uint64_t requested; /* bytes for which READs were posted */
	uint64_t arrived;   /* bytes that have arrived */
	uint64_t credited;  /* bytes credited to the sender */
	uint64_t pieces, pieces_credited;
	uint64_t pieces_freed;          /* whose receives were posted again */
	uint64_t reads, reads_complete; /* READs since the start of the stream */
};

/* Returns the largest suitable chunk: two must fit into the ring, unless the whole stream does. */
uint32_t flow_chunk(uint32_t wanted, uint64_t ring, uint64_t stream);

/*
 * Returns the size of the next WRITE, or 0 if none can be posted now. The local ring is filled up
 * to position `filled`. The returned bytes count as written.
 */
size_t flow_write(const struct flow *flow, struct flow_sender *sender, uint64_t filled);

/* The same for the next SEND, which is a piece and announces itself. */
size_t flow_send(const struct flow *flow, struct flow_sender *sender, uint64_t filled);

/*
 * Returns whether to announce the written data now. The local ring is filled up to position
 * `filled`. An announcement consumes one of the receiver's receives and may wake it, so not every
 * WRITE is announced; the last WRITE that is possible for now always is. If true, the data up to
 * sender->announced counts as announced.
 */
bool flow_announce(const struct flow *flow, struct flow_sender *sender, uint64_t filled);

/*
 * Handles credit from the receiver up to this position and number of pieces. Returns false if the
 * credit goes backwards or covers data that was not announced.
 */
bool flow_receive_credit(struct flow_sender *sender, uint64_t position, uint64_t pieces);

/*
 * Handles the announcement of a piece that ends at this position. Returns false if the piece is
 * empty or exceeds the credit.
 */
bool flow_receive_announcement(
	const struct flow *flow, struct flow_receiver *receiver, uint64_t position);

/*
 * Returns the size of the next READ, or 0 if none can be posted now. The local ring is free up to
 * position `freed`. The returned bytes count as requested. *last is true if no further READ can be
 * posted now.
 */
size_t flow_read(
	const struct flow *flow, struct flow_receiver *receiver, uint64_t freed, bool *last);

/* Records that READs are complete up to this position; `reads` is their total number. */
void flow_arrived(struct flow_receiver *receiver, uint64_t position, uint64_t reads);

/*
 * Returns whether credit is due. The local ring is free up to position `freed`. If true, the credit
 * counts as granted: send credited and pieces_credited.
 */
bool flow_give_credit(const struct flow *flow, struct flow_receiver *receiver, uint64_t freed);

#endif
