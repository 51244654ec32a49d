/* A model of both ends of a stream under flow control, in which every asynchronous operation may
 * take any time. Each step checks that no WRITE overwrites unread data, that neither end rejects
 * the other's messages, and that the messages in flight, in send mode also the data, fit into the
 * posted receives. Otherwise the test fails. */
#ifndef TESTS_UNIT_EXCHANGE_FLOW_CONTROL_MODEL_H
#define TESTS_UNIT_EXCHANGE_FLOW_CONTROL_MODEL_H

#include "exchange/flow-control.h"

#define DEPTH_MAX   64
#define READS_MAX   16
#define SIGNALS_MAX 64
/* exchange/buffers.c relies on these limits; the second is for pieces that hold their receives. */
#define CREDITS_MAX      8
#define CREDITS_HELD_MAX 2

struct setting {
	uint64_t sender_ring, receiver_ring;
	uint32_t sender_chunk, receiver_chunk; /* requested chunk sizes */
	uint32_t depth, reads;
	bool writes, sends; /* neither: the receiver READs */
	bool unknown;       /* the stream's size is unknown until its end */
	uint64_t from, to;
	uint64_t step; /* bytes that source and sink move in a *_STEP; 0: one */
};

/* A signaled READ. Its completion implies that of every READ up to this position. */
struct signal {
	uint64_t position, reads;
};

struct credit {
	uint64_t position, pieces;
};

/* Both ends and the messages in flight. Values are stream positions unless noted. */
struct world {
	struct flow_sender sender;
	struct flow_receiver receiver;
	uint64_t filled;  /* produced by the source */
	uint64_t emptied; /* free in the sender's ring for the source to refill */
	uint64_t freed;   /* consumed by the sink */
	uint64_t pieces[DEPTH_MAX];
	uint64_t writes[SIGNALS_MAX]; /* signaled WRITEs; a completion implies all earlier ones */
	uint64_t held[DEPTH_MAX];     /* pieces in receives that are not posted again yet */
	struct signal reads[READS_MAX];
	struct credit credits[CREDITS_MAX];
	uint64_t piece_count, write_count, held_count, read_count, credit_count;
	uint64_t done_sent, done_received; /* flags; uint64_t avoids padding */
};

enum occurrence {
	FILLS_STEP, /* by the source */
	FILLS_ALL,
	WRITES, /* by the sender, which announces the data if due */
	ANNOUNCES,
	SENDS,    /* by the sender, a piece */
	RECEIVES, /* a piece, by the receiver */
	WRITE_COMPLETES,
	READS_ONE, /* the send queue has room for only one READ */
	READS_ALL, /* the send queue has room for a full batch */
	READ_COMPLETES,
	FREES_STEP, /* by the sink */
	FREES_ALL,
	REPOSTS, /* by the receiver, the receives whose data the sink has consumed */
	CREDITS,
	RECEIVES_CREDIT,
	SENDS_DONE,
	RECEIVES_DONE,
	OCCURRENCES
};

/* Resets the world to the start of the stream. */
void begin(const struct setting *setting, struct world *world);

/* Applies the occurrence. Returns false if it is impossible in this state. */
bool flow_model_occur(
	const struct setting *setting, struct world *world, enum occurrence occurrence);

/* Fails the test unless the whole stream has arrived. */
void assert_final(const struct setting *setting, const struct world *world);

uint64_t smaller(uint64_t a, uint64_t b);

#endif
