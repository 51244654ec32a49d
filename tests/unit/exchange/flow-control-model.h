/*
 * The flow control, played out: a model of both ends of a stream, in which everything that takes
 * time may take any time. In every step it holds that no byte is written where one is that nobody
 * has taken, that no peer refuses what a peer of ours says, and that the messages under way fit
 * into the receives that are there for them; or the test fails.
 */
#ifndef TESTS_UNIT_EXCHANGE_FLOW_CONTROL_MODEL_H
#define TESTS_UNIT_EXCHANGE_FLOW_CONTROL_MODEL_H

#include "exchange/flow-control.h"

#define DEPTH_MAX   64
#define READS_MAX   16
#define SIGNALS_MAX 64
#define CREDITS_MAX 8 /* exchange/buffers.c counts on it */

struct setting {
	uint64_t sender_ring, receiver_ring;
	uint32_t sender_chunk, receiver_chunk; /* wanted */
	uint32_t depth, reads;
	bool writes;
	bool unknown; /* the stream's size is not known before its end */
	uint64_t from, to;
	uint64_t step; /* bytes that source and sink move when they do not move all; 0: one */
};

/* A signaled READ: when it is complete, all up to this position are. */
struct signal {
	uint64_t position, reads;
};

struct credit {
	uint64_t position, pieces;
};

/* Both ends, and what is on its way between them. Positions where nothing is said. */
struct world {
	struct flow_sender sender;
	struct flow_receiver receiver;
	uint64_t filled;  /* by the source */
	uint64_t emptied; /* the sender's ring, for the source to fill again */
	uint64_t freed;   /* by the sink */
	uint64_t pieces[DEPTH_MAX];
	uint64_t writes[SIGNALS_MAX]; /* signaled: when one is complete, all up to it are */
	struct signal reads[READS_MAX];
	struct credit credits[CREDITS_MAX];
	uint64_t piece_count, write_count, read_count, credit_count;
	uint64_t done_sent, done_received; /* as flags: without padding */
};

enum occurrence {
	FILLS_STEP, /* the source */
	FILLS_ALL,
	WRITES, /* the sender, and tells of it if that is due */
	ANNOUNCES,
	RECEIVES, /* the receiver of a piece */
	WRITE_COMPLETES,
	READS_ONE, /* the send queue has room for one only */
	READS_ALL, /* or as many as are posted at a time */
	READ_COMPLETES,
	FREES_STEP, /* the sink */
	FREES_ALL,
	CREDITS,
	RECEIVES_CREDIT,
	SENDS_DONE,
	RECEIVES_DONE,
	OCCURRENCES
};

/* Nothing is sent yet. */
void begin(const struct setting *setting, struct world *world);

/* Makes it happen, or returns false if it cannot. */
bool flow_model_occur(
	const struct setting *setting, struct world *world, enum occurrence occurrence);

/* Fails the test if not all has arrived. */
void assert_final(const struct setting *setting, const struct world *world);

uint64_t smaller(uint64_t a, uint64_t b);

#endif
