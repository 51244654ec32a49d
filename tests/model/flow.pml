/*
 * The streams of an exchange between MSG_MR and MSG_DONE: exchange/flow-control.c,
 * exchange/stream.c, exchange/write.c, exchange/read.c, stream/ring.c, the send queue, and the
 * wakeups of the CQ thread by source and sink. docs/model.md lists the assumptions and assertions.
 *
 * Side x sends stream x from its source through its ring, through its send queue or the other
 * side's READs, to the other side's ring and sink. A byte represents any amount of data.
 *
 *   -DMODE_READ            read mode (default: write mode)
 *   -DIWARP                no immediate data: MSG_DATA follows the WRITE
 *   -DTEXT                 the sink starts after MSG_DONE, as for a message
 *   -DKNOWN                both sides know the length of the stream from the beginning
 *   -DTO=N -DBACK=N        bytes of the stream of side 0 and of side 1
 *   -DOUT=N -DIN=N         bytes of each side's ring for outgoing and for incoming data
 *   -DCHUNK=N -DDEPTH=N -DREADS=N -DSENDS=N
 *   -DMUTANT_...           a planted fault, which the checks must find
 */
#ifndef TO
#define TO 4
#endif
#ifndef BACK
#define BACK 0
#endif
#ifndef OUT
#define OUT 2
#endif
#ifndef IN
#define IN 2
#endif
#ifndef CHUNK
#define CHUNK 9
#endif
#ifndef DEPTH
#define DEPTH 2
#endif
#ifndef READS
#define READS 2
#endif
#ifndef SENDS
#define SENDS (2 * DEPTH + 16)
#endif

#define PARTS    4 /* of a ring, of depth, of the send queue */
#define TOGETHER 2 /* FLOW_TOGETHER, STREAM_BURST */
#define RESERVED 5
#ifndef CREDITS_MAX
#define CREDITS_MAX 8
#endif
#define RECEIVES (DEPTH + 16)

#ifdef MODE_READ
#define WRITES  false
#define EXPOSED OUT
#else
#define WRITES  true
#define EXPOSED IN
#endif

#define SMALLER(a, b)       ((a) < (b) -> (a) : (b))
#define TO_END(ring, place) ((ring) - (place) % (ring))
#define SHARE(all)          (((all) + PARTS - 1) / PARTS)

mtype = { WRITE, WRITE_IMM, READ, MSG_DATA, MSG_CREDIT, MSG_DONE };

typedef stream {
	byte size;

	/* struct flow_sender, and the ring at the sender */
	byte out_filled, out_freed;
	bool out_ended, done_posted;
	byte written, announced, credited, pieces, pieces_credited;

	/* struct flow_receiver, and the ring at the receiver */
	byte received, requested, arrived, given, received_pieces, given_pieces, reads, reads_complete;
	byte in_freed;
	bool done_received, finished, delivered;

	byte sink_reported; /* the position that the sink has reported to the CQ thread */

	/* for the checks only: messages that occupy a receive */
	byte pieces_under_way, credits_under_way
};

typedef side {
	bool moved;       /* the CQ thread must advance the streams */
	byte outstanding; /* sends_posted - sends_completed */
	byte unsignaled;  /* sends_posted - signaled_send */
};

stream streams[2]; /* indexed by sender */
side sides[2];

/* Work requests in flight: position, number of READs, and whether it is signaled. */
chan posted[2] = [SENDS] of { mtype, byte, byte, bool };

/* Messages in transit or in an unprocessed receive: position, number of pieces. */
chan coming[2] = [RECEIVES] of { mtype, byte, byte };

#define ME     sides[me]
#define OURS   streams[me]
#define THEIRS streams[1 - me]

#define ROOM (ME.outstanding + RESERVED < SENDS -> SENDS - ME.outstanding - RESERVED : 0)

#include "flow-streams.pml"

/* The CQ thread processes completions and messages, and advances the streams, in any order. */
proctype Side(bit me)
{
	mtype what;
	byte position, count, bytes, size, burst;
	bool signaled, announces, more;

end:	do
	:: d_step {
		coming[me]?what, position, count ->
		receive();
		what = WRITE;
		position = 0;
		count = 0
	   }
	:: d_step {
		posted[me]??[_, _, _, true] ->
		complete();
		what = WRITE;
		position = 0;
		count = 0;
		signaled = false
	   }
	:: d_step {
		ME.moved ->
		advance_streams();
		position = 0;
		bytes = 0;
		size = 0;
		burst = 0;
		signaled = false;
		announces = false;
		more = false
	   }
	od
}

/*
 * The source fills in one byte, or all that fit. It wakes the CQ thread before it waits for space,
 * or for the writer of a pipe, which may pause after any byte.
 */
inline fill(pauses)
{
	OURS.out_filled = OURS.out_filled + amount;
	if
	:: pauses || OURS.out_filled - OURS.out_freed == OUT -> ME.moved = true
	:: else
	fi;
	amount = 0
}

#define FILLABLE \
	SMALLER(SMALLER(OUT - (OURS.out_filled - OURS.out_freed), OURS.size - OURS.out_filled), \
		TO_END(OUT, OURS.out_filled))

proctype Source(bit me)
{
	byte amount;

	do
	:: d_step { FILLABLE > 0 -> amount = 1; fill(false) }
	:: d_step { FILLABLE > 0 -> amount = 1; fill(true) }
	:: d_step { FILLABLE > 1 -> amount = FILLABLE; fill(true) }
	:: d_step {
		OURS.out_filled == OURS.size ->
		OURS.out_ended = true;
		ME.moved = true
	   };
	   break
	od
}

/* The sink consumes one byte or all, and wakes the CQ thread when a quarter of the ring is free. */
inline empty_ring()
{
	THEIRS.in_freed = THEIRS.in_freed + amount;
	if
#ifdef MUTANT_NO_WAKEUP_BY_SINK
	:: false
#else
	:: THEIRS.in_freed - THEIRS.sink_reported >= IN / PARTS ->
#endif
		THEIRS.sink_reported = THEIRS.in_freed;
		ME.moved = true
	:: else
	fi;
	amount = 0
}

#define EMPTIABLE \
	SMALLER(THEIRS.arrived - THEIRS.in_freed, TO_END(IN, THEIRS.in_freed))
#ifdef TEXT
#define SINK_MAY_TAKE THEIRS.finished
#else
#define SINK_MAY_TAKE true
#endif

proctype Sink(bit me)
{
	byte amount;

	do
	:: d_step { SINK_MAY_TAKE && EMPTIABLE > 0 -> amount = 1; empty_ring() }
	:: d_step { SINK_MAY_TAKE && EMPTIABLE > 1 -> amount = EMPTIABLE; empty_ring() }
	:: d_step {
		THEIRS.finished && THEIRS.in_freed == THEIRS.received ->
		THEIRS.delivered = true;
		ME.moved = true
	   };
	   break
	od
}

#define QUIET(x) \
	(empty(coming[x]) && !(posted[x]??[_, _, _, true]) && \
		!sides[x].moved)

/* No credit is lost in transit. Any credit not sent by the end was not due. */
inline check_credit(x)
{
	assert(streams[x].in_freed == streams[x].size);
	assert(streams[x].credited == streams[x].given);
	assert(streams[x].pieces_credited == streams[x].given_pieces);
	assert(streams[x].pieces_under_way == 0 && streams[x].credits_under_way == 0)
}

init {
	atomic {
		streams[0].size = TO;
		streams[1].size = BACK;
		/* MSG_MR was the last signaled send. */
		sides[0].unsignaled = 1;
		sides[1].unsignaled = 1;
		run Side(0);
		run Side(1);
		run Source(0);
		run Sink(1);
#if BACK > 0
		run Source(1);
		run Sink(0)
#else
		streams[1].done_posted = true;
		streams[1].delivered = true
#endif
	}
	atomic {
		streams[0].delivered && streams[1].delivered && QUIET(0) && QUIET(1) ->
		check_credit(0);
		check_credit(1)
	}
}
